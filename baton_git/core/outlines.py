"""Outlines of records: the few small fields by which rules and the brief choose records, without decoding the others.

A brief shows a dozen records of a kind. Decoding 10,000 to choose them took three times as long as the rest of a start,
and to list their files in the tree took as long as it. So a listing of a folder with many records is kept, with their
outlines (see `SavedListings`). Every record that can be decoded has one.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from baton_git.core.names import Oid
from baton_git.core.records.base import Record
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern

FORMAT = 3
"""Version of the listings and of the fields of the outlines."""
MANY = 500
"""Number of live records of a kind from which their listing is kept; fewer are decoded in a few milliseconds."""
_ENDS = string.whitespace + ".!…。"


def split_words(text: str) -> list[str]:
    """Return the words of a text without regard to case, spacing, and final periods and exclamation marks."""
    return text.casefold().rstrip(_ENDS).split()


def digest_words(text: str) -> str:
    """Return a short text that is equal for texts with the same `split_words`, and different for nearly all others."""
    return sha256(" ".join(split_words(text)).encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Outline(NamedTuple):
    """The outline of a record of a kind without fields to choose by: it tells that the record can be decoded.

    As in all outlines, `date` is the date by which records of the kind are sorted.
    """

    id: str
    date: str


class LoopOutline(NamedTuple):
    id: str
    date: str
    status: str
    created_at: str
    ttl_days: int
    method: str
    """The method of its check; empty if it has none."""

    @property
    def has_check(self) -> bool:
        """Whether a program checks it, not a person."""
        return self.method not in ("", "manual")


class FollowUpOutline(NamedTuple):
    id: str
    date: str
    priority: str
    defer_count: int
    words: str
    """The digest of its text (`digest_words`)."""


class PatternOutline(NamedTuple):
    id: str
    date: str
    status: str
    seen: int
    threshold: int
    words: str
    """The digest of its text (`digest_words`)."""


class DecisionOutline(NamedTuple):
    id: str
    date: str
    status: str
    replaces: str
    """The id of the decision that it is proposed to replace, or empty."""
    words: str
    """The digest of its text (`digest_words`)."""


class SessionOutline(NamedTuple):
    id: str
    date: str
    status: str
    has_current_context: bool
    has_todos: bool


class ConflictOutline(NamedTuple):
    id: str
    date: str
    record_kind: str
    record_id: str
    field: str


def _outline_loop(loop: OpenLoop) -> LoopOutline:
    method = loop.verify.method if loop.verify is not None else ""
    return LoopOutline(loop.id, loop.created_at, loop.status, loop.created_at, loop.ttl_days, method)


def _outline_follow_up(item: FollowUp) -> FollowUpOutline:
    return FollowUpOutline(item.id, item.first_seen, item.priority, item.defer_count, digest_words(item.item))


def _outline_pattern(pattern: Pattern) -> PatternOutline:
    words = digest_words(pattern.what)
    return PatternOutline(pattern.id, pattern.first_seen, pattern.status, pattern.count, pattern.threshold, words)


def _outline_decision(decision: ActiveDecision) -> DecisionOutline:
    words = digest_words(decision.what)
    return DecisionOutline(decision.id, decision.created_at, decision.status, decision.replaces or "", words)


def _outline_session(session: Session) -> SessionOutline:
    return SessionOutline(session.id, session.started, session.status, session.has_current_context, bool(session.todos))


def _outline_conflict(conflict: Conflict) -> ConflictOutline:
    return ConflictOutline(conflict.id, "", conflict.record_kind, conflict.record_id, conflict.field)


def _outline_other(record: Record) -> Outline:
    return Outline(record.id, str(getattr(record, record.dated, "")))


class _Outlined(NamedTuple):
    make: Callable[[Any], Any]
    form: Any
    """The class of the outlines, a named tuple."""


_OTHER = _Outlined(_outline_other, Outline)
_KINDS: Mapping[str, _Outlined] = {
    OpenLoop.kind: _Outlined(_outline_loop, LoopOutline),
    FollowUp.kind: _Outlined(_outline_follow_up, FollowUpOutline),
    Pattern.kind: _Outlined(_outline_pattern, PatternOutline),
    ActiveDecision.kind: _Outlined(_outline_decision, DecisionOutline),
    Session.kind: _Outlined(_outline_session, SessionOutline),
    Conflict.kind: _Outlined(_outline_conflict, ConflictOutline),
}


def make_outline(record: Record) -> Any:
    """Return the outline of a record."""
    return _KINDS.get(record.kind, _OTHER).make(record)


class Listing(NamedTuple):
    """The live records of a kind in one folder.

    Attributes:
        folder: what the listing follows from: the id of the folder, and that of the file with the layout version.
        files: the blob id of the file of each record, by the record's id.
        outlines: the outlines found so far, by id. A record that cannot be decoded has none.
        strays: the paths of files that are not those of records, relative to the folder.
    """

    folder: str
    files: Mapping[str, Oid]
    outlines: Mapping[str, Any]
    strays: tuple[str, ...] = ()

    def as_data(self) -> object:
        """Return the listing as plain data: a row for each record, of its blob id, its id or outline."""
        rows = [[oid, *self.outlines.get(id_, (id_,))] for id_, oid in self.files.items()]
        return [self.folder, self.strays, rows]


def restore_listing(kind: str, data: Any) -> Listing | None:
    """Return a listing from its data as `json` returns it; None if it is not that of a listing."""
    form = _KINDS.get(kind, _OTHER).form
    size = len(form._fields)
    try:
        folder, strays, rows = data
        files = {row[1]: row[0] for row in rows}
        outlines = {row[1]: form._make(row[1:]) for row in rows if len(row) == size + 1}
        is_complete = all(len(row) in (2, size + 1) for row in rows) and len(files) == len(rows)
        return Listing(str(folder), files, outlines, tuple(strays)) if is_complete else None
    except (ValueError, TypeError, IndexError, KeyError):
        return None


class SavedListings(Protocol):
    """Listings kept from earlier runs. They may be lost at any time; then they are made again.

    `name` is that of the namespace.
    """

    @property
    def name(self) -> str: ...

    def load(self, kind: str) -> Listing | None:
        """Return the listing of a kind that was saved last, maybe of an earlier folder; None if there is none."""
        ...

    def save(self, kind: str, listing: Listing) -> None:
        """Keep a listing in place of the earlier one, if possible."""
        ...
