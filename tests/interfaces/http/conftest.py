"""A server as `baton serve` runs it, in a thread of this process, on the repository `top`."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
import uvicorn
from waiting import until
from world import begin

from baton_git.interfaces.context.settings import CommonOptions
from baton_git.interfaces.http.app import application
from baton_git.interfaces.http.serving import Connection, Server
from baton_git.interfaces.http.site import Site

TOKEN = "a-long-secret"
NAMESPACE = "project:x"


@dataclass
class Client:
    """A client of a running server; paths are below `url`. Requests send the token, if there is one, and `params`."""

    url: str
    site: Site
    token: str | None = None
    namespace: str = NAMESPACE
    params: dict[str, str] = field(default_factory=dict)
    _client: httpx2.Client = field(init=False)

    def __post_init__(self) -> None:
        self._client = httpx2.Client(
            base_url=self.url, headers=self.headers, params=self.params, verify=False, timeout=30
        )

    @property
    def folder(self) -> Path:
        """Return the work tree that is served."""
        return Path(str(self.site.options.repo))

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def ask(self, method: str, path: str, body: Any = None, *, code: int | None = 200, **more: Any) -> httpx2.Response:
        """Send a request with `body` as JSON. The status must be `code`; None accepts any status. Other arguments are
        httpx's."""
        sent = {} if body is None else {"json": body}
        answer = self._client.request(method, path, **sent, **more)
        assert code in (None, answer.status_code), f"{method} {path}: {answer.status_code} {answer.text[:2000]}"
        self._check_documented(method, answer)
        return answer

    def _check_documented(self, method: str, answer: httpx2.Response) -> None:
        """Check that a response is one that the OpenAPI document describes."""
        if not _DOCUMENTED:
            _DOCUMENTED.extend(_operations(self._client.get("/openapi.json").json()))
        for pattern, its_method, media_types in _DOCUMENTED:
            if its_method == method and pattern.fullmatch(answer.url.path):
                about = f"{answer.status_code} of {method} {answer.url.path}"
                assert answer.status_code in media_types, f"{about} is not documented"
                documented = media_types[answer.status_code]
                media_type = answer.headers.get("content-type", "").partition(";")[0]
                assert not documented or media_type in documented, f"{about} is {media_type}, not {documented}"
                return

    def get(self, path: str, *, code: int | None = 200, **more: Any) -> httpx2.Response:
        return self.ask("GET", path, code=code, **more)

    def post(self, path: str, body: Any = None, *, code: int | None = 200, **more: Any) -> httpx2.Response:
        return self.ask("POST", path, body, code=code, **more)

    def problem(self, method: str, path: str, code: int, body: Any = None, **more: Any) -> dict[str, Any]:
        """Return the problem details of a request that is refused."""
        answer = self.ask(method, path, body, code=code, **more)
        assert answer.headers["content-type"] == "application/problem+json"
        problem = answer.json()
        assert problem["status"] == code
        assert problem["type"] == f"urn:baton-git:error:{problem['error']}"
        return dict(problem)

    def close(self) -> None:
        self._client.close()


_DOCUMENTED: list[tuple[re.Pattern[str], str, dict[int, set[str]]]] = []
"""The operations of the OpenAPI document, read once, in the order of the routes: their paths, methods, and the media
types of each status."""


def _operations(document: Any) -> Iterator[tuple[re.Pattern[str], str, dict[int, set[str]]]]:
    for path, methods in document["paths"].items():
        parts = re.split(r"\{(\w+)\}", path)
        pattern = "".join(".+" if at % 2 else re.escape(part) for at, part in enumerate(parts))
        for method, operation in methods.items():
            media_types = {int(status): set(told.get("content", {})) for status, told in operation["responses"].items()}
            yield re.compile(pattern), method.upper(), media_types


@contextmanager
def running(site: Site, **options: Any) -> Iterator[str]:
    """Serve `site` and yield its address; `options` are those of `application`."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            application(site, **options),
            log_config=None,
            access_log=False,
            lifespan="on",
            timeout_graceful_shutdown=1,
            http=Connection,
        )
        server = Server(config, site)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


Serve = Callable[..., Client]


@pytest.fixture
def serve(top: Path) -> Iterator[Serve]:
    """Return a function that starts a server, by default for `top` and the namespace `project:x`."""
    with ExitStack() as stack:

        def start(*, repo: Path = top, namespace: str = NAMESPACE, token: str | None = None, **options: Any) -> Client:
            site = Site(CommonOptions(str(repo), namespace, None, None, create=True), token)
            with site.work() as ws:
                begin(ws.branch)
            client = Client(stack.enter_context(running(site, **options)), site, token, namespace)
            stack.callback(client.close)
            return client

        yield start


@pytest.fixture
def server(serve: Serve) -> Client:
    """Return a client of a server without a token."""
    return serve()


@pytest.fixture
def guarded(serve: Serve) -> Client:
    """Return a client of a server that requires the token `TOKEN`."""
    return serve(token=TOKEN)


def _run_git(where: Path, *words: str) -> None:
    sealed = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", str(where), *words], check=True, env=sealed, capture_output=True)


@pytest.fixture(scope="session")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a client of the server that `wire` describes."""
    here = tmp_path_factory.mktemp("shared")
    folder = here / "work"
    _run_git(here, "init", "-q", "-b", "main", "work")
    _run_git(here, "init", "-q", "--bare", "origin.git")
    _run_git(here, "clone", "-q", "origin.git", "other")
    for name, address in (("origin", "origin.git"), ("reviewed", "origin.git"), ("gone", "gone.git")):
        _run_git(folder, "remote", "add", name, str(here / address))
    _run_git(folder, "config", "remote.reviewed.batonPolicy", "review")
    (folder / "readme").write_text("hello\n")
    site = Site(CommonOptions(str(folder), NAMESPACE, None, None), may_create=True)
    with running(site) as url, closing(Client(url, site)) as client:
        yield client


@pytest.fixture
def wire(_shared: Client) -> Iterator[Client]:
    """Return a client of a server that many tests share, because starting one takes half a second.

    All requests of a test name one namespace, which is different for each test and does not exist yet. The
    repository has three remotes: `origin`, which the clone `other` also has; `reviewed`, the same repository with
    the policy `review`; and `gone`, which does not exist.
    """
    namespace = f"test:{uuid4()}"
    client = Client(_shared.url, _shared.site, None, namespace, {"namespace": namespace})
    yield client
    client.close()


@pytest.fixture
def api(wire: Client) -> Client:
    """Return the client `wire`, with a namespace that exists."""
    with wire.site.work(wire.namespace) as ws:
        begin(ws.branch)
    return wire


@pytest.fixture(scope="module")
def two_writers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a client of a server on a new bare repository that may start two writer processes."""
    folder = tmp_path_factory.mktemp("two-writers")
    _run_git(folder, "init", "-q", "--bare", "state.git")
    site = Site(CommonOptions(str(folder / "state.git"), NAMESPACE, None, None), may_create=True)
    with running(site, writers=2) as url, closing(Client(url, site)) as client:
        yield client


@pytest.fixture
def run_server() -> Callable[..., AbstractContextManager[str]]:
    """Return `running`, for tests that must see a server end."""
    return running
