"""What a check finds, and what repairs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

Severity = Literal["ok", "warning", "error", "unknown"]


def _no_paths() -> Iterable[Path]:
    return ()


def _nothing() -> None:
    return


class Repair(NamedTuple):
    """One thing that `doctor --fix` can do. It can be undone, as everything in `paths` and `files` is kept first.

    Attributes:
        about: what it does, as an imperative: `Remove 2 files that killed processes left`.
        run: does it.
        paths: gives the files outside of the branch that it may make, change or remove; asked before and after.
        files: by path on the branch, the bytes that a new revision shall have there.
        only_adds: it only adds what nothing refers to yet, so there is nothing to undo.
    """

    about: str
    run: Callable[[], None] = _nothing
    paths: Callable[[], Iterable[Path]] = _no_paths
    files: Mapping[str, bytes] = MappingProxyType({})
    only_adds: bool = False


class Diagnostic(NamedTuple):
    """One thing that a check found.

    Attributes:
        summary: what is so, in a sentence without a full stop.
        cause: why it may be so, and details.
        advice: what a person can do about it, a command where there is one.
        repair: what `doctor --fix` does about it; None where it leaves it to a person.
    """

    severity: Severity
    summary: str
    cause: str = ""
    advice: str = ""
    repair: Repair | None = None


def count(number: int, word: str) -> str:
    """Return `1 file`, `2 files`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def ok(summary: str) -> Diagnostic:
    """Return a finding that all is well."""
    return Diagnostic("ok", summary)
