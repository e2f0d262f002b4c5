"""Outlines of records: the few small fields by which rules and the brief choose records, without decoding the others.

A brief shows a dozen records of a kind. Decoding 10,000 to choose them took three times as long as the rest of a start.
An outline follows from the record's file alone, so it can be kept by the file's id (see `SavedOutlines`).
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from baton_git.core.names import Oid
from baton_git.core.records.base import Record
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import FollowUp, OpenLoop, Pattern

FORMAT = 2
"""Version of the fields of the outlines."""
MANY = 500
"""Number of live records of a kind from which their outlines are kept; fewer are decoded in a few milliseconds."""
_ENDS = string.whitespace + ".!…。"


def split_words(text: str) -> list[str]:
    """Return the words of a text without regard to case, spacing, and final periods and exclamation marks."""
    return text.casefold().rstrip(_ENDS).split()


def digest_words(text: str) -> str:
    """Return a short text that is equal for texts with the same `split_words`, and different for nearly all others."""
    return sha256(" ".join(split_words(text)).encode("utf-8", "surrogatepass")).hexdigest()[:12]


class LoopOutline(NamedTuple):
    """The outline of an open loop. As in all outlines, `date` is the date by which records of the kind are sorted."""

    id: str
    date: str
    status: str
    created_at: str
    ttl_days: int
    has_check: bool
    """Whether a program checks it, not a person."""


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


class ConflictOutline(NamedTuple):
    id: str
    date: str


def _outline_loop(loop: OpenLoop) -> LoopOutline:
    has_check = loop.verify is not None and loop.verify.method != "manual"
    return LoopOutline(loop.id, loop.created_at, loop.status, loop.created_at, loop.ttl_days, has_check)


def _outline_follow_up(item: FollowUp) -> FollowUpOutline:
    return FollowUpOutline(item.id, item.first_seen, item.priority, item.defer_count, digest_words(item.item))


def _outline_pattern(pattern: Pattern) -> PatternOutline:
    words = digest_words(pattern.what)
    return PatternOutline(pattern.id, pattern.first_seen, pattern.status, pattern.count, pattern.threshold, words)


def _outline_conflict(conflict: Conflict) -> ConflictOutline:
    return ConflictOutline(conflict.id, "")


class _Outlined(NamedTuple):
    make: Callable[[Any], Any]
    form: Any
    """The class of the outlines, a named tuple."""


_KINDS: Mapping[str, _Outlined] = {
    OpenLoop.kind: _Outlined(_outline_loop, LoopOutline),
    FollowUp.kind: _Outlined(_outline_follow_up, FollowUpOutline),
    Pattern.kind: _Outlined(_outline_pattern, PatternOutline),
    Conflict.kind: _Outlined(_outline_conflict, ConflictOutline),
}


def has_outlines(kind: str) -> bool:
    return kind in _KINDS


def make_outline(record: Record) -> Any:
    """Return the outline of a record of a kind that has outlines."""
    return _KINDS[record.kind].make(record)


def restore_outline(kind: str, values: object) -> Any:
    """Return an outline from its values as `json` returns them; None if they are not those of an outline."""
    form = _KINDS[kind].form
    if not isinstance(values, list) or len(values) != len(form._fields):
        return None
    return form._make(values)


class SavedOutlines(Protocol):
    """Outlines kept from earlier runs. They may be lost at any time; then they are made again."""

    def load(self, kind: str) -> Mapping[Oid, object]:
        """Return the values of the outlines of a kind, by the blob id of the record's file."""
        ...

    def save(self, kind: str, outlines: Mapping[Oid, object]) -> None:
        """Keep the values of the outlines of a kind in place of the earlier ones, if possible."""
        ...
