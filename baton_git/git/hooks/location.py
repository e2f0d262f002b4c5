"""Where git looks for hooks here, and in which of three ways ours can be put there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from baton_git.git.local_git import LocalGit
from baton_git.git.store import Repository

CLIENT: Final = ("post-commit", "post-merge", "post-checkout", "post-rewrite", "pre-push")
SERVER: Final = ("pre-receive", "post-receive")
EVENTS: Final = (*CLIENT, *SERVER)

CONFIGURED_SINCE: Final = (2, 54)
"""The first git that runs hooks that its configuration names (`hook.<name>.command`)."""

Mode = Literal["configured", "files", "external"]


def events_for(repository: Repository, *, server: bool = False) -> tuple[str, ...]:
    """A work tree is committed in, a bare repository is pushed to; `server`: a work tree that is pushed to as well."""
    if repository.work_tree is None:
        return SERVER
    return EVENTS if server else CLIENT


@dataclass(frozen=True)
class HookLocation:
    """How hooks come to run in the work tree, or bare repository, that we stand in.

    Attributes:
        folder: where git looks for files of hooks, as it says itself; it need not exist.
        hooks_path: what `core.hooksPath` says, None when it is not set.
        scope: who says it: `local`, `worktree`, `global`, `system`, `command`.
    """

    repository: Repository
    git: LocalGit
    folder: Path
    hooks_path: str | None = None
    scope: str = ""

    @classmethod
    def of(cls, repository: Repository, git: LocalGit) -> HookLocation:
        """Asks git, which knows includes, conditions, scopes and work trees.

        Raises:
            StoreError: there is no git program.
        """
        printed = git.ask("config", "--show-scope", "--get", "core.hooksPath")
        scope, _, value = (printed or "").partition("\t")
        folder = git.ask("rev-parse", "--git-path", "hooks") or str(repository.common_dir / "hooks")
        return cls(repository, git, git.folder / folder, value if printed is not None else None, scope)

    @property
    def mode(self) -> Mode:
        """`configured` by git's settings; `files` in a folder that is this repository's own; else `external`:
        the folder is tracked, or belongs to other repositories as well, and what is written there is not ours to say.
        """
        if self.git.version >= CONFIGURED_SINCE:
            return "configured"
        inside = Path(os.path.realpath(self.folder)).is_relative_to(os.path.realpath(self.repository.common_dir))
        return "files" if inside else "external"

    @property
    def scripts(self) -> Path:
        """Our own folder: every script that is installed is here too, whatever git calls."""
        return self.repository.common_dir / "baton" / "hooks"

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where files of ours may stand, from this work tree's point of view or from when nothing was configured."""
        here = (self.folder,) if self.mode == "files" else ()
        own = self.repository.common_dir / "hooks"
        linked = Path(os.path.realpath(own)).is_relative_to(os.path.realpath(self.repository.common_dir))
        return tuple(dict.fromkeys((*here, *((own,) if linked else ()))))

    @property
    def why_external(self) -> str:
        """In words, what keeps us from writing a file."""
        if self.hooks_path is None:
            return f"{self.folder} is a link to a folder that is not this repository's own"
        everywhere = {"global": "for all your repositories", "system": "for all users", "command": "for this call"}
        where = everywhere.get(self.scope, "here")
        return f"core.hooksPath is {self.hooks_path!r} {where}"

    def line_for(self, event: str) -> str:
        """What calls our script from somebody else's hook, and does nothing where it is not installed."""
        return f'{self._hook_variable(event)}; [ ! -x "$hook" ] || "$hook" "$@"'

    def setting_for(self, event: str) -> str:
        """The same for `hook.<name>.command`, to which git adds the arguments itself."""
        return f'{self._hook_variable(event)}; test ! -x "$hook" || "$hook"'

    @staticmethod
    def _hook_variable(event: str) -> str:
        return f'hook="$(git rev-parse --git-common-dir)/baton/hooks/{event}"'

    def file_for(self, event: str) -> Path:
        """The file that a line for `event` belongs into: husky's own folder only calls the one above it."""
        folder = self.folder.parent if self.folder.parent.name == ".husky" else self.folder
        return folder / event
