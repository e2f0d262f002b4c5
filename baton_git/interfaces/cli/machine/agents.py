"""`baton agents`: install baton's hooks in the settings of agent CLIs, and check whether they will run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from baton_git.agents.codex.hooks import Codex
from baton_git.agents.registry import AGENTS, Scope
from baton_git.agents.settings.report import AgentReport, FileReport, select_hooks_of_file
from baton_git.agents.settings.settings_file import SettingsFile
from baton_git.core.errors import BatonError, InvalidArgument, NotFound
from baton_git.core.output import flat
from baton_git.core.styles import join
from baton_git.core.times import describe_age
from baton_git.git.hooks.reporting import ProgramHealth
from baton_git.git.hooks.shipped import find_shipped
from baton_git.interfaces.cli.app import App, command, group
from baton_git.interfaces.cli.error_handler import FAILED, UNKNOWN
from baton_git.interfaces.cli.machine.agent_extras import (
    WITH,
    Extras,
    ask_for_extras,
    install_tools,
    select_servers,
    uninstall_tools,
)
from baton_git.interfaces.context.installation import (
    build_inspection,
    build_wanted_hooks,
    find_program,
    find_tools,
    open_settings,
)
from baton_git.interfaces.context.process import outside_git

_NAMES = click.Choice([*AGENTS, "all"])
_PROJECT = click.option(
    "--project/--user", "project", default=False,
    help="Use the settings files in this work tree (which can be committed), or your own.  [default: user]",
)  # fmt: skip


@command("install", short_help="Install or update the hooks of an agent CLI.")
@click.argument("name", type=_NAMES)
@_PROJECT
@click.option("--trust", is_flag=True, help="Codex: also trust the hooks, as /hooks does in codex.")
@click.option("--todo-tools", is_flag=True, help="Claude Code: also enable its to-do tools.")
@WITH
def install_command(
    app: App, name: str, project: bool, trust: bool, todo_tools: bool, extras: Extras | None
) -> int | None:
    """Install or update the hooks through which an agent CLI calls baton at each turn of a session.

    This adds entries to the CLI's settings, and changes nothing else there. The hooks do nothing except in
    repositories where baton init created a namespace.

    \b
    baton agents install claude
    baton agents install codex --trust
    baton agents install all --project --with skills,mcp
    """
    if trust and name != "all" and not AGENTS[name].must_trust_hooks:
        raise click.UsageError("--trust is only for codex: other CLIs do not ask to trust hooks")
    if todo_tools and name != "all" and not AGENTS[name].todo_variables:
        raise click.UsageError("--todo-tools is only for claude: other CLIs have no such setting")
    codex = _open_codex(app) if trust else None
    scope: Scope = "project" if project else "user"
    files = {agent: open_settings(app.settings, agent, scope) for agent in _agents(name)}
    extras = extras if extras is not None else ask_for_extras()
    wanted = {agent: build_wanted_hooks(agent, scope, todo_tools=todo_tools) for agent in files}
    tools = {agent: find_tools(app.settings, agent, scope) for agent in files}

    def install(agent: str, file: SettingsFile) -> bool:
        servers = select_servers(app, tools[agent], file, extras, find_program(scope))
        return file.install(replace(wanted[agent], servers=servers))

    done, failed = _change_each(app, files, install)
    added = install_tools(app, {agent: tools[agent] for agent in done}, extras, find_program(scope))
    failed = failed if added is not None else FAILED
    trusted = _trust_hooks(app, codex, files["codex"]) if codex and "codex" in done else []
    for agent, changed in done.items():
        app.say(f"{agent}: {'installed in' if changed else 'already installed in'} {files[agent].path}")
        if changed:
            app.say(*_describe_install(app, agent, scope, trusted=bool(trusted)))
        else:
            app.say(*_describe_place(app, agent, scope, changed=False))
    if any(done.values()):
        app.say("the hooks do nothing except in repositories where baton init created a namespace")
    data = _describe_changes(files, done) | {"added": [str(path) for path in added or ()]}
    app.answer(data | ({"trusted": trusted} if trust else {}), "")
    return failed


@command("uninstall", short_help="Remove baton's hooks from an agent CLI.")
@click.argument("name", type=_NAMES)
@_PROJECT
def uninstall_command(app: App, name: str, project: bool) -> int | None:
    """Remove what baton agents install added to an agent CLI, and change nothing else.

    \b
    baton agents uninstall claude
    baton agents uninstall all --project
    """
    scope: Scope = "project" if project else "user"
    files = {agent: open_settings(app.settings, agent, scope) for agent in _agents(name)}
    for_trust = find_trusted(app, files.get("codex"))
    taken = uninstall_tools(app, {agent: find_tools(app.settings, agent, scope) for agent in files})
    done, failed = _change_each(app, files, lambda _, file: file.uninstall())
    failed = failed if taken is not None else FAILED
    for agent, changed in done.items():
        app.say(f"{agent}: {'removed from' if changed else 'not installed in'} {files[agent].path}")
    if done.get("codex") and for_trust:
        forget_trust(app, for_trust)
    for agent in done:
        left = [name for name in AGENTS[agent].todo_variables if _has_variable(files[agent], name)]
        app.say(*(f"{agent}: env.{name} was not set by baton, so it was not removed" for name in left))
    app.answer(_describe_changes(files, done) | {"removed": [str(path) for path in taken or ()]}, "")
    return failed


@command("status", short_help="Show which agent CLIs will call baton here.")
@click.argument("name", type=_NAMES, default="all")
def status_command(app: App, name: str) -> int | None:
    """Show for each agent CLI whether it will call baton here, and if not, why.

    Exit status: 0 no problem, 1 a problem, 5 something could not be checked. A CLI without baton's hooks is a problem
    only if you name it.

    \b
    baton agents status
    baton agents status codex
    """
    health = ProgramHealth(outside_git(), find_program("user"))
    reports = [build_inspection(app.settings, agent, health).report() for agent in _agents(name)]
    app.answer(
        [_describe_report(report) for report in reports],
        join([line for report in reports for line in _format_report(app, report)], "\n"),
    )
    verdicts = {report.verdict for report in reports}
    missing = name != "all" and not any(report.is_installed for report in reports)
    if "off" in verdicts or missing:
        return FAILED
    return UNKNOWN if "unknown" in verdicts else None


@command("package", short_help="Print the folder of the plugin or extension for an agent CLI.")
@click.argument("name", type=click.Choice(list(AGENTS)))
def package_command(app: App, name: str) -> None:
    """Print the folder of baton's plugin (Claude Code, Codex) or extension (Gemini CLI).

    It contains the hooks, the skills and the MCP server. Use either this or baton agents install, not both.

    \b
    baton agents package claude
    claude plugin marketplace add "$(baton agents package claude)"
    gemini extensions install "$(baton agents package gemini)"
    """
    folder = find_shipped(AGENTS[name].package.folder)
    how = AGENTS[name].package.add.format(folder)
    app.answer({"folder": str(folder), "add": how}, str(folder))
    app.say(f"add it with: {how}")


def _agents(name: str) -> list[str]:
    return list(AGENTS) if name == "all" else [name]


def _change_each(app: App, files: dict[str, SettingsFile], do: Any) -> tuple[dict[str, bool], int | None]:
    """Change the settings of each agent CLI with `do`.

    Returns:
        For each agent without an error, whether its settings changed; and the exit status, None without errors.

    Raises:
        BatonError: the settings of the only agent could not be changed.
    """
    done: dict[str, bool] = {}
    failed = None
    for agent, file in files.items():
        try:
            done[agent] = do(agent, file)
        except BatonError as error:
            if len(files) == 1:
                raise
            app.say(f"baton: {agent}: {flat(str(error))}")
            failed = FAILED
    return done, failed


# --- Codex


def _open_codex(app: App) -> Codex:
    program = shutil.which("codex")
    if program is None:
        raise NotFound("program", "codex", hint="baton asks codex which hooks to trust; install it first")
    return Codex(program, Path.cwd(), outside_git())


def _trust_hooks(app: App, codex: Codex, file: SettingsFile) -> list[str]:
    """Make codex trust baton's hooks in this file; return the keys of the hooks that codex runs from now on."""
    loaded = select_hooks_of_file(codex.hooks(), file.path)
    if not loaded:
        raise InvalidArgument(
            f"codex does not load {file.path}, so no hook was trusted", hint="trust this folder in codex first"
        )
    waiting = [hook for hook in loaded if hook.status not in ("trusted", "managed")]
    if waiting:
        codex.trust(waiting)
    app.say(f"codex: {len(loaded)} hooks are trusted; codex runs them without asking until they change")
    return [hook.key for hook in loaded]


def find_trusted(app: App, file: SettingsFile | None) -> list[str]:
    """Return the keys of baton's hooks in this file that codex trusts, or trusted before the hooks changed."""
    program = shutil.which("codex")
    if file is None or program is None or not file.entries_or_none():
        return []
    try:
        seen = Codex(program, Path.cwd(), outside_git()).hooks()
    except BatonError as error:
        app.say(f"codex: cannot read which hooks it trusts: {flat(str(error))}")
        return []
    return [hook.key for hook in select_hooks_of_file(seen, file.path) if hook.status in ("trusted", "modified")]


def forget_trust(app: App, keys: list[str]) -> None:
    """Make codex forget its trust in removed hooks; if that fails, say so."""
    try:
        _open_codex(app).forget(keys)
    except BatonError as error:
        app.say(f"codex: the trust in the removed hooks could not be deleted, which is harmless: {flat(str(error))}")


# --- output


CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
"""Files that Docker and Podman put into a container."""
CONTAINER_VARIABLES = ("container", "KUBERNETES_SERVICE_HOST", "CLAUDE_CODE_REMOTE")
"""Variables of processes in other containers: of Podman and systemd, of Kubernetes, and of Claude Code on the web."""


def _describe_install(app: App, agent: str, scope: Scope, *, trusted: bool) -> Iterator[str]:
    cli = AGENTS[agent]
    if not (cli.must_trust_hooks and trusted):
        yield cli.installed
    if shutil.which(cli.hooks.program) is None:
        yield f"{agent}: {cli.hooks.program} is not on the PATH; its hooks run as soon as it is installed"
    yield from _describe_place(app, agent, scope, changed=True)
    if scope == "project" and not cli.trusts_projects:
        yield f"{agent}: settings of a project take effect once its folder is trusted in the CLI"
    other_scope: Scope = "user" if scope == "project" else "project"
    try:
        also = open_settings(app.settings, agent, other_scope)
        if also.entries_or_none():
            yield f"{agent}: baton is also in {also.path}, so each hook runs twice; uninstall one of them"
    except BatonError:
        return


def _describe_place(app: App, agent: str, scope: Scope, *, changed: bool) -> Iterator[str]:
    """Yield what the hooks, new or not, need in this folder and on this machine."""
    if scope == "project" and AGENTS[agent].reads_project_where_it_starts:
        top = open_settings(app.settings, agent, scope).path.parent.parent
        if changed or top != Path.cwd():
            elsewhere = f"elsewhere: baton agents install {agent}"
            yield f"{agent}: settings of a project count only if it starts in {top}; {elsewhere}"
    is_outside = app.settings.found_repository is None
    remotes = app.settings.remote_settings
    if _is_in_container() and (remotes.remotes or is_outside) and not remotes.pushes_at_end:
        command = f"git config{' --global' if is_outside else ''} baton.pushAtEnd true"
        yield f"{agent}: in a container that ends with the agent, send at each session's end: {command}"


def _is_in_container() -> bool:
    return any(map(os.environ.get, CONTAINER_VARIABLES)) or any(Path(mark).exists() for mark in CONTAINER_MARKS)


def _has_variable(file: SettingsFile, name: str) -> bool:
    data = file.data()
    return isinstance(data, dict) and name in (data.get("env") or {})


def _describe_changes(files: dict[str, SettingsFile], done: dict[str, bool]) -> dict[str, Any]:
    return {"agents": {agent: {"file": str(files[agent].path), "changed": done.get(agent)} for agent in files}}


def _describe_report(report: AgentReport) -> dict[str, Any]:
    return {
        "agent": report.agent,
        "program": report.program,
        "version": report.version,
        "verdict": report.verdict,
        "installed": report.is_installed,
        "files": [
            {"scope": file.scope, "path": str(file.path), "state": file.state, "findings": _list_findings(file)}
            for file in report.files
        ],
        "findings": _list_findings(report),
        "last_ran": report.last_ran,
        "package": str(report.package) if report.package is not None else None,
        "skills": report.skills,
        "mcp_server": report.server,
    }


def _list_findings(report: AgentReport | FileReport) -> list[dict[str, str]]:
    return [{"verdict": finding.verdict, "summary": finding.summary} for finding in report.findings]


def _format_report(app: App, report: AgentReport) -> Iterator[str]:
    program = f"{report.program} {report.version or ''}".strip() if report.program else "not on the PATH"
    status = {"ok": "installed" if report.is_installed else "not installed"}.get(report.verdict, report.verdict)
    yield app.reader.wrap(f"{report.agent:<8}{status}  ", f"({program})")
    yield from (app.reader.wrap(f"  {name:<9}", text) for name, text in _list_facts(app, report))


def _list_facts(app: App, report: AgentReport) -> Iterator[tuple[str, str]]:
    """Yield the lines about the installation of an agent CLI, each with its name."""
    for file in report.files:
        if file.state != "absent":
            yield file.scope, f"{file.state}  {file.path}"
        yield from ((finding.verdict, finding.summary) for finding in file.findings)
    if report.package is not None:
        yield "package", str(report.package)
    if report.is_installed:
        extras = [name for name, is_there in (("skills", report.skills), ("MCP server", report.server)) if is_there]
        yield "with", " and ".join(extras) or "no skills and no MCP server (baton agents install --with)"
    yield from ((finding.verdict, finding.summary) for finding in report.findings)
    if report.last_ran:
        yield "last ran", describe_age(report.last_ran, app.now)


agents = group(
    "agents",
    "Install hooks in the CLIs of coding agents, so that they call baton at each turn of a session.",
    [install_command, status_command, uninstall_command, package_command],
)

COMMANDS = {"agents": agents}
