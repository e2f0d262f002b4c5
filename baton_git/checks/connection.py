"""Send one HTTP request to a host whose addresses were checked, within one time limit."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.response import BaseHTTPResponse
from urllib3.util import Url

from baton_git.checks.addresses import CheckDeadline, connect_to_first, resolve

_PORTS = {"http": 80, "https": 443}


class Endpoint(NamedTuple):
    """Scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: Url) -> Endpoint | None:
        """Return the endpoint of a URL, or None unless it is http or https and has a host."""
        if url.scheme not in _PORTS or not url.host:
            return None
        return cls(url.scheme, url.host.strip("[]"), url.port or _PORTS[url.scheme])

    @property
    def netloc(self) -> str:
        """The value of the `Host` header: the host, with the port unless it is the default port of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


class HttpRequest(NamedTuple):
    """Method, target, headers and body of a request."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None = None


@contextlib.contextmanager
def open_response(
    endpoint: Endpoint, request: HttpRequest, deadline: CheckDeadline, *, allow_private: bool
) -> Iterator[BaseHTTPResponse]:
    """Send a request and yield the response; its body can be read inside the `with` block.

    Proxies and cookies are not used, and redirects are not followed.

    Raises:
        TimeoutError: the deadline passed.
        AddressRefused: the host name is unknown, or a check may not connect to its address.
        OSError: the connection failed; ConnectionRefusedError if it was refused.
        HTTPException, urllib3.exceptions.HTTPError: the response is not HTTP.
    """
    addresses = resolve(endpoint.host, endpoint.port, deadline, allow_private=allow_private)
    connection = connect_to_first(addresses, partial(_connect, endpoint, deadline))
    headers = {**request.headers, "Host": endpoint.netloc, "Connection": "close", "User-Agent": "baton-git"}
    with contextlib.closing(connection), _hang_up_at(deadline, connection.sock):
        connection.request(request.method, request.target, request.body, headers, preload_content=False)
        yield connection.getresponse()
        if deadline.is_over:  # a response that `_hang_up_at` cut off reads like a complete one
            raise TimeoutError


def _connect(endpoint: Endpoint, deadline: CheckDeadline, address: str) -> HTTPConnection:
    """Connect to a checked address; the certificate must be valid for the host of the URL."""
    connection = (
        HTTPSConnection(address, endpoint.port, timeout=deadline.seconds_left, server_hostname=endpoint.host)
        if endpoint.scheme == "https"
        else HTTPConnection(address, endpoint.port, timeout=deadline.seconds_left)
    )
    try:
        connection.connect()
    except NewConnectionError as error:  # a subclass of ConnectTimeoutError, so it comes first
        raise (error.__cause__ if isinstance(error.__cause__, OSError) else OSError(str(error))) from None
    except ConnectTimeoutError:
        raise TimeoutError from None
    except OSError:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _hang_up_at(deadline: CheckDeadline, sock: socket.socket | None) -> Iterator[None]:
    """Close the connection at the deadline, because the timeout of a socket starts again with every byte."""
    timer = threading.Timer(deadline.seconds_left, _hang_up, [sock])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(sock: socket.socket | None) -> None:
    if sock is not None:
        with contextlib.suppress(OSError):  # the server has already closed the connection
            sock.shutdown(socket.SHUT_RDWR)
