"""A server of the pages, a new one for each test."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from web_server import Running, Served
from world import begin

from baton_git.interfaces.context.settings import CommonOptions
from baton_git.interfaces.http.site import Site

Serve = Callable[..., Served]


@pytest.fixture
def serve(top: Path) -> Iterator[Serve]:
    """Return a function that starts a server of `top` and the namespace `shop`."""
    with ExitStack() as stack:

        def start(
            *,
            token: str | None = None,
            repo: Path = top,
            namespace: str = "shop",
            whole: bool = False,
            page_token: str | None = None,
            agent: str | None = None,
        ) -> Served:
            site = Site(CommonOptions(str(repo), namespace, None, None, create=True), token, agent, page_token)
            with site.work() as ws:
                begin(ws.branch)
            served = Served(stack.enter_context(Running(site, whole=whole)), site, namespace)
            stack.callback(site.close)
            stack.callback(served.client.close)
            return served

        yield start


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """Start another server on this host; yield its address and the cookies that it receives."""
    received: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title><link rel=icon href=data:,>")

        def log_message(self, *_: object) -> None:
            """Print nothing into the output of the tests."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", received
    server.shutdown()
    server.server_close()
    thread.join()
