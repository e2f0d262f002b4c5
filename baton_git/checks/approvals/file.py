"""Read and change the user's file of approvals, which holds the approvals for each repository by its id.

The file is outside of every repository, so nothing that is fetched, cloned or unpacked can approve itself.

    {"repositories": {"<id>": {"path": "…/.git", "commands": […], "checks": […], "workflows": […], "remotes": […]}}}

Earlier versions stored lists of commands by the path of the repository. Another repository may be at that path now, so
these approvals no longer count. They stay in the file, and are reported to the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.checks.approvals.identity import is_copy, make_identity, read_identity
from baton_git.core.errors import Corrupt
from baton_git.git.files.private_json import PrivateJsonFile

Kept = Mapping[str, Any]
"""The stored approvals of one repository."""


class ApprovalFile(NamedTuple):
    """The part of the file `path` that belongs to the repository whose common directory is `repository`."""

    path: Path
    repository: Path

    def read(self) -> Kept:
        """Return the approvals for this repository.

        Raises:
            Corrupt: the file cannot be read; then nothing counts as approved.
        """
        return self._mine(self._load())

    def earlier(self) -> list[Any]:
        """Return the commands that an earlier version of baton stored by the repository's path. Raises Corrupt."""
        commands = self._load().get(str(self.repository), [])
        return commands if isinstance(commands, list) else []

    def change(self, change: Callable[[Kept], Kept]) -> bool:
        """Apply `change` to the stored approvals; return False if it changed nothing.

        Raises:
            Busy: another process is changing the file.
            Corrupt: the file cannot be read.
            WriteFailed: writing to disk failed.
        """
        with self._file.lock():
            data = self._load()
            before = self._mine(data)
            after = change(before)
            if after == before:
                return False
            id_ = self._id(data) or make_identity(self.repository)
            mine = {**after, "path": str(self.repository)}
            self._file.save({**data, "repositories": {**data["repositories"], id_: mine}})
            return True

    def _id(self, data: Mapping[str, Any]) -> str | None:
        """Return the id of this repository's approvals; None if it needs a new id, as a copy of a repository does."""
        id_ = read_identity(self.repository)
        recorded = data["repositories"].get(id_, {}).get("path", str(self.repository))
        return None if id_ is None or is_copy(self.repository, str(recorded)) else id_

    def _mine(self, data: Mapping[str, Any]) -> Kept:
        mine = data["repositories"].get(self._id(data), {})
        return {name: value for name, value in mine.items() if name != "path"}

    @property
    def _file(self) -> PrivateJsonFile:
        return PrivateJsonFile(self.path, "remove it and approve again")

    def _load(self) -> dict[str, Any]:
        data = self._file.load({})
        repositories = data.setdefault("repositories", {})
        if not isinstance(repositories, dict) or not all(
            isinstance(repository, dict) for repository in repositories.values()
        ):
            raise self.corrupt("is not a table of approvals")
        return data

    def corrupt(self, why: str) -> Corrupt:
        """Return the error for a damaged file."""
        return self._file.corrupt(why)
