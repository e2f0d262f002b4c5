"""The MCP server over streamable HTTP, for clients that do not start it as a process.

Without a token, only clients on this machine can use the server.
"""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server import MCPServer
from starlette.types import ASGIApp

from baton_git.core.errors import InvalidArgument
from baton_git.interfaces.context.running_servers import make_listen_error
from baton_git.interfaces.http.guard import LOOPBACK, Guard, NoPages
from baton_git.interfaces.http.limits import TimeLimits
from baton_git.interfaces.http.operations import JsonOnly

PATH = "/mcp"
BACKLOG = 128
ENDING = 3
"""Seconds that running requests have to finish after the server is stopped."""


def make_guarded_app(
    server: MCPServer[Any], listener: socket.socket, token: str | None, *, is_closed: bool = False
) -> ASGIApp:
    """Return the ASGI application of an MCP server behind its guard.

    If there is a token, every request needs it. If there is none and `is_closed` is true, every request is refused. On
    a loopback address, the Host header must name this machine, which prevents DNS rebinding by web pages; the SDK also
    checks Host and Origin there. The limits of requests and the parsing of their JSON are those of `baton serve`.
    """
    host = address_of(listener)
    names = LOOPBACK | {host} if is_loopback(host) else None
    app = server.streamable_http_app(streamable_http_path=PATH, host=host)
    return Guard(TimeLimits(JsonOnly(app)), token, names, pages=NoPages(requires_token=is_closed))


def open_listener(host: str, port: int, *, anywhere: bool) -> socket.socket:
    """Open a listening socket on an address.

    Args:
        port: the port; 0 for any free port.
        anywhere: whether addresses other than loopback are allowed.

    Raises:
        InvalidArgument: the address is not loopback and `anywhere` is false.
        StoreError: the server cannot listen on the address, for example because it is in use.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if not anywhere and not is_loopback(str(address[0])):
            raise InvalidArgument(
                f"without a token, baton mcp serves only this machine, not {host}",
                hint="set BATON_API_TOKEN to a long secret, or omit --host",
            )
        return _open_socket(family, address)
    except (OSError, UnicodeError) as error:
        raise make_listen_error(host, port, error) from error


def _open_socket(family: int, address: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)  # from now on connections are queued, and no other process can bind the port
    except OSError:
        listener.close()
        raise
    return listener


def is_loopback(address: str) -> bool:
    """Return whether a resolved address can be reached only from this machine. A host name alone does not show this."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def address_of(listener: socket.socket) -> str:
    return str(listener.getsockname()[0])


def url_of(listener: socket.socket) -> str:
    """Return the URL for clients."""
    host, port = address_of(listener), listener.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM, then let running requests finish."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, proxy_headers=False, ws="none",
        timeout_graceful_shutdown=ENDING,
    )  # fmt: skip
    with _suppress_shutdown_signals():
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _suppress_shutdown_signals() -> Iterator[None]:
    """Suppress the signal that uvicorn raises again after it has shut down."""
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, lambda *_: None) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
