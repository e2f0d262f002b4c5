"""The journal of repairs. Before a repair changes files, they are copied, so that the repair can be undone.

`<folder>/<time>-<random>/` holds `entry.json` and copies of the original files. Only the newest entries are kept.
"""

from __future__ import annotations

import base64
import json
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from baton_git.core import layout
from baton_git.core.errors import Corrupt, NotAllowed, NotFound
from baton_git.core.names import Oid
from baton_git.core.state import State
from baton_git.core.times import iso
from baton_git.git.files import durable_files
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.sync.tracking_refs import create_backup
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.doctor.diagnostic import Repair
from baton_git.verbs.revisions.history import files_at

KEPT = 20
"""Maximum number of entries. Older ones are removed, and their repairs can no longer be undone."""
OP = "doctor"
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
    """One repair that was carried out.

    Attributes:
        files: the files that it changed.
        namespace: the namespace whose branch got a new revision.
        records: the contents before and after, in base64, by path on that branch. The content before is None
            if there was no file.
        backup: the ref of the tip before the repair.
    """

    id: str
    check: str
    about: str
    at: str
    files: tuple[RepairedFile, ...] = ()
    namespace: str = ""
    records: Mapping[str, tuple[str | None, str]] | None = None
    backup: str = ""
    only_adds: bool = False
    undone: bool = False


class RepairJournal:
    """The journal in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # --- carrying out

    def carry_out(self, check: str, repair: Repair, now: datetime, ws: Workspace | None) -> JournalEntry:
        """Back up what a repair changes, run it, and return its entry.

        Args:
            ws: the workspace of the branch that `repair.files` belong to.

        Raises:
            BatonError: what the repair raises; changes made before the error can be undone.
        """
        id_ = f"{iso(now).replace(':', '').replace('-', '')}-{durable_files.random_name(6)}"
        entry = JournalEntry(id_, check, repair.about, iso(now), only_adds=repair.only_adds)
        with durable_files.writing(str(self.folder)):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.folder / id_).mkdir(mode=0o700)
        before = {path: self._keep(id_, number, path) for number, path in enumerate(dict.fromkeys(repair.paths()))}
        if repair.files and ws is not None:
            entry = self._restore_records(entry, repair, now, ws)
        entry = replace(entry, files=tuple(before.values()))
        self._save(entry)
        repair.run()
        changes = [
            *before.values(),
            *(RepairedFile(str(path), ABSENT) for path in repair.paths() if path not in before),
        ]
        done = [replace(change, after=_describe(Path(change.path))) for change in changes]
        changed = tuple(change for change in done if change.after != _join(change.before, change.mode))
        entry = replace(entry, files=changed)
        self._save(entry)
        self._forget_old()
        return entry

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

    def _restore_records(self, entry: JournalEntry, repair: Repair, now: datetime, ws: Workspace) -> JournalEntry:
        """Commit the files of a repair; a backup ref keeps the previous tip."""
        tip = ws.branch.read()
        assert tip.commit is not None
        assert tip.tree is not None
        old: dict[str, bytes | None] = dict.fromkeys(repair.files) | read_files(ws, tip.tree, repair.files)
        backup = create_backup(ws.branch, tip.commit, ws.stamp(OP, now))
        write_files(ws, now, old, repair.files, repair.about)
        records = {path: (_encode(old[path]), _encode(data) or "") for path, data in repair.files.items()}
        return replace(entry, namespace=str(ws.branch.namespace), records=records, backup=backup)

    # --- undoing

    def newest(self) -> JournalEntry:
        """Return the newest repair that was not undone. Repairs that only add objects are skipped.

        Raises:
            NotFound: there is no such repair.
        """
        for entry in self._entries():
            if not entry.undone and not entry.only_adds:
                return entry
        raise NotFound("repair to undo", hint="to repair what can be repaired: baton doctor --fix")

    def undo(self, entry: JournalEntry, now: datetime, ws: Workspace | None) -> JournalEntry:
        """Restore what a repair changed.

        Raises:
            NotAllowed: a file or record was changed since the repair, or `ws` has another namespace than the one that
                was repaired. Nothing was restored.
            Corrupt: the copy of a file is damaged.
            WriteFailed: the copy of a file is missing, or the disk is full or refuses the write.
        """
        for change in entry.files:
            if change.after is not None and _describe(Path(change.path)) != change.after:
                raise NotAllowed(
                    f"{change.path} was changed since the repair, so it is not undone",
                    hint=f"the backup made before the repair is in {self.folder / entry.id}",
                )
        if entry.records:
            self._take_records_back(entry, now, ws)
        for change in entry.files:
            self._put_back(entry.id, change)
        entry = replace(entry, undone=True)
        self._save(entry)
        return entry

    def _take_records_back(self, entry: JournalEntry, now: datetime, ws: Workspace | None) -> None:
        if ws is None or str(ws.branch.namespace) != entry.namespace:
            message = f"the repair changed the namespace {entry.namespace}, so it can be undone only there"
            raise NotAllowed(message, hint="name that namespace with --namespace")
        records = entry.records or {}
        made = {path: base64.b64decode(after) for path, (_, after) in records.items()}
        old = {path: None if before is None else base64.b64decode(before) for path, (before, _) in records.items()}
        write_files(ws, now, made, old, f"undo: {entry.about}")

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
            except (OSError, ValueError, TypeError):
                continue

    def _folders(self) -> list[Path]:
        return sorted(self.folder.glob("*-*"), key=lambda folder: folder.name, reverse=True)

    def _forget_old(self) -> None:
        for folder in self._folders()[KEPT:]:
            shutil.rmtree(folder, ignore_errors=True)


def read_files(ws: Workspace, tree: Oid, paths: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of those paths that are files in a tree."""
    entries = files_at(ws, tree, list(paths))
    return {path: ws.branch.store.read(entry.oid) for path, entry in entries.items()}


def write_files(
    ws: Workspace, now: datetime, expected: Mapping[str, bytes | None], files: Mapping[str, bytes | None], note: str
) -> None:
    """Commit file contents at paths of the branch (None: remove it), including files that are not readable records.

    Raises:
        NotAllowed: the current content is not `expected`, because somebody else wrote first.
    """

    def change(tip: Revision) -> ProposedState:
        present = read_files(ws, tip.tree, expected) if tip.tree is not None else {}
        for path, data in expected.items():
            if present.get(path) != data:
                raise NotAllowed(
                    f"{path} was changed meanwhile; it is left as it is",
                    hint="to see the present problems: baton doctor",
                )
        keys = {path: key for path in files if (key := layout.key_at(path)) is not None}
        new = ((key, path, files[path]) for path, key in keys.items())
        entries = {key: None if data is None else layout.decode(key, path, data) for key, path, data in new}
        return ProposedState(State(tip.state.source, {**tip.state.edits, **entries}), files=files, note=note)

    ws.update(OP, now, change)


def _parse(data: Any) -> JournalEntry:
    files = tuple(RepairedFile(**change) for change in data.pop("files"))
    return JournalEntry(**data, files=files)


def _encode(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


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
