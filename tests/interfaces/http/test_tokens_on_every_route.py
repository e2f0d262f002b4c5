"""With a token, every route needs it: the routes are those of the application, in all spellings of their paths."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from world import begin

from baton_git.interfaces.context.settings import CommonOptions
from baton_git.interfaces.http.app import application
from baton_git.interfaces.http.site import Site

API, PAGE = "the-token-of-the-api", "the-token-of-the-page"
LOGIN = {"/login", "/login/", "/logout", "/login/page.css", "/login/page.js", "/login/icon.svg"}
HEALTH = {"/health", "/health/"}


def ask(app: Any, method: str, path: str, body: bytes = b"{}", **headers: str) -> tuple[int, str, bytes]:
    """Return status, location and body of the response to a request with a path as a client spells it."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    raw, _, query = path.partition("?")
    pairs = {"host": "127.0.0.1", "content-type": "application/json", "origin": "http://127.0.0.1", **headers}
    scope = {
        "type": "http", "method": method, "path": unquote(raw), "raw_path": raw.encode(), "root_path": "",
        "query_string": query.encode(), "headers": [(name.encode(), text.encode()) for name, text in pairs.items()],
        "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1), "http_version": "1.1",
    }  # fmt: skip
    asyncio.run(asyncio.wait_for(app(scope, receive, send), 20))
    location = dict(sent[0]["headers"]).get(b"location", b"").decode()
    return sent[0]["status"], location, b"".join(message.get("body", b"") for message in sent[1:])


def routes_of(app: Any) -> Iterator[tuple[str, set[str]]]:
    """Yield the path and the methods of each route of the application behind the guard."""
    while hasattr(app, "app"):
        app = app.app
    for route in app.routes:
        yield re.sub(r"\{[^}]*\}", "x", route.path), set(route.methods)


def spellings(path: str) -> set[str]:
    """Return other spellings of a path: with a slash, with escapes, in upper case, and with more path behind it."""
    escaped = "/" + "".join(f"%{ord(character):02X}" if character.isalpha() else character for character in path[1:])
    return {
        path,
        f"{path}/",
        f"{path}//",
        escaped,
        f"/{path}",
        path.upper(),
        f"{path}/../x",
        f"{path}%2f",
        f"{path}?a=b",
    }


@pytest.fixture
def site(top: Path) -> Iterator[Site]:
    site = Site(CommonOptions(str(top), "shop", None, None, create=True))
    with site.work() as ws:
        begin(ws.branch)
    yield site
    site.close()


TOKENS: dict[str, dict[str, str]] = {
    "a token of the page": {"page_token": PAGE},
    "a token of the api": {"token": API},
    "two tokens": {"token": API, "page_token": PAGE},
}


@pytest.mark.parametrize("tokens", TOKENS.values(), ids=TOKENS)
def test_every_route_but_health_and_the_login_needs_a_token(site: Site, tokens: dict[str, str]) -> None:
    for name, value in tokens.items():
        setattr(site, name, value)
    app, tip = application(site), site.tip()
    routes = list(routes_of(app))
    assert len(routes) > 100, "the routes of the application were not found"
    assert {"/openapi.json", "/v1/baton/write", "/checkpoint/x", "/v1/handovers", "/events"} <= {
        path for path, _ in routes
    }
    unknown = [("/docs", {"GET"}), ("/nothing", {"GET", "POST"}), ("/static/none", {"GET"}), ("/n", {"PUT"})]
    for path, methods in [*routes, *unknown]:
        for spelling in spellings(path):
            for method in methods | {"HEAD", "OPTIONS"} if spelling == path else methods:
                decoded = unquote(spelling.partition("?")[0])
                if decoded in LOGIN or decoded in HEALTH:
                    continue
                status, location, _ = ask(app, method, spelling)
                is_refused = status == 401 or (status == 303 and location.startswith("/login?next="))
                assert is_refused, f"{method} {spelling}: {status}"
    assert site.tip() == tip


@pytest.mark.parametrize("token", [None, API])
def test_the_token_of_the_page_never_opens_the_api(site: Site, token: str | None) -> None:
    site.token, site.page_token = token, PAGE
    app = application(site)
    for authorization in (f"Bearer {PAGE}", "Bearer ", "Bearer None", f"Basic {PAGE}"):
        for method, path in (("POST", "/v1/follow-ups"), ("GET", "/v1/state"), ("GET", "/openapi.json")):
            status, _, body = ask(app, method, path, b'{"item": "planted"}', authorization=authorization)
            assert status == 401, (authorization, path)
            assert token is not None or "BATON_API_TOKEN" in json.loads(body)["hint"]
        assert ask(app, "POST", "/v1/baton/read", b'{"namespace": "shop"}', authorization=authorization)[0] == 401
    served = ask(app, "GET", "/v1/state", authorization=f"Bearer {API}")[0]
    assert served == (401 if token is None else 200)


def test_health_tells_the_store_only_to_a_caller_with_a_token(site: Site) -> None:
    site.token = API
    app, plain = application(site), {"status": "ok", "service": "session-baton"}
    store = {"repository": str(site.repository.common_dir), "namespace": "shop"}
    for authorization, told in ((None, {}), ("Bearer wrong", {}), (f"Bearer {API}", store)):
        headers = {} if authorization is None else {"authorization": authorization}
        status, _, body = ask(app, "GET", "/health", b"", **headers)
        assert (status, json.loads(body)) == (200, {**plain, **told})
    agent = site.agents.register("zero", "other", "2026-11-27T10:00:00Z")
    told_agent = json.loads(ask(app, "GET", "/health", authorization=f"Bearer {agent}")[2])
    assert told_agent == {**plain, **store, "namespace": "other"}
    site.token = None
    open_site = Site(site.options)
    assert json.loads(ask(application(open_site), "GET", "/health")[2]) == plain
    open_site.close()


def test_what_a_sync_would_send_is_shown_only_to_callers_with_a_token(site: Site) -> None:
    assert ask(application(site), "GET", "/v1/outgoing?full=true")[0] == 403
    site.token = API
    app = application(site)
    assert ask(app, "GET", "/v1/outgoing")[0] == 401
    assert ask(app, "GET", "/v1/outgoing", authorization=f"Bearer {API}")[0] == 200
