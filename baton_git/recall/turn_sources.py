"""Update the index from the stored turns of sessions.

A hook with each prompt imports this module, so it imports nothing that reads records or commits.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from baton_git.core.errors import BatonError
from baton_git.recall.index import RecallIndex
from baton_git.recall.passages import Passage, split_turns

TURNS = "turns"
RECORDS = "records of "
"""What the names of the groups of sources begin with that are the records of a branch."""
SAID = " said"
"""The suffix of the source with what a digest or a record of turns repeats from the turns of its session. It is indexed
only while these turns are not stored on this machine: otherwise every word would count twice, and be quoted twice."""
SETTLED = 2_000_000_000
"""Age in nanoseconds from which the time of a folder is certain: some file systems count whole or even seconds."""


def put_changed(
    index: RecallIndex, folder: Path, marks: Mapping[str, str], end: float = math.inf, most: float = math.inf
) -> bool:
    """Add and replace the turns of sessions that are not indexed, newest first. Return False if some are left.

    Args:
        marks: the marks of all files of turns, by name; see `list_files`.
        end: when to stop, by the monotonic clock.
        most: the number of bytes of files to read.
    """
    known = index.source_marks(TURNS)
    changed = {name: _parse_mark(mark) for name, mark in marks.items() if known.get(name) != mark}
    for name, (size, _) in sorted(changed.items(), key=lambda item: -item[1][1]):
        most -= size
        if most < 0 or time.monotonic() > end:
            return False
        index.put_source(TURNS, name, marks[name], _read_turns(folder, name))
    if changed:
        sessions = index.list_sessions(TURNS)
        for group, key, session in index.list_keys(f"*{SAID}"):
            if session in sessions:
                index.remove_source(group, key)
    return True


def remove_gone(index: RecallIndex, marks: Mapping[str, str]) -> bool:
    """Remove the turns whose files are not there any more. Return whether there were any."""
    gone = index.source_marks(TURNS).keys() - marks.keys()
    for name in gone:
        index.remove_source(TURNS, name)
    return bool(gone)


def _parse_mark(mark: str) -> tuple[int, int]:
    """Return size and modification time of a file."""
    size, _, modified = mark.partition(" ")
    return int(size), int(modified)


def mark_folders(folder: Path, now: int) -> str:
    """Return a mark that changes if a file of stored turns is written or deleted, as all are replaced by renaming.

    It is empty if a folder changed so recently that another change may not show in its time.

    Args:
        now: the time in nanoseconds, as the file system counts it; 0 if unknown.
    """
    try:
        times = [(agent.name, agent.stat().st_mtime_ns) for agent in _scan(folder)]
    except OSError:  # removed meanwhile
        return ""
    return " ".join(f"{name}/{at}" for name, at in sorted(times)) if all(at < now - SETTLED for _, at in times) else ""


def list_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of stored turns as `<agent>/<name>`, each with a mark made of its size and modification time."""
    for agent in _scan(folder):
        for file in _scan(Path(agent.path)) if agent.is_dir() else ():
            with suppress(FileNotFoundError):
                status = file.stat()
                yield f"{agent.name}/{file.name}", f"{status.st_size} {status.st_mtime_ns}"


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read_turns(folder: Path, name: str) -> Iterator[Passage]:
    from baton_git.agents.turn_store import TurnStore  # most hooks with a prompt find nothing new
    from baton_git.core.names import decode

    agent, _, file = name.partition("/")
    try:
        turns = TurnStore(folder).load(decode(agent), decode(file.removesuffix(".jsonl")))
    except BatonError:  # not written by baton, or deleted meanwhile; read again when it changes
        return
    if turns is not None:
        yield from split_turns(turns)
