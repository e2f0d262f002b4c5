"""The servers, one of each kind per worker, and a new repository on one of them for each test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from itertools import count
from pathlib import Path

import pytest
import servers
from remote_world import Place
from servers import Server

_NUMBERS = count()

NETWORK = {"daemon": servers.git_daemon, "http": servers.smart_http, "openssh": servers.openssh}
NEEDED = {"openssh": (servers.SSHD, "ssh", "ssh-keygen", "git-shell"), "gitolite": (servers.SSHD, "ssh", "gitolite")}
PACKAGES = "apt-get install openssh-server openssh-client gitolite3"

Start = Callable[[str], Server]


def need(kind: str) -> None:
    """Skip the test if a program is missing; .ci/run installs them all."""
    missing = [program for program in NEEDED.get(kind, ()) if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed here ({PACKAGES})")


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Start a server when a test first needs it."""
    running: dict[str, Server] = {}
    with ExitStack() as stack:

        def get(kind: str) -> Server:
            need(kind)
            if kind not in running:
                folder = tmp_path_factory.mktemp(kind)
                local = {"path": str(folder), "file": f"file://{folder}"}
                running[kind] = Server(local[kind], folder) if kind in local else _entered(stack, NETWORK[kind], folder)
            return running[kind]

        yield get


def _entered(stack: ExitStack, make: Callable[[Path], AbstractContextManager[Server]], folder: Path) -> Server:
    return stack.enter_context(make(folder))


@pytest.fixture(scope="session")
def gitolite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    """Return the servers of one gitolite, by user."""
    need("gitolite")
    with servers.gitolite(tmp_path_factory.mktemp("gitolite")) as users:
        yield users


@pytest.fixture
def make_place(start: Start, tmp_path: Path, git: Callable[..., str]) -> Callable[..., Place]:
    """Return a function that makes local repositories with the same repository on the server."""
    repositories: dict[str, servers.Served] = {}

    def make(kind: str, name: str = "here", **extra: str) -> Place:
        if kind not in repositories:
            repositories[kind] = start(kind).make(f"r{os.getpid()}-{next(_NUMBERS)}")
        top = tmp_path / name
        git(tmp_path, "init", "-q", "-b", "main", name)
        return Place(top, repositories[kind], extra)

    return make


ALL = [
    "path",
    "daemon",
    pytest.param("http", marks=pytest.mark.slow),
    pytest.param("openssh", marks=pytest.mark.servers),
]


@pytest.fixture
def both(make_place: Callable[..., Place], kind: str) -> tuple[Place, Place]:
    """Return the repositories `ada` and `bob`, of two users of one repository on the server."""
    return make_place(kind, "ada"), make_place(kind, "bob")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that uses `both` with every server, unless it names its own."""
    named = any("kind" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize"))
    if "both" in metafunc.fixturenames and not named:
        metafunc.parametrize("kind", ALL)
