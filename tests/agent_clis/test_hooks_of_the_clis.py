"""How the three CLIs run hooks, which `baton hook` relies on; observed by a hook that records everything."""

from __future__ import annotations

import re
from pathlib import Path

import psutil
import pytest

from agent_clis.agent import Agent
from agent_clis.model_server import Request
from agent_clis.spying import Spy, context, spy_on
from agent_clis.terminal import until
from agent_clis.wires import Say, Shell, Turn

pytestmark = pytest.mark.agents

MARK = re.compile(r"MARK-\w+-\w+-\d+")


@pytest.fixture
def spy(agent: Agent, tmp_path: Path) -> Spy:
    return spy_on(agent, tmp_path / "spy")


def marks(request: Request) -> list[str]:
    """Return the marks that the model received, each as often as it occurs."""
    return MARK.findall(request.conversation)


def marks_in_transcripts(agent: Agent) -> set[str]:
    """Return the marks in the agent's transcripts. Claude Code may write a mark seconds after the model received it."""
    return {mark for path in agent.cli.transcripts(agent.place.home) for mark in MARK.findall(path.read_text())}


def only(*names: str) -> pytest.MarkDecorator:
    """Run a test for some of the CLIs only."""
    return pytest.mark.parametrize("cli", names, indirect=True)


def test_the_context_that_hooks_add_at_the_start_and_at_a_prompt_reaches_the_model(agent, spy):
    agent.model.say("done")
    ran = agent.run("please do it")
    prompt, stop = agent.cli.prompt_event, agent.cli.stop_event
    assert marks(ran.first) == ["MARK-SessionStart-startup-0", f"MARK-{prompt}-x-1"]
    end = {"gemini": "SessionEnd(exit)"}.get(agent.cli.name, "SessionEnd(other)")
    assert spy.names() == ["SessionStart(startup)", prompt, stop, end]
    assert {call.session for call in spy.calls} == {ran.session}
    assert {Path(call.payload["cwd"]) for call in spy.calls} == {agent.project}
    assert "please do it" in spy.calls[1].payload["prompt"]
    assert [Path(call.payload["transcript_path"]) for call in spy.calls][-1] == agent.cli.transcripts(agent.place.home)[
        0
    ]


def test_the_parent_of_a_hook_is_its_cli(agent, spy):
    with agent.session() as session:
        session.ask("please do it", "here you are")
        tree = psutil.Process(session.pid).children(recursive=True)
        parents = {call.parent for call in spy.calls}
        assert len(parents) == 1
        assert parents <= {session.pid, *(process.pid for process in tree)}


@only("claude", "codex")
def test_the_shell_of_the_model_has_the_session_id_in_a_variable(agent):
    agent.model.play(Shell("echo =$CLAUDE_CODE_SESSION_ID$CODEX_THREAD_ID="))
    ran = agent.run("who are you?")
    assert f"={ran.session}=" in ran.requests[1].conversation


@only("claude")
def test_a_variable_that_the_start_hook_of_claude_sets_is_seen_by_the_shell_of_the_model(agent):
    agent.cli.add_hooks(agent.place.home, "echo 'export TOLD=by-the-hook' >> \"$CLAUDE_ENV_FILE\"", ["SessionStart"])
    agent.model.play(Shell("echo =$TOLD="))
    assert "=by-the-hook=" in agent.run("who told?").requests[1].conversation


def test_a_compacted_conversation_gets_a_mark_again(agent, spy):
    with agent.session() as session:
        session.ask("the first thing", "first answer")
        session.compact()
        request = session.ask("the second thing", "second answer")
        started = [mark for mark in marks(request) if "SessionStart" in mark]
        until(lambda: set(started) <= marks_in_transcripts(agent), lambda: f"{started} in the transcript")
    prompt, stop = agent.cli.prompt_event, agent.cli.stop_event
    before = ["SessionStart(startup)", prompt, stop]
    compacted = {
        "claude": ["PreCompact(manual)", "SessionStart(compact)", "PostCompact(manual)"],
        "codex": ["PreCompact(manual)", "PostCompact(manual)", "SessionStart(compact)"],
        "gemini": ["PreCompress(manual)"],
    }[agent.cli.name]
    assert spy.names()[: len(before + compacted) + 1] == [*before, *compacted, prompt]
    assert len({call.session for call in spy.calls}) == 1
    received = [re.sub(r"-\d+$", "", mark) for mark in marks(request)]
    at_the_start = [] if agent.cli.name == "gemini" else ["MARK-SessionStart-compact"]
    assert received == [*at_the_start, f"MARK-{prompt}-x"]


def test_a_cleared_conversation_has_a_new_id_in_the_same_process(agent, spy):
    with agent.session() as session:
        session.ask("the first thing", "first answer")
        session.clear("first answer")
        request = session.ask("the second thing", "second answer")
        session.quit()
    names = spy.names()
    started = next(call for call in spy.calls if call.name == "SessionStart(clear)")
    old = spy.calls[0].session
    assert started.session != old
    assert len({call.parent for call in spy.calls}) == 1
    if agent.cli.name == "codex":  # ends both sessions when it exits, in no particular order
        assert {call.session for call in spy.calls[-2:]} == {started.session, old}
    else:
        assert names[names.index("SessionStart(clear)") - 1] == "SessionEnd(clear)"
    received = [mark for mark in marks(request) if "SessionStart" in mark]
    assert len(received) == (0 if agent.cli.name == "gemini" else 1)  # Gemini discards the output of hooks at a clear


def test_a_model_that_a_hook_keeps_from_stopping_receives_the_reason(agent, spy):
    stop = agent.cli.stop_event
    spy.answer(**{stop: {"decision": "block", "reason": "go on: @MARK@"}})

    def allow_the_stop(request: Request) -> Turn:
        spy.answer()
        return Turn((Say("went on"),))

    agent.model.say("I stop")
    agent.model.play_as(allow_the_stop)
    ran = agent.run("please do it")
    assert any(f"MARK-{stop}" in mark for mark in marks(ran.requests[1]))
    assert [call.payload["stop_hook_active"] for call in spy.calls if call.event == stop] == [False, True]
    prompts = [call.payload["prompt"] for call in spy.calls if call.event == agent.cli.prompt_event]
    assert len(prompts) == (2 if agent.cli.name == "gemini" else 1)  # Gemini treats the reason as a prompt


def test_a_resumed_conversation_still_has_the_context_of_the_prompt_hook(agent, spy):
    prompt = agent.cli.prompt_event
    spy.answer(**{prompt: context(prompt)})
    first = agent.run("the first thing")
    again = agent.run("the second thing", resume=first.session)
    assert again.session == first.session
    assert "SessionStart(resume)" in spy.names()
    assert len(marks(again.first)) == 2
    assert "the first thing" in again.first.conversation


@only("gemini")
def test_a_resumed_gemini_session_lacks_a_prompt_to_which_the_start_hook_added_context(agent, spy):
    first = agent.run("the first thing")
    assert "the first thing" in first.first.conversation
    assert "the first thing" not in agent.run("the second thing", resume=first.session).first.conversation


@only("codex")
def test_codex_compacts_in_the_middle_of_a_turn_and_gives_the_mark_at_once(agent, spy):
    agent = agent.with_tokens(20_000)
    agent.model.play(Shell("echo one"), tokens=50_000)
    ran = agent.run("please do it")
    middle = ["PreCompact(auto)", "PostCompact(auto)", "SessionStart(compact)"]
    assert spy.names() == ["SessionStart(startup)", "UserPromptSubmit", *middle, "Stop", "SessionEnd(other)"]
    assert marks(ran.requests[1]) == ["MARK-SessionStart-compact-4"]


@only("codex")
def test_codex_skips_hooks_that_nobody_trusts(agent, spy):
    agent.cli.trust = "--skip-git-repo-check"
    agent.run("please do it")
    assert spy.calls == []
