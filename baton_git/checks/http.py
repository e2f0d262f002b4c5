"""Check method `http`: does a URL respond with the expected status?"""

from __future__ import annotations

import ssl
from http.client import HTTPException
from typing import NamedTuple
from urllib.parse import unquote, urljoin

from urllib3.exceptions import LocationParseError
from urllib3.util import make_headers, parse_url

from baton_git.checks.addresses import AddressRefused, CheckDeadline
from baton_git.checks.connection import Endpoint, HttpRequest, open_response
from baton_git.checks.outcome import Failed, Outcome, Passed, Unknown, no_answer
from baton_git.checks.specification import CheckSpec, World

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
