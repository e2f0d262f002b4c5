"""When a supervisor is killed, its session ends with all descendants, and its record has the reason."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from fake_agents import FAMILY, living
from waiting import until

from baton_git.agents.launcher import LaunchRequest
from baton_git.agents.sessions.records import Process, SpawnedSession, SpawnedSessions, end_unwatched_sessions
from baton_git.agents.sessions.starting import Spawner

NOW = "2026-11-21T20:00:00Z"


@pytest.fixture
def records(top):
    return SpawnedSessions(top / ".git" / "baton" / "spawned")


@pytest.fixture
def pids(agents, tmp_path):
    """Return the file into which the session and its descendants write their process ids."""
    file = tmp_path / "pids"
    agents.shell("claude", f"PIDS={file}; export PIDS\n{FAMILY} sleep 60")
    return file


def wait_for_family(pids):
    """Wait until the session and its three descendants run."""
    return until(lambda: pids.exists() and len(pids.read_text().split()) == 4)


def list_spawned(top, agents):
    done = subprocess.run(
        [sys.executable, "-m", "baton_git", "session", "list", "--spawned", "--json"],
        cwd=top, env={**agents.environment}, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.slow
def test_when_loop_run_is_killed_its_session_ends(agents, top, pids):
    process = subprocess.Popen(
        [sys.executable, "-m", "baton_git", "loop-run", "Do it"],
        cwd=top, env={**agents.environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    wait_for_family(pids)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: not living(pids), 30)
    assert [one["status"] for one in list_spawned(top, agents)] == ["lost"]


@pytest.mark.slow
def test_when_a_supervisor_is_killed_its_session_ends(agents, records, pids):
    id_ = Spawner(records, agents.environment, NOW)(LaunchRequest("claude", "Go on", cwd=str(agents.folder)), {})[
        "spawned"
    ]
    wait_for_family(pids)
    os.kill(records.get(id_).keeper.pid, signal.SIGKILL)
    until(lambda: not living(pids), 30)
    end_unwatched_sessions(records, NOW)
    found = records.get(id_)
    assert (found.status, found.ended) == ("lost", NOW)
    assert "was killed" in (found.error or "")


def test_listing_sessions_ends_an_unsupervised_one(baton, top, records):
    baton("init")
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    records.save(
        SpawnedSession(
            "SP-one000", "claude", process=Process.of(child.pid), keeper=Process(2**22 - 1, 1.0), started=NOW
        )
    )
    [one] = baton("session", "list", "--spawned", "--json").json
    assert one["status"] == "lost"
    assert "it kept running and was ended now" in one["error"]
    assert child.wait(10) == -signal.SIGTERM


def test_a_process_with_a_reused_id_is_not_killed(records):
    me = Process.of(os.getpid())
    records.save(
        SpawnedSession("SP-one000", "claude", process=Process(me.pid, me.began - 99), keeper=Process(2**22 - 1, 1.0))
    )
    end_unwatched_sessions(records, NOW)
    assert records.get("SP-one000").status == "lost"
