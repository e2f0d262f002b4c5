"""A commit as a fold sees it: the labelled records (those of the kinds in `LABELLED`) that it changes, and their marks.

A fold compares thousands of trees with hundreds of entries, of which usually one differs. Therefore the bytes of the
trees are compared, and only the part between the common prefix and the common suffix is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from baton_git.core import kinds, layout
from baton_git.core.errors import Corrupt
from baton_git.core.kinds import ARCHIVE, KINDS, LABELLED, MAX_FOLDERS
from baton_git.core.names import Oid
from baton_git.core.output import one_line
from baton_git.core.records.base import Archived, Facet, Part, Record, covered_fields, covered_values
from baton_git.core.records.work_items import Pattern, Rule
from baton_git.core.state import Entry, Key, State
from baton_git.git.objects.values import count_equal, name_entry
from baton_git.git.store import CommitInfo, Folder, Store
from baton_git.namespace.commit_log import CONFIRMED, CONFIRMS, RESTORES, UNDOES, VOUCHES, parse_entry
from baton_git.namespace.provenance.ledger import Ledger, find_origin
from baton_git.namespace.provenance.marks import CommitClaim, Mark, ProvenanceMarks, Slot

# --- the labelled records that differ between two trees, by comparing blob ids


_RECORD_FOLDERS = frozenset(KINDS[kind].folder for kind in LABELLED)
_TOP = frozenset(name.encode() for name in (*_RECORD_FOLDERS, ARCHIVE))
_SHA1, _SHA256 = 40, 64
_STORED_OTHERWISE = b"/="
"""In the path of each file of a folder that layout 2 stores otherwise than layout 1."""
_FOLDER_MODES = (b"40000", b"040000")

Entries = dict[bytes, tuple[bool, Oid | None]]
"""The entries of a tree by name: whether the entry is a folder, and its id."""
_NOTHING = (False, None)


def blob_at(root: Folder, key: Key) -> Oid | None:
    """Return the blob id of the file of a record; None if there is no file."""
    folder, _, name = layout.path_of(key).rpartition("/")
    entry = _open(root, folder).entries().get(name)
    return None if entry is None or entry.is_folder else entry.oid


class LabelledChange(NamedTuple):
    """A labelled record whose file differs: the blob ids before and after; None if there is no file."""

    key: Key
    before: Oid | None
    after: Oid | None


def find_labelled_changes(store: Store, before: Oid | None, after: Oid | None) -> Iterator[LabelledChange]:
    """Yield the labelled records whose files differ between two trees.

    Raises:
        Corrupt: a tree cannot be read.
    """
    changes: list[LabelledChange] = []
    moved: set[str] = set()
    for path, old, new in _changed_paths(store, before, after, b"", _TOP):
        if _STORED_OTHERWISE in path:
            folder = _find_kind_folder(path.decode("utf-8", "surrogateescape"))
            if folder.removeprefix(f"{ARCHIVE}/") in _RECORD_FOLDERS:
                moved.add(folder)
            continue
        key = layout.key_at(path.decode("utf-8", "surrogateescape"))
        if key is not None and key.kind in LABELLED:
            changes.append(LabelledChange(key, old, new))
    if not moved:
        yield from changes
        return
    yield from (change for change in changes if _find_kind_folder(layout.path_of(change.key)) not in moved)
    roots = [store.folder(tree) for tree in (before, after)]
    for folder in sorted(moved):
        yield from _compare_folders(folder, *roots)


def _find_kind_folder(path: str) -> str:
    """Return the folder of records that contains a path, such as `rules` or `archive/patterns`."""
    return "/".join(path.split("/")[: 2 if path.startswith(f"{ARCHIVE}/") else 1])


def _compare_folders(folder: str, before: Folder, after: Folder) -> Iterator[LabelledChange]:
    """Yield the changes below a folder that layout 2 stores otherwise in one of two trees."""
    sides = [_open(root, folder) for root in (before, after)]
    for path in layout.differing_paths(sides[1], sides[0], f"{folder}/"):
        key = layout.key_at(path)
        if key is not None and key.kind in LABELLED:
            blobs = [blob_at(root, key) for root in (before, after)]
            if blobs[0] != blobs[1]:
                yield LabelledChange(key, *blobs)


def _open(root: Folder, path: str) -> Folder:
    for name in path.split("/"):
        root = root.folder(name)
    return root


class ChangedRecords:
    """The changed records before or after a commit, with the interface of `State.entry` but without reading trees."""

    def __init__(self, store: Store, blobs: dict[Key, Oid | None]) -> None:
        self._store = store
        self._blobs = blobs
        self._entries: dict[Key, Entry | None] = {}

    def has(self, key: Key) -> bool:
        """Return whether a file exists at a key, readable or not."""
        return self._blobs.get(key) is not None

    def entry(self, key: Key) -> Entry | None:
        if key not in self._entries:
            self._entries[key] = self._read(key)
        return self._entries[key]

    def _read(self, key: Key) -> Entry | None:
        blob = self._blobs.get(key)
        if blob is None:
            return None
        known: Part | None = self._store.memory.get((key, blob))
        return layout.decode(key, layout.path_of(key), self._store.read(blob)) if known is None else known


def _changed_paths(
    store: Store, before: Oid | None, after: Oid | None, prefix: bytes, only: frozenset[bytes] | None = None
) -> Iterator[tuple[bytes, Oid | None, Oid | None]]:
    if before == after or prefix.count(b"/") > MAX_FOLDERS:
        return
    old, new = _differing(_raw(store, before), _raw(store, after), before or after)
    for name in old.keys() | new.keys():
        if only is not None and name not in only:
            continue
        (was_folder, was), (is_folder, now) = old.get(name, _NOTHING), new.get(name, _NOTHING)
        if not (was_folder and is_folder):
            files = None if was_folder else was, None if is_folder else now
            if files != (None, None):
                yield prefix + name, *files
        if was_folder or is_folder:
            folders = was if was_folder else None, now if is_folder else None
            yield from _changed_paths(store, *folders, prefix + name + b"/")


def _raw(store: Store, tree: Oid | None) -> bytes:
    return b"" if tree is None else store.raw(tree)[1]


def _differing(old: bytes, new: bytes, sample: Oid | None) -> tuple[Entries, Entries]:
    """Return, for each of two trees, the entries that the other lacks or has with another id.

    Args:
        sample: any object id of the repository, whose length shows the hash algorithm.
    """
    entry = ENTRY[len(sample or "")]
    common = count_equal(old, new)
    run = entry.run.match(old, 0, common)
    start = run.end() if run is not None else 0
    end = _common_suffix(old, new, min(len(old), len(new)) - start)
    middles = [_parse_entries(entry.single, data, start, len(data) - end) for data in (old, new)]
    if len(old) - middles[0][1] != len(new) - middles[1][1]:
        middles = [_parse_entries(entry.single, data, start, len(data)) for data in (old, new)]
    (left, _), (right, _) = middles
    return (
        {name: entry for name, entry in left.items() if right.get(name) != entry},
        {name: entry for name, entry in right.items() if left.get(name) != entry},
    )


def _parse_entries(pattern: re.Pattern[bytes], data: bytes, start: int, end: int) -> tuple[Entries, int]:
    """Parse the entries that begin between `start` and `end`; return them and the position of the next one."""
    entries: Entries = {}
    while start < end and (match := pattern.match(data, start)) is not None:
        mode, name, id_ = match.groups()
        entries[name] = (mode in _FOLDER_MODES, name_entry(int(mode, 8), id_))
        start = match.end()
    return entries, start


def _common_suffix(left: bytes, right: bytes, high: int) -> int:
    """Return the length of the common suffix in bytes, at most `high`."""
    low, last, last_other = 0, len(left), len(right)
    while low < high:
        middle = (low + high + 1) // 2
        if left[last - middle : last - low] == right[last_other - middle : last_other - low]:
            low = middle
        else:
            high = middle - 1
    return low


class _Entry:
    """The patterns for one tree entry and for a run of them, with ids of `size` bytes."""

    def __init__(self, size: int) -> None:
        text = rb"([0-7]+) ([^\0]+)\0(.{%d})" % size
        self.single = re.compile(text, re.DOTALL)
        # The group is not possessive: before Python 3.11.5, `(?:…)*+` can match too much if the part in it can
        # backtrack (CPython issue 106052). Then no record of a folder counted as changed.
        self.run = re.compile(rb"(?:[0-7]++ [^\0]++\0.{%d})*" % size, re.DOTALL)


ENTRY = {0: _Entry(20), _SHA1: _Entry(20), _SHA256: _Entry(32)}


def is_bare(root: Folder) -> bool:
    """Return whether a tree has neither a folder of labelled records nor an archive."""
    return not any(root.folder(name).oid for name in _RECORD_FOLDERS) and root.folder(ARCHIVE).oid is None


# --- one commit: its origin, its trees, and the values of its records that a facet covers


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
