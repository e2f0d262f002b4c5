"""What this machine remembers about a work tree: which session is at work in it. Losing it loses nothing."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from baton_git.names import Namespace


@dataclass(frozen=True)
class CurrentSession:
    """The session that `boot` began last in a work tree and that `wrap` has not ended.

    It is a convenience for one agent at a time; agents that run side by side name their session themselves.
    """

    git_dir: Path
    namespace: Namespace

    @property
    def path(self) -> Path:
        return self.git_dir / "baton" / "sessions" / self.namespace.component

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
            fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}")
            fresh.write_text(session + "\n")
            fresh.replace(self.path)
        except OSError:
            with contextlib.suppress(OSError):
                self.path.with_name(f"{self.path.name}.{os.getpid()}").unlink()
            return False
        return True
