"""What this machine remembers beside the branches: which session is at work, what hooks should look at. Losing it loses
nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

from baton_git.core.names import Namespace


class CurrentSession(NamedTuple):
    """The session that `boot` began last in a work tree and that `wrap` has not ended.

    It is a convenience for one agent at a time; agents that run side by side name their session themselves.
    """

    git_dir: Path
    namespace: Namespace

    @property
    def path(self) -> Path:
        return self.git_dir / "baton" / "sessions" / self.namespace.component

    @property
    def _fresh(self) -> Path:
        """Where a new value is written before it is renamed: one name, so that killed processes leave one file."""
        return self.path.with_name(f".{self.path.name}.new")

    def get(self) -> str | None:
        try:
            return self.path.read_text().strip() or None
        except (OSError, UnicodeDecodeError):
            return None

    def set(self, session: str | None) -> bool:
        """Remembers `session`, or forgets; False when the disk refuses, which nobody needs to hear twice."""
        try:
            if session is None:
                self.path.unlink(missing_ok=True)
                return True
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._fresh.write_text(session + "\n")
            self._fresh.replace(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                self._fresh.unlink()
            return False
        return True


class HookMarkers:
    """Which namespaces a git hook should look at: files that a shell can test for before it starts us.

    `due`: a change of the code may settle one of its loops. `synced`: it was synced with some remote. `unsent`: it was,
    and no remote is known to have its newest commit.
    """

    def __init__(self, common_dir: Path) -> None:
        folder = f"{common_dir}{os.sep}baton{os.sep}"
        self.due, self.synced, self.unsent = (HookMarker(folder + name) for name in ("due", "synced", "unsent"))


class HookMarker:
    """One kind of mark: a folder with an empty file for each namespace, named like the last part of its branch."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def set(self, component: str) -> None:
        """A disk that refuses is passed over: nothing relies on hooks alone."""
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
