"""Checks of the programs that agent CLIs start: the time a hook takes, and the MCP server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from baton_git.agents.registry import AGENTS, Scope
from baton_git.agents.settings.mcp_server import find_server
from baton_git.git import child_process
from baton_git.verbs.doctor.diagnostic import Diagnostic, ok
from baton_git.verbs.doctor.examination import AgentSetup, Examination
from baton_git.verbs.upkeep.extras import describe_install

SLOW_SECONDS = 2.0
"""A hook that takes longer than this to load noticeably delays each turn of a session."""
RUN_SECONDS = 10.0
"""Time limit, in seconds, of one measured program."""


def check_hook_cost(examination: Examination) -> Iterator[Diagnostic]:
    """Measure the time of a hook that has nothing to do, and of one that imports the modules of all events."""
    for words in _list_programs(examination):
        idle = _measure(examination, [*words, "hook", "--agent", next(iter(AGENTS))])
        loaded = _measure(examination, [*words, "hook", "--check"])
        if idle is None or loaded is None:
            yield Diagnostic("error", f"{words[0]}: a hook takes more than {RUN_SECONDS:g} s, or fails")
            continue
        text = f"{idle * 1000:.0f} ms with nothing to do, {loaded * 1000:.0f} ms if it imports everything"
        if loaded > SLOW_SECONDS:
            yield Diagnostic(
                "warning", text, f"a slow disk, or a busy machine: {words[0]}", "try again when the machine is idle"
            )
        else:
            yield ok(text)


def _list_programs(examination: Examination) -> list[tuple[str, ...]]:
    """Return the working commands of baton that `agents install` would write, for each scope with installed hooks."""
    programs = []
    for setup in examination.local.agents.values():
        inspection = setup.inspection
        installed = [scope for scope, file in inspection.files.items() if file.entries_or_none()]
        words = dict.fromkeys(inspection.programs[scope] for scope in installed)
        programs += [program for program in words if inspection.health.find_problem(program, may_run=True) is None]
    return list(dict.fromkeys(programs))


def _measure(examination: Examination, words: list[str]) -> float | None:
    """Return how long a program runs, in seconds; None if it fails."""
    begin = time.monotonic()
    with suppress(OSError):
        done = child_process.run(words, examination.local.environment, Path(), RUN_SECONDS)
        if done is not None and done.code == 0:
            return time.monotonic() - begin
    return None


def check_mcp(examination: Examination) -> Iterator[Diagnostic]:
    """Find MCP servers in the settings of agent CLIs that cannot be started."""
    machine = examination.local
    for name, setup in machine.agents.items():
        for scope, tools in setup.tools.items():
            server = find_server(name, scope, tools.root, machine.environment)
            if server is None:
                continue
            command = server.get("command") if isinstance(server, dict) else None
            problem = _find_problem(examination, setup, scope, command)
            if problem is None:
                yield ok(f"{name}: the server of {'this user' if scope == 'user' else 'this project'} is configured")
                continue
            project = " --project" if scope == "project" else ""
            yield Diagnostic(
                "error", f"{name}: the MCP server does not start: {problem}", str(tools.server_path or ""),
                f"baton agents install {name}{project} --with mcp",
            )  # fmt: skip


def _find_problem(examination: Examination, setup: AgentSetup, scope: Scope, command: object) -> str | None:
    if not isinstance(command, str) or not command:
        return "its settings name no command"
    problem = examination.local.health.find_problem([command], may_run=False)
    if problem is None and command == setup.inspection.programs[scope][0] and find_spec("mcp") is None:
        return f"a package is missing: {describe_install('mcp')}"
    return problem
