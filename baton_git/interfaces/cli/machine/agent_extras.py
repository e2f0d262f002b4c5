"""`baton agents install --with`: the skills and the MCP server beside the hooks of an agent's CLI."""

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
from baton_git.interfaces.cli.app import App, at_terminal, flat
from baton_git.interfaces.cli.printing import agrees

KNOWN = ("skills", "mcp")
Extras = frozenset[str]


def _parse_extras(context: click.Context, parameter: click.Parameter, value: str | None) -> Extras | None:
    """Return what is wanted; None if nobody says.

    Raises click.BadParameter: it is neither `none` nor a list of what there is.
    """
    if value is None:
        return None
    names = frozenset() if value == "none" else frozenset(name.strip() for name in value.split(","))
    if not names <= set(KNOWN):
        raise click.BadParameter(f"{value!r} is neither none nor a list of {', '.join(KNOWN)}")
    return names


WITH = click.option(
    "--with", "extras", metavar="LIST", callback=_parse_extras,
    help="Also skills, mcp (the MCP server), both with a comma between, or none.  [default: asked at a terminal]",
)  # fmt: skip


def ask_for_extras() -> Extras:
    """Ask at a terminal whether to install skills and the MCP server; elsewhere there are none."""
    question = "Also install the skills and the MCP server of baton?"
    return frozenset(KNOWN) if at_terminal() and agrees(question, default=True) else frozenset()


def servers_for_hooks(
    app: App, tools: AgentTools, file: SettingsFile, extras: Extras, program: Sequence[str]
) -> dict[str, Any]:
    """Return the servers that belong into the file of the hooks."""
    if "mcp" not in extras or not tools.is_server_with_hooks:
        return {}
    if file.find_server(SERVER) is not None:
        app.say(_own_server(tools, file.path))
        return {}
    return {SERVER: make_server(program)}


def install_tools(
    app: App, tools: Mapping[str, AgentTools], extras: Extras, program: Sequence[str]
) -> list[Path] | None:
    """Install what is wanted besides the hooks; return the files that changed, None after an error."""
    if "mcp" in extras and find_spec("mcp") is None:
        app.say("the MCP server needs one more package: pip install 'baton-git[mcp]'")
    try:
        return [path for tool in tools.values() for path in _install(app, tool, extras, program)]
    except BatonError as error:
        app.say(f"baton: {flat(str(error))}")
        return None


def _install(app: App, tools: AgentTools, extras: Extras, program: Sequence[str]) -> Iterable[Path]:
    if "skills" in extras:
        changed, own = tools.install_skills()
        app.say(*(f"{tools.agent}: skill {flat(str(path.parent))}" for path in changed))
        app.say(*(f"{tools.agent}: {flat(str(path))} is your own and stays as it is" for path in own))
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
        app.say(_own_server(tools, path))
    elif added:
        app.say(f"{tools.agent}: MCP server in {flat(str(path))}")
        yield path


def uninstall_tools(app: App, tools: Mapping[str, AgentTools]) -> list[Path] | None:
    """Take out what was installed besides the hooks; return the files that changed, None after an error."""
    try:
        taken = [path for tool in tools.values() for path in tool.uninstall()]
    except BatonError as error:
        app.say(f"baton: {flat(str(error))}")
        return None
    app.say(*(f"taken out: {flat(str(path))}" for path in taken))
    return taken


def _own_server(tools: AgentTools, path: Path) -> str:
    return f"{tools.agent}: {flat(str(path))} has an MCP server {SERVER} of your own, which stays"
