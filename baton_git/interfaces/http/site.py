"""What one server process serves: the namespaces of one repository, with the settings of the person who started it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from threading import Event, Lock
from typing import NamedTuple

from baton_git.core.errors import NotARepository, StoreError
from baton_git.core.names import AgentId, Namespace, Oid, SessionId
from baton_git.core.output import terminal
from baton_git.git.store import Repository, Store
from baton_git.interfaces.background.pack_merge import PackMergeProcess
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.process import child_environment
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.interfaces.http.agent_tokens import AgentTokens
from baton_git.namespace.branch import Branch
from baton_git.namespace.last_tip import read_tip
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.workspace import Actor, Workspace

# --- what one server process serves: the namespaces of one repository, with the settings of the person who started it


SETTINGS_AGE = 5.0
"""Seconds after which git's configuration is read again, so that a new policy applies without a restart."""


_FileState = tuple[int, int, int]


class _LoadedSettings(NamedTuple):
    """The settings when they were last read.

    Attributes:
        at: when, in monotonic seconds.
        config: the state of the repository's configuration file.
        app: the context of `baton serve`.
        plain: a workspace without an acting session.
    """

    at: float
    config: _FileState
    app: Call
    plain: Workspace


@dataclass
class Site:
    """The repository and the settings of one server process. Its threads may use it concurrently.

    Attributes:
        options: the options of `baton serve`; sessions and agents come with each request.
        token: the token that `Authorization: Bearer` must contain; None if everybody who reaches the server has access.
        page_token: the token of the page's login; None if it is `token`, or if there is no login.
        agent: how baton knows that an agent started the server, such as `CLAUDECODE is set`. That agent knows the
            server's tokens. None if a person started the server.
        may_create: whether clients of other systems create every namespace that they write to, also in a repository
            that somebody works in (`baton serve --create`).
        is_shared: whether other people than the person who started the server may reach it.
        is_guarded: whether the process that passes requests on to this one has a token.
        ending: set when the server shuts down; streams then end.
    """

    options: CommonOptions
    token: str | None = None
    agent: str | None = None
    page_token: str | None = None
    may_create: bool = False
    is_guarded: bool = False
    is_shared: bool = False
    ending: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)
    _loaded: _LoadedSettings | None = None
    _merge_process: PackMergeProcess | None = None

    @cached_property
    def repository(self) -> Repository:
        return self.settings.repository

    @property
    def app(self) -> Call:
        """The context of `baton serve`, with git's configuration as it was at most `SETTINGS_AGE` seconds ago."""
        return self._current.app

    @property
    def _current(self) -> _LoadedSettings:
        """The current settings. If they are outdated, one thread reads them again, and the others wait for it.

        Raises:
            NotARepository: the repository is gone.
        """
        loaded = self._loaded
        if (
            loaded is not None
            and self._read_config_state(loaded) == loaded.config
            and time.monotonic() - loaded.at <= SETTINGS_AGE
        ):
            return loaded
        with self._lock:
            if self._loaded is loaded or self._loaded is None:
                self._loaded = self._reload_settings()
            return self._loaded

    def _read_config_state(self, loaded: _LoadedSettings) -> _FileState:
        """Return the time, inode and size of the repository's configuration file, to notice changes immediately.

        Raises:
            NotARepository: the file is gone. This must not be mistaken for an empty repository.
        """
        return _file_state(loaded.plain.branch.store.repository)

    def _reload_settings(self) -> _LoadedSettings:
        store = self._loaded.plain.branch.store if self._loaded is not None else None
        options = self.options._replace(session=None, agent=None)
        settings = Settings(options, known=None if store is None else store.repository)
        app = Call(settings)
        store = store or self._open_store(settings.repository)
        config = _file_state(store.repository)
        plain = app.workspace_on(store, settings.namespace)
        plain = replace(
            plain,
            find_machine=lambda: replace(app.find_machine(), examine=None, serves_others=self.is_shared),
            find_agent=lambda: "agents can send requests to this server too",
        )  # of the client's, nothing
        return _LoadedSettings(time.monotonic(), config, app, plain)

    def _open_store(self, repository: Repository) -> Store:
        store = Store(repository, environment=child_environment())
        store.tidied_by = self._merge_process = PackMergeProcess(repository)
        return store

    @property
    def store(self) -> Store:
        """The store that all threads share, with its cache and its write queue."""
        return self._current.plain.branch.store

    @property
    def settings(self) -> Settings:
        return self.app.settings

    def now(self) -> datetime:
        return self.settings.now()

    @property
    def is_open(self) -> bool:
        """Whether everybody who reaches the server may use all of it, so that nobody knows who writes.

        Raises:
            Corrupt: the file of the agents cannot be read.
        """
        return not (self.is_guarded or self.token or self.page_token or self.agents)

    @property
    def person(self) -> str:
        """The name of the person who started the server, from git's configuration."""
        return self.app.person

    @property
    def folder(self) -> Path:
        """The folder of the server's machine-local data, in the repository's git directory."""
        return self.repository.common_dir / "baton" / "http"

    @cached_property
    def agents(self) -> AgentTokens:
        """The agents with tokens of their own."""
        return AgentTokens(self.folder / "agents.json")

    @contextmanager
    def work(
        self,
        namespace: str | None = None,
        *,
        session: str | None = None,
        agent: str | None = None,
        may_begin: bool = False,
    ) -> Iterator[Workspace]:
        """Yield a workspace for one request, in the server's own namespace if none is named.

        Args:
            may_begin: whether the first write creates the namespace, as clients of other systems expect. In a
                repository that somebody works in, it creates only a namespace that is known there: a misspelt one, or
                one of another project, would otherwise become a branch of this project.

        Raises:
            InvalidName: a name is not valid.
            InvalidDocument: the namespace does not exist, and its name contains a secret.
            NotARepository: the repository is gone.
        """
        plain = self._current.plain
        branch = plain.branch
        if namespace is not None:  # the request names it, so that no other is looked for on the remotes
            branch = replace(self.settings.choose_branch(branch, Namespace(namespace)), is_named=True)
        branch.check_name()
        may_begin = branch.may_begin or (may_begin and (self._is_for_serving or self._is_named(branch.namespace)))
        branch = replace(branch, may_begin=may_begin)
        acting = SessionId(session).text if session is not None else None
        by = AgentId(agent).text if agent is not None else None
        actor = Actor(plain.actor.author, acting, by, plain.actor.machine, is_agent_named=by is not None)
        ws = replace(plain, branch=branch, actor=actor)
        ws = ws if acting is None else replace(ws, actor=replace(actor, session=ws.complete_session(acting)))
        yield ws.unauthenticated if self.is_open else ws

    def use_namespace(self, namespace: str) -> None:
        """Read the settings again if a request that named no namespace has found another one on a remote."""
        loaded = self._loaded
        if loaded is not None and namespace != str(loaded.plain.branch.namespace):
            self._loaded = loaded._replace(at=-SETTINGS_AGE)

    @property
    def _is_for_serving(self) -> bool:
        """Whether the repository is a store that nobody works in, such as a bare one, or may be treated like one."""
        repository = self.repository
        is_bare = repository.work_tree is None and repository.common_dir.name != ".git"
        return is_bare or self.may_create or self.options.create

    def _is_named(self, namespace: Namespace) -> bool:
        """Return whether the person who started the server named the namespace."""
        return self.options.namespace is not None and namespace == self.settings.namespace

    def namespaces(self) -> list[Namespace]:
        return list_namespaces(self.store, self.settings.prefix)

    def digest_tips(self) -> str:
        """Return a text that changes whenever a namespace changes, appears or disappears."""
        refs = self.store.refs(self.settings.prefix)
        return sha256("\n".join(f"{ref} {tip}" for ref, tip in sorted(refs.items())).encode()).hexdigest()[:40]

    def tip(self, namespace: str | None = None) -> Oid | None:
        """Return the tip of a namespace, wherever its branch is; None if it does not exist. Cheap enough for polling.

        Raises:
            InvalidName: the name is not valid.
            NotARepository: the repository is gone.
        """
        branch = self._branch
        return branch.store.tip(branch.ref if namespace is None else branch.prefix + _parse(namespace).component)

    def trusted_tip(self, namespace: str) -> Oid | None:
        """Return the tip of a namespace like `tip`, but only from a branch that no other program moved.

        Raises:
            InvalidName: the name is not valid.
            BranchMoved: another program deleted the branch, moved it back or replaced it.
            NotARepository: the repository is gone.
        """
        branch = self._branch
        return read_tip(branch.store, branch.prefix, _parse(namespace))

    @property
    def _branch(self) -> Branch:
        """The branch of the server's own namespace, with settings that may be old. A copy for another namespace is not
        made for a poll or a cached read: it would take 5 µs of 200."""
        loaded = self._loaded or self._current  # old settings suffice: to read them again starts git, which is slow
        self._read_config_state(loaded)  # raises NotARepository
        return loaded.plain.branch

    def merge_packs(self) -> None:
        """Merge packs, which another process of this server found to be due."""
        with suppress(StoreError, OSError):
            if self._merge_process is None or not self._merge_process():
                self.store.roll_up()

    def close(self) -> None:
        if self._loaded is not None:
            self.store.close()
        if self._merge_process is not None:
            self._merge_process.close()


@lru_cache(1024)
def _parse(namespace: str) -> Namespace:
    return Namespace(namespace)


def _file_state(repository: Repository) -> _FileState:
    try:
        status = os.stat(f"{repository.common_dir}/config")  # noqa: PTH116  for every request, several times
    except OSError as error:
        raise NotARepository(
            f"{repository.common_dir} is not a repository any more: {error.strerror or error}",
            hint="restore it, or restart the server",
        ) from error
    return status.st_mtime_ns, status.st_ino, status.st_size


# --- the server's log on standard error, with control characters from requests and records escaped


LOGGER = "baton.http"


class SafeFormatter(logging.Formatter):
    """Formatter that escapes characters unsafe on a terminal, also in tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        return terminal(super().format(record))


def log_to_stderr() -> None:
    """Send the server's log to standard error."""
    log = logging.getLogger(LOGGER)
    if not log.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(SafeFormatter("%(message)s"))
        log.addHandler(handler)
        log.propagate = False
