"""What earlier sessions left: their facts, those of a work tree, and what they left undone.

Every start of a session looks here, so nothing of what reads transcripts is loaded for it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import NamedTuple

from baton_git.core.errors import Ambiguous, Corrupt, NotFound, shortened
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import parse
from baton_git.core.records.lineage import CLOSED, OPEN, Session, Todo
from baton_git.core.state import Key, State
from baton_git.core.times import when
from baton_git.systems.gobby.record import Handoff, TodoItem

LOOKED_BACK = 20
"""Sessions in which something undone is looked for."""


def of_worktree(
    state: State, *, worktree: str | os.PathLike[str] | None, machine: str | None, other_than: str | None = None
) -> list[Handoff]:
    """The handoffs that a session in a work tree may go on from, the newest first: those of this machine and work tree.

    Where there is none, those of other machines; never those of another work tree of this machine.

    Args:
        worktree: a folder of this machine.
        other_than: a session, by its own id or with its agent's name before it, whose handoff does not count.
    """
    others = [one for one in state.records(Handoff) if other_than not in (one.id, one.id.partition("/")[2])]
    place = os.path.realpath(worktree) if worktree is not None else None
    here = [one for one in others if one.machine == machine]
    same = [one for one in here if one.worktree is not None and os.path.realpath(one.worktree) == place]
    elsewhere = [one for one in others if one.machine != machine]
    return sorted(same or elsewhere, key=age_of, reverse=True)


def last(
    state: State, *, worktree: str | os.PathLike[str] | None, machine: str | None, other_than: str | None = None
) -> Handoff | None:
    """The newest of them; None when there is none."""
    return next(iter(of_worktree(state, worktree=worktree, machine=machine, other_than=other_than)), None)


def has_substance(handoff: Handoff) -> bool:
    """Whether something was done or is left to do, beyond a question."""
    facts = handoff.facts
    return bool(facts.files_modified or facts.git_commits or facts.todo_state or facts.active_task or handoff.notes)


class Unfinished(NamedTuple):
    """An item that a session left open."""

    todo: TodoItem
    session: str


def unfinished(
    state: State, newest_first: Sequence[Handoff], *, told: Collection[str] = (), acting: str | None = None
) -> list[Unfinished]:
    """What sessions left open, and no later one of them has in its own list, as done or otherwise.

    Args:
        told: ids of handoffs whose own items need not be given, since they are told whole.
        acting: the session at work; what stands in its own list is its own.
    """
    found, closed = list[Unfinished](), _closed(state)
    known = {one.content for one in _own_list(state, acting)}
    for one in newest_first[:LOOKED_BACK]:
        session = one.id.partition("/")[2]
        began = _began(state, session)
        new = [todo for todo in one.facts.todo_state if todo.content not in known]
        known |= {todo.content for todo in new}
        left = [todo for todo in new if todo.status in OPEN and closed.get(todo.content, "") < began]
        found += [Unfinished(todo, session) for todo in left if one.id not in told]
    return found


def _closed(state: State) -> dict[str, str]:
    """What sessions closed in their own lists, and when the last of them began."""
    sessions = sorted(state.records(Session), key=lambda one: one.started)
    return {todo.content: one.started for one in sessions for todo in one.todos if todo.status in CLOSED}


def _began(state: State, session: str) -> str:
    """When a session began; of one that nobody knows, as early as can be."""
    entry = state.entry(Key(Session.kind, session))
    return entry.started if isinstance(entry, Session) else " "


def _own_list(state: State, session: str | None) -> tuple[Todo, ...]:
    entry = state.entry(Key(Session.kind, session)) if session is not None else None
    return entry.todos if isinstance(entry, Session) else ()


# --- by their ids


def found_at(state: State, id_: str) -> Handoff | None:
    """The handoff of this id, also where it went to the archive; None where there is none that can be read."""
    entry = state.entry(Key(Handoff.kind, id_)) or state.entry(Key(Handoff.kind, id_, archived=True))
    if isinstance(entry, Archived):
        return parse(Handoff, entry.record)
    return entry if isinstance(entry, Handoff) else None


def of_session(state: State, agent: str, session: str) -> Handoff | None:
    """The handoff of a session; None when there is none."""
    return found_at(state, f"{agent}/{session}")


def find(state: State, text: str) -> Handoff:
    """The handoff that an id names: whole, that of the session alone, or a unique beginning of either.

    Those in the archive are found so too, where none that is live is meant.

    Raises:
        NotFound: there is none.
        Ambiguous: there are several.
        Corrupt: it cannot be read.
    """
    live, closed = sorted(state.ids(Handoff.kind)), sorted(state.ids(Handoff.kind, archived=True))
    near = [text] if text in (*live, *closed) else _near(live, text) or _near(closed, text)
    if len(near) > 1:
        raise Ambiguous("handoff", text, near)
    if not near:
        raise NotFound("handoff", text, hint="baton handoff show shows the newest")
    if near[0] in live:
        return state.get(Handoff, near[0])
    found = found_at(state, near[0])
    if found is None:
        raise Corrupt(f"the archived handoff {shortened(near[0])}", "cannot be read", hint="baton validate says why")
    return found


def _near(ids: Sequence[str], text: str) -> list[str]:
    """Of these ids the one whose session is called so, or all that begin so."""
    exact = [id_ for id_ in ids if id_.partition("/")[2] == text]
    return exact or [id_ for id_ in ids if text and (id_.startswith(text) or id_.partition("/")[2].startswith(text))]


def age_of(one: Handoff) -> tuple[float, str]:
    point = when(one.extracted_at)
    return (point.timestamp() if point is not None else 0.0, one.id)
