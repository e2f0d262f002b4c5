"""One turn of a session, and all turns of one session."""

from __future__ import annotations

from typing import NamedTuple

from baton_git.agents.events import PERSON, UNKNOWN


class Turn(NamedTuple):
    """A prompt, and the answer to it or the reason why there is none.

    Attributes:
        number: its number in the session, from 1.
        time: the time of the prompt, as ISO text from the transcript.
        answer: the last reply in the turn; empty if there is none. It is the answer if the status is `answered` or
            `unknown`; otherwise it is what the agent said before the turn stopped.
        line, offset: the position of the prompt in the transcript; lines count from 1, the offset is in bytes.
        origin: whose prompt it is; see `events.PERSON`.
        status: whether it has an answer; see `events.ANSWERED`.
        reason: the message of the agent CLI about a failure.
        id: the id of the turn in the transcript; empty if it has none.
    """

    number: int
    time: str | None
    prompt: str
    answer: str
    line: int
    offset: int
    origin: str = PERSON
    status: str = UNKNOWN
    reason: str = ""
    id: str = ""


class SessionTurns(NamedTuple):
    """The turns of one session, oldest first.

    Attributes:
        started: when the session started, as ISO text from the transcript.
        worktree: the top of the work tree in which the session worked.
        branch: the checked-out branch of that work tree.
    """

    agent: str
    session: str
    started: str | None
    worktree: str | None
    branch: str | None
    namespace: str | None
    turns: tuple[Turn, ...]
