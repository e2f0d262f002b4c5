"""What the checks of `doctor` examine, and what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from baton_git.agents.registry import Scope
from baton_git.agents.settings.agent_tools import AgentTools
from baton_git.agents.settings.entries import WantedHooks
from baton_git.agents.settings.report import HookInspection
from baton_git.core.errors import BatonError
from baton_git.core.output import count_noun, one_line
from baton_git.core.times import parse_time_or_none
from baton_git.git.hooks.reporting import ProgramHealth
from baton_git.git.local_git import LocalGit
from baton_git.git.store import Store
from baton_git.namespace.workspace import Workspace

# --- the findings of checks, and their repairs


Severity = Literal["ok", "warning", "error", "unknown"]


class Repair(NamedTuple):
    """A repair for `doctor --fix`.

    Attributes:
        about: what the repair does, in the imperative: `Remove 2 files that killed processes left`.
        run: carries out the repair, and returns in one line how to take it back; None if nobody needs to.
        paths: returns the files of the person (hooks, settings of agents, git's configuration) that it may create,
            change or remove; it is called before and after the repair. These are copied first. None if there are none:
            records have a history, and all else is baton's own data of this machine.
    """

    about: str
    run: Callable[[], str | None]
    paths: Callable[[], Iterable[Path]] | None = None


class Diagnostic(NamedTuple):
    """One finding of a check.

    Attributes:
        summary: the finding in one sentence, without a full stop.
        cause: the possible cause, and details.
        advice: what a person can do, as a command if there is one.
        repair: what `doctor --fix` does; None if a person must act.
    """

    severity: Severity
    summary: str
    cause: str = ""
    advice: str = ""
    repair: Repair | None = None


def ok(summary: str) -> Diagnostic:
    """Return a finding without a problem."""
    return Diagnostic("ok", summary)


# --- the inputs of the checks: a repository, one of its namespaces, and the machine


class AgentSetup(NamedTuple):
    """The CLI of one agent on this machine, and what `agents install` would write, by scope."""

    inspection: HookInspection
    wanted: Mapping[Scope, WantedHooks]
    tools: Mapping[Scope, AgentTools]


@dataclass(frozen=True)
class ExaminedMachine:
    """The machine, as the interface reads it.

    Attributes:
        version: the version of the running baton.
        own_command: the command with which git hooks start baton.
        environment: the environment of programs that baton starts, without variables that point git to another
            repository.
        data: the folder of the user's baton data.
        work_tree: the top of the current work tree.
        agents: the agent CLIs, by name.
        health: tests the programs that hooks start, each at most once.
        unknown_settings: the keys `baton.*` in git's configuration that are not settings of baton, each with the most
            similar setting; an empty string if no setting is similar.
    """

    version: str
    own_command: tuple[str, ...]
    environment: Mapping[str, str]
    home: Path
    data: Path
    work_tree: Path | None
    agents: Mapping[str, AgentSetup]
    health: ProgramHealth
    unknown_settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Examination:
    """The state of one run of `doctor`.

    Attributes:
        store: the store of the repository; None outside of a repository.
        prefix: the prefix of the namespaces' branches.
        opened: the workspace, or the error that prevented opening it; None outside of a repository.
        machine: None if the caller may see only the repository, as in the HTTP API.
        seconds: the time limit for checking all objects.
    """

    now: datetime
    store: Store | None
    prefix: str
    opened: Workspace | BatonError | None
    machine: ExaminedMachine | None = None
    seconds: float = 10.0

    @property
    def ws(self) -> Workspace:
        """The workspace.

        Raises:
            BatonError: the workspace could not be opened.
        """
        if isinstance(self.opened, Workspace):
            return self.opened
        raise self.opened or BatonError("there is no repository here")

    @property
    def required_store(self) -> Store:
        """The store.

        Raises:
            BatonError: there is no repository.
        """
        if self.store is None:
            raise BatonError("there is no repository here")
        return self.store

    @property
    def common_dir(self) -> Path:
        return self.required_store.repository.common_dir

    @property
    def local(self) -> ExaminedMachine:
        """The machine.

        Raises:
            BatonError: the caller may not see the machine.
        """
        if self.machine is None:
            raise BatonError("this interface cannot check the machine")
        return self.machine

    @cached_property
    def git(self) -> LocalGit:
        """The git program, for this repository.

        Raises:
            BatonError: there is no repository, or it could not be opened.
        """
        repository = self.required_store.repository
        environment = self.ws.environment if self.machine is None else self.machine.environment
        return LocalGit(repository.work_tree or repository.git_dir, environment)

    def age(self, path: Path) -> float:
        """Return how many seconds ago a file was changed; 0 for a file that is gone."""
        try:
            return self.now.timestamp() - path.lstat().st_mtime
        except OSError:
            return 0.0


# --- recent problems in the logs of hooks and of background processes


LOG_AGE = timedelta(days=7)
"""Older problems are not reported."""
LOG_LINES = 2000
"""Maximum number of lines that are read, from the end of a log."""


def read_log(examination: Examination, name: str, who: str = "hooks") -> Iterator[Diagnostic]:
    """Report the recent problems in a log; `who` wrote it."""
    path = examination.common_dir / "baton" / name
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
    except OSError:
        return
    recent = [line for line in lines if _is_recent(line, examination.now)]
    if recent:
        yield Diagnostic(
            "warning", f"{who} logged {count_noun(len(recent), 'problem')} in the last {LOG_AGE.days} days",
            f"the last: {one_line(recent[-1], 200)}", f"see {path}",
        )  # fmt: skip


def _is_recent(line: str, now: datetime) -> bool:
    moment = parse_time_or_none(line.split(" ")[0])
    return moment is not None and now - LOG_AGE < moment
