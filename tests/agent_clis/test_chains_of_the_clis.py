"""Chains of sessions of the three real CLIs, until the task is done or a limit is reached."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from agent_clis.agent import Agent
from agent_clis.remembering import asked, briefs, prepare, run, troubles
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


def parts(agent: Agent, *last_words: str) -> None:
    """Return the script of sessions that each make a part and end with these words."""
    for number, words in enumerate(last_words, 1):
        agent.model.play(Shell(f"echo part {number} > part-{number}.txt"))
        agent.model.play(Say(words))


def looped(agent: Agent, *options: str, code: int) -> Any:
    """Return the result of a loop in the foreground."""
    prepare(agent)
    run(agent, "git", "config", f"baton.{agent.cli.name}Arguments", ARGUMENTS[agent.cli.name])
    argv = ["baton", "loop-run", TASK, "--cli", agent.cli.name, *options, "--json"]
    done = subprocess.run(argv, cwd=agent.project, env=agent.environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)


def made(agent: Agent) -> list[str]:
    return sorted(path.name for path in agent.project.glob("part-*.txt"))


@pytest.mark.parametrize("cli", ["claude", "codex"], indirect=True)
def test_a_loop_ends_when_the_model_says_that_it_is_done(agent):
    parts(agent, "One part is made.", "Two parts are made.", "All is made.\n\nLOOP_COMPLETE\n")
    done = looped(agent, "--max-iterations", "5", code=0)
    assert (done["iterations"], done["ended_by"]) == (3, "completed")
    assert made(agent) == ["part-1.txt", "part-2.txt", "part-3.txt"]
    assert len({one["session"] for one in done["sessions"]}) == 3
    second = agent.model.turns[2]
    assert TASK in second.conversation + json.dumps(second.body.get("system", ""))
    (brief,) = briefs(second)
    assert "part-1.txt" in brief
    assert troubles(agent) == ""


@ONE_CLI
def test_a_loop_without_a_marker_ends_at_its_limit(agent):
    parts(agent, "One part is made.", "Two parts are made.", "Three parts are made.")
    done = looped(agent, "--max-iterations", "2", code=1)
    assert (done["iterations"], done["ended_by"]) == (2, "max_iterations")
    assert made(agent) == ["part-1.txt", "part-2.txt"]


def chained(agent: Agent) -> list[dict[str, Any]]:
    """Return the sessions that the workflow started one after the other, when all of them have ended."""
    prepare(agent)
    run(agent, "git", "config", f"baton.{agent.cli.name}Arguments", ARGUMENTS[agent.cli.name])
    shipped = run(agent, "baton", "workflow", "show", "autonomous-loop")
    folder = agent.place.home / ".config/baton/workflows"
    folder.mkdir(parents=True)
    (folder / "autonomous-loop.yaml").write_text(LOOP + shipped[shipped.index("triggers:") :])
    agent.run(TASK)

    def spawned() -> list[dict[str, Any]]:
        return list(asked(agent, "session", "list", "--spawned"))

    def is_over() -> bool:
        return bool(spawned()) and all(one["status"] != "running" for one in spawned())

    until(is_over, lambda: f"still running: {spawned()}\n{troubles(agent)}", 90)
    return spawned()


@pytest.mark.parametrize("cli", ["claude", "gemini"], indirect=True)
def test_a_chained_session_goes_on_where_the_one_before_it_ended(agent):
    parts(agent, "One part is made.", "All is made.\n\nLOOP_COMPLETE\n", "Too much.")
    assert len(chained(agent)) == 1
    assert made(agent) == ["part-1.txt", "part-2.txt"]
    second = agent.model.turns[2]
    assert TASK in second.conversation + json.dumps(second.body.get("system", ""))
    assert troubles(agent) == ""


@ONE_CLI
def test_a_chain_ends_at_its_limit(agent):
    parts(agent, "One part is made.", "Two parts are made.", "Three parts are made.", "Too much.")
    assert len(chained(agent)) == 2
    assert made(agent) == ["part-1.txt", "part-2.txt", "part-3.txt"]
