"""One turn of a session, and all turns of one session."""

from __future__ import annotations

from typing import NamedTuple


class Turn(NamedTuple):
    """A prompt and the last answer to it.

    Attributes:
        number: its number in the session, from 1.
        time: the time of the prompt, as ISO text from the transcript.
        answer: the answer; empty if there is none yet.
        line, offset: the position of the prompt in the transcript; lines count from 1, the offset is in bytes.
    """

    number: int
    time: str | None
    prompt: str
    answer: str
    line: int
    offset: int


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
