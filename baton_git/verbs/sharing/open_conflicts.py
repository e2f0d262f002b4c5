"""List the open conflicts of a namespace. This is done at the end of every session, so this module imports little."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from baton_git.core.output import count_noun
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import Selection
from baton_git.namespace.workspace import Workspace


def list_open_conflicts(ws: Workspace) -> Selection[Conflict]:
    """Return the open conflicts, sorted by record and field."""
    return ws.branch.read().state.select(
        Conflict, lambda _: True, lambda conflict: (conflict.record_kind, conflict.record_id, conflict.field)
    )


def describe_unnamed(ids: Sequence[str], named: Collection[str]) -> list[str]:
    """Return a line with the ids of the open conflicts; none if all of them were named before."""
    if set(named).issuperset(ids):
        return []
    return [f"{count_noun(len(ids), 'conflict is', 'conflicts are')} open: {', '.join(ids[:5])} (baton conflicts)"]
