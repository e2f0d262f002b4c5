"""Check Host, Origin and token of every request, and add security headers to every response."""

from __future__ import annotations

import hmac
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton_git.core.errors import BatonError, shorten
from baton_git.core.output import terminal
from baton_git.interfaces.http.agent_tokens import AgentTokens
from baton_git.interfaces.http.limits import MAX_BODY, Attempts, too_large
from baton_git.interfaces.http.responses import SafeJSONResponse, has_session_baton_form, of_error, problem, refusal

CALLER = "baton.caller"
"""The key of the `Caller` in the ASGI scope of a request."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
FREE_WRONG = 20
"""Number of wrong tokens from one address before the rate limit of `Attempts` applies."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

HEADERS = {
    b"x-content-type-options": b"nosniff", b"referrer-policy": b"same-origin", b"x-frame-options": b"DENY",
    b"cross-origin-resource-policy": b"same-origin", b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"private, no-store",
}  # fmt: skip
"""Headers added to every response that does not set them itself."""
CONTENT_POLICY = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""Content Security Policy of the web page: only resources from this server, nothing inline."""

_BEARER = b"Bearer "
_CHECKED = frozenset({b"host", b"origin", b"sec-fetch-site", b"authorization", b"content-length"})
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^\x00-\x20/?#@:\[\]\\]+?)\.?(?::[0-9]{0,5})?")
_HEALTH = frozenset({"/health", "/health/"})
_AGENT_PATH = re.compile(r"/(?:checkpoint/([^/]+)(?:/latest)?|restore/([^/]+)|sessions/([^/]+))/?")


class Caller(NamedTuple):
    """The sender of a request, as identified by its token.

    Attributes:
        kind: `owner` sent the server's token; `agent` sent the token of one agent, which is valid in one namespace;
            `open` means that the server has no tokens and accepts every request; `nobody` is not identified here,
            because `/health` needs no token and pages have their own login.
    """

    kind: Literal["owner", "agent", "open", "nobody"]
    agent: str | None = None
    namespace: str | None = None


class PageGate(Protocol):
    """The pages behind a guard: which paths are theirs, and who may see them."""

    @property
    def requires_token(self) -> bool:
        """Whether visitors of the pages must log in."""

    def is_page(self, path: str) -> bool:
        """Return whether a path belongs to the pages, whose visitors log in and do not send a bearer token."""

    def find_refusal(self, scope: Scope) -> Response | None:
        """Return the response to a request for a page by somebody who must log in first; otherwise None."""


@dataclass(frozen=True)
class NoPages:
    """The gate of a server without pages."""

    requires_token: bool = False

    def is_page(self, path: str) -> bool:
        return False

    def find_refusal(self, scope: Scope) -> None:
        return None


@dataclass(frozen=True)
class Guard:
    """The outermost ASGI middleware: check host, origin and token of a request before the application gets it.

    Attributes:
        hosts: the host names allowed in the Host header, in lower case; None: any. This prevents DNS rebinding, where
            the host name of a foreign page resolves to this server.
        token: the token of the APIs. If there is none, but the pages have one, the APIs refuse every request: whoever
            protects the pages does not expect that everybody may write through the APIs.
        agents: tokens that give access to one agent's paths only. If any exist, every request except `/health` needs
            a token or a login.
        pages: the pages, whose own token never gives access to the APIs.
    """

    app: ASGIApp
    token: str | None = None
    hosts: frozenset[str] | None = LOOPBACK
    agents: AgentTokens | None = None
    pages: PageGate = NoPages()
    attempts: Attempts = field(default_factory=lambda: Attempts(FREE_WRONG))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = self._find_refusal(scope)
        await (answer or self.app)(scope, receive, _add_headers(send, self.pages.is_page(scope["path"])))

    def _find_refusal(self, scope: Scope) -> Response | None:
        path, method = scope["path"], scope["method"]
        headers = _read_headers(scope)
        if not self._is_allowed_host(headers.get(b"host", b"")):
            hint = "use 127.0.0.1 or localhost, or start the server with --allow-host NAME"
            return refusal(path, 421, "wrong_host", "the Host header does not name this server", hint=hint)
        if method not in SAFE and _is_foreign(headers):
            message, hint = _describe_foreign(headers)
            return refusal(path, 403, "cross_site", message, hint=hint)
        try:
            authorization, address = headers.get(b"authorization", b""), (scope.get("client") or ("",))[0]
            caller = self._check_login(scope) or self._identify_caller(path, authorization, address)
        except BatonError as error:
            return of_error(path, error)
        if isinstance(caller, Response):
            return caller
        scope[CALLER] = caller
        if caller.kind == "agent" and path not in _HEALTH and _agent_of(path) != caller.agent:
            return refusal(
                path, 403, "not_allowed", f"the token of agent {caller.agent} is valid only for its own paths"
            )
        return too_large(path) if _content_length(headers) > MAX_BODY else None

    def _is_allowed_host(self, host: bytes) -> bool:
        return self.hosts is None or name_of(host) in self.hosts

    def _check_login(self, scope: Scope) -> Caller | Response | None:
        """Return the visitor of a page or the refusal of the request; None if the request is not for a page.

        Without a login, the tokens of agents protect the pages too.
        """
        if not self.pages.is_page(scope["path"]) or (self.agents and not self.pages.requires_token):
            return None
        return self.pages.find_refusal(scope) or Caller("nobody")

    def _identify_caller(self, path: str, authorization: bytes, address: str) -> Caller | Response:
        """Identify the sender of a request that is not for a page, or reject the request.

        `/health` needs no token, and visitors of pages log in. For all other paths a token is required even if the path
        does not exist, as in session-baton.
        """
        if path in _HEALTH:
            return self._find_caller(authorization) or Caller("nobody")
        if not (self.token or self.agents or self.pages.requires_token):
            return Caller("open")
        if not authorization.startswith(_BEARER):
            return _deny_access(path, "missing bearer token", self._token_hint)
        return self._find_caller(authorization) or self._answer_wrong_token(path, address)

    def _find_caller(self, authorization: bytes) -> Caller | None:
        """Return the owner of a bearer token; None if it is not valid here."""
        if not authorization.startswith(_BEARER):
            return None
        token = authorization[len(_BEARER) :]
        if self.token and is_token(token, self.token):
            return Caller("owner")
        agent = self.agents.of(token) if self.agents else None
        return Caller("agent", agent.agent, agent.namespace) if agent is not None else None

    @property
    def _token_hint(self) -> str:
        if self.token or self.agents:
            return "send the header Authorization: Bearer TOKEN"
        return "this server has a token for the page only: to use the API, start it with BATON_API_TOKEN as well"

    def _answer_wrong_token(self, path: str, address: str) -> Response:
        """Answer a wrong token with 401, or 429 after too many from one address."""
        wait = math.ceil(self.attempts.note_wrong(address))
        if wait <= 0:
            return _deny_access(path, "invalid token", self._token_hint)
        message, headers = f"too many wrong tokens from {address}", {"Retry-After": str(wait)}
        if has_session_baton_form(path):
            return SafeJSONResponse({"detail": message}, 429, headers)
        return problem(429, "too_many_attempts", message, hint="check the token", headers=headers)


def is_token(candidate: bytes, token: str) -> bool:
    """Return whether `candidate` is the token in UTF-8, compared in constant time."""
    return hmac.compare_digest(candidate, token.encode("utf-8", "surrogateescape"))


def name_of(host: bytes) -> str:
    """Return the host name in a Host header in lower case, without port, brackets and final dot; empty if invalid."""
    match = _HOST.fullmatch(host)
    return match[1].decode("latin-1").strip("[]").lower() if match else ""


def _deny_access(path: str, message: str, hint: str) -> Response:
    """Return a 401 with session-baton's message, which its clients know."""
    if has_session_baton_form(path):
        return SafeJSONResponse({"detail": message}, 401)
    return problem(401, "access_denied", message, hint=hint)


def _read_headers(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers that the guard checks; a repeated header counts as empty."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _CHECKED:
            headers[name] = b"" if name in headers else value
    return headers


def _is_foreign(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a page of another site sends this request with a browser."""
    if headers.get(b"sec-fetch-site", b"").lower() in (b"cross-site", b"same-site"):
        return True
    origin = headers.get(b"origin")
    return origin is not None and not _is_of_host(origin.decode("latin-1"), headers.get(b"host", b"").decode("latin-1"))


def _describe_foreign(headers: Mapping[bytes, bytes]) -> tuple[str, str]:
    """Return the message and the hint for a request of which `_is_foreign` is true."""
    site, host = (headers.get(name, b"").decode("latin-1") for name in (b"sec-fetch-site", b"host"))
    if site.lower() in ("cross-site", "same-site"):
        cause, hint = f"Sec-Fetch-Site is {shorten(site)}", "open baton's own page, and send the form from there"
    else:
        origin = headers[b"origin"].decode("latin-1")
        cause = f"Origin is {shorten(origin)}, Host is {shorten(host)}" if origin else "Origin is empty or given twice"
        hint = "let Origin name the Host, as on baton's own pages, or leave it out; a proxy must keep Host"
    return terminal(f"a page of another site may not write here: {cause}"), hint


def is_own_page(headers: Mapping[str, str]) -> bool:
    """Return whether a browser declares that a page of this server sends the request.

    This is not the opposite of `_is_foreign`: for a client that declares no origin, both are false.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site.lower() == "same-origin"
    return _is_of_host(headers.get("origin"), headers.get("host", ""))


def _is_of_host(origin: str | None, host: str) -> bool:
    try:
        return origin is not None and urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _content_length(headers: Mapping[bytes, bytes]) -> int:
    """Return the declared length of the body in bytes; uvicorn has checked that it is a number."""
    length = headers.get(b"content-length", b"0")
    return int(length) if length.isdigit() else 0


def _agent_of(path: str) -> str | None:
    """Return the agent of a PAIF path; None for any other path."""
    match = _AGENT_PATH.fullmatch(path)
    return next(filter(None, match.groups()), None) if match else None


def _add_headers(send: Send, is_page: bool) -> Send:
    """Wrap `send` to add the security headers that a response lacks."""

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            more = [pair for pair in _PAGE if pair[0] not in present] if is_page else _list_missing(present)
            message["headers"] = [*message["headers"], *more]
        await send(message)

    return with_headers


_ALL = list(HEADERS.items())
_PAGE = [*_ALL, (b"content-security-policy", CONTENT_POLICY)]


def _list_missing(present: set[bytes]) -> list[tuple[bytes, bytes]]:
    return _ALL if present.isdisjoint(HEADERS) else [pair for pair in _ALL if pair[0] not in present]
