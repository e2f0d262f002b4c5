"""The first fetch of a long history over HTTP, with git on the server and without."""

from __future__ import annotations

import functools
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from machines import NOW, REF, Clock, Machine, machine
from servers import smart_http

pytestmark = pytest.mark.usefixtures("short_parts")


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Machine, Machine]:
    """Return a machine whose long history is on the remote, and one that meets it later."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(tmp_path / "origin.git")], check=True)
    ada, bob = (machine(tmp_path, name, Clock(NOW + timedelta(hours=1))) for name in ("ada", "bob"))
    for number in range(12):
        ada.loop(f"OL-{number}")
    ada.sync()
    return ada, bob


@contextmanager
def serve_files(folder: Path) -> Iterator[str]:
    """Serve files without git; the client needs `git update-server-info` in each repository."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def check(ada: Machine, bob: Machine, url: str, *, is_shallow: bool) -> None:
    """Meet the remote at an address in two steps."""
    bob.git("remote", "set-url", "origin", url)
    bob.sync(completes=False, receive_only=True, retry=False)
    assert bob.tip == ada.tip
    assert len(bob.store.boundary.of(REF)) == 1
    assert (bob.top / ".git/shallow").exists() == is_shallow
    bob.sync(receive_only=True)
    assert not (bob.top / ".git/shallow").exists()
    assert bob.git("rev-list", "--count", REF) == ada.git("rev-list", "--count", REF)
    assert len(list(bob.ws.branch.history())) == len(list(ada.ws.branch.history()))


def test_with_git_on_the_server(pair: tuple[Machine, Machine], tmp_path: Path) -> None:
    with smart_http(tmp_path) as server:
        check(*pair, f"{server.start}/origin.git", is_shallow=True)


def test_without_git_on_the_server_the_whole_history_comes_at_once(
    pair: tuple[Machine, Machine], tmp_path: Path
) -> None:
    subprocess.run(["git", "-C", str(tmp_path / "origin.git"), "update-server-info"], check=True)
    with serve_files(tmp_path) as start:
        check(*pair, f"{start}/origin.git", is_shallow=False)
