"""One HTTP request to a host whose addresses were judged, whole within one time limit."""

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

from baton_git.checks.addresses import CheckDeadline, first_reached, resolve

_PORTS = {"http": 80, "https": 443}


class Endpoint(NamedTuple):
    """The part of a url that says where to connect."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: Url) -> Endpoint | None:
        """Return the endpoint of a url; None unless it is http or https and names a host."""
        if url.scheme not in _PORTS or not url.host:
            return None
        return cls(url.scheme, url.host.strip("[]"), url.port or _PORTS[url.scheme])

    @property
    def netloc(self) -> str:
        """The host, with the port where it is not the usual one, as the header `Host` has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


class HttpRequest(NamedTuple):
    """What is asked of an endpoint: method, target, headers and body."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None = None


@contextlib.contextmanager
def open_response(
    endpoint: Endpoint, request: HttpRequest, deadline: CheckDeadline, *, allow_private: bool
) -> Iterator[BaseHTTPResponse]:
    """Send a request and give the response, whose body may be read inside; no proxy, no redirect, no cookies.

    Raises:
        TimeoutError: the deadline passed.
        AddressRefused: the host is not known, or may not be reached.
        OSError: the system's own error, which tells a refusal from the rest.
        HTTPException, urllib3.exceptions.HTTPError: the answer is not HTTP.
    """
    addresses = resolve(endpoint.host, endpoint.port, deadline, allow_private=allow_private)
    connection = first_reached(addresses, partial(_connect, endpoint, deadline))
    headers = {**request.headers, "Host": endpoint.netloc, "Connection": "close", "User-Agent": "baton-git"}
    with contextlib.closing(connection), _hang_up_at(deadline, connection.sock):
        connection.request(request.method, request.target, request.body, headers, preload_content=False)
        yield connection.getresponse()
        if deadline.is_over:  # what was cut off by us reads as if it had ended
            raise TimeoutError


def _connect(endpoint: Endpoint, deadline: CheckDeadline, address: str) -> HTTPConnection:
    """Connect to an address that was judged; the certificate must be that of the host named in the url."""
    connection = (
        HTTPSConnection(address, endpoint.port, timeout=deadline.seconds_left, server_hostname=endpoint.host)
        if endpoint.scheme == "https"
        else HTTPConnection(address, endpoint.port, timeout=deadline.seconds_left)
    )
    try:
        connection.connect()
    except NewConnectionError as error:  # a subclass of the next
        raise (error.__cause__ if isinstance(error.__cause__, OSError) else OSError(str(error))) from None
    except ConnectTimeoutError:
        raise TimeoutError from None
    except OSError:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def _hang_up_at(deadline: CheckDeadline, sock: socket.socket | None) -> Iterator[None]:
    """Close the connection at the deadline; a socket's own timeout starts again with every byte."""
    timer = threading.Timer(deadline.seconds_left, _hang_up, [sock])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _hang_up(sock: socket.socket | None) -> None:
    if sock is not None:
        with contextlib.suppress(OSError):  # the other side was faster
            sock.shutdown(socket.SHUT_RDWR)
