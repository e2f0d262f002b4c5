"""The ledger of a repository: which commits were made here, confirmed here, or received from a remote.

The ledger is a folder of append-only files under `<common dir>/baton/provenance/ledger/`. It is never part of a commit:

    made             the commits that baton made on this machine
    confirmed        the commits of this machine in which a person confirmed something
    remotes          <key> TAB <url> TAB <name>, one line for each remote from which commits were received
    received-<key>   the commits received from that remote

An entry is written before the ref moves to its commit, so a crash loses no confirmation. An entry for a commit that was
never published is harmless, because no other commit can have its id. Each entry begins with a line break, so an entry
that a full disk truncates does not damage the next. Each entry is one write to a file opened for appending, so
concurrent processes do not mix their entries.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple

from baton_git.core.errors import StoreError
from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.objects.values import COMMIT
from baton_git.git.store import CommitInfo, ObjectDraft
from baton_git.namespace.commit_log import CLIENT, CONFIRMED, UNAUTHENTICATED

MODE = 0o600
_MANY = 64
"""After this many lookups, the content of a file is converted to a set."""


class RemoteSource(NamedTuple):
    """A remote from which commits were received: its URL without credentials, and its name in the configuration."""

    key: str
    url: str
    name: str


class CommitFile:
    """An append-only file of commit ids, which is read again when it has grown."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data = b""
        self._lookups = 0
        self._ids: frozenset[bytes] | None = None
        self._is_frozen = False

    def freeze(self) -> CommitFile:
        """Return a read-only copy with the current content.

        Raises:
            StoreError: the file cannot be read.
        """
        self._refresh()
        copy = CommitFile(self.path)
        copy._data, copy._ids, copy._is_frozen = self._data, self._ids, True
        return copy

    def append(self, commits: Collection[Oid], *, sync: bool = False) -> None:
        """Append commits; with `sync`, wait until they are on the disk.

        Raises:
            WriteFailed: writing to disk failed.
        """
        if commits:
            append(self.path, b"".join(b"\n" + commit.encode() for commit in commits), sync=sync)

    @property
    def is_empty(self) -> bool:
        """Whether no commit is listed.

        Raises:
            StoreError: the file cannot be read.
        """
        self._refresh()
        return not self._data

    def holds(self, commit: Oid) -> bool:
        """Return whether the commit is listed.

        Raises:
            StoreError: the file cannot be read.
        """
        self._refresh()
        self._lookups += 1
        if self._ids is None and self._lookups > _MANY:
            self._ids = frozenset(self._data.split(b"\n"))
        if self._ids is not None:
            return commit.encode() in self._ids
        return self._data.rfind(b"\n" + commit.encode()) >= 0

    def _refresh(self) -> None:
        if self._is_frozen:
            return
        try:
            if self.path.stat().st_size != len(self._data):
                self._data, self._ids = self.path.read_bytes(), None
        except FileNotFoundError:
            self._data, self._ids = b"", None
        except OSError as error:
            raise StoreError(f"cannot read {self.path}: {error.strerror}", hint="check that file") from error


class Ledger:
    """The origin of commits, as recorded on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, CommitFile] = {}
        self._sources: dict[str, RemoteSource] = {}
        self._sources_size = -1
        self._open: Callable[[str], CommitFile] = lambda name: CommitFile(folder / name)
        self._is_frozen = False

    def freeze(self) -> Ledger:
        """Return a read-only copy for many lookups, which reads each file only once.

        Raises:
            StoreError: the list of remotes cannot be read.
        """
        copy = Ledger(self.folder)
        copy._open = lambda name: self._file(name).freeze()
        copy._sources, copy._is_frozen = self.remotes(), True
        return copy

    @property
    def exists(self) -> bool:
        return self.folder.is_dir()

    def record_made(self, commits: Collection[Oid], confirmed: Collection[Oid] = ()) -> None:
        """Record commits made here that are about to be published; `confirmed` are those that contain a confirmation.

        Raises:
            WriteFailed: writing to disk failed.
        """
        # A confirmation cannot be computed again; an entry of `made` that is lost makes a commit count as made by hand.
        self._file("confirmed").append(confirmed, sync=True)
        self._file("made").append(commits)

    def record_received(self, url: str, name: str, commits: Collection[Oid]) -> None:
        """Record commits that were received from a remote.

        Raises:
            StoreError: the ledger cannot be read.
            WriteFailed: writing to disk failed.
        """
        if commits:
            file = self._file(f"received-{self._key_of(url, name)}")
            file.append([commit for commit in commits if not file.holds(commit)])

    def is_made_here(self, commit: Oid) -> bool:
        return self._file("made").holds(commit)

    @property
    def has_confirmations(self) -> bool:
        """Whether a person ever confirmed something here."""
        return not self._file("confirmed").is_empty

    def is_confirmed_here(self, commit: Oid) -> bool:
        return self._file("confirmed").holds(commit)

    def sources_of(self, commit: Oid) -> Iterator[RemoteSource]:
        """Yield the remotes from which the commit was received.

        Raises:
            StoreError: the ledger cannot be read.
        """
        sources = self.remotes()
        return (source for key, source in sources.items() if self._file(f"received-{key}").holds(commit))

    def remotes(self) -> dict[str, RemoteSource]:
        """Return all remotes from which commits were received, by key.

        Raises:
            StoreError: the file cannot be read.
        """
        if self._is_frozen:
            return self._sources
        path = self.folder / "remotes"
        try:
            size = path.stat().st_size
            if size != self._sources_size:
                lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
                rows = (line.split("\t") for line in lines if line.count("\t") == 2)
                self._sources = {row[0]: RemoteSource(*row) for row in rows}
                self._sources_size = size
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error.strerror}", hint="check that file") from error
        return self._sources

    def _key_of(self, url: str, name: str) -> str:
        """Return the key of a remote; list the remote if it is new or its name has changed."""
        url, name = (" ".join(text.split()) for text in (url, name))
        source = RemoteSource(sha256(url.encode("utf-8", "replace")).hexdigest()[:16], url, name)
        if self.remotes().get(source.key) != source:
            append(self.folder / "remotes", ("\n" + "\t".join(source)).encode("utf-8", "replace"), sync=True)
        return source.key

    def _file(self, name: str) -> CommitFile:
        if name not in self._files:
            self._files[name] = self._open(name)
        return self._files[name]


def append(path: Path, data: bytes, *, sync: bool) -> None:
    """Append `data` to a file in one write; with `sync`, wait until it is on the disk.

    Raises:
        WriteFailed: writing to disk failed.
    """
    folder = path.parent
    with durable_files.writing(str(path)):
        durable_files.make_folder(folder)
        # A new name is durable only once its folder is synced, too.
        is_new = sync and not durable_files.exists(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0), MODE)
        try:
            shared = durable_files.file_mode(folder, MODE)
            if shared is not None:
                with suppress(PermissionError):  # in a shared repository the file may belong to another user
                    os.fchmod(fd, shared)
            durable_files.write_all(fd, data)
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)
        if is_new:
            durable_files.sync_folder(folder)


def find_ledger(common_dir: Path) -> Ledger:
    """Return the ledger of a repository as it is, even if it was not created yet."""
    return Ledger(common_dir / "baton" / "provenance" / "ledger")


# --- the origin of a commit: made here, received from a remote, or neither


Source = Literal["here", "remote", "hand"]


class CommitOrigin(NamedTuple):
    """The origin of a commit.

    Attributes:
        source: `here`: baton made the commit on this machine; `remote`: a sync received it; `hand`: it reached the
            branch in any other way.
        name: for `remote`, the key of the remote in the ledger; for `hand`, the author of the commit; for `here`,
            `unauthenticated` if a server without a token made the commit for somebody, else empty.
    """

    source: Source
    name: str = ""


HERE = CommitOrigin("here")
_WITHOUT_TOKEN = CommitOrigin("here", UNAUTHENTICATED)
_TRAILER = f"\n{CLIENT}: {UNAUTHENTICATED}\n"


def find_origin(ledger: Ledger, info: CommitInfo) -> CommitOrigin:
    """Return the origin of a commit.

    Raises:
        StoreError: the ledger cannot be read.
    """
    if ledger.is_made_here(info.oid):
        return _WITHOUT_TOKEN if _TRAILER in info.message else HERE
    remote = next(iter(ledger.sources_of(info.oid)), None)
    return CommitOrigin("hand", info.author) if remote is None else CommitOrigin("remote", remote.key)


def record_draft(ledger: Ledger, draft: ObjectDraft, source: RemoteSource | None = None) -> None:
    """Record the commits of a draft in the ledger before the draft is published.

    Args:
        source: the remote from which the content of the commits was received; None if it was created here.

    Raises:
        StoreError: the ledger cannot be read.
        WriteFailed: writing to disk failed.
    """
    commits = {name: data for name, (kind, data) in draft.objects.items() if kind == COMMIT}
    trailer = f"\n{CONFIRMED}: ".encode()
    confirming = [name for name, data in commits.items() if trailer in data]
    ledger.record_made(commits if source is None else (), confirming)
    if source is not None:
        ledger.record_received(source.url, source.name, commits)
