"""Sessions of the real CLIs that end or go on in unusual ways: what the next session is told about them is so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from turn_truths import KAFKA, LOGGER

from agent_clis.agent import Agent
from agent_clis.remembering import briefs, prepare, troubles

pytestmark = pytest.mark.agents

NEXT = "What is next?"
REASON = "The rules of the house forbid it"
BLOCK = f"""
import json, sys
if "secret" in json.load(sys.stdin).get("prompt", ""):
    print(json.dumps({{"decision": "block", "reason": "{REASON}"}}))
else:
    print("{{}}")
"""
GO_ON = f"""
import json, sys
is_second = json.load(sys.stdin).get("stop_hook_active")
print("{{}}" if is_second else json.dumps({{"decision": "block", "reason": "{REASON}"}}))
"""


def only(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("cli", names, indirect=True)


def add_hook(agent: Agent, code: str, event: str, tmp_path: Path) -> None:
    """Install a hook of another tool before baton's."""
    program = tmp_path / "other.py"
    program.write_text(code)
    agent.cli.add_hooks(agent.place.home, f"{sys.executable} {program}", [event])


def brief_of_next(agent: Agent) -> str:
    (brief,) = briefs(agent.run(NEXT).first)
    return brief


def assert_last(brief: str, prompt: str, answer: str) -> None:
    """Check that the brief tells a prompt as the last one, and this answer as the one to it."""
    assert f"| - {prompt}\n" in brief
    assert f"| {answer}\n" in brief
    assert brief.index(prompt) < brief.index(answer)


def test_a_prompt_that_a_hook_of_another_tool_blocks_is_not_told_as_answered(agent, tmp_path):
    add_hook(agent, BLOCK, agent.cli.prompt_event, tmp_path)
    prepare(agent)
    with agent.session() as session:
        session.ask(LOGGER.prompt, LOGGER.answer)
        session.type_once("Print the secret")
        session.wait_for_text(REASON)
        session.keys_in_turn("C-u")  # Claude Code puts it back into the input line
        session.quit()
    brief = brief_of_next(agent)
    assert_last(brief, LOGGER.prompt, LOGGER.answer)
    assert "secret" not in brief
    assert troubles(agent) == ""


def test_a_hook_of_another_tool_that_makes_the_agent_go_on_is_no_person(agent, tmp_path):
    add_hook(agent, GO_ON, agent.cli.stop_event, tmp_path)
    prepare(agent)
    agent.model.say("The logger is begun.")
    agent.model.say(LOGGER.answer)
    agent.run(LOGGER.prompt)
    brief = brief_of_next(agent)
    assert_last(brief, LOGGER.prompt, LOGGER.answer)
    assert brief.count(LOGGER.prompt) <= 2  # the name of the session, and what was asked
    assert REASON not in brief
    assert "is begun" not in brief
    assert troubles(agent) == ""


@pytest.mark.parametrize("place", ["a folder of the repository", "a linked work tree"])
@only("claude", "codex")
def test_a_session_resumed_from_another_folder_is_one_session(agent, git, tmp_path, place):
    prepare(agent)
    folder = agent.project / "lib" if place.startswith("a folder") else tmp_path / "side"
    if place.startswith("a folder"):
        folder.mkdir()
    else:
        git(agent.project, "worktree", "add", "-q", str(folder))
    agent.model.say(LOGGER.answer)
    first = agent.run(LOGGER.prompt)
    agent.model.say(KAFKA.answer)
    agent.at(folder).run(KAFKA.prompt, resume=first.session)
    brief = brief_of_next(agent.at(agent.project))
    assert_last(brief, KAFKA.prompt, KAFKA.answer)
    assert f"| {LOGGER.prompt}" in brief  # the first prompt
    assert brief.count("Handed off by") == 1
    if agent.cli.name == "claude":  # the first record of Codex's transcript still names the first folder
        assert (str(folder) in brief) == place.startswith("a linked")
    assert troubles(agent) == ""


@only("claude", "codex")
def test_a_session_that_is_not_stored_is_told_from_its_events(agent):
    prepare(agent)
    agent.model.say(LOGGER.answer)
    agent.run(LOGGER.prompt, options=("--no-session-persistence" if agent.cli.name == "claude" else "--ephemeral",))
    assert agent.cli.transcripts(agent.place.home) == []
    assert_last(brief_of_next(agent), LOGGER.prompt, LOGGER.answer)
    assert troubles(agent) == ""


def test_a_work_tree_that_is_removed_right_after_the_answer_leaves_its_session(agent, git, tmp_path):
    prepare(agent)
    tree = tmp_path / "task"
    git(agent.project, "worktree", "add", "-q", str(tree), "-b", "task")
    agent.model.say(LOGGER.answer)
    agent.at(tree).run(LOGGER.prompt)
    git(agent.project, "worktree", "remove", "--force", str(tree))
    git(agent.project, "branch", "-q", "-D", "task")
    brief = brief_of_next(agent.at(agent.project))
    assert_last(brief, LOGGER.prompt, LOGGER.answer)
    assert f"{tree} (removed)" in brief
    assert troubles(agent) == ""
