"""State of this machine: the current session of a work tree, marker files for hooks, renamed or deleted namespaces, and
listings of records.

All of it may be deleted without losing records.
"""

from __future__ import annotations

import contextlib
import json
import os
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from baton_git import __version__
from baton_git.core.errors import InvalidName
from baton_git.core.names import Namespace
from baton_git.core.outlines import FORMAT, Listing, restore_listing
from baton_git.git.files import durable_files
from baton_git.git.files.atomic_files import read_at_most
from baton_git.git.files.ref_locks import hold_flock
from baton_git.git.store.housekeeping import is_running


class CurrentSession(NamedTuple):
    """The session that `boot` last started in a work tree, until `wrap` ends it.

    The name of the one that ended last is kept, too: a wrap without a session corrects what that session said.
    A session that an agent's hooks begin here pauses the one of a shell, which is the current one again after its end.

    This is a convenience for one agent at a time. Concurrent agents name their sessions explicitly.
    """

    git_dir: Path
    namespace: Namespace

    @property
    def path(self) -> Path:
        return self.git_dir / "baton" / "sessions" / self.namespace.component

    @property
    def _ended(self) -> Path:
        return self.git_dir / "baton" / "ended-sessions" / self.namespace.component

    @property
    def _paused(self) -> Path:
        return self.git_dir / "baton" / "paused-sessions" / self.namespace.component

    def get(self) -> str | None:
        return next(iter(_read_lines(self.path)), "").strip() or None

    def get_paused(self) -> str | None:
        """Return the session that the current one paused; None if there is none."""
        return next(iter(_read_lines(self._paused)), "").strip() or None

    def pause(self) -> None:
        """Keep the current session until the one that is set now has ended; one that is paused already stays so."""
        with contextlib.suppress(OSError):  # the session then has to be named to act in it again
            if not self._paused.exists():
                self._paused.parent.mkdir(parents=True, exist_ok=True)
                self.path.replace(self._paused)

    def forget_paused(self) -> None:
        with contextlib.suppress(OSError):
            self._paused.unlink(missing_ok=True)

    def get_ended(self) -> str | None:
        """Return the session that ended last in this work tree; None if that is unknown."""
        return next(iter(_read_lines(self._ended)), "").strip() or None

    def is_held(self) -> bool:
        """Return whether the process that holds the session may still be running; False if none was given to `set`."""
        holder = _read_lines(self.path)[1:2]
        return bool(holder) and is_running(holder[0].encode())

    def set(self, session: str | None, holder: int | None = None) -> bool:
        """Store the session, or go back to the paused one if `session` is None; return False if writing to disk fails.

        Args:
            holder: the id of the process that runs the session, if it is the same process until the session ends.
        """
        if session is not None:
            lines = f"{session}\n" + (f"{holder}\n" if holder else "")
            return durable_files.save_derived(self.path, lines.encode())
        try:
            self._keep_ended()
            self.path.unlink(missing_ok=True)
            if self.get_paused() is not None:
                self._paused.replace(self.path)
        except OSError:
            return False
        return True

    def _keep_ended(self) -> None:
        with contextlib.suppress(OSError):  # a wrap without a session then counts as somebody's without one
            self._ended.parent.mkdir(parents=True, exist_ok=True)
            self.path.replace(self._ended)


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []


class HookMarkers:
    """Marker files that tell a git hook which namespaces need attention, before it starts Python.

    Attributes:
        due: a loop of the namespace waits for a commit to the source code.
        synced: the namespace was synced with a remote.
        unsent: the namespace was synced, but no remote is known to have its newest commit.
        published: git pushed the namespace before baton ever synced it. The hook pre-push writes the version 1 and the
            name of the remote into the file.
    """

    def __init__(self, common_dir: Path) -> None:
        folder = f"{common_dir}{os.sep}baton{os.sep}"
        self.due, self.synced, self.unsent, self.published = (
            HookMarker(folder + name) for name in ("due", "synced", "unsent", "published")
        )


class HookMarker(NamedTuple):
    """One kind of marker: a folder with an empty file for each namespace, named after the last part of its branch."""

    folder: str

    def set(self, component: str) -> None:
        """Create the marker. Errors are ignored, because nothing depends on hooks alone."""
        if self.has(component):
            return
        with contextlib.suppress(OSError):
            os.makedirs(self.folder, exist_ok=True)
            Path(self._file(component)).touch()

    def has(self, component: str) -> bool:
        return os.path.exists(self._file(component))

    def read(self, component: str) -> str:
        """Return the text of the marker's file; empty if there is none, or it cannot be read."""
        try:
            return Path(self._file(component)).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""

    def clear(self, component: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._file(component))

    def all(self) -> list[str]:
        try:
            return sorted(os.listdir(self.folder))
        except OSError:
            return []

    def _file(self, component: str) -> str:
        return f"{self.folder}{os.sep}{component}"


class GoneNamespace(NamedTuple):
    """A namespace that was renamed on this machine, or deleted (`renamed_to` is None)."""

    renamed_to: Namespace | None


class GoneNamespaces:
    """The namespaces that were renamed or deleted on this machine, so that no write creates them again by mistake."""

    def __init__(self, common_dir: Path) -> None:
        self.folder = f"{common_dir}{os.sep}baton{os.sep}gone"

    def find(self, namespace: Namespace) -> GoneNamespace | None:
        """Return what is recorded about a namespace; None if nothing readable is recorded."""
        try:
            text = self._file(namespace).read_text(encoding="utf-8").strip()
            return GoneNamespace(Namespace(text) if text else None)
        except (OSError, UnicodeDecodeError, InvalidName):
            return None

    def note(self, namespace: Namespace, renamed_to: Namespace | None) -> None:
        """Record that a namespace is about to be renamed or deleted.

        Raises:
            WriteFailed: writing to disk failed.
        """
        file = self._file(namespace)
        with durable_files.writing(str(file)):
            durable_files.make_folder(file.parent)
            durable_files.replace_file(file, f"{renamed_to or ''}\n".encode(), mode=0o644)

    def clear(self, namespace: Namespace) -> None:
        """Remove the record of a namespace that exists again."""
        with contextlib.suppress(OSError):
            self._file(namespace).unlink()

    def _file(self, namespace: Namespace) -> Path:
        return Path(self.folder, namespace.component)


class PendingRename(NamedTuple):
    """A rename that has begun and not ended; `remote`: the remote that must be changed too."""

    old: Namespace
    new: Namespace
    remote: str | None = None


class PendingRenames:
    """The renames of namespaces that run now or were interrupted: a file for each, in `baton/renaming/`.

    The file is written before the first step and removed after the last one. An older version of baton ignores it.
    """

    FORMAT = 1

    def __init__(self, common_dir: Path) -> None:
        self.folder = common_dir / "baton" / "renaming"

    def find(self, old: Namespace) -> PendingRename | None:
        """Return the rename of a namespace; None if there is none, or its file is damaged or of a newer version."""
        try:
            data = json.loads(self.path(old).read_bytes())
            if data["format"] != self.FORMAT:
                return None
            remote = data["remote"]
            return PendingRename(old, Namespace(data["new"]), None if remote is None else str(remote))
        except (OSError, ValueError, KeyError, TypeError, RecursionError, InvalidName):
            return None

    def all(self) -> list[PendingRename]:
        """Return all renames, sorted by the old name."""
        names = []
        with contextlib.suppress(OSError):
            names = sorted(path.stem for path in self.folder.iterdir() if path.suffix == ".json")
        found = []
        for name in names:
            with contextlib.suppress(InvalidName):
                found.append(self.find(Namespace.from_component(name)))
        return [rename for rename in found if rename is not None]

    def note(self, rename: PendingRename) -> None:
        """Record a rename durably, before its first step.

        Raises:
            WriteFailed: writing to disk failed.
        """
        file = self.path(rename.old)
        data = {"format": self.FORMAT, "new": str(rename.new), "remote": rename.remote}
        with durable_files.writing(str(file)):
            durable_files.make_folder(file.parent)
            durable_files.replace_file(file, json.dumps(data).encode() + b"\n", mode=0o644)

    def forget(self, *namespaces: Namespace) -> None:
        """Remove the renames from or to one of these namespaces."""
        for rename in self.all():
            if rename.old in namespaces or rename.new in namespaces:
                self.end(rename.old)

    def end(self, old: Namespace) -> None:
        """Remove the record of a rename that is complete."""
        with contextlib.suppress(OSError):
            self.path(old).unlink()

    def hold(self, seconds: float) -> contextlib.AbstractContextManager[bool | None]:
        """Hold the lock of renames inside the `with` block; see `hold_flock`."""
        return hold_flock(self.folder.parent / "renaming.lock", seconds)

    def path(self, old: Namespace) -> Path:
        return self.folder / f"{old.component}.json"


def move_namespace_files(common_dir: Path, old: Namespace, new: Namespace) -> None:
    """Rename the machine-local files of a namespace. Files that cannot be renamed are created again when needed."""
    folders = [
        common_dir / "baton" / name
        for name in ("sessions", "paused-sessions", "handover", "last-seen", "mining", "due")
    ]
    for folder in (*folders, *common_dir.glob("worktrees/*/baton/sessions")):
        for suffix in ("", ".json", ".jsonl"):
            with contextlib.suppress(OSError):
                (folder / f"{old.component}{suffix}").rename(folder / f"{new.component}{suffix}")


# --- listings of a namespace's records on disk: `<common dir>/baton/outlines/<namespace>/<kind>.json`
#
# The first line has the version of the file, the version of the program, and the SHA-256 of the second line, which is
# the listing (`Listing.as_data`). Any file may be deleted. A file that another version of the program wrote, or that is
# damaged, counts as missing.


MAX_BYTES = 32 << 20
"""Maximum size of a file: about 200,000 records."""
_MODE = 0o600


class OutlineFiles:
    """The saved listings of one namespace."""

    def __init__(self, common_dir: Path, namespace: Namespace) -> None:
        self.name = namespace.text
        self._common_dir, self._component = common_dir, namespace.component

    @property
    def _folder(self) -> Path:
        return self._common_dir / "baton" / "outlines" / self._component

    def load(self, kind: str) -> Listing | None:
        """Return the listing of a kind that was saved last; None if there is none."""
        try:
            with (self._folder / f"{kind}.json").open("rb") as file:
                head, body = file.readline(200), read_at_most(file, MAX_BYTES + 1)
            return restore_listing(kind, json.loads(body)) if head == _make_head(body) else None
        except (OSError, ValueError, RecursionError):
            return None

    def save(self, kind: str, listing: Listing) -> None:
        """Keep a listing in place of the earlier one. Errors of the disk are ignored."""
        body = json.dumps(listing.as_data(), separators=(",", ":")).encode()
        if len(body) > MAX_BYTES:
            return
        durable_files.save_derived(self._folder / f"{kind}.json", _make_head(body) + body, mode=_MODE)


def _make_head(body: bytes) -> bytes:
    return f"{FORMAT} {__version__} {sha256(body).hexdigest()}\n".encode()
