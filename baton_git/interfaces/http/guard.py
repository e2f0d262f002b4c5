"""Who may come in: Host and Origin, the token, and the headers that every answer gets. Nothing behind it asks again."""

from __future__ import annotations

import hmac
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton_git.core.errors import BatonError
from baton_git.interfaces.http.agent_tokens import AgentTokens
from baton_git.interfaces.http.attempts import Attempts
from baton_git.interfaces.http.json_response import SafeJSONResponse
from baton_git.interfaces.http.problems import is_ours, of_error, problem, refusal
from baton_git.interfaces.http.timing import MAX_BODY, too_large

CALLER = "baton.caller"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
FREE_WRONG = 20
"""Wrong tokens of one address that are answered with 401."""
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})

HEADERS = {
    b"x-content-type-options": b"nosniff", b"referrer-policy": b"same-origin", b"x-frame-options": b"DENY",
    b"cross-origin-resource-policy": b"same-origin", b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"private, no-store",
}  # fmt: skip
"""What every answer has, unless it says otherwise itself."""
CONTENT_POLICY = (
    b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""What a page of ours may load: what comes from us, and nothing inline."""

_ASKED = frozenset({b"host", b"origin", b"sec-fetch-site", b"authorization", b"content-length"})
_HOST = re.compile(rb"(\[[0-9A-Fa-f:.]+\]|[^\x00-\x20/?#@:\[\]\\]+?)\.?(?::[0-9]{0,5})?")
_AGENT_PATH = re.compile(r"/(?:checkpoint/([^/]+)(?:/latest)?|restore/([^/]+)|sessions/([^/]+))/?")


class Caller(NamedTuple):
    """Who sends a request: whoever has the server's token, one agent with its own, or a browser that has logged in.

    `open` is anybody, where the server has no token. An agent's token counts in one namespace.
    """

    kind: Literal["owner", "agent", "open", "page", "nobody"]
    agent: str | None = None
    namespace: str | None = None


@dataclass(frozen=True)
class Guard:
    """The outermost application.

    Attributes:
        hosts: the names that a request may call us by, in lower case; None: any. A page that somebody else's name was
            pointed at us with (DNS rebinding) sends its own name.
        agents: tokens that open only one agent's paths. While there are any, nobody comes in without a token.
        is_page: which paths check the browser's cookie themselves.
    """

    app: ASGIApp
    token: str | None = None
    hosts: frozenset[str] | None = LOOPBACK
    agents: AgentTokens | None = None
    is_page: Callable[[str], bool] = field(default=lambda path: False)
    attempts: Attempts = field(default_factory=lambda: Attempts(FREE_WRONG))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        answer = self._refusal(scope)
        await (answer or self.app)(scope, receive, _hardened(send, self.is_page(scope["path"])))

    def _refusal(self, scope: Scope) -> Response | None:
        path, method = scope["path"], scope["method"]
        asked = _asked(scope)
        if not self._is_called_right(asked.get(b"host", b"")):
            hint = "use 127.0.0.1 or localhost, or start it with --allow-host NAME"
            return refusal(path, 421, "wrong_host", "this server is not called that", hint=hint)
        if method not in SAFE and _is_foreign(asked):
            return refusal(path, 403, "cross_site", "another site's page must not write here")
        try:
            caller = self._caller(path, asked.get(b"authorization", b""), (scope.get("client") or ("",))[0])
        except BatonError as error:
            return of_error(path, error)
        if isinstance(caller, Response):
            return caller
        scope[CALLER] = caller
        if caller.kind == "agent" and _agent_of(path) != caller.agent:
            return refusal(path, 403, "not_allowed", f"the token of agent {caller.agent} opens only its own paths")
        return too_large(path) if _length(asked) > MAX_BODY else None

    def _is_called_right(self, host: bytes) -> bool:
        return self.hosts is None or name_of(host) in self.hosts

    def _caller(self, path: str, given: bytes, address: str) -> Caller | Response:
        """As session-baton answers: before anything is looked at, also whether there is such a path."""
        if path.rstrip("/") == "/health":
            return Caller("nobody")
        if not self.token and not self.agents:
            return Caller("nobody") if self.is_page(path) else Caller("open")
        if self.token and self.is_page(path):
            return Caller("nobody")
        if not given.startswith(b"Bearer "):
            return _unknown(path, "missing bearer token")
        brought = given[len(b"Bearer ") :]
        if self.token and is_token(brought, self.token):
            return Caller("owner")
        agent = self.agents.of(brought) if self.agents else None
        if agent is None:
            return self._wrong(path, address)
        return Caller("agent", agent.agent, agent.namespace)

    def _wrong(self, path: str, address: str) -> Response:
        """The answer to a wrong token; a right one never comes here, whatever others at its address have tried."""
        wait = math.ceil(self.attempts.note_wrong(address))
        if wait <= 0:
            return _unknown(path, "invalid token")
        message, headers = f"too many wrong tokens from {address}", {"Retry-After": str(wait)}
        if is_ours(path):
            return problem(429, "too_many_attempts", message, hint="check the token", headers=headers)
        return SafeJSONResponse({"detail": message}, 429, headers)


def is_token(brought: bytes, token: str) -> bool:
    """Whether these are the bytes of the token, in the time that any others take; clients send it in UTF-8."""
    return hmac.compare_digest(brought, token.encode("utf-8", "surrogateescape"))


def name_of(host: bytes) -> str:
    """The name in a Host header, in lower case, without port, brackets and last dot; empty when it is none."""
    match = _HOST.fullmatch(host)
    return match[1].decode("latin-1").strip("[]").lower() if match else ""


def _unknown(path: str, message: str) -> Response:
    """session-baton's words, everywhere: its clients know them, and so do ours."""
    return problem(401, "access_denied", message) if is_ours(path) else SafeJSONResponse({"detail": message}, 401)


def _asked(scope: Scope) -> dict[bytes, bytes]:
    """The headers that matter here. Of one that stands twice nobody can say which counts: it says nothing then."""
    found: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in _ASKED:
            found[name] = b"" if name in found else value
    return found


def _is_foreign(asked: Mapping[bytes, bytes]) -> bool:
    """Whether a browser sends this for the page of another site."""
    if asked.get(b"sec-fetch-site", b"").lower() in (b"cross-site", b"same-site"):
        return True
    origin = asked.get(b"origin")
    return origin is not None and not _is_of_host(origin.decode("latin-1"), asked.get(b"host", b"").decode("latin-1"))


def is_own_page(headers: Mapping[str, str]) -> bool:
    """Whether a browser says that a page of ours sends this. `_is_foreign` asks the other way round, since clients that
    are no browsers say nothing."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site.lower() == "same-origin"
    return _is_of_host(headers.get("origin"), headers.get("host", ""))


def _is_of_host(origin: str | None, host: str) -> bool:
    try:
        return origin is not None and urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _length(asked: Mapping[bytes, bytes]) -> int:
    """Bytes that the request says it has; uvicorn has seen to it that this is a number."""
    said = asked.get(b"content-length", b"0")
    return int(said) if said.isdigit() else 0


def _agent_of(path: str) -> str | None:
    """The agent whose path of PAIF's this is."""
    match = _AGENT_PATH.fullmatch(path)
    return next(filter(None, match.groups()), None) if match else None


def _hardened(send: Send, is_page: bool) -> Send:
    """`send`, with the headers that say what a browser and a proxy must not do with the answer."""

    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            more = [pair for pair in _PAGE if pair[0] not in there] if is_page else _missing(there)
            message["headers"] = [*message["headers"], *more]
        await send(message)

    return with_headers


_ALL = list(HEADERS.items())
_PAGE = [*_ALL, (b"content-security-policy", CONTENT_POLICY)]


def _missing(there: set[bytes]) -> list[tuple[bytes, bytes]]:
    return _ALL if there.isdisjoint(HEADERS) else [pair for pair in _ALL if pair[0] not in there]
