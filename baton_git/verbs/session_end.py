"""End a session: store where the work stands."""

from __future__ import annotations

from datetime import datetime

from baton_git.core.errors import InvalidArgument
from baton_git.core.lifecycle import find_session
from baton_git.core.records.lineage import Session
from baton_git.core.state import HEAD, State
from baton_git.core.times import iso
from baton_git.namespace.last_seen import last_seen
from baton_git.namespace.revision import Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.session_start import add_session


def end_session(
    ws: Workspace,
    now: datetime,
    *,
    context: str | None = None,
    summary: str | None = None,
    expected_revision: int | None = None,
) -> WriteResult:
    """End the acting session: store where the work stands, and what was done.

    Args:
        context: replaces the text of when the session began. If somebody else wrote another one since, both are kept,
            theirs first.
        summary: what the session did, in a sentence.
        expected_revision: the revision that must still be the newest.

    Raises:
        Stale: another revision is the newest.
        InvalidArgument: the context is blank.
    """
    if context is not None and not context.strip():
        raise InvalidArgument("the context is empty", hint="say where the work stands, or leave it out")

    def change(tip: Revision) -> State:
        state = tip.state
        if context is not None:
            state = _put_context(ws, now, tip, context, replace_all=expected_revision is not None)
        return _mark_ended(ws, now, state, summary)

    return ws.update("wrap", now, change, expected_revision=expected_revision)


def _put_context(ws: Workspace, now: datetime, tip: Revision, context: str, *, replace_all: bool) -> State:
    head = tip.state.head
    guards = ws.actor.session is not None and not replace_all  # nobody knows what a nameless writer has seen
    keeps = guards and head.context not in (_find_context_at_start(ws, tip), context, "")
    text = f"{head.context.rstrip()}\n\n{context}" if keeps else context
    session = {"session_id": ws.session, "updated_at": iso(now)} if ws.actor.session else {"updated_at": iso(now)}
    return tip.state.put(head.replace(context=text, **session), HEAD)


def _find_context_at_start(ws: Workspace, tip: Revision) -> str | None:
    """What the session saw when it began or wrote last; None when it never did."""
    if find_session(tip.state, ws.session) is None:
        return None
    seen = last_seen(ws.branch, tip.commit, ws.session) if tip.commit else None
    for commit in (*reversed(seen.own), seen.base) if seen is not None else ():
        if commit is not None and ws.branch.entry(commit).op in ("boot", "wrap", "write"):
            return ws.branch.revision_at(commit).state.head.context
    return None


def _mark_ended(ws: Workspace, now: datetime, state: State, summary: str | None) -> State:
    if ws.actor.session is None:
        return state
    state = add_session(ws, now, state, None)
    session = state.get(Session, ws.session)
    fields = {"summary": summary} if summary else {}
    return state.put(session.replace(status="ended", ended=iso(now), **fields))
