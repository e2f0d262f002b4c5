"""The adapter `dmux-tmux` with a real tmux, with a separate socket for each test."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from session_snapshots import around, look, put

from baton_git.systems.ecc.adapters.dmux_tmux import list_panes

pytestmark = pytest.mark.tmux

Tmux = Callable[..., str]


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a private tmux server, with a locale that is not UTF-8."""
    if shutil.which("tmux") is None:
        pytest.skip("tmux not installed here (apt-get install tmux)")
    names = {name: os.environ[name] for name in ("PATH", "HOME")}
    return {**names, "TMUX_TMPDIR": str(tmp_path_factory.mktemp("t")), "LC_ALL": "C", "SHELL": "/bin/sh"}


@pytest.fixture
def tmux(server: dict[str, str], tmp_path: Path) -> Iterator[Tmux]:
    def run(*words: str) -> str:
        done = subprocess.run(["tmux", *words], env=server, cwd=tmp_path, capture_output=True, text=True, timeout=20)
        assert done.returncode == 0, done
        return done.stdout.strip()

    run("-f", os.devnull, "new-session", "-d", "-s", "proof", "-x", "80", "-y", "24", "exec sleep 300")
    yield run
    run("kill-server")


@pytest.fixture
def here(tmp_path: Path, server: dict[str, Any]):
    return around(tmp_path, **server)


def wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not happened() and time.monotonic() < end:
        time.sleep(0.05)


def test_workers_get_the_panes_that_have_their_names(tmux, here):
    tmux("select-pane", "-t", "proof", "-T", "seed-check")
    tmux("split-window", "-t", "proof", "exec sleep 300")
    tmux("select-pane", "-t", "proof", "-T", "docs")
    tmux("new-window", "-t", "proof", "exec sleep 300")
    tmux("select-pane", "-t", "proof", "-T", "a\tname wité")
    status = "- State: running\n- Updated: 2026-11-21T07:59:00Z\n"
    for worker in ("seed-check", "docs", "nobody"):
        put(here.cwd / ".orchestration/proof" / worker, {"status.md": status})
    wait_for(lambda: all(pane.command == "sleep" for pane in list_panes("proof", here.environment)))
    found = look(here, "proof")
    assert found["session"]["state"] == "active"
    workers = {one["id"]: one["runtime"] for one in found["workers"]}
    pids = set(map(int, tmux("list-panes", "-s", "-t", "=proof:", "-F", "#{pane_pid}").split()))
    assert {workers["seed-check"]["pid"], workers["docs"]["pid"]} < pids
    assert workers["seed-check"]["command"] == "sleep"
    assert (workers["seed-check"]["active"], workers["docs"]["active"]) == (False, True)
    assert workers["nobody"] == {"kind": "tmux-pane", "command": None, "pid": None, "active": False, "dead": False}
    assert [one["health"] for one in found["workers"]] == ["healthy", "healthy", "healthy"]


def test_a_pane_whose_process_has_ended_is_dead_and_its_worker_degraded(tmux, here):
    tmux("set-option", "-g", "remain-on-exit", "on")
    tmux("split-window", "-t", "proof", "sleep 0.1; exit 3")
    tmux("select-pane", "-t", "proof", "-T", "seed")
    put(here.cwd / ".orchestration/proof/seed", {"status.md": "- State: running\n- Updated: 2026-11-21T07:59:00Z\n"})
    wait_for(lambda: any(pane.dead for pane in list_panes("proof", here.environment)))
    worker = look(here, "proof")["workers"][0]
    assert worker["runtime"]["dead"] is True
    assert worker["health"] == "degraded"


def test_a_session_name_must_match_completely(tmux, here, server):
    tmux("new-session", "-d", "-s", "proof-of-it", "exec sleep 300")
    assert len(list_panes("proof", server)) == 1
    assert list_panes("proof-of", server) == []
    assert list_panes("pro*", server) == []
    put(here.cwd / ".orchestration/proof-of/w", {"status.md": "- State: completed\n"})
    assert look(here, "proof-of")["session"]["state"] == "completed"


@pytest.mark.parametrize("name", ["a.b:c", "-t", "with space", "名前", "$0", "{last}"])
def test_a_session_is_found_whatever_its_name(tmux, server, name):
    tmux("new-session", "-d", f"-s{name}" if name.startswith("-") else "-s", *([] if name[0] == "-" else [name]))
    assert len(list_panes(name, server)) == 1


def test_without_a_server_there_are_no_panes(server):
    assert list_panes("proof", server) == []
