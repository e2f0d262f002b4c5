"""Read which commits `git filter-repo` rewrote or removed: `filter-repo/commit-map` in the git directory.

Since 2019 the file has a header and a line `<old> <new>` for each commit, also for unchanged ones; `<new>` is zeros for
a commit that was removed. Another run within a day continues the map, a later one begins a new one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from baton_git.core.names import Oid

_LINE = re.compile(rb"^([0-9a-f]{40}(?:[0-9a-f]{24})?) +([0-9a-f]{40}(?:[0-9a-f]{24})?)$", re.MULTILINE)
MAX_BYTES = 512 << 20


class PurgeMap(NamedTuple):
    """The commits that one or several runs changed: the new id of each, or None for a removed one.

    Attributes:
        stamp: a text that changes when the file is written again.
    """

    stamp: str
    commits: Mapping[Oid, Oid | None]


def read_stamp(common_dir: Path) -> str:
    """Return a text that changes when `git filter-repo` runs; empty if it never ran here."""
    try:
        status = os.stat(f"{common_dir}{os.sep}filter-repo{os.sep}commit-map")
    except OSError:
        return ""
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns}"


def read_purge_map(common_dir: Path) -> PurgeMap:
    """Return the changed commits; none if the file is missing, unreadable or larger than `MAX_BYTES`."""
    stamp = read_stamp(common_dir)
    try:
        with _path(common_dir).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError:
        return PurgeMap(stamp, {})
    if len(content) > MAX_BYTES:
        return PurgeMap(stamp, {})
    lines = (match.groups() for match in _LINE.finditer(content))
    return PurgeMap(
        stamp, {_decode(old): _decode(new) if new.strip(b"0") else None for old, new in lines if old != new}
    )


def _path(common_dir: Path) -> Path:
    return common_dir / "filter-repo" / "commit-map"


def _decode(text: bytes) -> Oid:
    return Oid(text.decode("ascii"))
