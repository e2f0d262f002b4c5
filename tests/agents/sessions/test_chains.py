"""Whole chains of sessions: the end of each session starts the next, as hooks do, until a limit or the marker."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from waiting import until

WORKFLOW = """
name: chain
settings: {max_iterations: 3, completion_marker: LOOP_COMPLETE}
triggers:
  on_session_start:
    - {action: set_variable, name: iteration_count, value: 1, when: "variables.get('iteration_count', 0) == 0"}
  on_after_agent:
    - {action: mark_loop_complete, when: "settings.completion_marker in event.data.get('response', '')"}
  on_session_end:
    - {action: increment_variable, name: iteration_count, when: "not variables.get('stop_reason')"}
    - action: start_new_session
      when: "not variables.get('stop_reason')"
      prompt: "Go on with {{ iteration_count }}"
      timeout: 30
"""
HOOKS = """
session = "s" + str(os.getpid())
import subprocess
def hook(event, **data):
    words = [{python!r}, "-m", "baton_git", "workflow", "run", event, "--session", session, "--data", json.dumps(data)]
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=open(os.environ["NOTES"] + ".err", "a"))
with open(os.environ["NOTES"], "a") as file:
    file.write(json.dumps([sys.argv[2], os.environ["BATON_SPAWNED"], ""]) + chr(10))
answer = {answer!r}
hook("on_session_start", source="startup")
hook("on_after_agent", response=answer)
hook("on_session_end", reason="other")
print(json.dumps({{"type": "result", "result": answer, "session_id": session, "total_cost_usd": 0.1}}))
"""


@pytest.fixture
def chain(agents, top, tmp_path):
    """Start a chain as the end of a person's session does; return its records when no session is running any more."""
    folder = tmp_path / "config" / "baton" / "workflows"
    folder.mkdir(parents=True)
    (folder / "chain.yaml").write_text(WORKFLOW)
    (folder / "session-handoff.yaml").write_text("triggers: {}")
    environment = {**agents.environment, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environment["XDG_DATA_HOME"] = str(tmp_path / "data")
    agents.environment = environment

    def baton(*words):
        argv = [sys.executable, "-m", "baton_git", *words]
        return subprocess.run(argv, cwd=top, env=environment, capture_output=True, text=True, timeout=60)

    def begin(answer):
        agents.python("claude", HOOKS.format(python=sys.executable, answer=answer))
        for event in ("on_session_start", "on_session_end"):
            assert baton("workflow", "run", event, "--session", "first").returncode == 0
        return until(settled, 60)

    def settled():
        found = json.loads(baton("session", "list", "--spawned", "--json").stdout)
        return found if found and all(one["status"] != "running" for one in found) else None

    return begin


pytestmark = pytest.mark.slow


def test_sessions_follow_each_other_up_to_the_limit(chain, agents):
    found = chain("not yet")
    assert [one["iteration"] for one in found] == [3, 2]
    assert [call[0] for call in agents.calls()] == ["Go on with 2", "Go on with 3"]
    assert found[0]["parent_spawn"] == found[1]["id"]
    assert [one["status"] for one in found] == ["exited", "exited"]
    assert "this chain of sessions has 3 sessions, the limit is 3" in (agents.folder / "notes.err").read_text()


def test_the_marker_ends_a_chain(chain, agents):
    found = chain("LOOP_COMPLETE")
    assert [one["iteration"] for one in found] == [2]
