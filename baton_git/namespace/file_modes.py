"""The modes of record files. git keeps a mode for each file; record files have the mode 100644, whatever a side sets.

A merge may drop a change of the mode (formats/merge_commit), so that the modes of the sides do not count. What it does
with such a change is said here, for the result of a sync or a review.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from baton_git.core import layout
from baton_git.core.kinds import ARCHIVE
from baton_git.core.names import Oid
from baton_git.git.objects.values import FILE_MODE
from baton_git.git.store import Folder, Store, TreeEntry

NAMED = 3
"""Maximum number of files that a line names; the others are only counted."""
_KIND, _REGULAR, _EXECUTABLE = 0o170000, 0o100000, 0o100
EXPECTED = f"record files have mode {FILE_MODE:o}"


def find_other_mode(root: Folder, path: str) -> int | None:
    """Return the mode of a record file of a tree if it is not 100644, else None."""
    mode = _read_mode(root.entry_at(path))
    return None if mode == FILE_MODE or layout.key_at(path) is None else mode


def describe_modes(
    base: Folder, sides: Sequence[Folder], after: Folder, *, is_meant: Callable[[str], bool] = lambda path: True
) -> tuple[str, ...]:
    """Describe in one line what became of the changes of modes that the sides of a merge made; none if there are none.

    Args:
        is_meant: whether the merge was to take over the file at a path.

    Raises:
        Corrupt: a tree cannot be read.
    """
    dropped: dict[str, int] = {}
    kept: dict[str, int] = {}
    for side in sides:
        for path, mode in _list_changed_modes(base, side):
            result = find_other_mode(after, path)
            if is_meant(path) and (result or mode) != FILE_MODE:
                (kept if result else dropped)[path] = result or mode
    parts = [f"the mode {_name(dropped)} was not taken over"] if dropped else []
    parts += [f"the mode {_name(kept)} stays until it is corrected (baton doctor records)"] if kept else []
    return (f"{'; '.join(parts)}: {EXPECTED}",) if parts else ()


def describe_merged_modes(store: Store, ours: Oid | None, theirs: Oid, after: Oid) -> tuple[str, ...]:
    """Describe, as `describe_modes` does, the changes of modes in two commits of which `after` is the result.

    Raises:
        Corrupt: a commit or a tree cannot be read.
    """
    bases = store.merge_bases(ours, theirs) if ours is not None else ()
    commits = (next(iter(bases), None), ours, theirs, after)
    base, *sides, result = (store.folder(store.commit(oid).tree if oid is not None else None) for oid in commits)
    return describe_modes(base, sides, result)


def _list_changed_modes(base: Folder, side: Folder) -> Iterator[tuple[str, int]]:
    """Yield the record files whose mode a side changed, and those that it added with another mode than 100644.

    The archive of a new branch may have 100,000 records, and is not read: baton doctor reads it.
    """
    for path in layout.differing_paths(base, side) if base.entries() else _list_live(side):
        if layout.key_at(path) is not None:
            old, new = _read_mode(base.entry_at(path)), _read_mode(side.entry_at(path))
            if new != old:
                yield path, new


def _list_live(root: Folder) -> Iterator[str]:
    """Yield the paths of the files outside the archive."""
    for name, entry in root.entries().items():
        if entry.is_folder and name != ARCHIVE:
            yield from layout.differing_paths(root.folder(name), None, f"{name}/")


def _read_mode(entry: TreeEntry | None) -> int:
    """Return the mode of a file as git reads it: regular files have only 100644 and 100755, and the 100664 that old
    versions wrote counts as 100644 (seen with git 2.39.5). A missing file counts as 100644, too."""
    if entry is None:
        return FILE_MODE
    is_plain = entry.mode & _KIND == _REGULAR and not entry.mode & _EXECUTABLE
    return FILE_MODE if is_plain else entry.mode


def _name(modes: Mapping[str, int]) -> str:
    """Return the modes and the first files that have them: `100755 of follow_ups/FU-1.toml`."""
    paths = sorted(modes)
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    numbers = " or ".join(sorted({f"{mode:o}" for mode in modes.values()}))
    return f"{numbers} of {', '.join(paths[:NAMED])}{more}"
