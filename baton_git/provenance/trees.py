"""Which records with a provenance differ between the trees of two commits, by the ids of their files."""

from __future__ import annotations

from collections.abc import Iterator

from baton_git import layout
from baton_git.kinds import ARCHIVE, FOLDERS
from baton_git.state import Key
from baton_git.store import Folder

LABELLED = ("open_loop", "follow_up", "pattern", "active_decision", "rule")
"""The kinds whose records have a provenance: those with fields that a confirmation covers."""
_PLACES = frozenset(FOLDERS[kind].place for kind in LABELLED)


def blob_at(root: Folder, key: Key) -> str | None:
    """The id of the file of a record; None when there is none."""
    place, _, name = layout.path_of(key).rpartition("/")
    folder = root
    for part in place.split("/"):
        folder = folder.folder(part)
    entry = folder.entries().get(name)
    return None if entry is None or entry.is_folder else entry.oid


def changed_keys(before: Folder, after: Folder) -> Iterator[Key]:
    """The keys of labelled records whose file is not the same in both.

    Raises:
        Corrupt: a tree cannot be read.
    """
    if before.oid == after.oid:
        return
    for prefix, left, right in _places(before, after):
        for path in layout.differing_paths(left, right, prefix):
            key = layout.key_at(path)
            if key is not None and key.kind in LABELLED:
                yield key


def _places(before: Folder, after: Folder) -> Iterator[tuple[str, Folder, Folder]]:
    for prefix, left, right in (("", before, after), (f"{ARCHIVE}/", before.folder(ARCHIVE), after.folder(ARCHIVE))):
        if left.oid == right.oid:
            continue
        for place in _PLACES:
            one, other = left.folder(place), right.folder(place)
            if one.oid != other.oid:
                yield f"{prefix}{place}/", one, other


def is_bare(root: Folder) -> bool:
    """Whether a tree has no folder of labelled records."""
    return not any(root.folder(place).oid for place in _PLACES) and root.folder(ARCHIVE).oid is None
