"""Where transcripts lie: found by name, newest first, with what their first lines tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from baton_git.agents.fields import Record
from baton_git.agents.json_lines import JsonLines, opened
from baton_git.errors import BatonError

HEAD_LINES = 20
HEAD_BYTES = 65536


class Transcript(NamedTuple):
    """A session's file; `session` and `cwd` are None when its name, place and first lines do not tell them."""

    path: Path
    session: str | None
    cwd: str | None


def newest_first(paths: Iterable[Path]) -> list[Path]:
    """The files by the time of their last change; one that is gone by now, or leads nowhere, is left out."""
    changed = {}
    for path in paths:
        try:
            changed[path] = path.stat().st_mtime_ns
        except OSError:
            continue
    return sorted(changed, key=lambda path: (changed[path], str(path)), reverse=True)


def first_records(path: Path) -> Iterator[Record]:
    """What can be read of the first lines; nothing of a file that cannot be read, which must not hide the others."""
    try:
        for _, record in JsonLines(path, most=HEAD_LINES):
            yield record
    except BatonError:
        return


def head(path: Path) -> str:
    """The first bytes as text; empty for a file that cannot be read."""
    try:
        with opened(path) as file:
            return file.read(HEAD_BYTES).decode(errors="replace")
    except BatonError:
        return ""
