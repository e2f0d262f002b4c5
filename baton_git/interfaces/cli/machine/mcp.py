"""`baton mcp`: serve the verbs as MCP tools."""

from __future__ import annotations

import importlib.util
from contextlib import nullcontext

import click

from baton_git.agents.registry import session_variables
from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.interfaces.cli.app import App, WholeNumber, command
from baton_git.interfaces.context.process import CLOSED, PAGE_TOKEN, read_server_token, take_variable
from baton_git.interfaces.context.running_servers import recorded_server
from baton_git.verbs.upkeep.extras import describe_install

HOST, PORT = "127.0.0.1", 9102


@command("mcp")
@click.option("--http", "over_http", is_flag=True, help="Serve streamable HTTP instead, until it is stopped.")
@click.option("--host", metavar="ADDRESS", help=f"With --http: where to listen.  [{HOST}]")
@click.option("--port", type=WholeNumber(0, 65535), help=f"With --http: the port; 0 for any free one.  [{PORT}]")
def mcp_command(app: App, over_http: bool, host: str | None, port: int | None) -> None:
    """Serve baton's commands to an agent as MCP tools, over standard input and output.

    Agent CLIs start this themselves once it is registered; baton's plugin registers it.

    With --http, it listens on this machine instead. If BATON_API_TOKEN is set, every request needs that token, and
    --host may be an address that other machines reach.

    This needs packages of the extra mcp. If they are missing, the error has the command that installs them.

    \b
    baton mcp
    claude mcp add baton -- baton mcp
    codex mcp add baton -- baton mcp
    gemini mcp add baton baton mcp
    baton mcp --http --port 9102
    """
    if not over_http and (host is not None or port is not None):
        raise click.UsageError("--host and --port go with --http")
    if host == "":
        raise InvalidArgument("--host is empty", hint="give an address, or leave it out")
    if importlib.util.find_spec("mcp") is None:
        raise BatonError("baton mcp needs the MCP SDK", hint=describe_install("mcp"))
    token, page_token = _isolate_environment() if over_http else (None, None)
    with app.workspace_anywhere():
        pass  # report invalid options or an unusable repository now, not at the first call
    if over_http:
        if token is None and page_token is not None:
            app.say(CLOSED)
        _serve(app, host or HOST, PORT if port is None else port, token, is_closed=page_token is not None)
        return
    from baton_git.interfaces.mcp.server import make_mcp_server  # takes half a second, and needs an extra

    make_mcp_server(app).run("stdio")


def _isolate_environment() -> tuple[str | None, str | None]:
    """Return the tokens of the API and of the page, and remove the variables that name a session or an agent.

    Clients that connect over HTTP are not the agent in whose shell this server may have been started.
    """
    for name in ("BATON_SESSION", "BATON_AGENT", *session_variables()):
        take_variable(name)
    return read_server_token(), read_server_token(PAGE_TOKEN)


def _serve(app: App, host: str, port: int, token: str | None, *, is_closed: bool) -> None:
    from baton_git.interfaces.mcp import http  # slow to import, and needs an extra
    from baton_git.interfaces.mcp.server import make_mcp_server

    with http.open_listener(host, port, anywhere=token is not None) as listener:
        server = make_mcp_server(
            app, over_http=True, is_open=token is None and not is_closed,
            is_shared=not http.is_loopback(http.address_of(listener)),
        )  # fmt: skip
        repository = app.settings.found_repository
        port = listener.getsockname()[1]
        with recorded_server(port, repository.common_dir) if repository is not None else nullcontext():
            app.say(f"serving MCP at {http.url_of(listener)}; stop with Ctrl-C")
            http.serve(http.make_guarded_app(server, listener, token, is_closed=is_closed), listener)


COMMANDS = {"mcp": mcp_command}
