"""Gemini CLI's transcripts of both formats as events."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from transcript_files import only, write

from baton_git.agents.events import (
    Compaction,
    EndReached,
    Event,
    ModelReply,
    Position,
    Prompt,
    Restart,
    ResumePoint,
    SessionContext,
    Title,
    ToolCall,
    ToolResult,
)
from baton_git.agents.gemini.transcript import events, recognises
from baton_git.agents.registry import AGENTS

sessions = AGENTS["gemini"].find_sessions

TIME = "2026-01-02T03:04:05Z"
HEAD = {"sessionId": "s1", "projectHash": "ab", "startTime": TIME, "lastUpdated": TIME, "kind": "main"}


def user(content: Any, identity: str = "u1", **more: Any) -> dict[str, Any]:
    return {"id": identity, "timestamp": TIME, "type": "user", "content": content, **more}


def gemini(content: Any, identity: str = "g1", **more: Any) -> dict[str, Any]:
    return {"id": identity, "timestamp": TIME, "type": "gemini", "content": content, "model": "gemini-3", **more}


def call(name: str, output: str = "", status: str = "success", error: str = "", **more: Any) -> dict[str, Any]:
    response = {"error": error} if error else {"output": output}
    result = [{"functionResponse": {"id": "c1", "name": name, "response": response}}]
    return {"id": "c1", "name": name, "args": {"x": 1}, "result": result, "status": status, **more}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reading(*records: Any) -> list[Event]:
        return list(events(write(tmp_path / "session-x.jsonl", HEAD, *records)))

    return reading


def event_types(found: list[Event]) -> list[type[Event]]:
    """Return the types of the events, without session contexts and resume points."""
    return [type(one) for one in found if not isinstance(one, SessionContext | ResumePoint)]


def prompts(found: list[Event]) -> list[str]:
    return [prompt.text for prompt in only(Prompt, found)]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_session_that_is_one_object_is_read(tmp_path, indent):
    messages = [user("fix it"), gemini("On it.", toolCalls=[call("read_file", "hi")])]
    path = write(tmp_path / "session-x.json", json.dumps({**HEAD, "messages": messages}, indent=indent))
    found = list(events(path))
    assert found.pop(0) == ResumePoint(Position())
    assert [type(one) for one in found] == [SessionContext, Prompt, ModelReply, ToolCall, ToolResult, EndReached]
    assert (found[0].session, found[0].model) == ("s1", "gemini-3")
    assert found[1].text == "fix it"
    assert found[2] == ModelReply(found[2].position, TIME, "On it.", "gemini-3")
    assert found[3][2:5] == ("c1", "read_file", {"x": 1})
    assert (found[4].text, found[4].failed) == ("hi", False)
    assert [one.position.line for one in found[1:3]] == [1, 2]


def test_a_message_that_is_written_again_counts_once_with_its_newest_content(read):
    found = read(user("fix it"), gemini(""), gemini("", toolCalls=[call("read_file", "hi")]), gemini("x", "g2"))
    assert event_types(found) == [Prompt, ToolCall, ToolResult, ModelReply, EndReached]
    assert only(ToolCall, found)[0].position.line == 4
    assert [one.model for one in only(SessionContext, found)] == [None, "gemini-3"]


def test_the_new_part_of_a_rewritten_message_is_read(read):
    running = gemini("", toolCalls=[call("read_file", status="executing")])
    ended = gemini("Done.", toolCalls=[call("read_file", "hi")])
    found = read(user("fix it"), running, user("wait", "u2"), ended, ended, user("go on", "u3"))
    assert event_types(found) == [Prompt, ToolCall, Prompt, ModelReply, ToolResult, Prompt, EndReached]
    assert [one.position.line for one in only(ToolResult, found)] == [5]


def test_a_new_context_does_not_remove_earlier_events(read):
    checkpoint = {"$set": {"messages": [user("<state_snapshot>all of it", "u9"), gemini([{"functionCall": {}}])]}}
    found = read(user("fix it"), gemini("", toolCalls=[call("read_file", "hi")]), checkpoint, user("go on", "u2"))
    assert event_types(found) == [Prompt, ToolCall, ToolResult, Compaction, Prompt, EndReached]
    assert prompts(found) == ["fix it", "go on"]


def test_a_call_that_has_ended_in_a_checkpoint_has_its_result(read):
    running = gemini("", toolCalls=[call("read_file", status="executing")])
    found = read(running, {"$set": {"messages": [gemini("", toolCalls=[call("read_file", "hi")])]}})
    assert [one.text for one in only(ToolResult, found)] == ["hi"]


def test_rewound_messages_are_removed(read):
    found = read(user("a", "u1"), gemini("b", "g1"), user("c", "u2"), {"$rewindTo": "g1"}, user("d", "u3"))
    assert prompts(found) == ["a", "d"]
    assert only(ModelReply, found) == []
    assert prompts(read(user("a"), {"$rewindTo": "unknown"}, {"$rewindTo": ["x"]})) == ["a"]


def test_a_resumed_session_is_one_session(read):
    found = read(user("a"), HEAD, {"$set": {"sessionId": "s1"}}, {"$set": {"summary": "Greeting"}}, user("b", "u2"))
    assert [one for one in only(SessionContext, found) if one.session != "s1"] == []
    assert Restart not in event_types(found)
    assert only(Title, found)[0].text == "Greeting"
    assert prompts(found) == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    ["", "  ", "/chat save", "?", "<session_context>\nx", [{"text": "<hook_context>x</hook_context>"}],
     "This is the Gemini CLI. We are setting up the context for our chat.\n", "System: Please continue.",
     [{"functionResponse": {"name": "read_file"}}], [], None],
)  # fmt: skip
def test_text_that_was_not_typed_is_no_prompt(read, content):
    assert prompts(read(user(content))) == []


def test_text_that_hooks_add_to_a_prompt_is_removed(read):
    content = [{"text": "<hook_context>a</hook_context>\n\nfix it"}, {"text": "<hook_context>b</hook_context>"}]
    assert prompts(read(user(content))) == ["fix it"]
    assert prompts(read(user("fix it: @a.py", displayContent=[{"text": "fix it"}]))) == ["fix it"]


def test_thoughts_are_no_reply(read):
    found = read(gemini([{"text": "hm", "thought": True}, {"text": "Yes."}], thoughts=[{"description": "hm"}]))
    assert [one.text for one in only(ModelReply, found)] == ["Yes."]


@pytest.mark.parametrize(
    ("made", "text", "failed"),
    [
        (call("replace", status="error", error="no such text"), "no such text", True),
        (call("replace", status="cancelled", error="cancelled"), "cancelled", True),
        (call("run_shell_command", "<untrusted_context>\nOutput: [main 1234567] x\n"), "[main 1234567] x\n", False),
        (call("run_shell_command", "Output: (empty)\nExit Code: 3\nPGID: 1"), "Exit Code: 3\nPGID: 1", True),
        (call("run_shell_command", "Command: ls\nDirectory: (root)\nOutput: a"), "a", False),
        (call("run_shell_command", "x", resultDisplay="Command exited with code: 1"), "x", True),
        (call("read_file", "Exit Code: 3"), "Exit Code: 3", False),
    ],
)
def test_a_result_is_marked_as_failed_if_its_call_failed(read, made, text, failed):
    found = only(ToolResult, read(gemini("", toolCalls=[made])))
    assert [(one.text, one.failed) for one in found] == [(text, failed)]


def test_a_call_that_has_not_ended_has_no_result(read):
    found = read(gemini("", toolCalls=[call("read_file", status="executing")]))
    assert event_types(found) == [ToolCall, EndReached]


def test_the_displayed_part_of_a_result_is_kept(read):
    display = {"filePath": "/repo/a.py", "isNewFile": True}
    found = read(gemini("", toolCalls=[call("write_file", "ok", resultDisplay=display)]))
    assert only(ToolResult, found)[0].structured == display


def append(path: Path, *records: Any) -> Path:
    path.write_bytes(path.read_bytes() + write(path.parent / "more", *records).read_bytes())
    return path


def test_the_next_reading_has_only_new_events(tmp_path):
    path = write(tmp_path / "a", HEAD, user("one"), gemini("x"))
    *_, end = events(path)
    assert isinstance(end, EndReached)
    assert end[:2] == (Position(4, path.stat().st_size), 0)
    append(path, gemini("x and y"), {"$set": {"lastUpdated": TIME}}, user("two", "u2"))
    found = list(events(path, end))
    assert event_types(found) == [ModelReply, Prompt, EndReached]
    assert only(ModelReply, found)[0].text == "x and y"


@pytest.mark.parametrize(
    ("record", "kinds"),
    [
        (gemini("", "g0", toolCalls=[call("read_file", "hi")]), [ModelReply, ToolResult, EndReached]),
        (gemini("other", "g0"), [ModelReply, ModelReply, EndReached]),
        ({"$set": {"messages": []}}, [ModelReply, EndReached]),
        ({"$set": {"summary": "S"}}, [Title, ModelReply, EndReached]),
        ({"$rewindTo": "g1"}, [EndReached]),
        ({"$rewindTo": "unknown"}, [ModelReply, EndReached]),
        (HEAD, [ModelReply, EndReached]),
    ],
)
def test_changes_of_earlier_messages_are_detected_without_reading_everything(tmp_path, record, kinds):
    running = gemini("", "g0", toolCalls=[call("read_file", status="executing")])
    path = write(tmp_path / "a", HEAD, user("one"), running, gemini("x"))
    *_, end = events(path)
    assert isinstance(end, EndReached)
    found = list(events(append(path, record), end))
    assert event_types(found) == kinds


@pytest.mark.parametrize("target", ["u1", "g0"])
def test_a_removed_event_restarts_the_reading(tmp_path, target):
    path = write(tmp_path / "a", HEAD, user("one"), gemini("x", "g0"), gemini("y"))
    *_, end = events(path)
    assert isinstance(end, EndReached)
    first, *rest = events(append(path, {"$rewindTo": target}, user("two", "u2")), end)
    assert first == Restart()
    assert rest == list(events(path))
    assert prompts(rest) == (["two"] if target == "u1" else ["one", "two"])


def test_removed_events_are_not_read_at_first(read):
    found = read(user("one"), gemini("x", "g0"), user("two", "u2"), {"$rewindTo": "g0"}, user("three", "u3"))
    assert event_types(found) == [Prompt, Prompt, EndReached]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_session_in_one_object_is_read_whole_every_time(tmp_path, indent):
    path = write(tmp_path / "a", json.dumps({**HEAD, "messages": [user("one")]}, indent=indent))
    *_, end = events(path)
    assert isinstance(end, EndReached)
    write(path, json.dumps({**HEAD, "messages": [user("one"), user("two", "u2")]}, indent=indent))
    assert prompts(list(events(path, end))) == ["one", "two"]


def test_records_of_gemini_cli_are_recognised():
    assert recognises(HEAD)
    assert recognises({"messages": [], **HEAD})
    assert not recognises(user("a"))
    assert not recognises({"sessionId": "s", "uuid": "u"})


def test_sessions_are_found_newest_first_with_their_projects(tmp_path):
    root = tmp_path / ".gemini"
    hashed = sha256(b"/old").hexdigest()
    first = write(root / "tmp" / hashed / "chats/session-1.json", "{", '"sessionId" : "s0",', '"messages": []}')
    second = write(root / "tmp/repo/chats/session-2.jsonl", HEAD)
    third = write(root / "tmp/other/chats/session-3.jsonl", "garbage")
    write(root / "tmp/repo/chats/s1/sub.jsonl", HEAD)
    write(root / "projects.json", {"projects": {"/old": "old", "/repo": "repo"}})
    (root / "tmp/other/.project_root").write_text("/other\n")
    for age, path in enumerate((first, second, third)):
        os.utime(path, (age, age))
    assert [tuple(one[:3]) for one in sessions(tmp_path, {})] == [
        (third, None, "/other"), (second, "s1", "/repo"), (first, "s0", "/old"),
    ]  # fmt: skip


def test_sessions_are_found_in_the_folder_that_the_variable_names(tmp_path):
    path = write(tmp_path / "else/.gemini/tmp/repo/chats/session-1.jsonl", HEAD)
    assert [one.path for one in sessions(tmp_path, {"GEMINI_CLI_HOME": str(tmp_path / "else")})] == [path]
    assert list(sessions(tmp_path, {})) == []
