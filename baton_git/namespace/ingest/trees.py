"""Find what is not allowed in the trees of a namespace: names, links, and names that differ only in case.

Only folders that differ are compared, so the cost grows with the number of changed files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from operator import lt
from typing import Final

from baton_git.core import kinds, stored_form
from baton_git.core.kinds import MAX_FOLDERS, place_at
from baton_git.core.names import FORMAT_FILE
from baton_git.git.objects.values import raw_entries
from baton_git.git.store import Folder, TreeEntry

_MODES: Final = {b"100644", b"100755", b"100664", b"120000", b"40000", b"160000"}
FOLDER: Final = b"40000"
_PLAIN = re.compile(rb"[A-Za-z0-9_][A-Za-z0-9_%+=@,-]*(?:\.(?!git)[A-Za-z0-9_%+=@,-]+)*\Z", re.IGNORECASE)
_IGNORABLE = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""The code points that HFS+ ignores in a name."""
_GIT_FILES: Final = {".gitmodules": "gi7eba", ".gitattributes": "gi7d29", ".gitignore": "gi250a", ".mailmap": "maba30"}
"""The files that git reads, with the beginning of the hashed short name that NTFS may give to each."""


_PLAIN_ENTRY: Final = {
    width: re.compile(
        rb"(100644|40000) ((?i:[A-Z0-9_][A-Z0-9_%%+=@,-]*(?:\.(?!git)[A-Z0-9_%%+=@,-]+)*))\0(.{%d})" % width, re.DOTALL
    )
    for width in (20, 32)
}
"""An entry of a regular file or a folder whose name is safe everywhere, with ids of so many bytes."""


def parse_plain_tree(data: bytes, width: int) -> list[tuple[bytes, bytes, bytes]] | None:
    """Return mode, name and id of the entries of a valid tree; None if only `find_tree_fault` can tell whether it is.

    This covers the trees that baton writes, at a third of the time.
    """
    entries: list[tuple[bytes, bytes, bytes]] = _PLAIN_ENTRY[width].findall(data)
    if sum(len(mode) + len(name) for mode, name, _ in entries) + (width + 2) * len(entries) != len(data):
        return None
    keys = [name + b"/" if mode == FOLDER else name for mode, name, _ in entries]
    if bytes(width) in data or len({name for _, name, _ in entries}) != len(entries):
        return None
    return entries if all(lt(*pair) for pair in pairwise(keys)) else None


def find_tree_fault(data: bytes, width: int) -> tuple[str, str] | None:
    """Return the name of the first invalid entry of a tree and the reason; None if the tree is valid.

    The name is empty if the tree cannot be parsed.

    Args:
        width: length of a binary object id in bytes.
    """
    before: bytes | None = None
    names: set[bytes] = set()
    try:
        for mode, name, oid in raw_entries(data, width):
            why = _entry_fault(mode, name, oid) or _order_fault(before, mode, name, names)
            if why:
                return name.decode("utf-8", "backslashreplace"), why
            before = name + b"/" if mode == FOLDER else name
            names.add(name)
    except ValueError as error:
        return "", f"is not a valid tree ({error})"
    return None


def _order_fault(before: bytes | None, mode: bytes, name: bytes, names: set[bytes]) -> str:
    if name in names:
        return "occurs twice in one folder"
    key = name + b"/" if mode == FOLDER else name
    return "is not in git's sort order" if before is not None and key < before else ""


def _entry_fault(mode: bytes, name: bytes, oid: bytes) -> str:
    if mode not in _MODES:
        return f"has the mode {mode[:12].decode('ascii', 'replace')}, which git does not write"
    if not any(oid):
        return "has the null object id"
    return "" if _PLAIN.match(name) else find_name_fault(name, is_link=mode == b"120000")


def find_name_fault(name: bytes, *, is_link: bool = False) -> str:
    """Return why a tree entry may not have this name; empty if it may."""
    if name in (b"", b".", b".."):
        return f"has the name {name.decode()!r}"
    if b"/" in name or b"\\" in name:
        return "has a slash or a backslash in its name"
    folded = _fold_name(name.decode("utf-8", "replace"))
    if folded in (".git", "git~1"):
        return "is equivalent to .git on some systems"
    if is_link and any(_is_equivalent(folded, plain, short) for plain, short in _GIT_FILES.items()):
        return "is a link with the name of a file that git reads"
    return ""


def _fold_name(name: str) -> str:
    """Normalise a name like systems that ignore case, invisible code points, streams, and final dots and spaces."""
    visible = _IGNORABLE.sub("", name).partition(":")[0].casefold()
    return visible.rstrip(". ") or visible


def _is_equivalent(folded: str, plain: str, short: str) -> bool:
    """Return whether a name is `plain` or a short name that NTFS may give to it: `GITMOD~1`, or hashed `GI7EBA~1`."""
    stem, tilde, number = folded.partition("~")
    is_short = bool(tilde and stem) and number.isdigit()
    return folded == plain or (is_short and (stem == plain[1:7] or short.startswith(stem[:6])))


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
