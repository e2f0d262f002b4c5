"""List the open conflicts of a namespace. This is done at the end of every session, so this module imports little."""

from __future__ import annotations

from baton_git.core.records.conflict import Conflict
from baton_git.core.state import Selection
from baton_git.namespace.workspace import Workspace


def list_open_conflicts(ws: Workspace) -> Selection[Conflict]:
    """Return the open conflicts, sorted by record and field."""
    return ws.branch.read().state.select(
        Conflict, lambda _: True, lambda conflict: (conflict.record_kind, conflict.record_id, conflict.field)
    )
