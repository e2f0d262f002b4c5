"""Files that are no records, merged by path: whole where one side changed them, line by line where both did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import NamedTuple

from baton_git.core.layout import differing_paths, key_at, paths_below
from baton_git.core.merge import ContestedValue, conflict, merge_lines
from baton_git.core.records.conflict import Conflict
from baton_git.git.store import Edit, Folder, TreeEntry

KIND = "file"
"""What a conflict about such a file says is contested."""

_REGULAR = 0o100000
_KIND = 0o170000
_MOST_BYTES = 1 << 20
"""Beyond this no lines are compared."""

_DIGITS = 8
"""How many digits of an object id a new name has at least."""

Sides = tuple[TreeEntry | None, TreeEntry | None, TreeEntry | None]


class MergedFiles(NamedTuple):
    """What becomes of ours, and what is contested."""

    edits: dict[str, Edit]
    conflicts: tuple[Conflict, ...]


def merge_files(base: Folder, ours: Folder, theirs: Folder) -> MergedFiles:
    """How the unknown files of `theirs` come into `ours`; it does not matter which side is called ours.

    Where lines cannot be merged, one file (the one with the larger id) keeps the path; the other is put beside it.
    """
    edits: dict[str, Edit] = {}
    conflicts: list[Conflict] = []
    for path in sorted(path for path in differing_paths(base, theirs) if key_at(path) is None):
        sides = (entry_at(base, path), entry_at(ours, path), entry_at(theirs, path))
        if sides[2] in (sides[0], sides[1]):
            continue
        found = _merged(path, sides, (base, ours, theirs))
        edits |= found.edits
        conflicts += found.conflicts
    return MergedFiles(_clear(ours, edits), tuple(conflicts))


def entry_at(root: Folder, path: str) -> TreeEntry | None:
    """The file at a path; None when there is none, or a folder."""
    *folders, name = path.split("/")
    for one in folders:
        root = root.folder(one)
    found = root.entries().get(name)
    return None if found is None or found.is_folder else found


def text_at(root: Folder, path: str) -> bytes:
    """The content of a file; empty when there is none.

    Raises:
        Corrupt: it cannot be read.
    """
    *folders, name = path.split("/")
    for one in folders:
        root = root.folder(one)
    return root.read(name) or b""


def _merged(path: str, sides: Sides, roots: tuple[Folder, Folder, Folder]) -> MergedFiles:
    was, mine, other = sides
    if mine == was:
        return MergedFiles({path: other}, ())
    if mine is None or other is None:
        kept, gone = (other, mine) if mine is None else (mine, other)
        told = ContestedValue("", _said(was, path), _said(kept, path), _said(gone, path), "ours")
        return MergedFiles({path: kept}, (conflict(KIND, path, told),))
    lines = _by_lines(path, sides, roots)
    if lines is not None:
        return MergedFiles({path: lines}, ())
    first, second = sorted((mine, other), key=lambda one: (one.oid, one.mode), reverse=True)
    beside = _beside(path, second, roots[1:])
    told = ContestedValue("", _said(was, path), _said(first, path), _said(second, beside), "ours")
    return MergedFiles({path: first, beside: second}, (conflict(KIND, path, told),))


def _beside(path: str, entry: TreeEntry, roots: Iterable[Folder]) -> str:
    """A name for the file that loses its path, which nothing else has: with as much of its id as that takes."""
    names = (f"{path}.{entry.oid[:digits]}" for digits in range(_DIGITS, len(entry.oid)))
    return next((name for name in names if all(_is_free(root, name, entry) for root in roots)), f"{path}.{entry.oid}")


def _is_free(root: Folder, path: str, edit: Edit) -> bool:
    """Whether nothing stands at the path, or what is to stand there."""
    *folders, name = path.split("/")
    for one in folders:
        root = root.folder(one)
    return root.entries().get(name) in (None, edit)


def _said(entry: TreeEntry | None, path: str) -> tuple[dict[str, str], ...]:
    return () if entry is None else ({"path": path, "blob": entry.oid},)


def _by_lines(path: str, sides: Sides, roots: tuple[Folder, Folder, Folder]) -> bytes | None:
    """Both sides' changes together; None where they meet, or where these are no texts of one mode."""
    regular = all(one is None or one.mode & _KIND == _REGULAR for one in sides)
    if not regular or sides[1] is None or sides[2] is None or sides[1].mode != sides[2].mode:
        return None
    texts = [text_at(root, path) for root in roots]
    if any(b"\0" in text or len(text) > _MOST_BYTES for text in texts):
        return None
    lines = merge_lines(*(text.splitlines(keepends=True) for text in texts))
    return None if lines is None else b"".join(lines)


def _clear(ours: Folder, edits: Mapping[str, Edit]) -> dict[str, Edit]:
    """The edits, with a new name where a file would stand in the way of a folder of ours, or a folder of a file."""
    gone = {path for path, edit in edits.items() if edit is None}
    clear: dict[str, Edit] = {}
    for path, edit in edits.items():
        clear[path if edit is None else _free(ours, path, gone, {**edits, **clear}, edit)] = edit
    return clear


def _free(ours: Folder, path: str, gone: set[str], edits: Mapping[str, Edit], edit: Edit) -> str:
    """The path itself, or one whose first part that is in the way has a name that nothing has."""
    parts = path.split("/")
    root = ours
    for number, name in enumerate(parts):
        found = root.entries().get(name)
        last = number == len(parts) - 1
        if found is not None and found.is_folder == last and _stays(root, "/".join(parts[: number + 1]), gone):
            before, after = parts[:number], parts[number + 1 :]
            there = root.entries()
            names = (one for one in _other_names(name, found.oid) if there.get(one) in (None, edit if last else None))
            paths = ("/".join([*before, one, *after]) for one in names)
            return next(one for one in paths if edits.get(one, edit) == edit)
        root = root.folder(name)
    return path


def _other_names(name: str, oid: str) -> Iterator[str]:
    yield from (f"{name}.{oid[:digits]}" for digits in range(_DIGITS, len(oid) + 1))
    yield from (f"{name}.{oid}.{number}" for number in count(2))


def _stays(above: Folder, path: str, gone: set[str]) -> bool:
    """Whether anything is left of the file or folder at `path`."""
    name = path.rpartition("/")[2]
    found = above.entries()[name]
    files = [f"{path}/{one}" for one in paths_below(above.folder(name))] if found.is_folder else [path]
    return not gone.issuperset(files)


def iterate_files(root: Folder) -> Iterator[tuple[str, TreeEntry]]:
    """Every file of a tree with its path."""
    for path in differing_paths(root, None):
        found = entry_at(root, path)
        if found is not None:
            yield path, found
