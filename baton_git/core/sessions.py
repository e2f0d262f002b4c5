"""The records of sessions in a state: how they are found, recorded and archived."""

from __future__ import annotations

from datetime import datetime

from baton_git.core.lifecycle import Policy, choose_surplus
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import parse
from baton_git.core.records.lineage import Session
from baton_git.core.state import Key, State
from baton_git.core.times import iso


def find_session(state: State, id_: str) -> Session | None:
    """Return the record of a session, live or archived, or None."""
    live = state.entry(Key(Session.kind, id_))
    if isinstance(live, Session):
        return live
    closed = state.entry(Key(Session.kind, id_, archived=True))
    return parse(Session, closed.record) if isinstance(closed, Archived) else None


def record_session(state: State, session: Session, now: datetime, policy: Policy) -> State:
    """Return the state with the record of a session.

    Of the other sessions beyond the newest `sessions_kept`, some are archived (see `choose_surplus`).
    """
    state = state.remove(Key(Session.kind, session.id, archived=True)).put(session)
    live = state.records(Session)
    surplus = [old for old in live[: max(0, len(live) - policy.sessions_kept)] if old.id != session.id]
    for old in choose_surplus(surplus, session.id):
        state = state.archive(old, at=iso(now), reason="older than the newest sessions", session=session.id)
    return state
