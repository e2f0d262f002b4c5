"""How a namespace stands: counts per kind, who is at work, and what needs attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, cast

from baton_git.core.kinds import BY_FOLDER, KINDS, LIVE, SINGLETONS, KindInfo, value_at
from baton_git.core.records.base import Record
from baton_git.core.records.lineage import Session
from baton_git.core.state import State, Unreadable
from baton_git.namespace.remote_selection import WaitingCount, pending_counts, waiting_counts
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace


class NamespaceStatus(NamedTuple):
    """Counts per kind, who is at work, and what needs attention."""

    version: Revision
    counts: dict[str, dict[str, int]]
    sessions: tuple[Session, ...]
    damaged: tuple[Unreadable, ...]
    checked_out_at: str | None
    waiting: tuple[WaitingCount, ...] = ()
    pending: Mapping[str, int] = MappingProxyType({})


def read_status(ws: Workspace) -> NamespaceStatus:
    """Return how a namespace stands."""
    version = ws.branch.read()
    state = version.state
    counts = {f"{info.kind}s": _count_records(state, info) for info in KINDS.values() if info.counted is not None}
    active = tuple(session for session in state.records(Session) if session.status == "active")
    place = ws.branch.store.checked_out_at(ws.branch.ref)
    damaged = tuple(state.unreadable((*SINGLETONS, *KINDS)))
    waiting = tuple(waiting_counts(ws))
    return NamespaceStatus(version, counts, active, damaged, str(place) if place else None, waiting, pending_counts(ws))


def _count_records(state: State, info: KindInfo) -> dict[str, int]:
    """How many live records of a kind there are, as its `counted` says; they are opened only to look at a field."""
    ids = state.ids(info.kind)
    if info.counted == LIVE:
        return {LIVE: len(ids)} if ids else {}
    if info.counted == BY_FOLDER:
        return dict(Counter(sorted(id_.partition("/")[0] for id_ in ids)))
    records = state.records(cast("type[Record]", info.model))
    return dict(Counter(str(value_at(record, info.counted or "")) for record in records))
