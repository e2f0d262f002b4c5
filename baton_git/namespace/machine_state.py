"""Machine-local state: the current session of a work tree, and marker files for hooks. Deleting it loses nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from baton_git.core.names import Namespace
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
