"""When a loop of sessions ends, and what each session of it is told: pure, over the sessions that it had so far."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from baton_git.core.redaction import redact_text

MARKER = "LOOP_COMPLETE"
LAST_WORDS = 4000
"""Characters of the end of an answer that the next session is shown."""


class Limits(NamedTuple):
    """What ends a loop. Each is always there, and finite.

    Attributes:
        marker: what a session says when all is done.
        stuck_after: sessions in a row that say the same, or change nothing.
        failures: sessions in a row that fail.
    """

    marker: str = MARKER
    iterations: int = 20
    session_seconds: float = 1800.0
    total_seconds: float = 8 * 3600.0
    stuck_after: int = 3
    budget_usd: float = 20.0
    tokens: int = 50_000_000
    failures: int = 3


class Turn(NamedTuple):
    """A session of a loop that has ended.

    Attributes:
        work: a digest of the work tree after it; None where nobody could tell.
    """

    status: str
    answer: str
    work: str | None = None
    cost_usd: float | None = None
    tokens: int | None = None


class Ending(NamedTuple):
    """What ended a loop: `completed`, `max_iterations`, `stuck`, `failures`, `budget`, `token_budget`,
    `total_timeout`, `stop_file`, `interrupted` or `error`; and in words."""

    by: str
    why: str


def ending(turns: Sequence[Turn], limits: Limits, prompt: str, before: str | None, seconds: float) -> Ending | None:
    """Why the loop ends after these sessions; None when it goes on.

    Args:
        prompt: what the sessions were told, which they may repeat.
        before: the digest of the work tree at the start.
        seconds: since the start.
    """
    last = turns[-1]
    if last.status == "exited" and says_done(last.answer, limits.marker, prompt):
        return Ending("completed", f"the session said {limits.marker}")
    return (
        _spent(turns, limits)
        or _failing(turns, limits)
        or _stuck(turns, limits, before)
        or _over(len(turns), limits, seconds)
    )


def says_done(answer: str, marker: str, prompt: str) -> bool:
    """Whether the last line of the answer is the marker, or ends with it; one that repeats a line of `prompt` does not
    count."""
    last = last_line(answer)
    told = {line.strip() for line in prompt.splitlines()} - {marker}
    if last in told:
        return False
    return is_marker(last, marker) or re.search(rf"(?<![\w-]){re.escape(marker)}[*_`.!]*\Z", last) is not None


def is_marker(line: str, marker: str) -> bool:
    """Whether the line is the marker and nothing else, however it is emphasized."""
    return marker in (line, line.strip("*_`# "))


def last_line(text: str) -> str:
    """The last line that is not empty."""
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if line), "")


def total_cost(turns: Sequence[Turn]) -> float | None:
    """What the sessions cost as far as they say; None when none does."""
    known = [one.cost_usd for one in turns if one.cost_usd is not None]
    return round(sum(known), 6) if known else None


def total_tokens(turns: Sequence[Turn]) -> int | None:
    known = [one.tokens for one in turns if one.tokens is not None]
    return sum(known) if known else None


def _spent(turns: Sequence[Turn], limits: Limits) -> Ending | None:
    cost, tokens = total_cost(turns), total_tokens(turns)
    if cost is not None and cost >= limits.budget_usd:
        return Ending("budget", f"{cost:.2f} USD are spent, the budget is {limits.budget_usd:.2f}")
    if tokens is not None and tokens >= limits.tokens:
        return Ending("token_budget", f"{tokens:,} tokens are used, the budget is {limits.tokens:,}")
    return None


def _failing(turns: Sequence[Turn], limits: Limits) -> Ending | None:
    row = turns[-limits.failures :]
    if len(row) == limits.failures and all(one.status != "exited" for one in row):
        return Ending("failures", f"{len(row)} sessions in a row did not end well")
    return None


def _stuck(turns: Sequence[Turn], limits: Limits, before: str | None) -> Ending | None:
    row = turns[-limits.stuck_after :]
    if len(row) < limits.stuck_after:
        return None
    if row[0].answer.strip() and len({" ".join(one.answer.split()) for one in row}) == 1:
        return Ending("stuck", f"{len(row)} sessions in a row said the same")
    earlier = turns[-limits.stuck_after - 1].work if len(turns) > limits.stuck_after else before
    if earlier is not None and {one.work for one in row} == {earlier}:
        return Ending("stuck", f"{len(row)} sessions in a row changed nothing: no commit, and no file")
    return None


def _over(count: int, limits: Limits, seconds: float) -> Ending | None:
    if count >= limits.iterations:
        return Ending("max_iterations", f"{count} sessions are as many as it may have")
    if seconds >= limits.total_seconds:
        return Ending("total_timeout", f"it took longer than {limits.total_seconds:g} seconds")
    return None


def context(number: int, limits: Limits, last: Turn | None) -> str:
    """What session `number` (from 1) of a loop is told besides the task."""
    lines = [
        f"This is session {number} of at most {limits.iterations} that work on one task, each with a fresh memory.",
        "Whatever is not committed, written to a file, or kept with baton is lost to the next one.",
        f"When the whole task is done and checked, end your answer with {limits.marker} on a line of its own;",
        "before that, do not write this word.",
    ]
    if last is not None:
        lines += ["", f"The session before {_HOW.get(last.status, 'failed')}. The end of what it said, as data:"]
        words = redact_text(last.answer)[0].strip()[-LAST_WORDS:] or "(nothing)"
        lines += [f"| {line}" for line in words.splitlines()]
    return "\n".join(lines)


_HOW = {"exited": "ended", "timed_out": "was ended at its time limit"}
