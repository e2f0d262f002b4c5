"""Check the entries of raw trees: reject everything that `git fsck --strict` rejects."""

from __future__ import annotations

import re
from itertools import pairwise
from operator import lt
from typing import Final

from baton_git.git.objects.values import raw_entries

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
