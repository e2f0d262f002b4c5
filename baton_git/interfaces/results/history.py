"""Commits and what they changed."""

from __future__ import annotations

from typing import Any

from baton_git.core.times import iso
from baton_git.verbs.history import Compared, Shown


def shown(one: Shown) -> dict[str, Any]:
    """A commit, who made it and how, and what it changed."""
    entry = one.entry
    return {
        "revision": entry.revision,
        "commit": entry.commit,
        "parents": list(entry.parents),
        "time": iso(entry.time),
        "author": entry.author,
        "op": entry.op,
        "session": entry.session,
        "agent": entry.agent,
        "machine": entry.machine,
        "subject": entry.subject,
        "changes": [change.as_data() for change in one.changes],
    }


def compared(found: Compared) -> dict[str, Any]:
    """Two versions, and what leads from the one to the other."""
    return {
        "before": {"revision": found.before.number, "commit": found.before.commit},
        "after": {"revision": found.after.number, "commit": found.after.commit},
        "changes": [one.as_data() for one in found.changes],
    }
