"""Where git looks for hooks, the mode in which baton's can be installed there, and what is there now."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from baton_git.core.errors import StoreError
from baton_git.git.local_git import LocalGit
from baton_git.git.store import Repository

CLIENT: Final = ("post-commit", "post-merge", "post-checkout", "post-rewrite", "pre-push")
SERVER: Final = ("pre-receive", "post-receive")
EVENTS: Final = (*CLIENT, *SERVER)
WITH_INPUT: Final = ("post-rewrite", "pre-push", *SERVER)
"""The events for which git writes lines to the hook's standard input."""

CONFIGURED_SINCE: Final = (2, 54)
"""The first version of git that runs hooks from its configuration (`hook.<name>.command`)."""

Mode = Literal["configured", "files", "external"]


def events_for(repository: Repository, *, server: bool = False) -> tuple[str, ...]:
    """Return the events to install: server events for a bare repository, else client events.

    `server` adds the server events for a work tree that others push to.
    """
    if repository.work_tree is None:
        return SERVER
    return EVENTS if server else CLIENT


@dataclass(frozen=True)
class HookLocation:
    """How git finds hooks in a work tree or bare repository.

    Attributes:
        folder: the folder where git looks for hooks, as reported by git; it need not exist.
        hooks_path: the value of `core.hooksPath`, or None if it is not set.
        scope: the scope of that value: `local`, `worktree`, `global`, `system` or `command`.
    """

    repository: Repository
    git: LocalGit
    folder: Path
    hooks_path: str | None = None
    scope: str = ""

    @classmethod
    def of(cls, repository: Repository, git: LocalGit) -> HookLocation:
        """Determine the location with git, which handles includes, conditions, scopes and work trees.

        Raises:
            StoreError: git is not installed.
        """
        printed = git.ask("config", "--show-scope", "--get", "core.hooksPath")
        scope, _, value = (printed or "").partition("\t")
        folder = git.ask("rev-parse", "--git-path", "hooks") or str(repository.common_dir / "hooks")
        return cls(repository, git, git.folder / folder, value if printed is not None else None, scope)

    @property
    def mode(self) -> Mode:
        """The mode in which hooks are installed.

        `configured`: in git's configuration. `files`: as files in a folder inside this repository. `external`: not
        written by baton, because the folder may be tracked or shared with other repositories.
        """
        if self.git.version >= CONFIGURED_SINCE:
            return "configured"
        return "files" if self._is_inside(self.folder) else "external"

    @property
    def scripts(self) -> Path:
        """Baton's own folder, which has a copy of every installed script in each mode."""
        return self.repository.common_dir / "baton" / "hooks"

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of hooks where baton may have installed files, in the current mode or in an earlier one."""
        own = self.repository.common_dir / "hooks"
        for_pushes = self.folder_for(SERVER[0])
        others = (folder for folder in (own, for_pushes) if self._is_inside(folder))
        return tuple(dict.fromkeys((*((self.folder,) if self.mode == "files" else ()), *others)))

    def _is_inside(self, folder: Path) -> bool:
        return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(self.repository.common_dir))

    @property
    def why_external(self) -> str:
        """The reason, for messages, why baton does not write to the folder of hooks."""
        if self.hooks_path is None:
            return f"{self.folder} is a link to a folder that is not this repository's own"
        everywhere = {"global": "for all your repositories", "system": "for all users", "command": "for this call"}
        where = everywhere.get(self.scope, "here")
        return f"core.hooksPath is {self.hooks_path!r} {where}"

    @property
    def is_emptied(self) -> bool:
        """Whether `core.hooksPath` is empty: git 2.39.5 then looks for hooks in the root of the file system."""
        return self.hooks_path == "" and self.mode == "external"

    @property
    def remedy_if_emptied(self) -> str:
        """What an empty `core.hooksPath` means, and how to end it, after `why_external`."""
        scope = f" --{self.scope}" if self.scope in ("global", "system", "worktree") else ""
        own = self.repository.common_dir / "hooks"
        return f", so no hook runs at all; to use {own}: git config{scope} --unset core.hooksPath"

    def line_for(self, event: str) -> str:
        """Return a shell line that calls baton's script from another hook, and does nothing if it is not installed.

        The script reads the hook's input, which the line therefore keeps in a file for the commands that follow.
        """
        if event not in WITH_INPUT:
            return f'{self._hook_variable(event)}; [ ! -x "$hook" ] || "$hook" "$@"'
        keep = 'cat >"$hook.$$"; exec <"$hook.$$" 3<"$hook.$$"; rm "$hook.$$"'
        return f'{self._hook_variable(event)}; [ ! -x "$hook" ] || {{ {keep}; "$hook" "$@" <&3 || exit; }}'

    def setting_for(self, event: str) -> str:
        """Return a line for `hook.<name>.command`, to which git appends the arguments."""
        return f'{self._hook_variable(event)}; test ! -x "$hook" || "$hook"'

    @staticmethod
    def _hook_variable(event: str) -> str:
        return f'hook="$(git rev-parse --git-common-dir)/baton/hooks/{event}"'

    def folder_for(self, event: str) -> Path:
        """Return the folder where git looks for the hook of an event.

        A push into a repository with a work tree runs in its git directory (git 2.39.5, builtin/receive-pack.c), and
        so looks for the hooks of a relative `core.hooksPath` there, and not in the work tree.
        """
        value = self.hooks_path
        if event in SERVER and self.repository.work_tree is not None and value and not value.startswith(("/", "~")):
            return self.repository.common_dir / value
        return self.folder

    def file_for(self, event: str) -> Path:
        """Return the file to add a line for `event` to; for husky it is in the parent of git's folder of hooks."""
        folder = self.folder_for(event)
        return (folder.parent if folder.parent.name == ".husky" else folder) / event


# --- files of hooks


def read_hook(path: Path) -> bytes | None:
    """Return the bytes of a hook, or None if it does not exist.

    Raises:
        StoreError: the hook exists but cannot be read.
    """
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", hint="check that file") from error


def exists(path: Path) -> bool:
    """Return whether a file with this name exists, including a dangling symbolic link."""
    return path.exists() or path.is_symlink()


def is_program(path: Path) -> bool:
    """Return whether git would run this file: a regular, executable file."""
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and os.access(path, os.X_OK)
