"""Snapshots of sessions that were recorded."""

from __future__ import annotations

from typing import Any

from baton_git.interfaces.results.changed import place
from baton_git.systems.ecc.record import Snapshot
from baton_git.systems.ecc.snapshot_history import Body
from baton_git.systems.ecc.snapshots import Recorded

RECORDED = "recorded:"
"""What a target begins with that names a snapshot which was recorded."""


def kept(one: Snapshot) -> dict[str, Any]:
    """A session of which a snapshot is kept, in short."""
    snapshot = one.snapshot
    return {
        "target": f"{RECORDED}{one.id}",
        "id": one.id,
        "created_at": one.created_at,
        "recorded_at": one.recorded_at,
        "state": snapshot.session.state,
        "workers": len(snapshot.workers),
    }


def body(one: Body) -> dict[str, Any]:
    """A snapshot that a session had, and the first version that had it."""
    return {
        "recorded_at": one.recorded_at,
        "revision": one.revision,
        "commit": one.commit,
        "snapshot": one.snapshot.as_data(),
    }


def recorded(done: Recorded) -> dict[str, Any]:
    """Whether a snapshot said something new, and the version that has it."""
    return {"id": done.id, "changed": done.changed, **place(done.written.revision)}
