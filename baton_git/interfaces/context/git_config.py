"""Read git's configuration, with the git program or, without one, from the repository's file; change a repository's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import StoreError
from baton_git.git import child_process
from baton_git.git.files.ref_locks import wait_until
from baton_git.git.local_git import LocalGit
from baton_git.git.store import Repository
from baton_git.git.store.config import parse_listing
from baton_git.interfaces.context.process import outside_git

WANTED = (
    r"^(baton|user)\.|^remote\..*\.(batonpolicy|batonlanes|url|pushurl|fetch)$"
    r"|^(gpg\.ssh\.(program|allowedsignersfile|revocationfile)|core\.sshcommand|ssh\.variant)$"
)
"""The keys of git's configuration that are read."""


def read_config(folder: Path, pattern: str) -> dict[str, str]:
    """Return the values of the keys that match `pattern`.

    Without git, return those of the keys that baton uses, from the repository's file.

    Raises:
        StoreError: git cannot read its configuration.
    """
    entries = _run_git_config(folder, pattern)
    if entries is None:
        return _read_file_config(folder)
    return {name: "true" if value is None else value for name, value in entries}


def read_user_config(key: str) -> list[str | None]:
    """Return the values of a key in the user's and the system's git configuration, without that of repositories.

    Raises:
        StoreError: git cannot read its configuration.
    """
    return [value for _, value in _run_git_config(Path(os.devnull), f"^{re.escape(key)}$") or []]


def _run_git_config(folder: Path, pattern: str) -> list[tuple[str, str | None]] | None:
    """Return the keys that match with their values, as `parse_listing` does; None without a git program.

    Raises:
        StoreError: git cannot read its configuration.
    """
    argv = ["git", f"--git-dir={folder}", "config", "-z", "--get-regexp", pattern]
    try:
        done = child_process.run(argv, outside_git(), None, 10)
    except OSError:
        return None
    if done is None:
        raise StoreError("git config gave no answer within 10 seconds", hint="try: git config --list")
    if done.code not in (0, 1):  # 1: there is no such key
        raise _unreadable(done.err)
    return parse_listing(done.out)


def _unreadable(printed: str) -> StoreError:
    lines = printed.strip().splitlines() or ["it failed without a message"]
    return StoreError(f"git config: {lines[0]}", hint="fix the git configuration; git config --list shows the location")


def _read_file_config(folder: Path) -> dict[str, str]:
    config = Repository.open(folder).config()
    remotes = [
        f"remote.{name}"
        for name in config.keys("remote")
        if name.endswith((".batonpolicy", ".batonlanes", ".url", ".pushurl"))
    ]
    keys = [f"baton.{name}" for name in config.keys("baton")] + [
        "user.name",
        "user.email",
        "gpg.ssh.program",
        "gpg.ssh.allowedSignersFile",
        "gpg.ssh.revocationFile",
        "core.sshCommand",
        "ssh.variant",
        *remotes,
    ]
    return {key: value for key in keys if (value := config.get(key)) is not None}


def is_safe_place(place: Path, values: Iterable[str | None]) -> bool:
    """Return whether the values of git's `safe.directory` contain a folder; an empty value clears those before."""
    is_safe = False
    for value in values:
        is_safe = bool(value) and (is_safe or _covers(value or "", Path(os.path.realpath(place))))
    return is_safe


def _covers(value: str, place: Path) -> bool:
    if value == "*":
        return True
    named = expand_home(value.removesuffix("/*") or "/")
    if not named.is_absolute():
        return False
    real = Path(os.path.realpath(named))
    return real in place.parents if value.endswith("/*") else real == place


def expand_home(value: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:  # there is no such user
        return Path(value)


# --- the repository's own configuration

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
