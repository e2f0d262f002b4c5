"""Which commits were replaced by others: by a rebase or an amendment, or by `git filter-repo`.

The post-rewrite hook appends lines `<old> <new>` to a file on this machine, and shortens the file when it is large. If
the hook got no input, because the tool that runs it passes none on, baton derives the lines from the reflog.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.files.atomic_files import read_at_most

MAX_STEPS = 100
"""Maximum number of successive rewrites of a commit that are followed."""
MIN_HASH = 7
"""Minimum number of digits of an abbreviated commit id by which a commit is recognised."""
_LINE = re.compile(r"([0-9a-f]{40}(?:[0-9a-f]{24})?) ([0-9a-f]{40}(?:[0-9a-f]{24})?)(?: .*)?")
_ID = re.compile(r"[0-9a-f]{7,64}")


def load_rewritten(common_dir: Path) -> Mapping[str, str]:
    """Return a mapping of old to new commit ids; empty if nothing was rewritten or the file is unreadable."""
    try:
        text = (common_dir / "baton" / "rewritten").read_text(encoding="ascii", errors="replace")
    except OSError:
        return {}
    return {match[1]: match[2] for line in text.splitlines() if (match := _LINE.fullmatch(line))}


def got_no_input(common_dir: Path) -> bool:
    """Return whether the post-rewrite hook got no input when it ran last, although git always passes some."""
    return (common_dir / "baton" / "hook-input" / "post-rewrite").exists()


def add_rewritten(common_dir: Path, pairs: Mapping[str, str]) -> None:
    """Append the pairs that the file lacks.

    Raises:
        WriteFailed: writing to disk failed.
    """
    known = load_rewritten(common_dir)
    lines = [f"{old} {new}\n" for old, new in pairs.items() if known.get(old) != new]
    if lines:
        path = common_dir / "baton" / "rewritten"
        with durable_files.writing(str(path)), path.open("a", encoding="ascii") as file:
            file.write("".join(lines))


def find_newest(rewritten: Mapping[str, str], commit: str) -> str:
    """Return the id of `commit` after all its rewrites, or `commit` itself if it was not rewritten.

    For an abbreviated id the result has the same length. An ambiguous abbreviated id is returned unchanged.
    """
    newest = commit
    if _ID.fullmatch(commit) and commit not in rewritten:
        fitting = [old for old in rewritten if old.startswith(commit)]
        newest = fitting[0] if len(fitting) == 1 else commit
    for _ in range(MAX_STEPS):
        following = rewritten.get(newest)
        if following is None or following == newest:
            break
        newest = following
    return newest[: len(commit)]


# --- `filter-repo/commit-map` in the git directory
#
# Since 2019 the file has a header and a line `<old> <new>` for each commit, also for unchanged ones; `<new>` is zeros
# for a commit that was removed. Another run within a day continues the map, a later one begins a new one.

_MAPPED = re.compile(rb"^([0-9a-f]{40}(?:[0-9a-f]{24})?) +([0-9a-f]{40}(?:[0-9a-f]{24})?)$", re.MULTILINE)
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
        with (common_dir / "filter-repo" / "commit-map").open("rb") as file:
            content = read_at_most(file, MAX_BYTES + 1)
    except OSError:
        return PurgeMap(stamp, {})
    if len(content) > MAX_BYTES:
        return PurgeMap(stamp, {})
    lines = (match.groups() for match in _MAPPED.finditer(content))
    return PurgeMap(
        stamp, {_decode(old): _decode(new) if new.strip(b"0") else None for old, new in lines if old != new}
    )


def _decode(text: bytes) -> Oid:
    return Oid(text.decode("ascii"))
