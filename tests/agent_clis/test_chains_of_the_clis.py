"""Chains of sessions of the three real CLIs, until the task is done or a limit is reached."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from agent_clis.agent import Agent
from agent_clis.remembering import baton_json, briefs, prepare, run, troubles
from agent_clis.terminal import until
from agent_clis.wires import Say, Shell

pytestmark = pytest.mark.agents

TASK = "Make the three parts"
ARGUMENTS = {
    "claude": "--permission-mode acceptEdits",
    "codex": "--dangerously-bypass-hook-trust",
    "gemini": "--approval-mode yolo",
}
ONE_CLI = pytest.mark.parametrize("cli", ["claude"], indirect=True)
LOOP = """
name: autonomous-loop
enabled: true
variables: {loop_enabled: true, loop_prompt: "Make the three parts"}
settings: {max_iterations: 3, completion_marker: LOOP_COMPLETE}
"""


def script_parts(agent: Agent, *last_words: str) -> None:
    """Script sessions that each make a part and end with these words."""
    for number, words in enumerate(last_words, 1):
        agent.model.play(Shell(f"echo part {number} > part-{number}.txt"))
        agent.model.play(Say(words))


def run_loop(agent: Agent, *options: str, code: int) -> Any:
    """Run a loop in the foreground and return its result."""
    prepare(agent)
    run(agent, "git", "config", f"baton.{agent.cli.name}Arguments", ARGUMENTS[agent.cli.name])
    argv = ["baton", "loop-run", TASK, "--cli", agent.cli.name, *options, "--json"]
    done = subprocess.run(argv, cwd=agent.project, env=agent.environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)


def made_parts(agent: Agent) -> list[str]:
    return sorted(path.name for path in agent.project.glob("part-*.txt"))


@pytest.mark.parametrize("cli", ["claude", "codex"], indirect=True)
def test_a_loop_ends_when_the_model_says_that_it_is_done(agent):
    script_parts(agent, "One part is made.", "Two parts are made.", "All is made.\n\nLOOP_COMPLETE\n")
    done = run_loop(agent, "--max-iterations", "5", code=0)
    assert (done["iterations"], done["ended_by"]) == (3, "completed")
    assert made_parts(agent) == ["part-1.txt", "part-2.txt", "part-3.txt"]
    assert len({session["session"] for session in done["sessions"]}) == 3
    second = agent.model.turns[2]
    assert TASK in second.conversation + json.dumps(second.body.get("system", ""))
    (brief,) = briefs(second)
    assert "part-1.txt" in brief
    assert troubles(agent) == ""


@ONE_CLI
def test_a_loop_without_a_marker_ends_at_its_limit(agent):
    script_parts(agent, "One part is made.", "Two parts are made.", "Three parts are made.")
    done = run_loop(agent, "--max-iterations", "2", code=1)
    assert (done["iterations"], done["ended_by"]) == (2, "max_iterations")
    assert made_parts(agent) == ["part-1.txt", "part-2.txt"]


def run_chain(agent: Agent) -> list[dict[str, Any]]:
    """Run a chain, wait for its end, and return the sessions that the workflow started."""
    prepare(agent)
    run(agent, "git", "config", f"baton.{agent.cli.name}Arguments", ARGUMENTS[agent.cli.name])
    shipped = run(agent, "baton", "workflow", "show", "autonomous-loop")
    folder = agent.place.home / ".config/baton/workflows"
    folder.mkdir(parents=True)
    (folder / "autonomous-loop.yaml").write_text(LOOP + shipped[shipped.index("triggers:") :])
    agent.run(TASK)

    def spawned() -> list[dict[str, Any]]:
        return list(baton_json(agent, "session", "list", "--spawned"))

    def is_over() -> bool:
        return bool(spawned()) and all(session["status"] != "running" for session in spawned())

    until(is_over, lambda: f"still running: {spawned()}\n{troubles(agent)}", 90)
    return spawned()


@pytest.mark.parametrize("cli", ["claude", "gemini"], indirect=True)
def test_a_chained_session_goes_on_where_the_one_before_it_ended(agent):
    script_parts(agent, "One part is made.", "All is made.\n\nLOOP_COMPLETE\n", "Too much.")
    assert len(run_chain(agent)) == 1
    assert made_parts(agent) == ["part-1.txt", "part-2.txt"]
    second = agent.model.turns[2]
    assert TASK in second.conversation + json.dumps(second.body.get("system", ""))
    assert troubles(agent) == ""


@ONE_CLI
def test_a_chain_ends_at_its_limit(agent):
    script_parts(agent, "One part is made.", "Two parts are made.", "Three parts are made.", "Too much.")
    assert len(run_chain(agent)) == 2
    assert made_parts(agent) == ["part-1.txt", "part-2.txt", "part-3.txt"]
