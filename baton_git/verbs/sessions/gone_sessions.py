"""Sessions that began and did not end, and in which nobody works any more."""

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
    """Return the sessions that hooks saw on this machine and whose process is gone: by name, when it was seen last."""
    memory = HookSessionStore(str(ws.branch.store.repository.common_dir))
    if not Path(memory.folder).is_dir():
        return {}
    from baton_git.agents.hook_events.live_sessions import gone  # loads psutil, only where hooks ran

    names = gone(memory)
    return {seen.session: seen.seen for seen in memory.all() if seen.session in names}


def find_left_sessions(ws: Workspace, state: State) -> dict[str, str]:
    """Return all sessions at work that nobody is in, as `find_gone_sessions`: also the one whose place the acting
    session takes in this work tree, unless hooks know that it goes on.
    """
    active = {session.id for session in state.records(Session) if session.status == "active"} - {ws.session}
    if not active:
        return {}
    left = {id_: seen for id_, seen in find_gone_sessions(ws).items() if id_ in active}
    before = ws.actor.follows
    if before in active and before not in left and not _is_hooked(ws, before):
        left[before] = ""
    return left


def _is_hooked(ws: Workspace, session: str) -> bool:
    memory = HookSessionStore(str(ws.branch.store.repository.common_dir))
    return any(seen.session == session and not seen.ended for seen in memory.all())


def mark_gone(state: State, now: datetime, last_seen: Mapping[str, str], why: str = "its process is gone") -> State:
    """Return the state in which sessions have ended; those that have ended, or have no record here, stay as they are.

    Args:
        last_seen: by session, when it was seen last, ISO 8601; empty where nobody knows.
        why: the summary of one that has none.
    """
    for id_, seen in last_seen.items():
        session = state.entry(Key(Session.kind, id_))
        if isinstance(session, Session) and session.status == "active":
            ended = iso(parse_time_or_none(seen) or now)
            state = state.put(session.replace(status="ended", ended=ended, summary=session.summary or why))
    return state
