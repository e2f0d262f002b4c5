"""List the transcripts on this machine, those that their CLI will delete soon, and what a mining run found in them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from stat import S_ISREG
from typing import Any, NamedTuple

from baton_git import __version__
from baton_git.agents.json_lines import read_object
from baton_git.agents.registry import AGENTS
from baton_git.agents.transcripts import Transcript, Warn, ignore_warning
from baton_git.core.errors import BatonError
from baton_git.git.files.atomic_files import read_bytes, write_all

FileKey = tuple[str, int, int, int, int]


class Candidate(NamedTuple):
    """A transcript as it was when it was listed.

    Attributes:
        cwd: the folder in which its session started; None if unknown.
        cwd_digest: the SHA-256 of that folder's path, if only this is known.
    """

    agent: str
    path: Path
    session: str
    cwd: str | None
    cwd_digest: str | None
    device: int
    inode: int
    size: int
    mtime_ns: int

    @property
    def key(self) -> FileKey:
        """A key that changes when the file changes."""
        return (str(self.path), self.device, self.inode, self.size, self.mtime_ns)


def list_candidates(
    agents: Sequence[str], home: Path, environment: Mapping[str, str], warn: Warn = ignore_warning
) -> Iterator[Candidate]:
    """Yield the transcripts of sessions, those of each agent newest first.

    Transcripts of subagents are left out, because they are read together with the transcript of their session. So are
    symbolic links to files outside of the agent's folder. Folders may be links: users put `projects` on another disk.
    """
    for name in agents:
        root = os.path.realpath(AGENTS[name].hooks.find_user_folder(home, environment))
        for transcript in AGENTS[name].find_sessions(home, environment, warn):
            if not transcript.path.is_symlink() or _is_below(os.path.realpath(transcript.path), root):
                yield from _make_candidates(name, transcript)


def _make_candidates(agent: str, transcript: Transcript) -> Iterator[Candidate]:
    try:
        stat = transcript.path.stat()
    except OSError:  # removed meanwhile
        return
    if S_ISREG(stat.st_mode) and transcript.session:
        yield Candidate(
            agent, transcript.path, transcript.session, transcript.cwd, transcript.cwd_digest,
            stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns,
        )  # fmt: skip


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


SOON_DAYS = 7
"""A transcript is reported if it will be deleted within this many days."""
_DAY = 86400


class Expiry(NamedTuple):
    """The number of transcripts that a CLI deletes within `SOON_DAYS`, because it keeps each for `kept_days`."""

    agent: str
    number: int
    kept_days: float
    settings: Path


def find_expiring(
    candidates: Iterable[Candidate], now: datetime, home: Path, environment: Mapping[str, str]
) -> list[Expiry]:
    """Return an entry for each CLI that will delete some of these transcripts soon."""
    ages: dict[str, list[float]] = {}
    for candidate in candidates:
        ages.setdefault(candidate.agent, []).append((now.timestamp() - candidate.mtime_ns / 1e9) / _DAY)
    expiring = []
    for agent, days in ages.items():
        retention = AGENTS[agent].retention
        if retention is None:
            continue
        file = AGENTS[agent].hooks.find_user_folder(home, environment) / retention.file
        kept = _read_days(file, retention.key, retention.days)
        number = sum(age >= kept - SOON_DAYS for age in days)
        if number:
            expiring.append(Expiry(agent, number, kept, file))
    return expiring


def _read_days(file: Path, key: str, default: int) -> float:
    """Return the number of days from the settings file; `default` if the file is unreadable or does not set it."""
    try:
        value = (read_object(file) or {}).get(key)
    except BatonError:
        return default
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else default


FORMAT = 1
Note = dict[str, Any]


class MiningProgress:
    """The notes about transcripts, stored in `file`, so that the next mining run reads only changed transcripts.

    The file is in the repository's common directory. It has one JSON line for each transcript, with the path, device,
    inode, size and modification time. Lines are written during the run, so that the next run continues after a killed
    one. If the file is deleted, the next run reads all transcripts again.

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
