"""Sessions that write no transcript, such as `codex exec --ephemeral`: the hook events have the prompts and answers."""

from __future__ import annotations

import pytest
from hooked_sessions import NEW, OLD, context, transcript

from baton_git.agents.hook_events.hook_session import HookSessionStore


@pytest.mark.parametrize(("agent", "path"), [("codex", None), ("gemini", ""), ("claude", "never-written")])
def test_prompts_and_answers_of_hook_events_are_stored(hook, baton, tmp_path, agent, path):
    place = {"transcript_path": str(tmp_path / path) if path else path}
    hook("SessionStart", agent=agent, source="startup", **place)
    names = ("BeforeAgent", "AfterAgent") if agent == "gemini" else ("UserPromptSubmit", "Stop")
    for prompt, answer in (("Fix the parser", "It fails on nesting."), ("And test it", "The nested test is missing.")):
        hook(names[0], agent=agent, prompt=prompt, **place)
        hook(names[1], agent=agent, prompt=prompt, last_assistant_message=answer, **place)
    hook("UserPromptSubmit", agent=agent, prompt="of a subagent", agent_id="x", **place)
    hook("SessionEnd", agent=agent, reason="other", **place)
    facts = baton("handoff", "show", f"{agent}/{OLD}", "--json").json["handoff"]["facts"]
    assert facts["initial_goal"] == "Fix the parser"
    assert facts["last_answer"]["text"] == "The nested test is missing."
    assert [turn["prompt"] for turn in facts.get("turns", ())] in ([], ["Fix the parser", "And test it"])
    told = context(hook("SessionStart", NEW, source="startup"))
    assert "And test it" in told
    assert "The nested test is missing." in told
    assert "subagent" not in told


def test_a_prompt_without_an_answer_is_saved_by_the_next_start(hook, repo, tmp_path):
    hook("SessionStart", agent="codex", source="startup", transcript_path=None)
    hook("UserPromptSubmit", agent="codex", prompt="Fix the parser", transcript_path=None)
    memory = HookSessionStore(str(repo / ".git"))
    memory.save(memory.get("codex", OLD)._replace(pid=0))  # it was killed
    assert "Fix the parser" in context(hook("SessionStart", NEW, source="startup"))


def test_a_transcript_is_preferred(hook, session, baton, tmp_path):
    hook("SessionStart", source="startup")
    hook("UserPromptSubmit", prompt="As the hook got it")
    session.say("user", "As the transcript has it")
    hook("SessionEnd", reason="other")
    assert transcript(tmp_path, OLD).exists()
    assert baton("handoff", "show", "--json").json["handoff"]["facts"]["initial_goal"] == "As the transcript has it"


def test_gemini_in_an_editor_ends_the_session_of_the_prompts(hook, baton, tmp_path):
    """Without a start event, and with an end event that names a session without a prompt."""
    hook("BeforeAgent", agent="gemini", prompt="Fix the parser", transcript_path="")
    hook("AfterAgent", agent="gemini", prompt="Fix the parser", prompt_response="Fixed.", transcript_path="")
    hook("SessionEnd", "another", agent="gemini", reason="exit", transcript_path=str(tmp_path / "never"))
    assert baton("status", "--json").json["active_sessions"] == []
    assert [entry["id"] for entry in baton("list", "sessions", "--json").json["records"]] == [OLD]
    assert baton("handoff", "show", "--json").json["handoff"]["facts"]["last_answer"]["text"] == "Fixed."


def test_the_end_of_a_session_is_sent_before_the_hook_returns(hook, session, git, baton, repo, tmp_path, monkeypatch):
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(repo, "remote", "add", "origin", str(remote))
    baton("sync")
    monkeypatch.setattr("baton_git.interfaces.hook.event_runner.send_in_background", lambda *_: False)  # it is killed
    for is_set in (False, True):
        git(repo, "config", "baton.pushAtEnd", str(is_set).lower())
        hook("SessionStart", source="startup")
        session.say("user", f"Ask {is_set}")
        hook("SessionEnd", reason="other")
        sent = git(remote, "ls-tree", "-r", "--name-only", f"baton/{repo.name}")
        assert ("handoffs" in sent) is is_set
