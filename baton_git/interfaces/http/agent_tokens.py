"""The tokens of registered agents: each opens what belongs to one agent in one namespace. Only digests are kept.

The file lies beside the branches, is readable by its owner alone, and is looked at again whenever it has changed, so
that several servers of one repository agree.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, NamedTuple

from baton_git.core.errors import Corrupt, NotFound
from baton_git.core.names import AgentId, Namespace
from baton_git.git.files.private_json import PrivateJsonFile

PREFIX = "baton_agent_"
"""What a token begins with, so that whoever finds one knows what it is."""

Table = Mapping[str, "Registration"]


class Registration(NamedTuple):
    """One agent that has a token of its own: in which namespace it counts, since when (ISO 8601), and its digest."""

    agent: str
    namespace: str
    at: str
    digest: str


class _Look(NamedTuple):
    """What the file said when it looked like `stamp`."""

    stamp: tuple[int, int, int] | None
    by_agent: Table
    by_digest: Table


@dataclass
class AgentTokens:
    """The registered agents of a repository, in the file `path`. Threads may use it side by side."""

    path: Path
    _look: _Look = field(default=_Look(None, {}, {}), repr=False)

    def all(self) -> list[Registration]:
        """Raises Corrupt when the file cannot be read; then no agent's token opens anything."""
        by_agent = self._now().by_agent
        return [by_agent[name] for name in sorted(by_agent)]

    def __bool__(self) -> bool:
        """Whether any agent is registered. Raises Corrupt."""
        return bool(self._now().by_agent)

    def of(self, token: bytes) -> Registration | None:
        """Whose token that is. Digests are compared, so the time it takes says nothing about any token."""
        return self._now().by_digest.get(_digest(token))

    def register(self, agent: str, namespace: str, at: str) -> str:
        """A fresh token for an agent, told this once; the one it had opens nothing any more.

        Raises:
            InvalidName: the agent, or the namespace, cannot be one.
            Busy: another process is changing the file.
            Corrupt: the file cannot be read.
            WriteFailed: the disk said no; an older token still counts.
        """
        name, space = AgentId(agent).text, Namespace(namespace).text
        token = PREFIX + token_urlsafe(32)
        new = Registration(name, space, at, _digest(token.encode()))
        self._change(lambda table: {**table, name: new})
        return token

    def remove(self, agent: str) -> None:
        """The agent is registered no more, and its token opens nothing.

        Raises:
            NotFound: it was not registered.
            Busy, Corrupt, WriteFailed: as in `register`.
        """

        def without(table: Table) -> Table:
            if agent not in table:
                raise NotFound("agent", agent, hint="GET /agents lists those that are registered")
            return {name: one for name, one in table.items() if name != agent}

        self._change(without)

    def _change(self, change: Callable[[Table], Table]) -> None:
        with self._file.lock():
            table = change(self._now().by_agent)
            agents = {
                agent.agent: {"namespace": agent.namespace, "at": agent.at, "sha256": agent.digest}
                for agent in table.values()
            }
            self._file.save({"agents": agents})

    @property
    def _file(self) -> PrivateJsonFile:
        return PrivateJsonFile(self.path, "remove it and register the agents again")

    def _now(self) -> _Look:
        look, stamp = self._look, self._stamp()
        if look.stamp != stamp:
            look = self._look = _looked(stamp, self._load())
        return look

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self.path)  # noqa: PTH116  asked at every request
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._corrupt(error) from error
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _load(self) -> list[Registration]:
        data = self._file.load({"agents": {}})
        try:
            return [_registration(name, fields) for name, fields in data["agents"].items()]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._corrupt(error) from error

    def _corrupt(self, error: Exception) -> Corrupt:
        return self._file.corrupt(f"cannot be read ({error})")


def _looked(stamp: tuple[int, int, int] | None, found: list[Registration]) -> _Look:
    return _Look(stamp, {one.agent: one for one in found}, {one.digest: one for one in found})


def _registration(name: str, data: Mapping[str, Any]) -> Registration:
    return Registration(AgentId(name).text, str(data["namespace"]), str(data["at"]), str(data["sha256"]))


def _digest(token: bytes) -> str:
    return sha256(token).hexdigest()
