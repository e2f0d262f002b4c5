"""One turn of a session, and all turns of one session."""

from __future__ import annotations

from typing import NamedTuple


class Turn(NamedTuple):
    """A prompt and the last answer to it.

    Attributes:
        number: from 1, in the whole session.
        time: of the prompt, as the transcript has it.
        answer: empty when the agent said nothing, or not yet.
        line, offset: where the prompt stands in the transcript; the line counts from 1.
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
        started: when the session began, as the transcript has it.
        worktree: the top of the work tree that it worked in.
        branch: of the code.
    """

    agent: str
    session: str
    started: str | None
    worktree: str | None
    branch: str | None
    namespace: str | None
    turns: tuple[Turn, ...]
