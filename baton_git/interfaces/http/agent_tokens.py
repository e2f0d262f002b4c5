"""Tokens of registered agents. Each gives access as one agent in one namespace; only digests are stored.

The file is in the repository's git directory and readable only by its owner. It is read again whenever it has changed,
so several servers of one repository agree.
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
"""Prefix of every token, which makes a leaked one recognizable."""

Table = Mapping[str, "Registration"]


class Registration(NamedTuple):
    """An agent with its own token: the namespace in which the token is valid, the time of registration (ISO 8601), and
    the digest of the token."""

    agent: str
    namespace: str
    at: str
    digest: str


class _IndexedTable(NamedTuple):
    """The registrations in the file, read when its stat fields were `stamp`."""

    stamp: tuple[int, int, int] | None
    by_agent: Table
    by_digest: Table


@dataclass
class AgentTokens:
    """The registered agents of a repository, stored in the file `path`. Safe for use by several threads."""

    path: Path
    _table: _IndexedTable = field(default=_IndexedTable(None, {}, {}), repr=False)

    def all(self) -> list[Registration]:
        """Return all registrations, sorted by agent.

        Raises:
            Corrupt: the file cannot be read; then no agent's token is accepted.
        """
        by_agent = self._read_table().by_agent
        return [by_agent[name] for name in sorted(by_agent)]

    def __bool__(self) -> bool:
        """Return whether an agent is registered. Raises Corrupt if the file cannot be read."""
        return bool(self._read_table().by_agent)

    def of(self, token: bytes) -> Registration | None:
        """Return the registration of a token.

        Only digests are compared, so the time that the search takes reveals nothing about any token.
        """
        return self._read_table().by_digest.get(_digest(token))

    def register(self, agent: str, namespace: str, at: str) -> str:
        """Create a token for an agent, which replaces its old one and is never shown again.

        Raises:
            InvalidName: the agent or the namespace is not a valid name.
            Busy: another process is changing the file.
            Corrupt: the file cannot be read.
            WriteFailed: the file cannot be written; the old token stays valid.
        """
        name, space = AgentId(agent).text, Namespace(namespace).text
        token = PREFIX + token_urlsafe(32)
        new = Registration(name, space, at, _digest(token.encode()))
        self._change(lambda table: {**table, name: new})
        return token

    def remove(self, agent: str) -> None:
        """Remove the registration of an agent; its token is no longer accepted.

        Raises:
            NotFound: the agent is not registered.
            Busy, Corrupt, WriteFailed: as in `register`.
        """

        def without(table: Table) -> Table:
            if agent not in table:
                raise NotFound("agent", agent, hint="GET /agents lists the registered agents")
            return {name: registration for name, registration in table.items() if name != agent}

        self._change(without)

    def _change(self, change: Callable[[Table], Table]) -> None:
        with self._file.lock():
            table = change(self._read_table().by_agent)
            agents = {
                agent.agent: {"namespace": agent.namespace, "at": agent.at, "sha256": agent.digest}
                for agent in table.values()
            }
            self._file.save({"agents": agents})

    @property
    def _file(self) -> PrivateJsonFile:
        return PrivateJsonFile(self.path, "remove it and register the agents again")

    def _read_table(self) -> _IndexedTable:
        table, stamp = self._table, self._stamp()
        if table.stamp != stamp:
            table = self._table = _index_registrations(stamp, self._load())
        return table

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(self.path)  # noqa: PTH116  faster; this runs for every request
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise self._corrupt(error) from error
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _load(self) -> list[Registration]:
        data = self._file.load({"agents": {}})
        try:
            return [_registration(name, fields) for name, fields in data["agents"].items()]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._corrupt(error) from error

    def _corrupt(self, error: Exception) -> Corrupt:
        return self._file.corrupt(f"cannot be read ({error})")


def _index_registrations(stamp: tuple[int, int, int] | None, registrations: list[Registration]) -> _IndexedTable:
    return _IndexedTable(
        stamp,
        {registration.agent: registration for registration in registrations},
        {registration.digest: registration for registration in registrations},
    )


def _registration(name: str, data: Mapping[str, Any]) -> Registration:
    return Registration(AgentId(name).text, str(data["namespace"]), str(data["at"]), str(data["sha256"]))


def _digest(token: bytes) -> str:
    return sha256(token).hexdigest()
