"""`baton agents install --with`: install skills and the MCP server in addition to the hooks of an agent CLI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from baton_git.agents.settings.agent_tools import AgentTools, make_server
from baton_git.agents.settings.mcp_server import SERVER
from baton_git.agents.settings.settings_file import SettingsFile
from baton_git.core.errors import BatonError
from baton_git.core.output import flat
from baton_git.interfaces.cli.app import App, at_terminal
from baton_git.interfaces.cli.printing import agrees
from baton_git.verbs.upkeep.extras import describe_install

KNOWN = ("skills", "mcp")
Extras = frozenset[str]


def _parse_extras(context: click.Context, parameter: click.Parameter, value: str | None) -> Extras | None:
    """Return the extras in the value of `--with`; None if the option is not given.

    Raises:
        click.BadParameter: the value is neither `none` nor a list of names in `KNOWN`.
    """
    if value is None:
        return None
    names = frozenset() if value == "none" else frozenset(name.strip() for name in value.split(","))
    if not names <= set(KNOWN):
        raise click.BadParameter(f"{value!r} is not none, {', '.join(KNOWN)} or {','.join(KNOWN)}")
    return names


WITH = click.option(
    "--with", "extras", metavar="LIST", callback=_parse_extras,
    help="Extras to install: skills, mcp (the MCP server), skills,mcp or none. Default: at a terminal, ask; else none.",
)  # fmt: skip


def ask_for_extras() -> Extras:
    """Ask at a terminal whether to install the extras; return none if there is no terminal."""
    question = "Also install baton's skills and MCP server?"
    return frozenset(KNOWN) if at_terminal() and agrees(question, default=True) else frozenset()


def select_servers(
    app: App, tools: AgentTools, file: SettingsFile, extras: Extras, program: Sequence[str]
) -> dict[str, Any]:
    """Return the MCP servers to install in the same file as the hooks, by name."""
    if "mcp" not in extras or not tools.is_server_with_hooks:
        return {}
    if file.find_server(SERVER) is not None:
        app.say(_describe_own_server(tools, file.path))
        return {}
    return {SERVER: make_server(program)}


def install_tools(
    app: App, tools: Mapping[str, AgentTools], extras: Extras, program: Sequence[str]
) -> list[Path] | None:
    """Install the extras; return the files that changed, or None after an error."""
    if "mcp" in extras and find_spec("mcp") is None:
        app.say(f"the MCP server needs another package: {describe_install('mcp')}")
    try:
        return [path for tool in tools.values() for path in _install(app, tool, extras, program)]
    except BatonError as error:
        app.say(f"baton: {flat(str(error))}")
        return None


def _install(app: App, tools: AgentTools, extras: Extras, program: Sequence[str]) -> Iterable[Path]:
    if "skills" in extras:
        changed, own = tools.install_skills()
        app.say(*(f"{tools.agent}: skill {flat(str(path.parent))}" for path in changed))
        app.say(*(f"{tools.agent}: {flat(str(path))} is your own file and was not changed" for path in own))
        yield from changed
    path = tools.server_path
    if "mcp" not in extras or (path is not None and tools.is_server_with_hooks):
        return
    if path is None:
        app.say(
            f"{tools.agent}: add the MCP server with: claude mcp add --scope user {SERVER} -- {' '.join(program)} mcp"
        )
        return
    added = tools.install_server(program)
    if added is None:
        app.say(_describe_own_server(tools, path))
    elif added:
        app.say(f"{tools.agent}: MCP server in {flat(str(path))}")
        yield path


def uninstall_tools(app: App, tools: Mapping[str, AgentTools]) -> list[Path] | None:
    """Remove installed extras; return the files that changed, or None after an error."""
    try:
        taken = [path for tool in tools.values() for path in tool.uninstall()]
    except BatonError as error:
        app.say(f"baton: {flat(str(error))}")
        return None
    app.say(*(f"removed: {flat(str(path))}" for path in taken))
    return taken


def _describe_own_server(tools: AgentTools, path: Path) -> str:
    return f"{tools.agent}: {flat(str(path))} has your own MCP server named {SERVER}, which was not changed"
