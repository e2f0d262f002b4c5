"""The records of sessions in a state: how they are found, named, recorded and archived, and their contexts.

A context is what a session said about the state of the work. A session that sets its context replaces the contexts that
it had read, by a mark in their records. The others stay current beside its own: those of sessions that worked at the
same time. `baton.toml` has a context only if somebody set it there: the first document of a namespace, somebody without
a session, an older program, or a person by hand.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from baton_git.core.errors import Ambiguous
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import choose_surplus
from baton_git.core.outlines import SessionOutline
from baton_git.core.policy import Policy
from baton_git.core.records.base import Archived, parse
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import Head
from baton_git.core.state import HEAD, Key, State
from baton_git.core.times import EARLIEST, iso, iso_exact, parse_time_or_none, shift

_TICK = timedelta(microseconds=1)
_SKEW = timedelta(days=1)
"""A clock that is further ahead than this is wrong, so that its times count for nothing."""


def find_session(state: State, id_: str) -> Session | None:
    """Return the record of a session, live or archived, or None."""
    live = state.entry(Key(Session.kind, id_))
    if isinstance(live, Session):
        return live
    closed = state.entry(Key(Session.kind, id_, archived=True))
    return parse(Session, closed.record) if isinstance(closed, Archived) else None


def record_session(state: State, session: Session, now: datetime, policy: Policy) -> State:
    """Return the state with the record of a session.

    Of the other sessions beyond the newest `sessions_kept`, some are archived (see `choose_surplus`); but none with one
    of the newest current contexts, so that a brief need not search the archive.
    """
    state = state.remove(Key(Session.kind, session.id, archived=True)).put(session)
    live: list[SessionOutline] = sorted(state.outlines(Session), key=lambda known: (known.date, known.id))
    if len(live) <= policy.sessions_kept:
        return state
    kept = {session.id, *(context.session for context in list_contexts(state)[: policy.sessions_kept])}
    surplus = [old for old in live[: len(live) - policy.sessions_kept] if old.id not in kept]
    for outline in choose_surplus(surplus, session.id):
        old = state.get(Session, outline.id)
        state = state.archive(old, at=iso(now), reason="older than the newest sessions", session=session.id)
    return state


# --- contexts


class WorkContext(NamedTuple):
    """A current context.

    Attributes:
        text: None if a document removed the context that it had read.
        session: the session that set it, as the record says; empty if unknown, `none` for somebody without a session.
        set_at: the time when it was set, as stored; empty if unknown.
        is_in_head: whether it is stored in `baton.toml` rather than with its session.
    """

    text: str | None
    session: str = ""
    set_at: str = ""
    agent: str = ""
    machine: str = ""
    person: str = ""
    is_in_head: bool = False

    @property
    def time(self) -> datetime:
        return parse_time_or_none(self.set_at) or EARLIEST

    @property
    def identity(self) -> tuple[str | None, ...]:
        """What the same context has in two states. Documents that keep the text of the head change its time."""
        return (self.text,) if self.is_in_head else (self.session, self.set_at)


def list_contexts(state: State) -> list[WorkContext]:
    """Return the current contexts, newest first."""
    found = [_make_context(session) for session in state.select(Session, lambda known: known.has_current_context)]
    head = state.readable_head
    if head.context.strip():
        found.append(WorkContext(head.context, head.session_id, head.updated_at or "", is_in_head=True))
    elif not found:
        found = _find_archived(state, head)
    return sorted(found, key=lambda context: (context.time, not context.is_in_head, context.session), reverse=True)


def _make_context(session: Session) -> WorkContext:
    return WorkContext(
        session.context, session.id, session.context_at or "", session.agent or "", session.machine or "",
        session.person or "",
    )  # fmt: skip


def _find_archived(state: State, head: Head) -> list[WorkContext]:
    """Return the context of the last writer if a program that knows nothing of contexts archived its session."""
    closed = state.entry(Key(Session.kind, head.session_id, archived=True)) if head.session_id else None
    session = parse(Session, closed.record) if isinstance(closed, Archived) else None
    return [_make_context(session)] if session is not None and session.has_current_context else []


def shown_head(state: State) -> Head:
    """Return the head of a state with the newest context, which is the single context of a document."""
    head = state.readable_head
    newest = next(iter(list_contexts(state)), None)
    if newest is None or newest.is_in_head:
        return head
    if newest.text is not None:
        return head.replace(context=newest.text)
    return drop_context(head) if head.context.strip() else head  # an empty text is what the document has


def set_context(
    state: State,
    session: Session,
    text: str | None,
    now: datetime,
    replaced: Iterable[WorkContext],
    known: Session | None,
) -> State:
    """Return the state with the context of a session, which replaces earlier ones.

    Its time is later than that of all others, even if the clock of another machine is ahead, so that it is the newest.

    Args:
        text: None removes the context of the document.
        replaced: the contexts of others that the session had read.
        known: the record of the session as its writer knows it. The context there is replaced, and one that was set
            since, under the same id on another machine, stays in the new text.
    """
    text = _keep_unread(session, known, text)
    others = [context for context in list_contexts(state) if context.is_in_head or context.session != session.id]
    own = parse_time_or_none(session.context_at) or EARLIEST
    newest = max(own, *(context.time for context in others), EARLIEST)
    set_at = shift(newest, _TICK) if now <= newest <= shift(now, _SKEW) else now
    state = replace_contexts(state, [context for context in replaced if context in others])
    return state.put(_with_context(session, ContextFields(text, iso_exact(set_at))))


def _keep_unread(session: Session, known: Session | None, text: str | None) -> str | None:
    """Return the new text of a session's context, after what its writer does not know of the current one."""
    read = (known.context or "") if known is not None else ""
    unread = session.context or "" if session.has_current_context else ""
    if unread == read:
        return text
    if read and unread.startswith(f"{read}\n"):  # as a merge of two machines joins them
        unread = unread.removeprefix(read).lstrip("\n")
    elif read and unread.endswith(f"\n{read}"):
        unread = unread.removesuffix(read)
    unread = unread.rstrip()
    if not text:
        return unread or None
    return text if unread in text else f"{unread}\n\n{text}"


def replace_contexts(state: State, contexts: Iterable[WorkContext]) -> State:
    """Return the state in which these contexts are no longer current."""
    for context in contexts:
        if context.is_in_head:
            state = state.put(drop_context(state.head), HEAD)
            continue
        session = state.entry(Key(Session.kind, context.session))
        if isinstance(session, Session):
            state = state.put(session.replace(context_replaced=context.set_at))
    return state


def restore_contexts(state: State, before: State, after: State) -> State:
    """Return the state with the contexts of `after` in place of those of `before`, except those changed since `before`.

    A replaced context becomes current again only if one that `before` had in its place is still current in `state`: if
    a later session has replaced that one, it has replaced both.
    """
    ids = sorted({key.id for key in before.differing(after) if key.kind == Session.kind})
    sides = [(id_, _context_at(before, id_), _context_at(after, id_)) for id_ in ids]
    set_since = [(id_, was) for id_, was, then in sides if was[:2] != then[:2] and was.set_at is not None]
    is_standing = not set_since or any(was.is_current and _context_at(state, id_) == was for id_, was in set_since)
    for id_, was, then in sides:
        session = find_session(state, id_)
        is_back = was[:2] == then[:2] and then.is_current and not was.is_current
        if session is None or _context_of(session) != was or was == then or (is_back and not is_standing):
            continue
        if state.entry(Key(Session.kind, id_)) is not None:
            state = state.put(_with_context(session, then))
        elif then.is_current:
            state = state.remove(Key(Session.kind, id_, archived=True)).put(_with_context(session, then))
    return state


class ContextFields(NamedTuple):
    """The fields of a session about its context."""

    text: str | None = None
    set_at: str | None = None
    replaced: str | None = None

    @property
    def is_current(self) -> bool:
        return self.set_at is not None and self.replaced != self.set_at


def _context_at(state: State, id_: str) -> ContextFields:
    session = find_session(state, id_)
    return _context_of(session) if session is not None else ContextFields()


def _context_of(session: Session) -> ContextFields:
    return ContextFields(session.context, session.context_at, session.context_replaced)


def _with_context(session: Session, context: ContextFields) -> Session:
    fields = dict(zip(("context", "context_at", "context_replaced"), context, strict=True))
    data = {name: value for name, value in session.as_data().items() if name not in fields}
    return Session.model_validate(data | {name: value for name, value in fields.items() if value is not None})


def without_context(session: Session) -> Session:
    """Return a session as if it had never set a context."""
    return _with_context(session, ContextFields())


def drop_context(head: Head) -> Head:
    """Return the head without a context."""
    return Head.model_validate({name: value for name, value in head.as_data().items() if name != "context"})


# --- short names
#
# An agent CLI names its sessions by UUIDs; people see and type their first 8 characters. A short name is longer if
# another session of the namespace begins with the same characters. That happens with UUIDs of version 7, as Codex makes
# them: they begin with the time, and two that were made within 65 seconds share 8 characters. Other names, which baton
# or a person chose, are never shortened.

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b(?!\.\w)", re.IGNORECASE)
"""The pattern of a UUID that is not the beginning of the name of a file."""
_SHORT = re.compile(r"[0-9a-f]{8}(-[0-9a-f-]{0,26})?", re.IGNORECASE)
LENGTHS = (8, 13, 18, 23)
"""The lengths of short names: a UUID is cut at a hyphen."""


def is_short_name(text: str) -> bool:
    """Whether a text may be the short name of a session: the beginning of a UUID, of at least 8 characters, alone or
    after the name of an agent as in the ids of handoffs."""
    return _SHORT.fullmatch(text.rpartition("/")[2]) is not None


def is_named(id_: str | None, text: str) -> bool:
    """Whether `text` is the id of a session, or the beginning of its UUID."""
    if id_ is None or id_ == text:
        return id_ is not None
    name = text.rpartition("/")[2].lower()
    return is_short_name(name) and UUID.fullmatch(id_) is not None and id_.lower().startswith(name)


def list_session_ids(state: State) -> set[str]:
    """Return the ids of all sessions in a state: of their records, digests and turns, live and archived."""
    kinds = (Session.kind, *(kind for kind, info in KINDS.items() if info.parts == 2))  # named `<agent>/<session>`
    return {id_.rpartition("/")[2] for kind in kinds for closed in (False, True)
            for id_ in state.ids(kind, archived=closed)}  # fmt: skip


def complete_session(state: State, text: str) -> str:
    """Return the id of the session with this short name; any other text unchanged.

    Raises:
        Ambiguous: several sessions have UUIDs that begin with `text`.
    """
    return complete_name("session", lambda: list_session_ids(state), text)


def complete_name(kind: str, list_ids: Callable[[], set[str]], text: str) -> str:
    """Return the id with this short name among those that `list_ids` returns; any other text unchanged.

    Raises:
        Ambiguous: several ids are UUIDs that begin with `text`.
    """
    if not is_short_name(text):
        return text
    known = list_ids()
    near = sorted(id_ for id_ in known if is_named(id_, text))
    if text in known or not near:
        return text
    if len(near) > 1:
        raise Ambiguous(kind, text, near)
    return near[0]


class SessionNames:
    """The short names of the sessions that `list_ids` returns. It is called when the first UUID is shortened."""

    def __init__(self, list_ids: Callable[[], Iterable[str]] = tuple) -> None:
        self._list_ids = list_ids

    @cached_property
    def _known(self) -> list[str]:
        return sorted(id_.lower() for id_ in self._list_ids())

    def shorten(self, id_: str) -> str:
        """Return the short name of a session, or of a record named `<agent>/<session>`."""
        head, slash, name = id_.rpartition("/")
        if not UUID.fullmatch(name):
            return id_
        free = (length for length in LENGTHS if self._is_free(name.lower(), length))
        return head + slash + name[: next(free, len(name))]

    def _is_free(self, name: str, length: int) -> bool:
        """Return whether no other session begins with the first characters of a name."""
        beginning = name[:length]
        place = bisect_left(self._known, beginning)
        alike = takewhile(lambda other: other.startswith(beginning), self._known[place : place + 2])
        return all(other == name for other in alike)

    def shorten_in(self, text: str, ids: Iterable[str] = ()) -> str:
        """Return a text in which the sessions of the namespace, and those with these ids, have their short names."""
        named = {id_.rpartition("/")[2].lower() for id_ in ids}

        def replace(match: re.Match[str]) -> str:
            name = match[0].lower()
            return self.shorten(match[0]) if name in named or self._is_known(name) else match[0]

        return UUID.sub(replace, text)

    def _is_known(self, name: str) -> bool:
        return self._known[bisect_left(self._known, name) :][:1] == [name]
