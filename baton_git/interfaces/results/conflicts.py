"""Contested values, and how one was settled."""

from __future__ import annotations

from typing import Any

from baton_git.core.records.conflict import Conflict
from baton_git.core.times import iso
from baton_git.namespace.commit_log import LogEntry
from baton_git.verbs.conflict_blame import Writers


def listed(conflict: Conflict, writers: Writers) -> dict[str, Any]:
    """A conflict with its record's own fields, and who wrote its sides, as far as the history says."""
    return {**conflict.as_data(), "writers": {side: _writer(entry) for side, entry in writers.items()}}


def _writer(entry: LogEntry) -> dict[str, Any]:
    names = ("session", "agent", "machine", "commit", "revision")
    return {"time": iso(entry.time), "author": entry.author, **{name: getattr(entry, name) for name in names}}


def settled(conflict: Conflict) -> dict[str, Any]:
    """Which value of which record it was about."""
    return {"id": conflict.id, "record": conflict.record_id, "field": conflict.field}
