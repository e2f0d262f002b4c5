"""Set and remove keys in a repository's own git configuration."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from baton_git.git.files.ref_locks import wait_until
from baton_git.git.local_git import LocalGit
from baton_git.interfaces.context.process import outside_git

LOCK_SECONDS = 1.0
"""Seconds to wait while another process holds the lock of the configuration file; git itself does not wait."""


class RepositoryConfig(NamedTuple):
    """The file `config` in the common directory of a repository."""

    common_dir: Path

    def set(self, key: str, value: str) -> None:
        """Set a key. Raises StoreError if git cannot."""
        self._change("--replace-all", key, value)

    def unset(self, key: str) -> bool:
        """Remove a key, and return whether this file had it. Raises StoreError if git cannot."""
        if self._git().ask(*self._words("--get-all", key)) is None:
            return False
        self._change("--unset-all", key)
        return True

    def _change(self, *change: str) -> None:
        git, words = self._git(), self._words(*change)
        if not wait_until(lambda: git.ask(*words) is not None, LOCK_SECONDS):
            git.do(*words)

    def _git(self) -> LocalGit:
        return LocalGit(self.common_dir, outside_git())

    def _words(self, *words: str) -> tuple[str, ...]:
        return ("config", "--file", str(self.common_dir / "config"), *words)
