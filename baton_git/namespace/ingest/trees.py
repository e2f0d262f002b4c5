"""Find changed files that are not allowed in a namespace, such as links and names that differ only in case.

Only folders that differ are compared, so the cost grows with the number of changed files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice

from baton_git.core import kinds, stored_form
from baton_git.core.kinds import MAX_FOLDERS, place_at
from baton_git.core.names import FORMAT_FILE
from baton_git.git.store import Folder, TreeEntry
from baton_git.namespace.ingest.tree_names import find_name_fault

_REGULAR = 0o100000
_KIND = 0o170000
MOST_BUNDLES = 1_000
"""How many bundles a first start reads whose history ends at a boundary: the 15,000 of a large team took 3 s. All are
read when the older history is here. Until then a fault does no harm: readers leave out that part of a bundle."""
_PLACES = {row.folder for row in kinds.KINDS.values()} | {kinds.ARCHIVE}


def find_unsafe_files(
    before: Folder, after: Folder, *, most: int | None = None, base: Folder | None = None, bundles: int | None = None
) -> Iterator[tuple[str, str]]:
    """Yield path and reason of each added or changed file that is not allowed in a namespace.

    If more than `most` files changed, yield one entry with an empty path in place of theirs. Without `most`, the trees
    must have passed the limits of an ingest.

    Args:
        base: the tree that `after` was made from, if it was not `before`: while one machine began with layout 2, the
            others go on in layout 1.
        bundles: maximum number of bundles that are read; None for all.

    Raises:
        Corrupt: a tree cannot be read.
    """
    if FORMAT_FILE in before.entries() and FORMAT_FILE not in after.entries():
        yield FORMAT_FILE, "was removed; without it this is not a branch of baton-git"
    if (before if base is None else base).version > after.version and FORMAT_FILE in after.entries():
        yield FORMAT_FILE, f"was set back to layout {after.version}; records stored as in layout 2 would vanish"
    changes = _iterate_changes(before.stored(), after.stored(), "", 0)
    changed = list(islice(changes, None if most is None else most + 1))
    if most is not None and len(changed) > most:
        yield "", f"more than {most:,} files changed"
        return
    stored, read = after.stored(), 0
    for path, why in changed:
        digits = stored_form.find_bundle_digits(path) if after.version == 2 else None
        if not why and digits is not None:
            read += 1
            why = _find_bundle_fault(stored, path, digits) if bundles is None or read <= bundles else ""
        elif not why:
            why = _placement_fault(path, after.version)
        if why:
            yield path, why


def list_changed_files(before: Folder, after: Folder) -> Iterator[str]:
    """Yield the paths of the added and changed files as they are stored."""
    return (path for path, _ in _iterate_changes(before.stored(), after.stored(), "", 0))


def _iterate_changes(before: Folder, after: Folder, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield each added or changed file with its fault or an empty string. Folders with the same id are not opened."""
    if before.oid == after.oid:
        return
    if depth > MAX_FOLDERS:
        yield prefix, f"is nested deeper than {MAX_FOLDERS} folders"
        return
    old, new = before.entries(), after.entries()
    twins = _twins(new)
    for name, entry in new.items():
        if old.get(name) == entry:
            continue
        path = f"{prefix}{name}"
        why = _fault(name, twins)
        if entry.is_folder and not why:
            yield from _iterate_changes(before.folder(name), after.folder(name), f"{path}/", depth + 1)
        else:
            yield path, why or _kind_fault(entry)


def _fault(name: str, twins: Mapping[str, str]) -> str:
    why = find_name_fault(name.encode("utf-8", "surrogateescape"))
    return why or (f"is the same name as {twins[name]} on systems that ignore case" if name in twins else "")


def _twins(entries: Mapping[str, TreeEntry]) -> dict[str, str]:
    """Return the names that differ only in case from another name in the same folder, each with that other name."""
    folded = {name: name.casefold() for name in entries}
    count = Counter(folded.values())
    if len(count) == len(folded):
        return {}
    meeting: dict[str, list[str]] = {}
    for name, plain in folded.items():
        if count[plain] > 1:
            meeting.setdefault(plain, []).append(name)
    return {name: next(twin for twin in names if twin != name) for names in meeting.values() for name in names}


def _kind_fault(entry: TreeEntry) -> str:
    return "" if entry.mode & _KIND == _REGULAR else "is a link or a submodule"


def _placement_fault(path: str, version: int) -> str:
    """Return what is wrong with the place of a file: it is in a folder of records, but no record can have this path."""
    if path.split("/")[0] not in _PLACES or place_at(path) is not None:
        return ""
    if version == 2 and place_at(stored_form.restore_path(path)) is not None:
        return ""
    return "is in a folder of records, but its path is not that of a record"


def _find_bundle_fault(stored: Folder, path: str, digits: str) -> str:
    folder, name = stored.open_parent(path)
    faults = stored_form.split_bundle(folder.read(name) or b"", digits).faults
    return f"is no bundle of archived records: it {faults[0]}" if faults else ""
