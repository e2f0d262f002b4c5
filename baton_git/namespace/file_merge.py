"""Merge the files that are not records, by path. A file that both sides changed is merged line by line.

What becomes of the modes of record files is described here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from baton_git.core import layout
from baton_git.core.errors import Unsettled
from baton_git.core.kinds import ARCHIVE
from baton_git.core.layout import (
    ATTRIBUTES_FILE,
    FORMAT_FILE,
    OLDER_ROOTS,
    ROOT_FILES,
    differing_paths,
    key_at,
    paths_below,
)
from baton_git.core.merge import NEWEST_RULES, ContestedValue, make_conflict, merge_lines
from baton_git.core.names import Oid
from baton_git.core.records.conflict import Conflict
from baton_git.core.stored_form import raise_version
from baton_git.git.objects.values import FILE_MODE
from baton_git.git.store import Edit, Folder, Store, TreeEntry
from baton_git.git.store.stored_edits import add_attributes

KIND = "file"
"""The record kind in a conflict about a file that is not a record."""

_REGULAR_FILE = 0o100000
_FILE_TYPE = 0o170000
"""The bits of a mode that are the type of the file."""
_MOST_BYTES = 1 << 20
"""Files larger than this, in bytes, are not merged line by line."""

_SINCE_ROOT_RULE = 3
"""The first version of the merge rules that recognises the files of different root commits."""

_DIGITS = 8
"""Minimum number of digits of an object id in a new file name."""

Sides = tuple[TreeEntry | None, TreeEntry | None, TreeEntry | None]
"""A file in the base, in ours and in theirs."""


class MergedFiles(NamedTuple):
    """The edits that turn our tree into the merged one, and the new conflicts."""

    edits: dict[str, Edit]
    conflicts: tuple[Conflict, ...]


def merge_files(base: Folder, ours: Folder, theirs: Folder, *, rules: int = NEWEST_RULES) -> MergedFiles:
    """Merge the files of `theirs` that are not records into `ours`. Swapping the sides does not change the result.

    A file that one side changed and the other deleted is kept. If two changes overlap, the file with the larger blob id
    keeps the path, and the other is stored next to it under a new name.

    Args:
        rules: the version of the merge rules.

    Raises:
        Unsettled: a file needs a conflict, and its name is not UTF-8.
    """
    edits: dict[str, Edit] = {}
    conflicts: list[Conflict] = []
    for path in sorted(path for path in differing_paths(base, theirs) if key_at(path) is None):
        sides = (base.entry_at(path), ours.entry_at(path), theirs.entry_at(path))
        if sides[2] in (sides[0], sides[1]):
            continue
        if path == FORMAT_FILE and ours.version != theirs.version:  # the newer layout wins
            edits |= {path: sides[2]} if ours.version < theirs.version else {}
            continue
        root_file = _merge_root_file(path, sides, (ours, theirs)) if rules >= _SINCE_ROOT_RULE else None
        merged = root_file or _merge_path(path, sides, (base, ours, theirs))
        edits |= merged.edits
        conflicts += merged.conflicts
    return MergedFiles(_avoid_collisions(ours, edits), tuple(conflicts))


def is_change_of_form(path: str, ours: Folder, theirs: Folder) -> bool:
    """Whether the file at a path differs only because `theirs` has layout 2, which a merge adopts in any case."""
    if path not in (FORMAT_FILE, ATTRIBUTES_FILE) or ours.version >= theirs.version:
        return False
    mine, other = text_at(ours, path), text_at(theirs, path)
    return other == (raise_version(mine) if path == FORMAT_FILE else add_attributes(mine))


def text_at(root: Folder, path: str) -> bytes:
    """Return the content of a file; empty if it does not exist.

    Raises:
        Corrupt: the file cannot be read.
    """
    folder, name = root.open_parent(path)
    return folder.read(name) or b""


def _merge_root_file(path: str, sides: Sides, roots: tuple[Folder, Folder]) -> MergedFiles | None:
    """Merge a file that the root commits of unrelated histories contain; None for any other file.

    A side with the content of a root commit counts as unchanged. If both sides are unchanged, the newer content wins.
    """
    if path not in ROOT_FILES or sides[0] is not None or sides[1] is None or sides[2] is None:
        return None
    versions = [ROOT_FILES[path], *(files[path] for files in OLDER_ROOTS)]
    ages = [versions.index(text) if (text := text_at(root, path)) in versions else -1 for root in roots]
    if max(ages) < 0:
        return None
    return MergedFiles({path: sides[1] if ages[0] < ages[1] else sides[2]}, ())


def _merge_path(path: str, sides: Sides, roots: tuple[Folder, Folder, Folder]) -> MergedFiles:
    was, mine, theirs = sides
    if mine == was:
        return MergedFiles({path: theirs}, ())
    if mine is None or theirs is None:
        kept, gone = (theirs, mine) if mine is None else (mine, theirs)
        contested = ContestedValue(
            "", _describe_side(was, path), _describe_side(kept, path), _describe_side(gone, path), "ours"
        )
        return MergedFiles({path: kept}, (_make_file_conflict(path, contested),))
    lines = _merge_by_lines(path, sides, roots)
    if lines is not None:
        return MergedFiles({path: lines}, ())
    first, second = sorted((mine, theirs), key=lambda entry: (entry.oid, entry.mode), reverse=True)
    second_path = _name_second_copy(path, second, roots[1:])
    contested = ContestedValue(
        "", _describe_side(was, path), _describe_side(first, path), _describe_side(second, second_path), "ours"
    )
    return MergedFiles({path: first, second_path: second}, (_make_file_conflict(path, contested),))


def _make_file_conflict(path: str, contested: ContestedValue) -> Conflict:
    """Return the record of a conflict about a file. Raises Unsettled if a name in the path is not UTF-8."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        shown = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        raise Unsettled(
            f"both sides changed the file {shown}, and a conflict cannot be stored for a name that is not UTF-8",
            hint="check out the branch in a work tree, rename the file or take the other side's content, and commit",
        ) from None
    return make_conflict(KIND, path, contested)


def _name_second_copy(path: str, entry: TreeEntry, roots: Iterable[Folder]) -> str:
    """Return an unused name for the file that loses its path: the path and as many digits of the blob id as needed."""
    names = (f"{path}.{entry.oid[:digits]}" for digits in range(_DIGITS, len(entry.oid)))
    return next((name for name in names if all(_is_free(root, name, entry) for root in roots)), f"{path}.{entry.oid}")


def _is_free(root: Folder, path: str, edit: Edit) -> bool:
    """Return whether the path is unused or already has this content."""
    folder, name = root.open_parent(path)
    return folder.entries().get(name) in (None, edit)


def _describe_side(entry: TreeEntry | None, path: str) -> tuple[dict[str, str], ...]:
    return () if entry is None else ({"path": path, "blob": entry.oid},)


def _merge_by_lines(path: str, sides: Sides, roots: tuple[Folder, Folder, Folder]) -> bytes | None:
    """Merge the changes of both sides line by line.

    Returns:
        None if the changes overlap, a file is missing, too large or binary, or the modes differ.
    """
    regular = all(side is None or side.mode & _FILE_TYPE == _REGULAR_FILE for side in sides)
    if not regular or sides[1] is None or sides[2] is None or sides[1].mode != sides[2].mode:
        return None
    texts = [text_at(root, path) for root in roots]
    if any(b"\0" in text or len(text) > _MOST_BYTES for text in texts):
        return None
    lines = merge_lines(*(text.splitlines(keepends=True) for text in texts))
    return None if lines is None else b"".join(lines)


def _avoid_collisions(ours: Folder, edits: Mapping[str, Edit]) -> dict[str, Edit]:
    """Rename the edits whose file would replace a folder of ours, or whose folder would replace a file."""
    removed = {path for path, edit in edits.items() if edit is None}
    renamed: dict[str, Edit] = {}
    for path, edit in edits.items():
        renamed[path if edit is None else _find_free_path(ours, path, removed, {**edits, **renamed}, edit)] = edit
    return renamed


def _find_free_path(ours: Folder, path: str, removed: set[str], edits: Mapping[str, Edit], edit: Edit) -> str:
    """Return the path, with the first part that collides replaced by an unused name."""
    parts = path.split("/")
    root = ours
    for number, name in enumerate(parts):
        entry = root.entries().get(name)
        last = number == len(parts) - 1
        if entry is not None and entry.is_folder == last and _remains(root, "/".join(parts[: number + 1]), removed):
            before, after = parts[:number], parts[number + 1 :]
            existing = root.entries()
            names = (
                free_name
                for free_name in _other_names(name, entry.oid)
                if existing.get(free_name) in (None, edit if last else None)
            )
            paths = ("/".join([*before, free_name, *after]) for free_name in names)
            return next(free_path for free_path in paths if edits.get(free_path, edit) == edit)
        root = root.folder(name)
    return path


def _other_names(name: str, oid: str) -> Iterator[str]:
    yield from (f"{name}.{oid[:digits]}" for digits in range(_DIGITS, len(oid) + 1))
    yield from (f"{name}.{oid}.{number}" for number in count(2))


def _remains(parent: Folder, path: str, removed: set[str]) -> bool:
    """Return whether a file remains at or below `path` after the removals."""
    name = path.rpartition("/")[2]
    entry = parent.entries()[name]
    files = [f"{path}/{file}" for file in paths_below(parent.folder(name))] if entry.is_folder else [path]
    return not removed.issuperset(files)


def iterate_files(root: Folder) -> Iterator[tuple[str, TreeEntry]]:
    """Yield each file of a tree with its path."""
    for path in differing_paths(root, None):
        entry = root.entry_at(path)
        if entry is not None:
            yield path, entry


# --- the modes of record files
#
# git keeps a mode for each file; record files have the mode 100644, whatever a side sets. A merge may drop a change of
# the mode (formats/merge_commit). What it does with such a change is said here, for the result of a sync or a review.


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
