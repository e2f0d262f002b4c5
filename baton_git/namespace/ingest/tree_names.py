"""Which names the entries of a tree may have: none that `git fsck --strict` rejects."""

from __future__ import annotations

import re
from typing import Final

from baton_git.git.objects.values import raw_entries

_MODES: Final = {b"100644", b"100755", b"100664", b"120000", b"40000", b"160000"}
FOLDER: Final = b"40000"
_PLAIN = re.compile(rb"[A-Za-z0-9_][A-Za-z0-9_%+=@,-]*(?:\.(?!git)[A-Za-z0-9_%+=@,-]+)*\Z", re.IGNORECASE)
_IGNORABLE = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""The code points that HFS+ leaves out of a name."""
_GIT_FILES: Final = {".gitmodules": "gi7eba", ".gitattributes": "gi7d29", ".gitignore": "gi250a", ".mailmap": "maba30"}
"""Files that git reads, with the beginning of the short name that NTFS gives to each."""


def tree_fault(data: bytes, width: int) -> tuple[str, str] | None:
    """The first entry that is at fault, and why; None when none is.

    Which it is matters little; what matters is that a tree with such an entry is no tree for anybody.
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
        return "", f"is no tree ({error})"
    return None


def _order_fault(before: bytes | None, mode: bytes, name: bytes, names: set[bytes]) -> str:
    if name in names:
        return "stands twice in one folder"
    key = name + b"/" if mode == FOLDER else name
    return "is not where git would sort it" if before is not None and key < before else ""


def _entry_fault(mode: bytes, name: bytes, oid: bytes) -> str:
    if mode not in _MODES:
        return f"has the mode {mode[:12].decode('ascii', 'replace')}, which git does not write"
    if not any(oid):
        return "leads to the null id"
    return "" if _PLAIN.match(name) else name_fault(name, is_link=mode == b"120000")


def name_fault(name: bytes, *, is_link: bool = False) -> str:
    """Why no entry may have this name; empty when one may."""
    if name in (b"", b".", b".."):
        return f"is called {name.decode() or 'nothing at all'}"
    if b"/" in name or b"\\" in name:
        return "has a slash in its name"
    folded = _fold_name(name.decode("utf-8", "replace"))
    if folded in (".git", "git~1"):
        return "is, or is taken for, .git on some systems"
    if is_link and any(_is_taken_for(folded, plain, short) for plain, short in _GIT_FILES.items()):
        return "is a link in the place of a file that git reads"
    return ""


def _fold_name(name: str) -> str:
    """As systems see it that ignore case, invisible code points, streams, and dots and spaces at the end."""
    visible = _IGNORABLE.sub("", name).partition(":")[0].casefold()
    return visible.rstrip(". ") or visible


def _is_taken_for(folded: str, plain: str, short: str) -> bool:
    """Whether NTFS may give `plain` this name: `GITMOD~1`, or, where that was taken, `GI7EBA~1`."""
    stem, tilde, number = folded.partition("~")
    is_short = bool(tilde and stem) and number.isdigit()
    return folded == plain or (is_short and (stem == plain[1:7] or short.startswith(stem[:6])))
