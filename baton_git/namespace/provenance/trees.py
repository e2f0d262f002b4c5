"""Find the labelled records (those of the kinds in `LABELLED`) that differ between two trees, by comparing blob ids.

A fold compares thousands of trees with hundreds of entries, of which usually one differs. Therefore the bytes of the
trees are compared, and only the part between the common prefix and the common suffix is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from baton_git.core import layout
from baton_git.core.kinds import ARCHIVE, KINDS, LABELLED, MAX_FOLDERS
from baton_git.core.names import Oid
from baton_git.core.records.base import Part
from baton_git.core.state import Entry, Key
from baton_git.git.objects.values import count_equal, name_entry
from baton_git.git.store import Folder, Store

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
