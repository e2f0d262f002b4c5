"""The cache with `baton serve` as its server: revisions, a conflict, and a merge without loss."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest
from cached_batons import a_baton, a_loop

from baton_git.core.errors import Unreachable
from baton_git.systems.session_baton.http_client import BatonServer, ServerAddress


@pytest.fixture
def url(tmp_path):
    """Run `baton serve` on a separate store, with a token; yield its URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "state.git")], check=True)
    words = ["serve", "--port", str(port), "--repo", str(tmp_path / "state.git")]
    env = {**os.environ, "BATON_API_TOKEN": "s3same"}
    process = subprocess.Popen([sys.executable, "-m", "baton_git", *words], env=env, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(BatonServer(ServerAddress.parse(address), "s3same"), process)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def wait_for(server, process):
    for _ in range(200):
        try:
            server.read("anything")
        except Unreachable:
            assert process.poll() is None
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the server does not answer")


@pytest.mark.slow
def test_conflicting_writes_of_two_machines_through_baton_serve_are_merged(cache, url, tmp_path):
    env = {"BATON_API_TOKEN": "s3same"}

    def on(machine, *words, **rest):
        return cache(*words, "--folder", str(tmp_path / machine), url=url, env=env, **rest)

    assert on("one", "read", "work").json == {"baton": None, "namespace": "work", "updated_at": None, "revision": None}
    first = on("one", "write", "work", doc=a_baton("base", a_loop(1)))
    assert first.json["revision"] == 1
    assert on("two", "read", "work").json["baton"] == a_baton("base", a_loop(1))
    theirs = a_baton("base", a_loop(1, expected_outcome="201"), a_loop(2), session="2026-11-21-002")
    assert on("two", "write", "work", doc=theirs).json["revision"] == 2
    ours = a_baton("ours", a_loop(1, action="Shipped"))
    clash = on("one", "write", "work", doc=ours, code=3)
    assert "server: OL-002 added: Deployed" in clash.err
    on("one", "send", "work", "--merge")
    made = on("two", "read", "work").json
    assert made["baton"]["context"] == "ours"
    loops = {one["id"]: one for one in made["baton"]["open_loops"]}
    assert set(loops) == {"OL-001", "OL-002"}
    assert (loops["OL-001"]["action"], loops["OL-001"]["expected_outcome"]) == ("Shipped", "201")
    assert made["revision"] > 2
    assert "no document waits" in on("one", "send").err
    done = on("two", "write", "work", doc={**made["baton"], "open_loops": [loops["OL-001"]]})
    assert done.json["archived"] == ["OL-002"]
    assert "archived, because the document does not contain them: OL-002" in done.err
