"""Store what a mining run found out about each transcript, so that the next run reads only changed transcripts.

The file is in the repository's common directory. It has one JSON line for each transcript, with the path, device,
inode, size and modification time. Lines are written during the run, so that the next run continues after a killed one.
If the file is deleted, the next run reads all transcripts again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from baton_git import __version__
from baton_git.agents.mining.candidates import Candidate
from baton_git.core.errors import BatonError
from baton_git.git.files.atomic_files import read_bytes, write_all

FORMAT = 1
Note = dict[str, Any]


class MiningProgress:
    """The notes about transcripts, stored in `file`.

    Args:
        file: the file; it may be missing or damaged, since unreadable lines are ignored.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._notes: dict[str, tuple[list[Any], Note]] = {}
        for line in _read_lines(file):
            self._notes[line.path] = (line.key, line.note)

    def note(self, candidate: Candidate) -> Note:
        """Return the note about a transcript; empty if there is none, or the transcript has changed since."""
        key, note = self._notes.get(str(candidate.path), ([], {}))
        return dict(note) if key == list(candidate.key) else {}

    def add(self, candidate: Candidate, **facts: Any) -> None:
        """Add facts to a transcript's note, and store it. If that fails, the next run reads the transcript again."""
        note = {**self.note(candidate), **facts}
        self._notes[str(candidate.path)] = (list(candidate.key), note)
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(self.file, "ab", opener=_open_private) as file:
                file.write(b"\n" + _encode(list(candidate.key), note))  # the line before may be incomplete
        except OSError:
            return

    def settle(self) -> None:
        """Delete what is no longer needed: notes about missing transcripts, and the sessions of stored ones.

        Raises:
            WriteFailed: the file cannot be written.
        """
        kept = {path: entry for path, entry in self._notes.items() if os.path.lexists(path)}
        for _, note in kept.values():
            if note.get("stored"):
                note.pop("session", None)
        self._notes = kept
        content = b"".join(_encode(key, note) for key, note in kept.values())
        try:
            is_same = read_bytes(self.file) == content
        except BatonError:
            is_same = not content
        if not is_same:
            write_all({self.file: content}, mode=0o600)


class _Line(NamedTuple):
    path: str
    key: list[Any]
    note: Note


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _encode(key: list[Any], note: Note) -> bytes:
    return json.dumps({"format": FORMAT, "program": __version__, "file": key, "note": note}).encode() + b"\n"


def _read_lines(file: Path) -> Iterable[_Line]:
    """Yield the lines that this version of the program wrote; another version may read transcripts differently."""
    try:
        content = read_bytes(file)
    except BatonError:
        return
    for text in content.split(b"\n"):
        try:
            data = json.loads(text)
            if (data["format"], data["program"]) == (FORMAT, __version__):
                yield _Line(str(data["file"][0]), list(data["file"]), dict(data["note"]))
        except (ValueError, KeyError, TypeError, IndexError, RecursionError):
            continue
