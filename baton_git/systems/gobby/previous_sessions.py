"""Find what earlier sessions left: their handoffs, by work tree or by id, and their unfinished items.

Every session start imports this module, so it imports nothing that reads transcripts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from baton_git.core.errors import Ambiguous, Corrupt, NotFound, shorten
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import parse
from baton_git.core.records.lineage import CLOSED, OPEN, Session
from baton_git.core.state import Key, State
from baton_git.core.times import parse_time_or_none
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.record import Handoff, TodoItem

MAX_SESSIONS = 20
"""Maximum number of sessions in which unfinished items are searched."""


def list_handoffs(ws: Workspace, state: State, other_than: str | None = None) -> list[Handoff]:
    """Return the handoffs that a session in this work tree can continue, newest first.

    These are the handoffs of this work tree on this machine. If there are none, the handoffs of other machines are
    returned, but never those of another work tree of this machine.

    Args:
        other_than: the id of a session, or of its handoff, which is left out.
    """
    others = [handoff for handoff in state.records(Handoff) if other_than not in (handoff.id, session_of(handoff))]
    here = [handoff for handoff in others if ws.is_in_work_tree(handoff.machine, handoff.worktree)]
    elsewhere = [handoff for handoff in others if not ws.is_own_machine(handoff.machine)]
    return sorted(here or elsewhere, key=extraction_time, reverse=True)


def find_last_handoff(ws: Workspace, state: State, other_than: str | None = None) -> Handoff | None:
    """Return the newest handoff of `list_handoffs`, or None."""
    return next(iter(list_handoffs(ws, state, other_than)), None)


def list_concurrent(
    state: State, anchor: Handoff | None, *, live: Collection[str] = (), other_than: str | None = None
) -> list[Handoff]:
    """Return the handoffs of other sessions that were active after the session of `anchor` began, newest first.

    They can belong to any work tree and machine. Handoffs of `live` sessions, which are active now, are included. If
    `anchor` is None, only these are returned.

    Args:
        other_than: a session whose own handoff is left out.
    """
    since = _work_span(state, anchor)[0] if anchor is not None else math.inf
    concurrent = [
        handoff for handoff in state.records(Handoff)
        if session_of(handoff) != other_than and handoff != anchor
        and (session_of(handoff) in live or _work_span(state, handoff)[1] > since)
    ]  # fmt: skip
    return sorted(concurrent, key=extraction_time, reverse=True)


def _work_span(state: State, handoff: Handoff) -> tuple[float, float]:
    """Return when a session began and when it was last active, in seconds since the epoch.

    It began at the time in its session record or, without a record, in its handoff. It was last active when its facts
    were extracted, or at the end in its record if that is later.
    """
    session = state.entry(Key(Session.kind, session_of(handoff)))
    own = session if isinstance(session, Session) else None
    began = parse_time_or_none(own.started if own else handoff.started)
    ended = parse_time_or_none(own.ended) if own else None
    last = max(extraction_time(handoff)[0], ended.timestamp() if ended else 0.0)
    return began.timestamp() if began else last, last


def session_of(handoff: Handoff) -> str:
    """Return the session's id: the handoff's id without the agent."""
    return handoff.id.partition("/")[2]


def extraction_time(handoff: Handoff) -> tuple[float, str]:
    """Return the sort key of handoffs: their time of extraction."""
    extracted = parse_time_or_none(handoff.extracted_at)
    return (extracted.timestamp() if extracted is not None else 0.0, handoff.id)


def has_substance(handoff: Handoff) -> bool:
    """Return whether the session changed files, made commits, or left a task, to-dos or notes. Sessions that only
    answered questions have no substance."""
    facts = handoff.facts
    has_changed_files = bool(facts.files_modified) or any(use.changes for use in facts.files_used)
    return bool(has_changed_files or facts.git_commits or facts.todo_state or facts.active_task or handoff.notes)


class UnfinishedItem(NamedTuple):
    """A to-do item that a session left open."""

    todo: TodoItem
    session: str


def list_unfinished(
    state: State, newest_first: Sequence[Handoff], *, shown: Collection[str] = (), acting: str | None = None
) -> list[UnfinishedItem]:
    """Return the to-do items that sessions left open, and that are in no newer list and were not closed later.

    Args:
        newest_first: the handoffs to search; only the first `MAX_SESSIONS` are read.
        shown: ids of handoffs that the brief shows in full, so that their items are left out.
        acting: the id of the current session; items of its own list are left out.
    """
    by_start = state.select(Session, lambda session: session.has_todos)
    started_at = {session.id: session.date for session in state.outlines(Session)}
    closed = {todo.content: session.started for session in by_start for todo in session.todos if todo.status in CLOSED}
    seen = {todo.content for session in by_start if session.id == acting for todo in session.todos}
    unfinished: list[UnfinishedItem] = []
    for handoff in newest_first[:MAX_SESSIONS]:
        id_ = session_of(handoff)
        started = started_at.get(id_, " ")  # an unknown session counts as the earliest
        new = [todo for todo in handoff.facts.todo_state if todo.content not in seen]
        seen |= {todo.content for todo in new}
        open_todos = [todo for todo in new if todo.status in OPEN and closed.get(todo.content, "") < started]
        unfinished += [UnfinishedItem(todo, id_) for todo in open_todos if handoff.id not in shown]
    return unfinished


# --- by id


def read_handoff(state: State, id_: str) -> Handoff | None:
    """Return the live or archived handoff `<agent>/<session>`; None if it does not exist or cannot be read."""
    entry = state.entry(Key(Handoff.kind, id_)) or state.entry(Key(Handoff.kind, id_, archived=True))
    if isinstance(entry, Archived):
        return parse(Handoff, entry.record)
    return entry if isinstance(entry, Handoff) else None


def resolve_handoff(state: State, text: str) -> Handoff:
    """Return the handoff that `text` names: an id, the session alone, or an unambiguous prefix of either.

    Unless `text` is a complete id, archived handoffs are searched only if no live one matches.

    Raises:
        NotFound: no handoff matches.
        Ambiguous: several handoffs match.
        Corrupt: the handoff cannot be read.
    """
    live, archived = sorted(state.ids(Handoff.kind)), sorted(state.ids(Handoff.kind, archived=True))
    matches = [text] if text in (*live, *archived) else _match_ids(live, text) or _match_ids(archived, text)
    if len(matches) > 1:
        raise Ambiguous("handoff", text, matches)
    if not matches:
        raise NotFound("handoff", text, hint="to see the newest one: baton handoff show")
    if matches[0] in live:
        return state.get(Handoff, matches[0])
    handoff = read_handoff(state, matches[0])
    if handoff is None:
        raise Corrupt(
            f"the archived handoff {shorten(matches[0])}", "cannot be read", hint="to see the reason: baton validate"
        )
    return handoff


def _match_ids(ids: Sequence[str], text: str) -> list[str]:
    """Return the ids whose session is exactly `text`. If there are none, return all ids that begin with `text`, with or
    without the agent."""
    exact = [id_ for id_ in ids if id_.partition("/")[2] == text]
    return exact or [id_ for id_ in ids if text and (id_.startswith(text) or id_.partition("/")[2].startswith(text))]
