"""The findings of checks, and their repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, NamedTuple

Severity = Literal["ok", "warning", "error", "unknown"]


class Repair(NamedTuple):
    """A repair for `doctor --fix`.

    Attributes:
        about: what the repair does, in the imperative: `Remove 2 files that killed processes left`.
        run: carries out the repair, and returns in one line how to take it back; None if nobody needs to.
        paths: returns the files of the person (hooks, settings of agents, git's configuration) that it may create,
            change or remove; it is called before and after the repair. These are copied first. None if there are none:
            records have a history, and all else is baton's own data of this machine.
    """

    about: str
    run: Callable[[], str | None]
    paths: Callable[[], Iterable[Path]] | None = None


class Diagnostic(NamedTuple):
    """One finding of a check.

    Attributes:
        summary: the finding in one sentence, without a full stop.
        cause: the possible cause, and details.
        advice: what a person can do, as a command if there is one.
        repair: what `doctor --fix` does; None if a person must act.
    """

    severity: Severity
    summary: str
    cause: str = ""
    advice: str = ""
    repair: Repair | None = None


def ok(summary: str) -> Diagnostic:
    """Return a finding without a problem."""
    return Diagnostic("ok", summary)
