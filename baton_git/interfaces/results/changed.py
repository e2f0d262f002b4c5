"""What a change did: every verb that writes answers so."""

from __future__ import annotations

from typing import Any

from baton_git.namespace.revision import Revision, WriteResult


def place(version: Revision) -> dict[str, Any]:
    """Where a version stands; of a namespace that does not exist, nowhere."""
    return {"commit": version.commit, "revision": version.number}


def told(written: WriteResult) -> dict[str, Any]:
    """The version, what it changed record by record, and what was taken out of it."""
    return {
        **place(written.revision),
        "changes": [one.as_data() for one in written.changes],
        "redactions": [{"record": str(key), "path": one.path, "kind": one.kind} for key, one in written.redactions],
    }
