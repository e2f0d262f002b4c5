"""`baton mcp`: the verbs as tools for agents."""

from __future__ import annotations

import importlib
import importlib.util

from baton_git.errors import BatonError
from baton_git.faces.cli.app import App, command


@command("mcp")
def mcp_command(app: App) -> None:
    """Serve the verbs to an agent as tools, over MCP on standard input and output, until the agent closes them.

    An agent's CLI starts this; the plugin that baton brings along has it.
    It needs the extra mcp: pip install 'baton-git[mcp]'

    \b
    baton mcp
    claude mcp add baton -- baton mcp
    codex mcp add baton -- baton mcp
    gemini mcp add baton baton mcp
    """
    if importlib.util.find_spec("mcp") is None:
        raise BatonError("baton mcp needs the MCP SDK", hint="pip install 'baton-git[mcp]'")
    with app.workspace():
        pass  # what is wrong with the options or the repository is told now, not at the first call
    from baton_git.faces.mcp import server  # half a second, and an extra that is not everywhere

    server(app).run("stdio")


COMMANDS = {"mcp": mcp_command}
