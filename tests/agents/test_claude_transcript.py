"""Claude Code's transcripts as events."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from transcript_files import only, write

from baton_git.agents.claude.transcript import events, recognises
from baton_git.agents.events import (
    PERSON,
    Compaction,
    EndReached,
    Event,
    ModelReply,
    Position,
    Prompt,
    ReportedCommit,
    SessionContext,
    Title,
    ToolCall,
    ToolResult,
)
from baton_git.agents.registry import AGENTS

sessions = AGENTS["claude"].find_sessions

BASE = {"sessionId": "s1", "cwd": "/repo", "gitBranch": "main", "version": "2.1.9", "timestamp": "2026-01-02T03:04:05Z"}


def user(content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **BASE, **more}


def assistant(*blocks: Any, model: str = "opus", **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "model": model, "content": list(blocks)}
    return {"type": "assistant", "message": message, **BASE, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(name: str, call: str = "t1", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": arguments}


def result(content: Any = "ok", call: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reading(*records: Any) -> list[Event]:
        return list(events(write(tmp_path / "s1.jsonl", *records)))

    return reading


def prompts(found: list[Event]) -> list[str]:
    """Return the prompts of persons."""
    return [prompt.text for prompt in only(Prompt, found) if prompt.origin == PERSON]


def test_a_session_is_read_in_order(read):
    found = read(
        user("fix it"),
        assistant({"type": "thinking", "thinking": "hm"}, text("On it."), use("Bash", command="ls")),
        user([result("a.txt")], toolUseResult={"stdout": "a.txt"}),
    )
    kinds = [SessionContext, Prompt, SessionContext, ModelReply, ToolCall, ToolResult, EndReached]
    assert [type(event) for event in found] == kinds
    time = BASE["timestamp"]
    assert found[1] == Prompt(Position(1, 0), time, "fix it", turn="#1")
    assert found[3] == ModelReply(found[4].position, time, "On it.", "opus")
    assert found[4] == ToolCall(found[3].position, time, "t1", "Bash", {"command": "ls"})
    assert found[5] == ToolResult(found[5].position, time, "t1", "a.txt", False, {"stdout": "a.txt"})


def test_the_session_context_is_an_event_first_and_when_it_changes(read):
    found = read(user("a"), user("b"), user("c", gitBranch="topic"), user("d", sessionId="s2", gitBranch="topic"))
    assert [(one.session, one.cwd, one.branch, one.version) for one in only(SessionContext, found)] == [
        ("s1", "/repo", "main", "2.1.9"),
        ("s1", "/repo", "topic", "2.1.9"),
        ("s2", "/repo", "topic", "2.1.9"),
    ]


@pytest.mark.parametrize("mark", ["isMeta", "isSidechain", "isVisibleInTranscriptOnly"])
def test_marked_text_is_no_prompt(read, mark):
    assert prompts(read(user("injected", **{mark: True}))) == []


@pytest.mark.parametrize(
    "words",
    [
        "Base directory for this skill: /x", "Caveat: The messages below were generated", "<bash-input>ls</bash-input>",
        "<local-command-caveat>…", "<local-command-stdout>x</local-command-stdout>", "<bash-stdout>x</bash-stdout>",
        "<task-notification>\n<task-id>1</task-id>", "[Request interrupted by user for tool use]", "[Image: /x]",
        "<command-name>/compact</command-name>\n <command-message>compact</command-message>", "  \n",
        "<command-message>clear</command-message>\n<command-name>/clear</command-name>", "<command-message>x",
        "<system-reminder>read this</system-reminder>", "<ide_opened_file>The user opened a.py</ide_opened_file>",
    ],
)  # fmt: skip
def test_text_of_the_program_in_the_persons_name_is_no_prompt(read, words):
    assert prompts(read(user(words))) == []
    assert prompts(read(user([text(words)]))) == []


def test_a_message_of_another_task_is_no_prompt(read):
    assert prompts(read(user("done", origin={"kind": "task-notification"}))) == []
    assert prompts(read(user("fix it", origin={"kind": "human"}, promptSource="typed"))) == ["fix it"]


def test_a_turn_with_only_results_is_no_prompt(read):
    assert prompts(read(user([result()]))) == []
    assert prompts(read(user([result(), text("and now this")]))) == ["and now this"]


def test_text_around_a_prompt_is_removed(read):
    opened = "<ide_opened_file>The user opened a.py</ide_opened_file>"
    assert prompts(read(user([text(opened), text("fix it")]))) == ["fix it"]
    assert prompts(read(user(f"{opened}\n<system-reminder>x</system-reminder>\nfix it"))) == ["fix it"]
    assert prompts(read(user([{"type": "image"}, text("a"), text("b")]))) == ["a\nb"]


def test_a_custom_command_is_a_prompt_that_names_it(read):
    words = "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
    assert only(Prompt, read(user(words)))[0][2:4] == ("/review", "/review")
    with_arguments = words + "<command-args>PR 7</command-args>"
    assert only(Prompt, read(user(with_arguments)))[0][2:4] == ("/review PR 7", "/review")


def test_a_plan_that_begins_a_session_is_a_prompt(read):
    assert prompts(read(user("Implement the following plan:\n\n# Plan"))) == ["Implement the following plan:\n\n# Plan"]


def test_text_typed_while_claude_works_is_a_prompt(read):
    queued = {"type": "queued_command", "prompt": "also this", "commandMode": "prompt"}
    notice = {"type": "queued_command", "prompt": "<task-notification>x", "commandMode": "task-notification"}
    found = read({"type": "attachment", "attachment": queued, **BASE}, {"type": "attachment", "attachment": notice})
    assert prompts(found) == ["also this"]


@pytest.mark.parametrize("mark", [{"isCompactSummary": True}, {}])
def test_a_summary_is_a_compaction_and_no_prompt(read, mark):
    words = "This session is being continued from a previous conversation that ran out of context."
    found = read(user(words, **mark))
    assert [one.summary for one in only(Compaction, found)] == [words]
    assert prompts(found) == []


def test_a_failed_result_is_marked_as_failed(read):
    found = read(
        assistant(use("Edit", "t1"), use("Edit", "t2"), use("Bash", "t3")),
        user([result("no such text", "t1", is_error=True)], toolUseResult="Error: no such text"),
        user([result([text("done"), {"type": "image"}], "t2")]),
        user([result("", "t3")], toolUseResult={"stdout": "", "interrupted": True}),
    )
    assert [(one.text, one.failed) for one in only(ToolResult, found)] == [
        ("no such text", True), ("done", False), ("", True),
    ]  # fmt: skip
    assert only(ToolResult, found)[0].structured is None


def test_a_structured_result_beside_several_results_belongs_to_none(read):
    found = read(user([result("a", "t1"), result("b", "t2")], toolUseResult={"x": 1}))
    assert [one.structured for one in only(ToolResult, found)] == [None, None]


def test_a_commit_reported_by_claude_is_an_event(read):
    noted = {"gitOperation": {"commit": {"sha": "41fbef4", "kind": "amended", "branch": "main"}}}
    found = read(user([result("[main 41fbef4] x")], toolUseResult=noted))
    assert only(ReportedCommit, found)[0][2:] == ("t1", "41fbef4", "amended", "main", False)


def test_the_tool_uses_of_subagents_are_marked_and_their_messages_left_out(read):
    found = read(
        user("look around", isSidechain=True),
        assistant(text("I look."), use("Edit"), isSidechain=True, cwd="/elsewhere"),
        user([result()], isSidechain=True),
    )
    assert [type(event) for event in found] == [ToolCall, ToolResult, EndReached]
    assert found[0].side
    assert found[1].side


def test_records_repeated_by_a_resume_count_once(read):
    records = [user("a", uuid="u1"), assistant(use("Bash"), uuid="u2"), user([result()], uuid="u3")]
    copied = [assistant(use("Bash"), uuid="u4"), user([result()], uuid="u5")]
    found = read(*records, *records, *copied)
    assert [len(only(kind, found)) for kind in (Prompt, ToolCall, ToolResult)] == [1, 1, 1]


def test_messages_of_the_program_itself_are_no_replies(read):
    found = read(
        assistant(text("No response requested."), model="<synthetic>"),
        assistant(text("API Error: 529"), isApiErrorMessage=True),
        assistant(text(" "), text("Yes.")),
    )
    assert [one.text for one in only(ModelReply, found)] == ["Yes."]
    assert [one.model for one in only(SessionContext, found)][-1] == "opus"


def test_a_message_whose_content_is_a_text_is_read(read):
    old = {"type": "assistant", "message": {"role": "assistant", "content": "Hello."}, "sessionId": "s1"}
    assert [one.text for one in only(ModelReply, read(old))] == ["Hello."]


def test_titles_are_read(read):
    found = read(
        {"type": "summary", "summary": "A", "leafUuid": "l"},
        {"type": "ai-title", "aiTitle": "B", "sessionId": "s1"},
        {"type": "custom-title", "customTitle": "C", "sessionId": "s1"},
    )
    assert [one.text for one in only(Title, found)] == ["A", "B", "C"]


def test_the_last_event_has_the_position_and_the_number_of_unreadable_lines(tmp_path):
    path = write(tmp_path / "a", user("one"), "garbage", {"type": "brand-new", "x": 1})
    *_, end = events(path)
    assert isinstance(end, EndReached)
    assert end[:2] == EndReached(Position(4, path.stat().st_size), 1)[:2]
    path.write_bytes(path.read_bytes() + write(tmp_path / "b", user("two")).read_bytes())
    assert prompts(list(events(path, end))) == ["two"]


def test_records_of_claude_code_are_recognised():
    assert recognises(user("a"))
    assert recognises({"type": "summary", "summary": "a", "leafUuid": "l"})
    assert recognises({"type": "queue-operation", "sessionId": "s"})
    assert not recognises({"type": "user", "content": "a", "id": "1"})
    assert not recognises({"type": ["user"], "message": {}})


def test_sessions_are_found_newest_first_without_those_of_subagents(tmp_path):
    folder = tmp_path / ".claude/projects/-repo"
    first = write(folder / "aaaa.jsonl", {"type": "mode", "sessionId": "aaaa"}, user("x"))
    second = write(folder / "bbbb.jsonl", {"type": "mode", "sessionId": "bbbb"})
    write(folder / "agent-cccc.jsonl", user("x"))
    write(folder / "aaaa/subagents/agent-1.jsonl", user("x"))
    os.utime(first, (1, 1))
    assert [tuple(one[:3]) for one in sessions(tmp_path, {})] == [
        (second, "bbbb", None),
        (first, "aaaa", "/repo"),
    ]
    moved = (tmp_path / ".claude").rename(tmp_path / "elsewhere")
    assert len(list(sessions(tmp_path, {"CLAUDE_CONFIG_DIR": str(moved)}))) == 2
    assert list(sessions(tmp_path, {})) == []
