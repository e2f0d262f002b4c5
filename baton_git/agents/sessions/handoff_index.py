"""Find what earlier sessions left: their handoffs, by work tree or by id, and their unfinished items.

Every session start imports this module, so it imports nothing that reads transcripts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from baton_git.agents.hook_events.hook_session import HookSessionStore
from baton_git.core.errors import Ambiguous, Corrupt, NotFound, shorten
from baton_git.core.records.base import Archived, parse
from baton_git.core.records.handoff import Handoff, TodoItem
from baton_git.core.records.lineage import CLOSED, OPEN, Session, Todo
from baton_git.core.state import Key, State
from baton_git.core.times import parse_time_or_none
from baton_git.git.local_git import GitUnavailable, SessionRepository
from baton_git.git.rewritten import MIN_HASH, find_newest, load_rewritten
from baton_git.git.source_commits import head_branch, named_ref
from baton_git.namespace.workspace import Workspace

MAX_SESSIONS = 20
"""Maximum number of sessions in which unfinished items are searched."""
MAX_HISTORY = 2000
"""Number of commits of HEAD, the newest first, in which the commits of sessions are searched."""
RECENT = 24 * 3600
GIT_SECONDS = 1.0
"""Time limit for reading the history of HEAD, for which a session's start waits."""


def list_handoffs(ws: Workspace, state: State, other_than: str | None = None) -> list[Handoff]:
    """Return the handoffs of all sessions, those nearest to this work tree first (see `group_handoffs`).

    Args:
        other_than: the id of a session, or of its handoff, which is left out.
    """
    return [handoff for group in group_handoffs(ws, state, other_than) for handoff in group]


def find_last_handoff(ws: Workspace, state: State, other_than: str | None = None) -> Handoff | None:
    """Return the first handoff of `list_handoffs`, or None."""
    return next((group[0] for group in group_handoffs(ws, state, other_than)), None)


def find_nearest(
    ws: Workspace, state: State, other_than: str | None = None, live: Collection[str] = ()
) -> list[Handoff]:
    """Return the nearest group of handoffs, without those of `live` sessions; empty if there is none."""
    return next(group_handoffs(ws, state, other_than, live), [])


def list_continued(ws: Workspace, state: State, other_than: str | None = None) -> list[Handoff]:
    """Return the handoffs whose session a new one in this work tree continues, newest first: those of this work tree,
    or else those of other machines."""
    others = _list_others(state, other_than)
    own = _make_own_check(ws)
    elsewhere = (handoff for handoff in others if not ws.is_own_machine(handoff.machine))
    return [handoff for handoff in others if own(handoff)] or list(elsewhere)


def group_handoffs(
    ws: Workspace, state: State, other_than: str | None = None, live: Collection[str] = ()
) -> Iterator[list[Handoff]]:
    """Yield the handoffs of the repository's sessions in groups, the nearest first, without empty groups.

    The groups are: the sessions of this work tree; of its branch; those whose commits, or whose branch, are in the
    history of HEAD; and all others. Each group is sorted newest first.

    Args:
        live: ids of active sessions, which are left out.
    """
    handoffs = [handoff for handoff in _list_others(state, other_than) if session_of(handoff) not in live]
    for make_check in (_make_own_check, _make_branch_check, _make_merged_check, lambda _: lambda _: True):
        if not handoffs:  # the later checks are slower
            return
        is_near = make_check(ws)
        near = {handoff.id for handoff in handoffs if is_near(handoff)}
        if near:
            yield [handoff for handoff in handoffs if handoff.id in near]
        handoffs = [handoff for handoff in handoffs if handoff.id not in near]


def _list_others(state: State, other_than: str | None) -> list[Handoff]:
    others = (handoff for handoff in state.records(Handoff) if other_than not in (handoff.id, session_of(handoff)))
    return sorted(others, key=extraction_time, reverse=True)


def _make_own_check(ws: Workspace) -> Callable[[Handoff], bool]:
    """Return a function that returns whether a session ran in this work tree, if only before it was resumed in another
    one; its handoff has the last work tree."""
    here = str(ws.folder) if ws.folder is not None else None
    memory = HookSessionStore(str(ws.branch.store.repository.common_dir))
    known = {f"{session.cli}/{session.session}" for session in memory.all() if here in session.work_trees}
    return lambda handoff: handoff.id in known or ws.is_in_work_tree(handoff.machine, handoff.worktree)


def _make_branch_check(ws: Workspace) -> Callable[[Handoff], bool]:
    branch = head_branch(ws.branch.store)
    return lambda handoff: branch is not None and handoff.branch == branch


def _make_merged_check(ws: Workspace) -> Callable[[Handoff], bool]:
    """Return a function that returns whether a session's commits, or the branch of one without commits, are in the
    newest `MAX_HISTORY` commits of HEAD."""
    store = ws.branch.store
    git = SessionRepository(store.repository.work_tree or store.repository.git_dir, ws.environment, GIT_SECONDS)
    try:
        history = set(git.run_git("rev-list", f"--max-count={MAX_HISTORY}", "HEAD", "--").split())
    except GitUnavailable:  # no commit yet
        history = set()
    rewritten = load_rewritten(store.repository.common_dir)

    def is_merged(handoff: Handoff) -> bool:
        hashes = [find_newest(rewritten, commit.hash) for commit in handoff.facts.git_commits if commit.hash]
        if hashes:
            return any(_has_commit(history, hash_) for hash_ in hashes)
        return bool(handoff.branch) and named_ref(store, f"refs/heads/{handoff.branch}") in history

    return is_merged


def _has_commit(history: Collection[str], hash_: str) -> bool:
    """Return whether a commit is among full ids; its own id may be abbreviated."""
    return hash_ in history or (len(hash_) >= MIN_HASH and any(commit.startswith(hash_) for commit in history))


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


def list_recent(state: State, anchor: Handoff | None, *, other_than: str | None = None) -> list[Handoff]:
    """Return the handoffs of other sessions that were last active in the `RECENT` seconds before the session of
    `anchor`, newest first; none if `anchor` is None."""
    if anchor is None:
        return []
    last = extraction_time(anchor)[0]
    recent = [
        handoff for handoff in state.records(Handoff)
        if session_of(handoff) != other_than and handoff != anchor and last - RECENT <= extraction_time(handoff)[0]
    ]  # fmt: skip
    return sorted(recent, key=extraction_time, reverse=True)


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


def extraction_time(handoff: Handoff) -> tuple[float, float, str]:
    """Return the sort key of handoffs: their time of extraction, and within the same second the session's start."""
    extracted, started = parse_time_or_none(handoff.extracted_at), parse_time_or_none(handoff.started)
    seconds = [time.timestamp() if time is not None else 0.0 for time in (extracted, started)]
    return seconds[0], seconds[1], handoff.id


def has_substance(handoff: Handoff) -> bool:
    """Return whether the session changed files, made commits, or left a task, to-dos or notes. Sessions that only
    answered questions have no substance."""
    facts = handoff.facts
    has_changed_files = bool(facts.files_modified) or any(use.changes for use in facts.files_used)
    return bool(has_changed_files or facts.git_commits or facts.todo_state or facts.active_task or handoff.notes)


class UnfinishedItem(NamedTuple):
    """A to-do item that a session left open.

    Attributes:
        without_handoff: the session's record, if no hooks saved a handoff of it; else None.
    """

    todo: TodoItem | Todo
    session: str
    without_handoff: Session | None = None


class _TodoList(NamedTuple):
    """What a session that ended at `time`, in seconds since the epoch, had to do."""

    time: float
    session: str
    todos: Sequence[TodoItem | Todo]
    without_handoff: Session | None = None


def list_unfinished(
    ws: Workspace, state: State, newest_first: Sequence[Handoff], *, shown: Sequence[Handoff] = (),
    live: Collection[str] = (),
) -> list[UnfinishedItem]:  # fmt: skip
    """Return the to-do items that sessions left open, and that are in no newer list and were not closed later.

    The lists of sessions without a handoff, such as those in a shell or of an agent without hooks, are read from their
    records. They say nothing about the work tree, so all of this machine or person are read, or else all others.

    Args:
        newest_first: the handoffs to search; only the first `MAX_SESSIONS` are read.
        shown: the handoffs that the brief shows in full; the items in their lists are left out.
        live: ids of sessions that are active now; their own lists are left out.
    """
    acting = ws.actor.session
    with_todos = {session.id: session for session in state.select(Session, lambda session: session.has_todos)}
    by_start = with_todos.values()
    started_at = {session.id: session.date for session in state.outlines(Session)}
    closed = {todo.content: session.started for session in by_start for todo in session.todos if todo.status in CLOSED}
    seen = {todo.content for session in by_start if session.id == acting for todo in session.todos}
    seen |= {todo.content for handoff in shown for todo in handoff.facts.todo_state}
    lists = [_make_list(handoff, with_todos.get(session_of(handoff))) for handoff in newest_first[:MAX_SESSIONS]]
    others = [session for session in by_start if session.id != acting and session.id not in live]
    lists += _list_without_handoff(ws, state, others)
    unfinished: list[UnfinishedItem] = []
    for one in sorted(lists, key=lambda one: one.time, reverse=True):
        started = started_at.get(one.session, " ")  # an unknown session counts as the earliest
        new = [todo for todo in one.todos if todo.content not in seen]
        seen |= {todo.content for todo in new}
        open_todos = [todo for todo in new if todo.status in OPEN and closed.get(todo.content, "") < started]
        unfinished += [UnfinishedItem(todo, one.session, one.without_handoff) for todo in open_todos]
    return unfinished


def _make_list(handoff: Handoff, session: Session | None) -> _TodoList:
    """Return a session's list: that of its handoff, and what `baton todo` added after the handoff was saved."""
    saved = handoff.facts.todo_state
    known = {todo.content for todo in saved}
    added = [todo for todo in session.todos if todo.content not in known] if session is not None else []
    return _TodoList(extraction_time(handoff)[0], session_of(handoff), (*saved, *added))


def _list_without_handoff(ws: Workspace, state: State, sessions: Sequence[Session]) -> list[_TodoList]:
    """Return the lists of the newest `MAX_SESSIONS` of the sessions that have no live or archived handoff."""
    if not sessions:
        return []
    saved = {id_.partition("/")[2] for is_old in (False, True) for id_ in state.ids(Handoff.kind, archived=is_old)}
    unsaved = [session for session in sessions if session.id not in saved]
    chosen = [session for session in unsaved if _is_own(ws, session)] or unsaved
    lists = [_TodoList(_last_time(session), session.id, session.todos, session) for session in chosen]
    return sorted(lists, key=lambda one: (one.time, one.session), reverse=True)[:MAX_SESSIONS]


def _is_own(ws: Workspace, session: Session) -> bool:
    is_same_person = session.person is not None and session.person == ws.actor.person
    return is_same_person or session.machine is None or ws.is_own_machine(session.machine)


def _last_time(session: Session) -> float:
    time = parse_time_or_none(session.ended) or parse_time_or_none(session.started)
    return time.timestamp() if time is not None else 0.0


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


# --- after a rebase or an amended commit


def follow_rewritten(handoff: Handoff, common_dir: Path) -> Handoff:
    """Return the handoff with the current ids of rewritten commits.

    If several of its commits were squashed into one, only the last of them remains.
    """
    commits = handoff.facts.git_commits
    rewritten = load_rewritten(common_dir) if commits else {}
    newest = [find_newest(rewritten, commit.hash) for commit in commits]
    if newest == [commit.hash for commit in commits]:
        return handoff
    kept = {
        hash_ or str(number): commit.as_data() | {"hash": hash_}
        for number, (hash_, commit) in enumerate(zip(newest, commits, strict=True))
    }
    return handoff.replace(facts=handoff.facts.as_data() | {"git_commits": list(kept.values())})
