"""Which changed files no tree of a namespace may have."""

from __future__ import annotations

from collections.abc import Iterator

from baton_git import kinds, layout
from baton_git.files import entry_at
from baton_git.store import Folder

MAX_CHANGED_FILES = 50_000
_REGULAR = 0o100000
_KIND = 0o170000


def unsafe(before: Folder, after: Folder) -> Iterator[tuple[str, str]]:
    """Changed files that no tree of ours may have, and why: links, unsafe names, names that meet where case is ignored.

    Raises:
        Corrupt: a tree cannot be read.
    """
    if layout.FORMAT_FILE in before.entries() and layout.FORMAT_FILE not in after.entries():
        yield layout.FORMAT_FILE, "is gone: without it this is no branch of baton-git"
    paths = [path for path in layout.differing_paths(before, after) if entry_at(after, path) is not None]
    if len(paths) > MAX_CHANGED_FILES:
        yield "", f"{len(paths):,} files changed, the limit is {MAX_CHANGED_FILES:,}"
        return
    for path in paths:
        why = _fault(after, path)
        if why:
            yield path, why


def _fault(root: Folder, path: str) -> str:
    parts = path.split("/")
    if any(part in ("", ".", "..") or part.lower().rstrip(". ") == ".git" or "\\" in part for part in parts):
        return "is no safe path"
    entry = entry_at(root, path)
    if entry is None or entry.mode & _KIND != _REGULAR:
        return "is a link or a submodule"
    folder = root
    for part in parts:
        twins = [name for name in folder.entries() if name != part and name.casefold() == part.casefold()]
        if twins:
            return f"cannot be told from {twins[0]} where case is ignored"
        folder = folder.folder(part)
    return _misplaced(path)


def _misplaced(path: str) -> str:
    """Files in the places of records must be records."""
    places = {row.place for row in kinds.FOLDERS.values()} | {kinds.ARCHIVE}
    misplaced = path.split("/")[0] in places and layout.key_at(path) is None
    return "is in the place of records, but is not the file of one" if misplaced else ""
