"""The file of approvals: for every repository of this user, by its id, what was allowed.

It is the user's own and lies outside of every repository, so nothing that is fetched, cloned or unpacked can approve
itself.

    {"repositories": {"<id>": {"path": "…/.git", "commands": […], "checks": […], "remotes": […]}}}

Earlier versions kept lists of commands by the path of the repository. Another repository can stand at that path by now,
so those approve nothing; they are kept, and named to the user.
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
        """The commands that an earlier version of baton kept by the repository's path. Raises Corrupt."""
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
        """The id under which this repository's approvals are kept; None where it needs one of its own."""
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
