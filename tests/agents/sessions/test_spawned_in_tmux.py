"""A session in a window of a real tmux: it has a terminal, is recorded, and is ended by time limit and by `stop`."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from fake_agents import living
from waiting import until

from baton_git.agents.launcher import LaunchRequest
from baton_git.agents.sessions.records import SpawnedSessions, stop
from baton_git.agents.sessions.starting import Spawner

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]
NOW = "2026-11-21T20:00:00Z"


@pytest.fixture
def tmux(agents, tmp_path):
    """Return the environment of a separate tmux server with the session `here`."""
    (tmp_path / "t").mkdir()
    environment = {**agents.environment, "TMUX_TMPDIR": str(tmp_path / "t"), "TERM": "xterm"}
    environment.pop("TMUX", None)
    begin = ["tmux", "-f", "/dev/null", "new-session", "-d", "-s", "here"]
    subprocess.run(begin, env=environment, check=True, timeout=20)
    yield environment
    subprocess.run(["tmux", "kill-server"], env=environment, timeout=20)


@pytest.fixture
def start(agents, tmux, tmp_path):
    records = SpawnedSessions(tmp_path / "spawned")

    def call(seconds=30.0, session="here"):
        request = LaunchRequest(
            "claude", "Go on", cwd=str(tmp_path), seconds=seconds, in_window=True, tmux_session=session
        )
        return records, Spawner(records, tmux, NOW, parent="s0")(request, {})

    return call


def test_a_started_session_has_a_terminal_and_is_recorded(agents, start, tmp_path):
    agents.shell("claude", f'test -t 0 && test -t 1 && echo "$BATON_SPAWNED $*" > {tmp_path}/seen')
    records, result = start()
    record = until(lambda: (found := records.get(result["spawned"])).status != "running" and found)
    assert record.status == "exited"
    assert (tmp_path / "seen").read_text().startswith(f"{record.id} Go on --session-id")
    assert list(records.folder.glob("*.job")) == []


def test_a_started_session_ends_at_its_time_limit_with_its_child_processes(agents, start, tmp_path):
    agents.shell("claude", f"echo $$ >> {tmp_path}/pids; sh -c 'echo $$ >> {tmp_path}/pids; exec sleep 60'")
    records, result = start(1.0)
    until(lambda: records.get(result["spawned"]).status == "timed_out")
    assert living(tmp_path / "pids") == []


def test_a_started_session_can_be_stopped(agents, start, tmp_path):
    agents.shell("claude", f"echo $$ > {tmp_path}/pids; exec sleep 60")
    records, result = start()
    until(lambda: (tmp_path / "pids").exists())
    assert stop(records, records.get(result["spawned"]), NOW).status == "stopped"
    until(lambda: not living(tmp_path / "pids"))


def test_a_missing_tmux_session_is_an_error(agents, start):
    agents.shell("claude", "exit 0")
    records, result = start(session="nowhere")
    assert "did not start" in result["error"]
    assert records.all()[0][0].status == "failed"
