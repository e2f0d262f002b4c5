"""One commit of the fold over the history: its origin, its trees, and the values of its records that a facet covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, Protocol

from baton_git.core import kinds, layout
from baton_git.core.errors import Corrupt
from baton_git.core.names import Oid
from baton_git.core.output import one_line
from baton_git.core.records.base import Archived, Facet, Record, covered_fields, covered_values
from baton_git.core.records.work_items import Pattern, Rule
from baton_git.core.state import Entry, Key, State
from baton_git.git.store import CommitInfo, Folder, Store
from baton_git.namespace.commit_log import CONFIRMED, CONFIRMS, RESTORES, UNDOES, VOUCHES, parse_entry
from baton_git.namespace.provenance.ledger import Ledger
from baton_git.namespace.provenance.marks import CommitClaim, Mark, ProvenanceMarks, Slot
from baton_git.namespace.provenance.origins import find_origin

CoveredValues = tuple[Any, ...] | None
"""The values of the fields that a facet covers; None if the record is absent or unreadable."""


class CommitView:
    """One commit of a fold: its trees, and the marks of the changes that it makes."""

    def __init__(self, store: Store, ledger: Ledger, info: CommitInfo) -> None:
        self.store = store
        self.info = info
        self.origin = find_origin(ledger, info)
        self._confirms = _confirmed_names(info)
        self.vouched = _vouched_keys(info) if self._confirms else ()
        self._restores = self.origin.source == "here" and _restores(info)
        self.restored = list_sources(store, ledger, info)

    def restored_mark(self, slot: Slot, values: CoveredValues, marks: Mapping[Oid, ProvenanceMarks]) -> Mark | None:
        """Return the mark that restored values had where they were restored from; None if they come from nowhere.

        Args:
            marks: the marks at the commits in `restored`.
        """
        for commit in () if self.covers(slot.key) else self.restored:
            state = self.state(self.store.folder(self.store.commit(commit).tree))
            for key in (slot.key, slot.key._replace(archived=not slot.key.archived)):
                if values is not None and values_at(state, key, slot.facet) == values:
                    return marks[commit].of(Slot(key, slot.facet))
        return None

    @cached_property
    def root(self) -> Folder:
        return self.store.folder(self.info.tree)

    def mark(self, key: Key, facet: Facet = "text") -> Mark:
        """Return the mark of a change that this commit makes to a record.

        If a verb restored a check from the history, its mark says so, because this commit did not write the check.
        """
        if facet == "check" and self._restores:
            return (_RESTORED,)
        return (CommitClaim.of(self.origin, self.info.oid if self.covers(key) else ""),)

    def covers(self, key: Key) -> bool:
        """Return whether the commit claims that a person confirmed a record. A rule is confirmed with its pattern."""
        if self._confirms is None:
            return False
        if not self._confirms:  # older commits do not name records; only patterns could be confirmed then
            return key.kind in (Pattern.kind, Rule.kind)
        return confirmed_name(Key(Pattern.kind if key.kind == Rule.kind else key.kind, key.id)) in self._confirms

    @property
    def plain_mark(self) -> Mark:
        return (CommitClaim.of(self.origin),)

    @property
    def has_other_marks(self) -> bool:
        """Whether some changes of the commit may have another mark than `plain_mark`."""
        return self._confirms is not None or self._restores

    def state(self, root: Folder | None = None) -> State:
        return State(layout.TreeSource(root or self.root, self.store.memory))

    def parent_root(self, number: int) -> Folder:
        return self.store.folder(self.store.commit(self.info.parents[number]).tree)


def confirmed_name(key: Key) -> str:
    """Return the name of a record in the trailer `Baton-Confirms`."""
    return one_line(str(key), 200)


def _confirmed_names(info: CommitInfo) -> frozenset[str] | None:
    """Return the records that a commit claims were confirmed by a person.

    Returns:
        None if it claims no confirmation; an empty set if it claims one without naming records.
    """
    if CONFIRMED not in info.message:
        return None
    entry = parse_entry(info)
    return frozenset(entry.trailer_values(CONFIRMS)) if entry.trailer_values(CONFIRMED) else None


def _vouched_keys(info: CommitInfo) -> tuple[Key, ...]:
    """Return the keys of the live records that a commit claims a person confirmed as they are."""
    if VOUCHES not in info.message:
        return ()
    names = parse_entry(info).trailer_values(VOUCHES)
    prefixes = {kind: f"{Key(kind)} " for kind in kinds.LABELLED}
    return tuple(
        Key(kind, name.removeprefix(prefix))
        for name in names
        for kind, prefix in prefixes.items()
        if name.startswith(prefix)
    )


_RESTORED = CommitClaim("hand", "an earlier version or the other side of a conflict")
_RESTORING = ("rollback", "undo", "redo", "resolve", "doctor")
"""Prefixes of the verbs that restore values from the history, whoever wrote them."""


def _restores(info: CommitInfo) -> bool:
    """Return whether a commit was made by a verb that restores values from the history."""
    return any(word in info.message for word in _RESTORING) and (parse_entry(info).op or "").startswith(_RESTORING)


def list_sources(store: Store, ledger: Ledger, info: CommitInfo) -> tuple[Oid, ...]:
    """Return the commits whose values a rollback, undo, redo or repair of this machine restores, as its trailers say.

    Empty for other commits: what a commit of a remote says about its sources proves nothing.
    """
    if RESTORES not in info.message and UNDOES not in info.message:
        return ()
    if len(info.parents) != 1 or not ledger.is_made_here(info.oid):
        return ()
    entry = parse_entry(info)
    named = [Oid(value) for value in entry.trailer_values(RESTORES)]
    for undone in entry.trailer_values(UNDOES):
        with suppress(Corrupt):  # an undone commit of a shallow clone may be missing
            named += store.commit(Oid(undone)).parents[:1]
    return tuple(dict.fromkeys(named))


class RecordSource(Protocol):
    """A source of records: a state, or a part of it."""

    def entry(self, key: Key) -> Entry | None:
        """Return the entry at a key."""


def values_at(state: RecordSource, key: Key, facet: Facet) -> CoveredValues:
    """Return the values of the fields that a facet covers; None if the record is absent or unreadable."""
    entry = state.entry(key)
    model = kinds.KINDS[key.kind].model
    if isinstance(entry, Archived):
        return covered_values(model, facet, entry.record)
    return covered_values(model, facet, entry.as_data()) if isinstance(entry, Record) else None


def facets_of(key: Key) -> Iterable[Facet]:
    return covered_fields(kinds.KINDS[key.kind].model)


def is_absent(state: RecordSource, key: Key) -> bool:
    """Return whether there is no readable record at a key."""
    return all(values_at(state, key, facet) is None for facet in facets_of(key))


def other_key(key: Key, entry: Entry | None) -> Key:
    """Return the archived key of a live record, or the live key of an archived one."""
    id_ = str(entry.record.get("id", key.id)) if isinstance(entry, Archived) else key.id
    return key._replace(id=id_, archived=not key.archived)
