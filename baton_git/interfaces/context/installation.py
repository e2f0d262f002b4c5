"""Describe what is installed on this machine: the settings of agent CLIs, their hooks, and what `doctor` checks."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from baton_git import __version__
from baton_git.agents.registry import AGENTS, Scope
from baton_git.agents.settings.agent_tools import AgentTools
from baton_git.agents.settings.entries import WantedHooks, make_hook_line
from baton_git.agents.settings.report import HookInspection
from baton_git.agents.settings.settings_file import SettingsFile
from baton_git.core.errors import InvalidArgument, find_near_names
from baton_git.git.hooks.reporting import ProgramHealth
from baton_git.git.local_git import LocalGit
from baton_git.git.store import Repository
from baton_git.interfaces.context.process import data_home, outside_git, own_command
from baton_git.interfaces.context.setting_registry import SETTINGS
from baton_git.interfaces.context.settings import Settings
from baton_git.verbs.doctor.examination import AgentSetup, ExaminedMachine

# --- the settings of agent CLIs, and the hooks that baton installs in them


def open_settings(settings: Settings, agent: str, scope: Scope) -> SettingsFile:
    """Return the settings file of an agent CLI: the user's own, or that of the work tree.

    Raises:
        InvalidArgument: the scope is `project`, and there is no work tree here.
    """
    hooks = AGENTS[agent].hooks
    own = scope == "user"
    top = None if own else _work_tree(settings)
    if AGENTS[agent].hooks_of_main_tree and top is not None:
        top = _find_main_top(settings) or top
    folder = hooks.find_user_folder(Path.home(), os.environ) if top is None else top / hooks.folder
    return SettingsFile(folder / hooks.file, _find_notes_folder(), hooks.comments, top)


def find_tools(settings: Settings, agent: str, scope: Scope) -> AgentTools:
    """Return the skills and the MCP server of an agent CLI in the home directory or in the work tree.

    Raises:
        InvalidArgument: the scope is `project`, and there is no work tree here.
    """
    root = Path.home() if scope == "user" else _work_tree(settings)
    return AgentTools.of(agent, scope, root, os.environ, _find_notes_folder())


def open_project_settings(agent: str, top: Path) -> SettingsFile:
    """Return the settings file of an agent CLI in a work tree."""
    hooks = AGENTS[agent].hooks
    return SettingsFile(top / hooks.folder / hooks.file, _find_notes_folder(), hooks.comments, top)


def find_project_tools(agent: str, top: Path) -> AgentTools:
    """Return the skills and the MCP server of an agent CLI in a work tree."""
    return AgentTools.of(agent, "project", top, os.environ, _find_notes_folder())


def _work_tree(settings: Settings) -> Path:
    repository = find_repository(settings)
    top = repository.work_tree if repository else None
    if top is None:
        raise InvalidArgument("there is no work tree here", hint="change to a work tree, or use --user")
    return top


def _find_main_top(settings: Settings) -> Path | None:
    """Return the top of the main work tree if this is a linked one; otherwise None."""
    repository = find_repository(settings)
    if repository is None or repository.git_dir == repository.common_dir or repository.common_dir.name != ".git":
        return None
    return Path(repository.common_dir).parent


def find_repository(settings: Settings) -> Repository | None:
    """Return the repository that is named, or else the one around the current folder; do not create a repository.

    Return None outside of a repository, and for the user's own store, which has no settings of agent CLIs.
    """
    named = settings.options.repo or os.environ.get("BATON_REPO")
    if not named and Repository.discover(Path.cwd()) is None:
        return None
    return None if settings.is_own_store else settings.repository


def _find_notes_folder() -> Path:
    return state_home() / "baton" / "agents"


def state_home() -> Path:
    """Return the folder of the user's state files, which has the copies of the settings that baton changed."""
    named = os.environ.get("XDG_STATE_HOME", "")
    return Path(named) if named.startswith("/") else Path.home() / ".local" / "state"


def build_wanted_hooks(agent: str, scope: Scope, *, todo_tools: bool) -> WantedHooks:
    """Return the entries that `baton agents install` writes to the settings of an agent CLI."""
    hooks = AGENTS[agent].hooks
    env = AGENTS[agent].todo_variables if todo_tools else {}
    return WantedHooks(hooks.make_groups(make_hook_line(agent, find_program(scope))), env, hooks.comments)


def find_program(scope: Scope) -> list[str]:
    """Return the command with which a hook starts baton.

    In a project's settings, which can be committed, this is the name `baton`. In the user's own settings, it is the
    path of the installed script, or the running Python with `-m` if there is no script.
    """
    if scope == "project":
        return ["baton"]
    script = Path(sysconfig.get_path("scripts")) / "baton"
    return [str(script)] if os.access(script, os.X_OK) else [sys.executable, "-P", "-m", "baton_git"]


def build_inspection(settings: Settings, agent: str, health: ProgramHealth) -> HookInspection:
    """Return the inspection of an agent CLI, of the user's settings and of those in the work tree, if there is one."""
    hooks = AGENTS[agent].hooks
    files: dict[Scope, SettingsFile] = {"user": open_settings(settings, agent, "user")}
    repository = find_repository(settings)
    top = repository.work_tree if repository else None
    remembered = repository.common_dir / "baton" / "agents" if repository else None
    if top is not None:
        files["project"] = open_settings(settings, agent, "project")
    programs = {scope: tuple(find_program(scope)) for scope in files}
    own = hooks.find_user_folder(Path.home(), os.environ)
    roots: dict[Scope, Path] = {"user": Path.home(), **({"project": top} if top is not None else {})}
    tools = tuple(AgentTools.of(agent, scope, root, os.environ, _find_notes_folder()) for scope, root in roots.items())
    return HookInspection(
        agent,
        hooks,
        files,
        programs,
        own,
        top or Path.cwd(),
        outside_git(),
        health,
        remembered,
        tools,
        Path.cwd(),
        _find_main_top(settings),
    )


# --- what the checks of `doctor` examine


def examine_machine(settings: Settings, repository: Repository | None, *, is_broken: bool) -> ExaminedMachine:
    """Return what the checks of `doctor` examine of this machine.

    Args:
        is_broken: whether the repository could not be opened, so that the agent CLIs are not examined.
    """
    health = ProgramHealth(outside_git(), own_command())
    of_agents = ProgramHealth(outside_git(), find_program("user"))
    top = repository.work_tree if repository is not None else None
    agents = {} if is_broken else {name: _describe_agent(settings, name, of_agents) for name in AGENTS}
    return ExaminedMachine(
        __version__, tuple(own_command()), outside_git(), Path.home(), data_home() / "baton", top, agents, health,
        _find_unknown_settings(repository) if repository is not None else {},
    )  # fmt: skip


def _find_unknown_settings(repository: Repository) -> Mapping[str, str]:
    """Return each key of the section `baton` in git's configuration that is not a setting of baton, with the most
    similar setting; the value is empty if none is similar."""
    git = LocalGit(repository.common_dir, outside_git())
    listed = git.ask(f"--git-dir={repository.git_dir}", "config", "--name-only", "--get-regexp", r"^baton\.") or ""
    known = {key.lower().removeprefix("baton."): key for key in SETTINGS}
    names = dict.fromkeys(key.removeprefix("baton.") for key in listed.splitlines())
    close = {name: find_near_names(name.lower(), known) for name in names if name.lower() not in known}
    return {f"baton.{name}": known[near[0]] if near else "" for name, near in close.items()}


def _describe_agent(settings: Settings, name: str, health: ProgramHealth) -> AgentSetup:
    inspection = build_inspection(settings, name, health)
    wanted = {scope: build_wanted_hooks(name, scope, todo_tools=False) for scope in inspection.files}
    return AgentSetup(inspection, wanted, {scope: find_tools(settings, name, scope) for scope in inspection.files})
