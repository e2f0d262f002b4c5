"""A server of the pages of `baton serve` in a thread of this process, and a client like a browser without scripts."""

from __future__ import annotations

import re
import socket
import threading
import time
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import quote

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from baton_git.core.names import Namespace
from baton_git.interfaces.http.app import application
from baton_git.interfaces.http.events import StreamLimit
from baton_git.interfaces.http.guard import Guard
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.web import routes
from baton_git.interfaces.web.session_cookie import PageAccess

TOKEN = "an-öpen-sesame of the tests"


@dataclass
class Served:
    """A running server and its visitor, who keeps cookies and the CSRF token of the login, and fills in forms."""

    url: str
    site: Site
    namespace: str
    client: httpx2.Client = field(init=False)
    csrf_token: str | None = None

    def __post_init__(self) -> None:
        self.client = httpx2.Client(base_url=self.url, verify=False, timeout=30, headers={"Origin": self.url})

    def path(self, page: str, namespace: str | None = None) -> str:
        return f"/n/{quote(Namespace(namespace or self.namespace).component, safe='')}/{page}"

    def get(self, path: str, *, code: int = 200, **more: Any) -> httpx2.Response:
        answer = self.client.get(path if path.startswith("/") else self.path(path), **more)
        assert answer.status_code == code, f"{path}: {answer.status_code} {answer.text[:3000]}"
        return answer

    def send(self, path: str, fields: dict[str, str], *, code: int = 303, **more: Any) -> httpx2.Response:
        """Submit a form of the page, with these fields changed."""
        path = path if path.startswith("/") else self.path(path)
        page = self.client.get(path).text
        return self.post(path, {**hidden(page, fields), **fields}, code=code, **more)

    def post(self, path: str, fields: dict[str, str], *, code: int = 303, **more: Any) -> httpx2.Response:
        """Send these fields. After a login, an empty `csrf_token` is replaced with the token of the login."""
        path = path if path.startswith("/") else self.path(path)
        if self.csrf_token is not None and fields.get("csrf_token") == "":
            fields = {**fields, "csrf_token": self.csrf_token}
        answer = self.client.post(path, data=fields, **more)
        assert answer.status_code == code, f"{path}: {answer.status_code} {answer.text[:3000]}"
        return answer

    def log_in(self, token: str = TOKEN, *, code: int = 200, page: str = "/login") -> httpx2.Response:
        answer = self.send(page, {"token": token}, code=code)
        if code == 200:
            self.csrf_token = re.findall(r'data-csrf-token="([^"]+)"', answer.text)[0]
        return answer


def hidden(page: str, fields: dict[str, str]) -> dict[str, str]:
    """Return the hidden fields of the form that has all of the named fields (buttons do not count)."""
    forms = re.findall(r"<form[^>]*method=\"post\".*?</form>", page, re.DOTALL)
    wanted = [name for name in fields if name != "every"]
    form = next(one for one in forms if all(f'name="{name}"' in one for name in wanted) and "/logout" not in one)
    inputs = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', form)
    return {name: unescape(value) for name, value in inputs}


def pages_of(site: Site) -> ASGIApp:
    """Return the application with the pages but without the APIs, which saves each test a quarter of a second."""
    access = PageAccess(site)
    app = Starlette(routes=routes.routes(site, access, StreamLimit()))
    return Guard(app, site.token, pages=routes.LoginGate(access))


class Running:
    """A running site: the pages behind the guard or, with `whole`, everything that `baton serve` has."""

    def __init__(self, site: Site, *, whole: bool = False) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        app = application(site) if whole else pages_of(site)
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True)

    def __enter__(self) -> str:
        self.thread.start()
        end = time.monotonic() + 10
        while not self.server.started:
            assert time.monotonic() < end
            time.sleep(0.005)
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join(10)
        self.listener.close()
