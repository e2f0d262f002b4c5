"""Decide when a loop of sessions ends, and write the context of each session. Pure functions of the sessions so far."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from baton_git.core.redaction import redact_text

MARKER = "LOOP_COMPLETE"
MAX_LAST_WORDS = 4000
"""Maximum length, in characters, of the end of an answer that the next session gets."""


class LoopLimits(NamedTuple):
    """The limits of a loop; each has a finite value.

    Attributes:
        marker: the line with which a session reports that the task is complete.
        stuck_after: the loop ends after this many sessions in a row with equal answers, or without changes.
        failures: the loop ends after this many failed sessions in a row.
    """

    marker: str = MARKER
    iterations: int = 20
    session_seconds: float = 1800.0
    total_seconds: float = 8 * 3600.0
    stuck_after: int = 3
    budget_usd: float = 20.0
    tokens: int = 50_000_000
    failures: int = 3


class LoopTurn(NamedTuple):
    """An ended session of a loop.

    Attributes:
        status: the status of its record: `exited`, `timed_out`, `failed` or `stopped`.
        answer: its last answer.
        work: the digest of the work tree after the session; None if unknown.
    """

    status: str
    answer: str
    work: str | None = None
    cost_usd: float | None = None
    tokens: int | None = None


class LoopEnding(NamedTuple):
    """The reason why a loop ended, and its description in `why`.

    The reason is `completed`, `max_iterations`, `stuck`, `failures`, `budget`, `token_budget`, `total_timeout`,
    `stop_file`, `interrupted` or `error`.
    """

    by: str
    why: str


def decide_ending(
    turns: Sequence[LoopTurn], limits: LoopLimits, prompt: str, before: str | None, seconds: float
) -> LoopEnding | None:
    """Return why the loop ends after these sessions; None if it continues.

    Args:
        prompt: the prompt of the sessions, which they may repeat.
        before: the digest of the work tree at the start.
        seconds: the time since the start.
    """
    last = turns[-1]
    if last.status == "exited" and says_done(last.answer, limits.marker, prompt):
        return LoopEnding("completed", f"the session said {limits.marker}")
    return (
        _check_budget(turns, limits) or _check_progress(turns, limits, before) or _check_length(turns, limits, seconds)
    )


def says_done(answer: str, marker: str, prompt: str) -> bool:
    """Return whether the last line of the answer is the marker or ends with it. A last line that is also in `prompt`
    does not count, unless it is the marker alone."""
    last = last_line(answer)
    if last in {line.strip() for line in prompt.splitlines()} - {marker}:
        return False
    return is_marker(last, marker) or re.search(rf"(?<![\w-]){re.escape(marker)}[*_`.!]*\Z", last) is not None


def is_marker(line: str, marker: str) -> bool:
    """Return whether the line consists of the marker only, with or without Markdown emphasis."""
    return marker in (line, line.strip("*_`# "))


def last_line(text: str) -> str:
    """Return the last line that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


def total_cost(turns: Sequence[LoopTurn]) -> float | None:
    """Return the total cost of the sessions that report one, in USD; None if none does."""
    known = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
    return round(sum(known), 6) if known else None


def total_tokens(turns: Sequence[LoopTurn]) -> int | None:
    """Return the total number of tokens of the sessions that report it; None if none does."""
    known = [turn.tokens for turn in turns if turn.tokens is not None]
    return sum(known) if known else None


def _check_budget(turns: Sequence[LoopTurn], limits: LoopLimits) -> LoopEnding | None:
    cost, tokens = total_cost(turns), total_tokens(turns)
    if cost is not None and cost >= limits.budget_usd:
        return LoopEnding("budget", f"{cost:.2f} USD are spent, the budget is {limits.budget_usd:.2f}")
    if tokens is not None and tokens >= limits.tokens:
        return LoopEnding("token_budget", f"{tokens:,} tokens are used, the budget is {limits.tokens:,}")
    return None


def _check_progress(turns: Sequence[LoopTurn], limits: LoopLimits, before: str | None) -> LoopEnding | None:
    row = turns[-limits.failures :]
    if len(row) == limits.failures and all(turn.status != "exited" for turn in row):
        return LoopEnding("failures", f"{len(row)} sessions in a row failed")
    row = turns[-limits.stuck_after :]
    if len(row) < limits.stuck_after:
        return None
    if row[0].answer.strip() and len({" ".join(turn.answer.split()) for turn in row}) == 1:
        return LoopEnding("stuck", f"{len(row)} sessions in a row gave the same answer")
    earlier = turns[-limits.stuck_after - 1].work if len(turns) > limits.stuck_after else before
    if earlier is not None and {turn.work for turn in row} == {earlier}:
        return LoopEnding("stuck", f"{len(row)} sessions in a row changed nothing: no commit, and no file")
    return None


def _check_length(turns: Sequence[LoopTurn], limits: LoopLimits, seconds: float) -> LoopEnding | None:
    if len(turns) >= limits.iterations:
        return LoopEnding("max_iterations", f"{len(turns)} sessions have run, which is the limit")
    if seconds >= limits.total_seconds:
        return LoopEnding("total_timeout", f"the loop took longer than {limits.total_seconds:g} seconds")
    return None


def write_context(number: int, limits: LoopLimits, last: LoopTurn | None) -> str:
    """Return the text that session `number` (from 1) of a loop gets in addition to the task."""
    lines = [
        f"This is session {number} of at most {limits.iterations} that work on one task, each with a fresh memory.",
        "The next session loses everything that is not committed, written to a file, or stored with baton.",
        f"When the whole task is done and checked, end your answer with {limits.marker} on a line of its own;",
        "before that, do not write this word.",
    ]
    if last is not None:
        how = {"exited": "ended", "timed_out": "was ended at its time limit"}.get(last.status, "failed")
        lines += ["", f"The previous session {how}. The end of its answer, as data:"]
        words = redact_text(last.answer)[0].strip()[-MAX_LAST_WORDS:] or "(nothing)"
        lines += [f"| {line}" for line in words.splitlines()]
    return "\n".join(lines)
