"""Find sessions that are marked as active but that nobody works in any more, and mark them as ended."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from baton_git.agents.hook_events.hook_session import HookSessionStore
from baton_git.core.records.lineage import Session
from baton_git.core.state import Key, State
from baton_git.core.times import iso, parse_time_or_none
from baton_git.namespace.workspace import Workspace


def find_gone_sessions(ws: Workspace) -> dict[str, str]:
    """Return the sessions seen by hooks on this machine whose process is gone, with the time each was last seen."""
    memory = HookSessionStore(str(ws.branch.store.repository.common_dir))
    if not Path(memory.folder).is_dir():
        return {}
    from baton_git.agents.hook_events.hook_session import list_gone  # imports psutil, needed only where hooks ran

    names = list_gone(memory)
    return {session.session: session.last_seen for session in memory.all() if session.session in names}


def find_abandoned_sessions(ws: Workspace, state: State) -> dict[str, str]:
    """Return the active sessions that nobody works in any more, with the time each was last seen (empty if unknown).

    These are the sessions of `find_gone_sessions`, and the session that the acting session follows in this work tree,
    unless hooks saw that session and did not see its end.
    """
    active: set[str | None] = {known.id for known in state.outlines(Session) if known.status == "active"} - {ws.session}
    if not active:
        return {}
    abandoned = {id_: seen for id_, seen in find_gone_sessions(ws).items() if id_ in active}
    before = ws.actor.follows
    if before is not None and before in active and before not in abandoned and not _is_hooked(ws, before):
        abandoned[before] = ""
    return abandoned


def _is_hooked(ws: Workspace, session: str) -> bool:
    memory = HookSessionStore(str(ws.branch.store.repository.common_dir))
    return any(known.session == session and not known.ended for known in memory.all())


def mark_gone(state: State, now: datetime, last_seen: Mapping[str, str], why: str = "its process is gone") -> State:
    """Return the state with these active sessions marked as ended. Sessions without a record are ignored.

    Args:
        now: the end of sessions for which no time is known.
        last_seen: the time each session was last seen, ISO 8601; empty if unknown.
        why: the summary for sessions without one.
    """
    for id_, seen in last_seen.items():
        session = state.entry(Key(Session.kind, id_))
        if isinstance(session, Session) and session.status == "active":
            ended = iso(parse_time_or_none(seen) or now)
            state = state.put(session.replace(status="ended", ended=ended, summary=session.summary or why))
    return state
