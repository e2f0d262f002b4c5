"""The client of session-baton's HTTP API: `/v1/baton/read` and `/v1/baton/write` of a remote server."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, NamedTuple

from urllib3.exceptions import HTTPError as Urllib3Error
from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from baton_git.checks.addresses import AddressRefused as Unresolved
from baton_git.checks.addresses import CheckDeadline
from baton_git.checks.http import Endpoint, HttpRequest, open_response
from baton_git.core.codecs import json
from baton_git.core.errors import (
    AccessDenied,
    BatonError,
    InvalidArgument,
    LimitExceeded,
    RemoteError,
    Unreachable,
    shorten,
)
from baton_git.git.files.atomic_files import MAX_BYTES

# --- the address: `http://host:9101`, or with a path (`https://example.org/baton`)


@dataclass(frozen=True)
class ServerAddress:
    """The normalized address of a server."""

    endpoint: Endpoint
    path: str

    @classmethod
    def parse(cls, text: str) -> ServerAddress:
        """Parse an address. Raises InvalidArgument unless it is an HTTP or HTTPS URL of printable characters
        without user name, password, query or fragment."""
        example = "for example http://127.0.0.1:9101"
        try:
            parts = parse_url(text.strip())
        except LocationParseError:
            raise InvalidArgument(f"{shorten(text)} is not a url", hint=example) from None
        if parts.auth is not None:
            raise InvalidArgument(
                "the url contains a user name or a password", hint="the token goes into BATON_API_TOKEN"
            )
        endpoint = Endpoint.of(parts)
        if endpoint is None:
            raise InvalidArgument(f"{shorten(text)} is not an http or https url", hint=example)
        if parts.query is not None or parts.fragment is not None or not text.isprintable():
            raise InvalidArgument(f"{shorten(text)} has a query, a fragment or unprintable characters", hint=example)
        return cls(endpoint, (parts.path or "").rstrip("/"))

    def __str__(self) -> str:
        return f"{self.endpoint.scheme}://{self.endpoint.netloc}{self.path}"


# --- one request, with a time limit from name resolution to the last byte of the response


MAX_ANSWER = MAX_BYTES + 64 * 1024
"""Maximum size of a response in bytes: a document and its envelope."""


class ServerReply(NamedTuple):
    """The status and body of an HTTP response."""

    status: int
    body: bytes


def post(address: ServerAddress, path: str, body: bytes, headers: Mapping[str, str], seconds: float) -> ServerReply:
    """Send a POST request and return the response.

    Raises:
        Unreachable: the host is unknown, the connection fails, or there is no answer within `seconds`.
        RemoteError: the response is not HTTP, or TLS fails, for example because the certificate is not trusted.
        LimitExceeded: the response is larger than `MAX_ANSWER`.
    """
    deadline = CheckDeadline.after(seconds)
    silence = Unreachable(f"{address} gave no answer within {seconds:g} seconds", hint=_HINT)
    try:
        return _post_before(address, path, body, headers, deadline)
    except (TimeoutError, Unresolved) as error:
        raise (silence if isinstance(error, TimeoutError) else Unreachable(str(error), hint=_HINT)) from None
    except ssl.SSLError as error:
        why = getattr(error, "verify_message", "") or error.reason or str(error)
        raise RemoteError(f"{address}: the TLS connection failed: {why}") from None
    except OSError as error:
        if deadline.is_over:  # past the deadline, our own abort causes the error
            raise silence from None
        raise Unreachable(f"{address}: {error.strerror or error}", hint=_HINT) from None
    except (HTTPException, Urllib3Error) as error:
        if deadline.is_over:
            raise silence from None
        raise RemoteError(f"{address}: the answer is not HTTP ({type(error).__name__})", hint="check the url") from None


_HINT = "is the server running, and is the url right?"


def _post_before(
    address: ServerAddress, path: str, body: bytes, headers: Mapping[str, str], deadline: CheckDeadline
) -> ServerReply:
    request = HttpRequest("POST", address.path + path, headers, body)
    with open_response(address.endpoint, request, deadline, allow_private=True) as response:
        content = response.read(MAX_ANSWER + 1, decode_content=False)
    if len(content) > MAX_ANSWER:
        raise LimitExceeded(f"the answer of {address}", len(content), MAX_ANSWER, "bytes")
    return ServerReply(response.status, content)


# --- reading and writing a baton


READ, WRITE = "/v1/baton/read", "/v1/baton/write"

_UNAVAILABLE = (502, 503, 504)
"""HTTP statuses with which a proxy reports that the server itself is not available."""


class ServerAnswer(NamedTuple):
    """The baton of a namespace on a server.

    Attributes:
        baton: the document; None if the server has none.
        revision: its revision; None for the original server, which has no revisions; 0 if a server with revisions
            has no baton.
        archived: the ids of records that a write left out, if the server reports them.
    """

    baton: dict[str, Any] | None
    updated_at: str | None
    revision: int | None = None
    archived: tuple[str, ...] = ()


class StaleWrite(NamedTuple):
    """A write that was rejected because the baton has changed since; `current` is the server's baton, if known."""

    current: ServerAnswer | None


@dataclass(frozen=True)
class BatonServer:
    """A server with session-baton's HTTP API.

    Attributes:
        token: the bearer token; None if the server needs none.
        seconds: the time limit of one request.
        until: when all requests together must have ended, in seconds of `time.monotonic`; None for no such limit.
    """

    address: ServerAddress
    token: str | None = field(default=None, repr=False)
    seconds: float = 5.0
    until: float | None = None

    def __post_init__(self) -> None:
        if self.token is not None and not (self.token.isascii() and self.token.isprintable()):
            raise InvalidArgument(
                "the token contains characters that an HTTP header must not contain", hint="check BATON_API_TOKEN"
            )

    def read(self, namespace: str) -> ServerAnswer:
        """Read the server's baton.

        Raises:
            Unreachable: the server does not answer, or its proxy reports that it is down.
            AccessDenied: the token is missing or wrong.
            RemoteError: the server rejects the request, or the response is not a baton.
            LimitExceeded: the response is too large.
        """
        data = self._parse_success(self._post(READ, {"namespace": namespace}))
        return _parse_answer(data, str(self.address))

    def write(self, namespace: str, baton: dict[str, Any], expected: int | None = None) -> ServerAnswer | StaleWrite:
        """Write the whole document; return it with the server's new revision, or return a `StaleWrite`.

        Args:
            expected: the revision that the document is based on; None for a server without revisions.

        Raises:
            BatonError: as `read`. After `Unreachable`, the document may or may not have been written.
        """
        body: dict[str, Any] = {"namespace": namespace, "baton": baton}
        reply = self._post(WRITE, body if expected is None else {**body, "expected_revision": expected})
        if reply.status == 409:
            return StaleWrite(_parse_current(self._parse_body(reply)))
        data = self._parse_success(reply)
        if data.get("ok") is not True:
            raise self._make_format_error("it does not confirm that the baton was written")
        archived = data.get("archived")
        ids = tuple(str(id_) for id_ in archived) if isinstance(archived, list) else ()
        return _parse_answer({**data, "baton": baton}, str(self.address))._replace(archived=ids)

    def _post(self, path: str, body: dict[str, Any]) -> ServerReply:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        return post(self.address, path, json.dumps(body, indent=None).encode(), headers, self._find_seconds())

    def _find_seconds(self) -> float:
        """Return the time limit of a request that begins now. Raises Unreachable if no time is left."""
        left = self.seconds if self.until is None else self.until - time.monotonic()
        if left <= 0:
            raise Unreachable(f"{self.address}: no time was left for a request")
        return min(self.seconds, left)

    def _parse_success(self, reply: ServerReply) -> dict[str, Any]:
        """Return the object in a successful response; raise for any other status."""
        if reply.status in (401, 403):
            why = "the token is wrong" if self.token else "a token is required"
            hint = "set BATON_API_TOKEN to what the server was started with"
            raise AccessDenied(f"{self.address}: {why} ({reply.status})", hint=hint)
        if reply.status in _UNAVAILABLE:
            raise Unreachable(f"{self.address} answers {reply.status}: the server behind the proxy does not answer")
        if 300 <= reply.status < 400:
            raise RemoteError(f"{self.address} answers {reply.status}, a redirect, which is not followed", hint=_URL)
        if reply.status != 200:
            hint = _HINTS.get(reply.status, "")
            raise RemoteError(f"{self.address} answers {reply.status}{self._explain_error(reply)}", hint=hint)
        return self._parse_body(reply)

    def _explain_error(self, reply: ServerReply) -> str:
        """Return the error detail that FastAPI servers send, or an empty text."""
        try:
            detail = self._parse_body(reply).get("detail")
        except RemoteError:
            return ""
        first = detail[0] if isinstance(detail, list) and detail else detail
        message = first.get("msg") if isinstance(first, dict) else first
        return f": {' '.join(message.split())[:200]}" if isinstance(message, str) else ""

    def _parse_body(self, reply: ServerReply) -> dict[str, Any]:
        try:
            data = json.loads(reply.body)
        except BatonError as error:
            raise self._make_format_error(str(error)) from None
        if not isinstance(data, dict):
            raise self._make_format_error("it is not an object")
        return data

    def _make_format_error(self, why: str) -> RemoteError:
        return RemoteError(f"{self.address}: not a response of session-baton's API: {why}", hint=_URL)


_URL = "check the url"
_HINTS = {404: _URL, 405: _URL, 413: "the document is larger than the server accepts"}


def _parse_answer(data: dict[str, Any], where: str) -> ServerAnswer:
    baton, updated_at, revision = (data.get(name) for name in ("baton", "updated_at", "revision"))
    fits = isinstance(baton, dict | None) and isinstance(updated_at, str | None) and isinstance(revision, int | None)
    if "baton" not in data or not fits:
        raise RemoteError(f"{where}: not a response of session-baton's API: it has no baton", hint=_URL)
    counted = 0 if revision is None and baton is None and "revision" in data else revision
    return ServerAnswer(baton, updated_at, counted)


def _parse_current(data: dict[str, Any]) -> ServerAnswer | None:
    """Parse the server's baton in a 409 response; return None if the response has none.

    Its fields are at the top or in `detail`, with or without the prefix `current_`.
    """
    inner = data.get("detail") if isinstance(data.get("detail"), dict) else data
    assert isinstance(inner, dict)
    names = ("baton", "updated_at", "revision")
    answer = {name: inner.get(f"current_{name}", inner.get(name)) for name in names}
    if "current_baton" not in inner and "baton" not in inner:
        return None
    try:
        return _parse_answer(answer, "")
    except RemoteError:
        return None
