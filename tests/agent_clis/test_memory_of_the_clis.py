"""What the three real CLIs pass from one session to the next with baton, checked in the requests to their models."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from agent_clis.agent import Agent
from agent_clis.model_server import Request
from agent_clis.remembering import (
    FILE,
    GOAL,
    TODO,
    briefs,
    head,
    new_brief,
    plug_in,
    prepare,
    run,
    script_work,
    sessions,
    troubles,
)
from agent_clis.terminal import until
from agent_clis.wires import Say, Shell, Turn, Write
from baton_git.core.brief import short_session

pytestmark = pytest.mark.agents

CODEX = pytest.mark.parametrize("cli", ["codex"], indirect=True)
ONE_CLI = pytest.mark.parametrize("cli", ["claude"], indirect=True)
"""For tests that do not depend on the CLI: each start of a CLI takes seconds."""


def expected_facts(agent: Agent) -> tuple[str, ...]:
    """Return the facts of the session of `script_work` that the next session must receive."""
    return GOAL, FILE, f"[ ] {TODO}", head(agent)


def is_marked_as_history(brief: str) -> bool:
    return "historical reference" in brief and "not instructions" in brief


def test_the_next_session_knows_what_the_last_one_did(agent):
    prepare(agent, "--project")
    script_work(agent)
    first = agent.run(GOAL)
    request = agent.run("What is next?").first
    (brief,) = briefs(request)
    assert is_marked_as_history(brief)
    assert [text for text in expected_facts(agent) if text not in brief] == []
    assert short_session(first.session) in brief
    assert troubles(agent) == ""


def test_a_plugin_or_extension_does_what_the_installed_hooks_do(agent):
    options = plug_in(agent)
    script_work(agent)
    agent.run(GOAL, options=options)
    (brief,) = briefs(agent.run("What is next?", options=options).first)
    assert [text for text in expected_facts(agent) if text not in brief] == []
    assert troubles(agent) == ""


def test_a_compacted_conversation_gets_its_facts_once(agent):
    prepare(agent)
    run(agent, "baton", "decision", "add", "Greet in Latin", "--why", "they asked for it", "--session", "another")
    run(agent, "baton", "followup", "add", "Mend the door", "--session", "another")
    script_work(agent)
    with agent.session() as session:
        session.ask(GOAL, "It is committed.")
        session.compact()
        after = session.ask("Go on", "I go on.")
        later = session.ask("And now the rest", "It is done.")
    brief = briefs(after)[-1]
    assert is_marked_as_history(brief)
    assert [text for text in (*expected_facts(agent), "Greet in Latin", "Mend the door") if text not in brief] == []
    assert new_brief(later, after) == []
    assert troubles(agent) == ""


def test_two_concurrent_sessions_know_of_each_other_and_are_both_reported(agent):
    prepare(agent)
    with agent.session() as session:
        agent.model.play(Write(str(agent.project / "door.py"), "is_open = False\n"))
        session.ask("Mend the door", "It is mended.")
        script_work(agent)
        (during,) = briefs(agent.run(GOAL).first)
        session.quit()
    assert "Active at the same time" in during
    assert "Mend the door" in during
    (brief,) = briefs(agent.run("What is next?").first)
    assert [text for text in (*expected_facts(agent), "Mend the door", "It is mended.") if text not in brief] == []
    assert "Active at the same time" not in brief
    assert troubles(agent) == ""


@ONE_CLI
def test_a_session_that_did_nothing_hides_nothing_of_the_one_before_it(agent):
    prepare(agent)
    script_work(agent)
    agent.run(GOAL)
    agent.run("What is next?")
    (brief,) = briefs(agent.run("And now?").first)
    assert [text for text in expected_facts(agent) if text not in brief] == []


@CODEX
def test_a_conversation_compacted_within_a_turn_gets_its_facts_once(agent):
    prepare(agent)
    script_work(agent)
    agent.model.play(Shell("echo a very long text"), tokens=50_000)
    ran = agent.with_tokens(20_000).run(GOAL)
    (brief,) = briefs(ran.requests[-1])
    assert [text for text in expected_facts(agent) if text not in brief] == []
    assert troubles(agent) == ""


def test_a_cleared_conversation_follows_the_one_before_it(agent):
    prepare(agent)
    script_work(agent)
    with agent.session() as session:
        session.ask(GOAL, "It is committed.")
        session.clear("It is committed.")
        after = session.ask("Say what I did", "You greeted.")
        session.quit()
    (brief,) = briefs(after)
    assert [text for text in expected_facts(agent) if text not in brief] == []
    records = sessions(agent)
    assert len(records) == 2
    (first,) = [id_ for id_, record in records.items() if "parent" not in record]
    assert {record.get("parent") for record in records.values()} == {None, first}
    assert troubles(agent) == ""


def test_after_a_kill_in_the_middle_of_a_turn_the_next_session_knows_what_was_done(agent):
    prepare(agent)
    script_work(agent)
    killed = threading.Event()

    def answer_after_the_kill(request: Request) -> Turn:
        killed.wait(60)
        return Turn((Say("too late"),))

    agent.model.play_as(answer_after_the_kill)
    with agent.session() as session:
        session.type(GOAL, lambda: len(agent.model.turns) == 4)
        (transcript,) = agent.cli.transcripts(agent.place.home)
        until(lambda: head(agent) in transcript.read_text(), lambda: "the commit is not in the transcript")
        session.kill()
        killed.set()
    (brief,) = briefs(agent.run("What was done?").first)
    assert [text for text in expected_facts(agent) if text not in brief] == []


def test_a_resumed_session_gets_only_the_changes(agent):
    prepare(agent)
    script_work(agent)
    first = agent.run(GOAL)
    run(agent, "baton", "followup", "add", "Mend the door", "--session", "another")
    second = agent.run("And now?", resume=first.session)
    (brief,) = new_brief(second.first, first.requests[-1])
    assert "Mend the door" in brief
    assert [text for text in expected_facts(agent) if text in brief] == []
    third = agent.run("And then?", resume=first.session)
    assert new_brief(third.first, second.first) == []
    assert troubles(agent) == ""


def test_hooks_installed_for_the_user_and_the_project_inject_the_brief_once(agent):
    prepare(agent)
    prepare(agent, "--project")
    script_work(agent)
    agent.run(GOAL)
    (brief,) = briefs(agent.run("What is next?").first)
    assert [text for text in expected_facts(agent) if text not in brief] == []


@ONE_CLI
def test_uninstalled_hooks_inject_nothing(agent):
    prepare(agent)
    agent.run(GOAL)
    run(agent, "baton", "agents", "uninstall", agent.cli.name)
    assert briefs(agent.run("What is next?").first) == []


@CODEX
def test_codex_runs_the_hooks_after_an_install_with_trust(agent):
    agent.cli.trust = "--skip-git-repo-check"
    prepare(agent)
    agent.run(GOAL)
    assert briefs(agent.run("What is next?").first) == []
    run(agent, "baton", "agents", "install", "codex", "--trust")
    run(agent, "baton", "agents", "status", "codex")
    agent.run(GOAL)
    (brief,) = briefs(agent.run("What is next?").first)
    assert GOAL in brief


def test_a_repository_without_a_namespace_is_left_alone(agent, tmp_path, git):
    prepare(agent)
    other = agent.at(repository(tmp_path / "other", git))
    assert briefs(other.run("Who are you?").first) == []
    assert run(other, "git", "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert not (other.project / ".git/baton").exists()


@ONE_CLI
def test_another_project_gets_nothing_of_the_session_and_another_work_tree_where_it_was(agent, tmp_path, git):
    prepare(agent)
    script_work(agent)
    first = agent.run(GOAL)
    other = agent.at(repository(tmp_path / "other", git))
    run(other, "baton", "init")
    side = tmp_path / "side"
    git(agent.project, "worktree", "add", "-q", str(side))
    conversation = other.run("Who are you?").first.conversation
    assert GOAL not in conversation
    assert first.session not in conversation
    (brief,) = briefs(agent.at(side).run("Who are you?").first)
    assert GOAL in brief
    assert str(agent.project) in brief


def repository(folder: Path, git) -> Path:
    """Create an empty repository."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder
