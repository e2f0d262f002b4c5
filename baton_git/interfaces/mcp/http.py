"""The server over streamable HTTP, for who does not start it as a program: on this machine, or with a token."""

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

from baton_git.core.errors import InvalidArgument, StoreError
from baton_git.interfaces.http.body import JsonOnly
from baton_git.interfaces.http.guard import LOOPBACK, Guard
from baton_git.interfaces.http.timing import TimeLimits

PATH = "/mcp"
BACKLOG = 128
ENDING = 3
"""Seconds that requests have to finish once it is stopped."""


def guarded(server: MCPServer[Any], listener: socket.socket, token: str | None) -> ASGIApp:
    """The application behind its guard. Where it can only be reached from this machine, it must be called by a name of
    this machine, so that no page elsewhere gets at it (DNS rebinding); elsewhere every request needs the token.

    The SDK checks Host and Origin as well, for listeners on this machine. Requests are bounded and their JSON is read
    as by `baton serve`.
    """
    host = address_of(listener)
    names = LOOPBACK | {host} if is_loopback(host) else None
    app = server.streamable_http_app(streamable_http_path=PATH, host=host)
    return Guard(TimeLimits(JsonOnly(app)), token, names)


def listening(host: str, port: int, *, anywhere: bool) -> socket.socket:
    """A socket that listens there.

    Args:
        port: 0 takes a free one.
        anywhere: whether it may be reached from other machines.

    Raises:
        InvalidArgument: it would be reached from other machines, and must not.
        StoreError: there is no such address here, or somebody else listens there.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        if not anywhere and not is_loopback(str(address[0])):
            raise InvalidArgument(
                f"without a token this serves only this machine, not {host}",
                hint="set BATON_API_TOKEN to a long secret, or leave --host out",
            )
        return _opened(family, address)
    except (OSError, UnicodeError) as error:
        hint = "choose another with --port" if port else ""
        raise StoreError(f"{host}:{port}: {getattr(error, 'strerror', None) or error}", hint=hint) from error


def _opened(family: int, address: Any) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)  # from now on nobody is turned away, and nobody else can have the port
    except OSError:
        listener.close()
        raise
    return listener


def is_loopback(address: str) -> bool:
    """Whether an address that was looked up is one of this machine alone; a name says nothing about that."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def address_of(listener: socket.socket) -> str:
    return str(listener.getsockname()[0])


def url_of(listener: socket.socket) -> str:
    """Where clients find it."""
    host, port = address_of(listener), listener.getsockname()[1]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serves until SIGINT or SIGTERM; what is under way may finish."""
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, proxy_headers=False, ws="none",
        timeout_graceful_shutdown=ENDING,
    )  # fmt: skip
    with _ending_quietly():
        uvicorn.Server(config).run(sockets=[listener])


@contextmanager
def _ending_quietly() -> Iterator[None]:
    """uvicorn raises the signal that ended it again, once it has ended in order: nobody needs to hear it."""
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(kind, lambda *_: None) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
