"""Machine-local state: the current session of a work tree, and marker files for hooks. Deleting it loses nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import InvalidName
from baton_git.core.names import Namespace
from baton_git.git.files import durable_files
from baton_git.git.store.housekeeping import is_running


class CurrentSession(NamedTuple):
    """The session that `boot` last started in a work tree and that `wrap` has not ended.

    It is a convenience for one agent at a time; concurrent agents name their session explicitly.
    """

    git_dir: Path
    namespace: Namespace

    @property
    def path(self) -> Path:
        return self.git_dir / "baton" / "sessions" / self.namespace.component

    @property
    def _fresh(self) -> Path:
        """The temporary file of a write: a fixed name, so that killed processes leave at most one."""
        return self.path.with_name(f".{self.path.name}.new")

    def get(self) -> str | None:
        return next(iter(self._read()), "").strip() or None

    def is_held(self) -> bool:
        """Return whether the process that is in the session, as it was named, may be running."""
        holder = self._read()[1:2]
        return bool(holder) and is_running(holder[0].encode())

    def _read(self) -> list[str]:
        try:
            return self.path.read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            return []

    def set(self, session: str | None, holder: int | None = None) -> bool:
        """Store `session`, or clear it; False when the disk refuses.

        Args:
            holder: the process that is in it, where it is one and the same until the end.
        """
        try:
            if session is None:
                self.path.unlink(missing_ok=True)
                return True
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fresh.write_text(session + "\n" + (f"{holder}\n" if holder else ""))
            self._fresh.replace(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                self._fresh.unlink()
            return False
        return True


class HookMarkers:
    """Marker files that tell a git hook, before it starts Python, which namespaces need attention.

    `due`: a code change may settle a check of the namespace. `synced`: it was synced with some remote. `unsent`: it
    was, and no remote is known to have its newest commit.
    """

    def __init__(self, common_dir: Path) -> None:
        folder = f"{common_dir}{os.sep}baton{os.sep}"
        self.due, self.synced, self.unsent = (HookMarker(folder + name) for name in ("due", "synced", "unsent"))


class HookMarker:
    """One kind of marker: a folder with an empty file for each namespace, named like the last part of its branch."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def set(self, component: str) -> None:
        """Create the marker. Errors are ignored, because nothing relies on hooks alone."""
        if self.has(component):
            return
        with contextlib.suppress(OSError):
            os.makedirs(self.folder, exist_ok=True)
            Path(self._file(component)).touch()

    def has(self, component: str) -> bool:
        return os.path.exists(self._file(component))

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
    """A namespace that was deleted on this machine, or renamed."""

    renamed_to: Namespace | None


class GoneNamespaces:
    """Which namespaces were renamed or deleted on this machine, so that nobody begins them anew by mistake."""

    def __init__(self, common_dir: Path) -> None:
        self.folder = f"{common_dir}{os.sep}baton{os.sep}gone"

    def find(self, namespace: Namespace) -> GoneNamespace | None:
        """Return what became of a namespace; None where it was neither renamed nor deleted."""
        try:
            text = self._file(namespace).read_text(encoding="utf-8").strip()
            return GoneNamespace(Namespace(text) if text else None)
        except (OSError, UnicodeDecodeError, InvalidName):
            return None

    def note(self, namespace: Namespace, renamed_to: Namespace | None) -> None:
        """Remember that a namespace goes, before it does.

        Raises:
            WriteFailed: the disk refused.
        """
        file = self._file(namespace)
        with durable_files.writing(str(file)):
            durable_files.make_folder(file.parent)
            fresh = file.with_name(f".{durable_files.random_name()}")
            durable_files.write_new(fresh, f"{renamed_to or ''}\n".encode(), mode=0o644, sync=True)
            fresh.replace(file)

    def clear(self, namespace: Namespace) -> None:
        """Forget it: the namespace is there again."""
        with contextlib.suppress(OSError):
            self._file(namespace).unlink()

    def _file(self, namespace: Namespace) -> Path:
        return Path(self.folder, namespace.component)


def move_namespace_files(common_dir: Path, old: Namespace, new: Namespace) -> None:
    """Let what this machine remembers of a namespace follow its new name; what cannot be moved is made anew when it is
    needed."""
    folders = [common_dir / "baton" / name for name in ("sessions", "handover", "last-seen", "mining", "due")]
    for folder in (*folders, *common_dir.glob("worktrees/*/baton/sessions")):
        for suffix in ("", ".json", ".jsonl"):
            with contextlib.suppress(OSError):
                (folder / f"{old.component}{suffix}").rename(folder / f"{new.component}{suffix}")
