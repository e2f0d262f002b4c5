"""What was checked, and what is wrong with it."""

from __future__ import annotations

from typing import Any

from baton_git.verbs.validation import ValidatedFile


def checked(one: ValidatedFile) -> dict[str, Any]:
    """One file, and its faults."""
    faults = [fault._asdict() for fault in one.faults]
    return {"path": one.path, "kind": one.kind, "ok": not one.faults, "faults": faults}
