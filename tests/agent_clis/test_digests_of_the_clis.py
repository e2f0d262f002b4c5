"""The digest of a real CLI's session: passed to the next session, mined, and recalled."""

from __future__ import annotations

import pytest

from agent_clis.agent import Agent
from agent_clis.remembering import FILE, GOAL, baton_json, briefs, head, prepare, run, script_work, troubles
from agent_clis.wires import Shell

pytestmark = pytest.mark.agents

FIRST = "Fix bug A in the import of orders"
CHANGE_OF_MIND = "Stop that, the customer wants the CSV export with semicolons"
LAST_ANSWER = "The export now writes semicolons. Should the header line be quoted, too?"
REASON = "The greeter speaks French, since the shop sells to diplomats."


def write_release_script(agent: Agent) -> None:
    """Commit a script that commits a file silently."""
    script = "echo 1.2 > VERSION\ngit add VERSION\ngit commit -q -m 'Release 1.2'\n"
    (agent.project / "release.sh").write_text(script)
    run(agent, "git", "add", "release.sh")
    run(agent, "git", "commit", "-q", "-m", "Add a script for releases")


def test_the_next_session_gets_the_last_prompt_and_answer_first(agent):
    prepare(agent)
    write_release_script(agent)
    with agent.session() as session:
        session.ask(FIRST, "The cause is found.")
        agent.model.play(Shell("sh release.sh"))
        session.ask(CHANGE_OF_MIND, LAST_ANSWER)
        session.quit()
    request = agent.run("What is next?").first
    (brief,) = briefs(request)
    assert brief.index(f"- {CHANGE_OF_MIND}") < brief.index(f"| {FIRST}")  # the session is named by its goal before
    assert LAST_ANSWER in brief
    assert [text for text in (head(agent), "Release 1.2", "VERSION") if text not in brief] == []
    assert "baton recall QUESTION" in request.conversation
    assert troubles(agent) == ""


def test_sessions_from_before_baton_are_mined_recalled_and_shown(agent):
    script_work(agent)
    agent.model.say(REASON)
    first = agent.run(GOAL)
    run(agent, "baton", "init")
    mined = baton_json(agent, "mine")
    assert mined["problems"] == []
    assert [session["id"] for session in mined["imported"]] == [f"{agent.cli.name}/{first.session}"]
    assert baton_json(agent, "mine")["imported"] == []
    assert REASON in run(agent, "baton", "recall", "why does the greeter speak French")
    run(agent, "baton", "agents", "install", agent.cli.name, "--user")
    (brief,) = briefs(agent.run("What is next?").first)
    assert [text for text in (GOAL, REASON, FILE, head(agent)) if text not in brief] == []
    assert troubles(agent) == ""


def test_a_prompt_on_a_branch_gets_what_its_session_said_and_the_brief_does_not(agent):
    prepare(agent)
    run(agent, "git", "checkout", "-q", "-b", "export")
    early = "The import rounds half a cent up, as the tax office wants it in its letter of May."
    with agent.session() as session:
        session.ask(FIRST, early)
        session.ask(CHANGE_OF_MIND, LAST_ANSWER)
        session.quit()
    request = agent.run("continue").first
    (brief,) = briefs(request)
    assert early not in brief
    assert LAST_ANSWER in brief
    assert "=== recall · ctx-" in request.conversation
    assert [request.conversation.count(text) for text in (early, LAST_ANSWER)] == [1, 1]
    assert troubles(agent) == ""
