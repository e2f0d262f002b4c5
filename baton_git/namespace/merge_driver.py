"""The merge driver for `git merge`: merge a single file by the same rules as a sync."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from baton_git.core import kinds, layout
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import Key, Unreadable
from baton_git.git.store import Store
from baton_git.namespace.file_merge import iterate_files, text_at
from baton_git.namespace.merge_commit import merge_trees


class DriverResult(NamedTuple):
    """The result of merging one file.

    Attributes:
        text: the content of the merged file.
        other_files: by path, the other files that the merge creates: conflicts and renamed records.
    """

    text: bytes
    other_files: dict[str, bytes]


def merge_file(store: Store, path: str, base: bytes, ours: bytes, theirs: bytes) -> DriverResult:
    """Merge three versions of the file at `path`. An empty `base` means that the file did not exist.

    Raises:
        Corrupt: an object of the repository cannot be read.
    """
    draft = store.draft()
    sides = [{_find_path(path, text): text} for text in (base, ours, theirs)]
    trees = [draft.tree(None, side) for side in sides]
    root = draft.folder(merge_trees(draft, trees[0] if base else None, trees[1], trees[2]).tree)
    files = {name: text_at(root, name) for name, _ in iterate_files(root)}
    merged_path = path if path in files else next(name for name in files if not _is_conflict(name))
    text = files.pop(merged_path)
    return DriverResult(text, files)


def _is_conflict(path: str) -> bool:
    key = layout.key_at(path)
    return key is not None and key.kind == Conflict.kind


def _find_path(path: str, text: bytes) -> str:
    """Return the path to which a version of the file belongs.

    It may differ from `path`: git treats the archiving of a record as a rename, and passes one path for all versions.
    """
    key = layout.key_at(path)
    if key is None or not isinstance(layout.decode(key, path, text), Unreadable):
        return path
    fitting = (twin for twin in _twins(key) if not isinstance(layout.decode(twin, path, text), Unreadable))
    return next((layout.path_of(twin) for twin in fitting), path)


def _twins(key: Key) -> Iterator[Key]:
    """Yield the other possible keys of a record: archived, or live."""
    if key.kind not in kinds.KINDS:
        return
    yield key._replace(archived=not key.archived)
    if key.archived and "." in key.id:
        yield Key(key.kind, key.id.rpartition(".")[0])
