"""The journal of repairs of the person's files. They are copied first, so that the repair can be undone.

`<folder>/<time>-<random>/` holds `entry.json` and copies of the original files. Only the newest entries are kept.
"""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from baton_git.core.errors import Corrupt, NotAllowed, NotFound
from baton_git.core.times import iso
from baton_git.git.files import durable_files
from baton_git.verbs.doctor.examination import Repair

KEPT = 20
"""Maximum number of entries. Older ones are removed, and their repairs can no longer be undone."""
ENTRY = "entry.json"
ABSENT = ""


@dataclass(frozen=True)
class RepairedFile:
    """A file before and after a repair.

    Attributes:
        before: the digest of the original; empty if there was no file.
        mode: the permissions of the original.
        copy: the name of the original's copy in the entry's folder.
        after: the digest and the permissions after the repair; empty if there is no file then. None if the repair is
            running, has failed or was killed.
    """

    path: str
    before: str
    mode: int = 0
    copy: str = ""
    after: str | None = None


@dataclass(frozen=True)
class JournalEntry:
    """One repair that was carried out, and the files that it changed."""

    id: str
    check: str
    about: str
    at: str
    files: tuple[RepairedFile, ...] = ()
    undone: bool = False


class RepairJournal:
    """The journal in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # --- carrying out

    def carry_out(self, check: str, repair: Repair, now: datetime) -> str | None:
        """Run a repair, after copying the files of the person that it changes; return how to take it back.

        Raises:
            BatonError: what the repair raises; changes made before the error can be undone.
        """
        if repair.paths is None:
            return repair.run()
        id_ = f"{iso(now).replace(':', '').replace('-', '')}-{durable_files.random_name(6)}"
        with durable_files.writing(str(self.folder)):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / id_).mkdir(mode=0o700)
        before = {path: self._keep(id_, number, path) for number, path in enumerate(dict.fromkeys(repair.paths()))}
        entry = JournalEntry(id_, check, repair.about, iso(now), tuple(before.values()))
        self._save(entry)
        repair.run()
        new = (RepairedFile(str(path), ABSENT) for path in repair.paths() if path not in before)
        done = [replace(change, after=_describe(Path(change.path))) for change in (*before.values(), *new)]
        changed = tuple(change for change in done if change.after != _join(change.before, change.mode))
        self._save(replace(entry, files=changed))
        self._forget_old()
        return "to take it back: baton doctor --undo"

    def _keep(self, id_: str, number: int, path: Path) -> RepairedFile:
        """Copy the current content of a file."""
        with durable_files.writing(f"a copy of {path}"):
            try:
                status = path.lstat()
            except (FileNotFoundError, NotADirectoryError):
                return RepairedFile(str(path), ABSENT)
            if not stat.S_ISREG(status.st_mode):
                return RepairedFile(str(path), _digest(path), stat.S_IMODE(status.st_mode))
            copy = str(number)
            shutil.copyfile(path, self.folder / id_ / copy)
            return RepairedFile(str(path), _digest(path), stat.S_IMODE(status.st_mode), copy)

    # --- undoing

    def newest(self) -> JournalEntry:
        """Return the newest repair that was not undone. Entries without files are those that an older baton made for
        repairs of records.

        Raises:
            NotFound: there is no such repair.
        """
        for entry in self._entries():
            if entry.files and not entry.undone:
                return entry
        raise NotFound(
            "repair of hooks or settings to undo", hint="a repair of records is a revision, which baton undo takes back"
        )

    def undo(self, entry: JournalEntry) -> None:
        """Restore the files that a repair changed.

        Raises:
            NotAllowed: a file was changed since the repair. Nothing was restored.
            Corrupt: the copy of a file is damaged.
            WriteFailed: the copy of a file is missing, or the disk is full or refuses the write.
        """
        for change in entry.files:
            if change.after is not None and _describe(Path(change.path)) != change.after:
                raise NotAllowed(
                    f"{change.path} was changed since the repair, so it is not undone",
                    hint=f"the backup made before the repair is in {self.folder / entry.id}",
                )
        for change in entry.files:
            self._put_back(entry.id, change)
        self._save(replace(entry, undone=True))

    def _put_back(self, id_: str, change: RepairedFile) -> None:
        path = Path(change.path)
        with durable_files.writing(change.path):
            if change.before == ABSENT:
                path.unlink(missing_ok=True)
            elif change.copy:
                path.parent.mkdir(parents=True, exist_ok=True)
                durable_files.replace_file(path, self._copy(id_, change), mode=change.mode)
                path.chmod(change.mode)
            elif not path.is_symlink():
                path.chmod(change.mode)

    def _copy(self, id_: str, change: RepairedFile) -> bytes:
        data = (self.folder / id_ / change.copy).read_bytes()
        if sha256(data).hexdigest() != change.before:
            raise Corrupt(f"the copy of {change.path}", "is damaged")
        return data

    # --- files

    def _save(self, entry: JournalEntry) -> None:
        path = self.folder / entry.id / ENTRY
        with durable_files.writing(str(path)):
            durable_files.replace_file(path, json.dumps(asdict(entry), indent=2).encode() + b"\n", mode=0o600)

    def _entries(self) -> Iterator[JournalEntry]:
        """Yield the readable entries, newest first."""
        for folder in self._folders():
            try:
                yield _parse(json.loads((folder / ENTRY).read_bytes()))
            except (OSError, ValueError, TypeError, KeyError):
                continue

    def _folders(self) -> list[Path]:
        return sorted(self.folder.glob("*-*"), key=lambda folder: folder.name, reverse=True)

    def _forget_old(self) -> None:
        for folder in self._folders()[KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)


def _parse(data: Any) -> JournalEntry:
    """Return the entry with the fields known here; an older baton wrote more of them, for repairs of records."""
    known = {field.name: data[field.name] for field in fields(JournalEntry) if field.name in data}
    return JournalEntry(**known | {"files": tuple(RepairedFile(**change) for change in data["files"])})


def _digest(path: Path) -> str:
    """Return the SHA-256 digest of a file, `link TARGET` for a symbolic link, or `folder` for a folder."""
    if path.is_symlink():
        return f"link {path.readlink()}"
    return "folder" if path.is_dir() else sha256(path.read_bytes()).hexdigest()


def _join(digest: str, mode: int) -> str:
    return f"{digest} {mode:o}" if digest else ABSENT


def _describe(path: Path) -> str:
    """Return the digest and permissions of the file at a path; empty if there is none."""
    try:
        return _join(_digest(path), stat.S_IMODE(path.lstat().st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT


def list_files(*folders: Path) -> Iterable[Path]:
    """Return the files directly in these folders."""
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()) if not path.is_dir()]
