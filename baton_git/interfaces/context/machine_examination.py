"""Describe this machine for the checks of `doctor`: programs, agent CLIs, folders, unknown settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from baton_git import __version__
from baton_git.agents.registry import AGENTS
from baton_git.core.errors import find_near_names
from baton_git.git.hooks.reporting import ProgramHealth
from baton_git.git.local_git import LocalGit
from baton_git.git.store import Repository
from baton_git.interfaces.context.agent_settings import build_inspection, build_wanted_hooks, find_program, find_tools
from baton_git.interfaces.context.process import data_home, outside_git, own_command
from baton_git.interfaces.context.setting_registry import SETTINGS
from baton_git.interfaces.context.settings import Settings
from baton_git.verbs.doctor.examination import AgentSetup, ExaminedMachine


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
