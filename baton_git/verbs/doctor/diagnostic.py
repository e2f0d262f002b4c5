"""The findings of checks, and their repairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

Severity = Literal["ok", "warning", "error", "unknown"]


def _no_paths() -> Iterable[Path]:
    return ()


def _do_nothing() -> None:
    return


class Repair(NamedTuple):
    """A repair for `doctor --fix`. It can be undone, because everything in `paths` and `files` is backed up first.

    Attributes:
        about: what the repair does, in the imperative: `Remove 2 files that killed processes left`.
        run: carries out the repair.
        paths: returns the files outside of the branch that it may create, change or remove; it is called before and
            after the repair.
        files: the contents that a new revision gives to files of the branch, by path.
        only_adds: whether it only adds files that nothing refers to yet, so that there is nothing to undo.
    """

    about: str
    run: Callable[[], None] = _do_nothing
    paths: Callable[[], Iterable[Path]] = _no_paths
    files: Mapping[str, bytes] = MappingProxyType({})
    only_adds: bool = False


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
