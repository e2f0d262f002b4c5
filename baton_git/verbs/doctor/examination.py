"""What the checks look at: a repository, one of its namespaces, and the machine around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from baton_git.agents.settings.agent_tools import AgentTools
from baton_git.agents.settings.entries import WantedHooks
from baton_git.agents.settings.locations import Scope
from baton_git.agents.settings.report import HookInspection
from baton_git.core.errors import BatonError
from baton_git.git.hooks.program_health import ProgramHealth
from baton_git.git.local_git import LocalGit
from baton_git.git.store import Store
from baton_git.namespace.workspace import Workspace


class AgentSetup(NamedTuple):
    """One agent's CLI on this machine: what is looked at, and by scope what `agents install` would write."""

    inspection: HookInspection
    wanted: Mapping[Scope, WantedHooks]
    tools: Mapping[Scope, AgentTools]


@dataclass(frozen=True)
class Machine:
    """The machine, as the interface reads it.

    Attributes:
        version: of the baton that runs.
        own_command: how git hooks start it.
        environment: of the programs that we start, without what binds git to another repository.
        data: the folder of baton's own data of this user.
        work_tree: the top of the work tree that we stand in.
        agents: by name, the agents' CLIs.
        health: whether programs that git hooks start work; each is run once at most.
    """

    version: str
    own_command: tuple[str, ...]
    environment: Mapping[str, str]
    home: Path
    data: Path
    work_tree: Path | None
    agents: Mapping[str, AgentSetup]
    health: ProgramHealth


@dataclass(frozen=True)
class Examination:
    """What one run of `doctor` looks at.

    Attributes:
        store: of the repository; None outside of any.
        prefix: of the branches of its namespaces.
        opened: the workspace, or why there is none.
        machine: None where the caller may see only the repository, as over HTTP.
        seconds: that a check of all objects, or of one remote, may take.
    """

    now: datetime
    store: Store | None
    prefix: str
    opened: Workspace | BatonError | None
    machine: Machine | None = None
    seconds: float = 10.0

    @property
    def ws(self) -> Workspace:
        """The workspace.

        Raises:
            BatonError: it could not be opened.
        """
        if isinstance(self.opened, Workspace):
            return self.opened
        raise self.opened or BatonError("there is no repository here")

    @property
    def stored(self) -> Store:
        """The store.

        Raises:
            BatonError: there is no repository.
        """
        if self.store is None:
            raise BatonError("there is no repository here")
        return self.store

    @property
    def common_dir(self) -> Path:
        return self.stored.repository.common_dir

    @property
    def local(self) -> Machine:
        """The machine.

        Raises:
            BatonError: it is not looked at.
        """
        if self.machine is None:
            raise BatonError("the machine is not looked at from here")
        return self.machine

    @cached_property
    def git(self) -> LocalGit:
        """The git program, asked about the repository.

        Raises:
            BatonError: there is no repository, or it could not be opened.
        """
        repository = self.stored.repository
        environment = self.ws.environment if self.machine is None else self.machine.environment
        return LocalGit(repository.work_tree or repository.git_dir, environment)

    def age(self, path: Path) -> float:
        """Return how many seconds ago a file was changed; a file that is gone is new."""
        try:
            return self.now.timestamp() - path.lstat().st_mtime
        except OSError:
            return 0.0
