"""Check method `http`: does a URL respond with the expected status?"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from http.client import HTTPException
from typing import NamedTuple
from urllib.parse import unquote, urljoin

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, LocationParseError, NewConnectionError
from urllib3.response import BaseHTTPResponse
from urllib3.util import Url, make_headers, parse_url

from baton_git.checks.addresses import AddressRefused, CheckDeadline, connect_to_first, resolve
from baton_git.checks.outcome import CheckSpec, Failed, Outcome, Passed, Unknown, World, no_answer

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


_MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class _Target(NamedTuple):
    """The parts of a URL: endpoint, path with query, and user name with password."""

    endpoint: Endpoint
    request: str
    credentials: str | None


class _Answer(NamedTuple):
    status: int
    location: str | None


def check(spec: CheckSpec, world: World) -> Outcome:
    """Send a GET request, without a proxy and cookies, and check the status of the response; its body is not read.

    `Failed` for another status, too many redirects, or a refused connection. `Unknown` for other reasons: a
    timeout, an unknown host, no route, an untrusted certificate, a response that is not HTTP, or an address that a
    check may not reach.

    At most 5 redirects are followed, and each target is checked like the first URL. If the expected status is a
    redirect, none is followed.
    """
    if not spec.url:
        return Unknown("no url is given")
    deadline = CheckDeadline.after(spec.timeout_seconds)
    try:
        return _follow(spec.url, spec.expected_status or 200, deadline, world.allow_private_hosts)
    except TimeoutError:
        return no_answer(spec.timeout_seconds)
    except ConnectionRefusedError:
        return Failed("the connection is refused")
    except AddressRefused as error:
        return Unknown(str(error))
    except (OSError, HTTPException) as error:
        # After the deadline, `open_response` closes the connection, which causes such errors.
        return no_answer(spec.timeout_seconds) if deadline.is_over else Unknown(_describe_error(error))


def _follow(url: str, expected: int, deadline: CheckDeadline, allow_private: bool) -> Outcome:
    target = first = _parse_url(url)
    for _ in range(_MAX_REDIRECTS + 1):
        # The password in a URL is sent to the server of that URL only, not to the targets of redirects.
        credentials = first.credentials if target.endpoint == first.endpoint else None
        answer = _get(target, credentials, deadline, allow_private)
        if answer.status == expected:
            return Passed(http_status=answer.status)
        if answer.status not in _REDIRECTS or not answer.location or expected in _REDIRECTS:
            return Failed(f"status {answer.status}, expected {expected}", http_status=answer.status)
        url = urljoin(url, answer.location)
        target = _parse_url(url)
    return Failed(f"status {answer.status} and redirected more than {_MAX_REDIRECTS} times", http_status=answer.status)


def _parse_url(url: str) -> _Target:
    try:
        parts = parse_url(url)
    except LocationParseError:
        raise AddressRefused(f"this is not a url: {_without_credentials(url)!r}") from None
    endpoint = Endpoint.of(parts)
    if endpoint is None:
        raise AddressRefused(f"only http and https urls are checked, not {_without_credentials(url)!r}")
    return _Target(endpoint, parts.request_uri, unquote(parts.auth) if parts.auth else None)


def _without_credentials(url: str) -> str:
    head, at, tail = url.rpartition("@")
    return f"{head.partition('//')[0]}//…@{tail}" if at else url


def _get(target: _Target, credentials: str | None, deadline: CheckDeadline, allow_private: bool) -> _Answer:
    headers = make_headers(basic_auth=credentials) if credentials else {}
    request = HttpRequest("GET", target.request, headers)
    with open_response(target.endpoint, request, deadline, allow_private=allow_private) as response:
        return _Answer(response.status, response.headers.get("Location"))


def _describe_error(error: OSError | HTTPException) -> str:
    if isinstance(error, ssl.SSLError):
        return f"the TLS connection failed: {getattr(error, 'verify_message', '') or error.reason or error}"
    if isinstance(error, HTTPException):
        return f"the answer is not HTTP: {type(error).__name__}"
    return f"the connection failed: {error.strerror or error}"
