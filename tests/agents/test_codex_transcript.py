"""Codex CLI's transcripts of all formats as events."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from transcript_files import only, write

from baton_git.agents.codex.messages import find_patch_code, list_patched_files, list_removed_files, split_patch_code
from baton_git.agents.codex.transcript import events, recognises
from baton_git.agents.events import (
    Compaction,
    EndReached,
    Event,
    FileChange,
    FilesChanged,
    Goal,
    ModelReply,
    Prompt,
    SessionContext,
    Title,
    ToolCall,
    ToolResult,
)
from baton_git.agents.registry import AGENTS

sessions = AGENTS["codex"].find_sessions

TIME = "2026-01-02T03:04:05Z"
SESSION = "01234567-89ab-7cde-8f01-23456789abcd"
GIT = {"commit_hash": "ab" * 20, "branch": "main"}
META = {"id": SESSION, "cwd": "/repo", "cli_version": "0.142.0", "source": "cli", "git": GIT}


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": TIME, "type": kind, "payload": payload}


def message(role: str, *texts: str, **more: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text} for text in texts], **more}


def message_line(role: str, *texts: str, **more: Any) -> dict[str, Any]:
    return line("response_item", **message(role, *texts, **more))


def call(name: str, arguments: Any, identity: str = "c1") -> dict[str, Any]:
    return {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": identity}


def output(text: Any, identity: str = "c1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": identity, "output": text}


def item(kind: str, **fields: Any) -> dict[str, Any]:
    return line("event_msg", type="item_completed", item={"type": kind, **fields})


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def reading(*records: Any) -> list[Event]:
        return list(events(write(tmp_path / "rollout-x.jsonl", *records)))

    return reading


def prompts(found: list[Event]) -> list[str]:
    return [prompt.text for prompt in only(Prompt, found)]


# --- the formats


def test_bare_lines_are_read(read):
    """Transcripts of version 0.20: without times and folder, with the model's input and output only."""
    found = read(
        {"id": SESSION, "timestamp": TIME, "instructions": None, "git": GIT},
        {"record_type": "state"},
        message("user", "<environment_context>\n<cwd>/repo</cwd>\n</environment_context>"),
        message("user", "fix it"),
        message("assistant", "On it."),
        call("shell", {"command": ["bash", "-lc", "ls"]}),
        output(json.dumps({"output": "a.txt\n", "metadata": {"exit_code": 0}})),
    )
    assert [type(one) for one in found] == [
        SessionContext,
        SessionContext,
        Prompt,
        ModelReply,
        ToolCall,
        ToolResult,
        EndReached,
    ]
    assert (found[0].session, found[0].branch, found[0].commit) == (SESSION, "main", "ab" * 20)
    assert found[1].cwd == "/repo"
    assert found[2][1:3] == (None, "fix it")
    assert found[4].arguments == {"command": ["bash", "-lc", "ls"]}
    assert (found[5].text, found[5].failed) == ("a.txt\n", False)


def test_lines_with_events_beside_them_are_read(read):
    """Transcripts of versions 0.42 to 0.142: a prompt is written first for the model, a reply first for the screen."""
    found = read(
        line("session_meta", **META),
        message_line("user", "<environment_context>x</environment_context>"),
        message_line("user", "fix it"),
        line("event_msg", type="user_message", message="fix it"),
        line("turn_context", cwd="/repo", model="gpt-5"),
        line("event_msg", type="agent_message", message="On it."),
        line("event_msg", type="token_count", info=None),
        message_line("assistant", "On it."),
        line("response_item", **call("exec_command", {"cmd": "apply_patch <<EOF"})),
        line("event_msg", type="patch_apply_end", call_id="c1", success=True, stdout="Success.", changes={
            "/repo/a.py": {"type": "update", "unified_diff": "@@", "move_path": "/repo/b.py"},
            "/repo/c.py": {"type": "add", "content": ""},
        }),
        line("response_item", **output("Wall time: 0.0 seconds\nOutput:\n" + json.dumps(
            {"output": "Success. Updated the following files:\nM a.py\n", "metadata": {"exit_code": 0}}
        ))),
    )  # fmt: skip
    assert [type(one) for one in found] == [
        SessionContext,
        Prompt,
        SessionContext,
        ModelReply,
        ToolCall,
        FilesChanged,
        ToolResult,
        EndReached,
    ]
    assert found[2].model == "gpt-5"
    assert found[3] == ModelReply(found[3].position, TIME, "On it.", "gpt-5")
    assert found[5].id == "c1"
    assert found[5].files == (FileChange("/repo/a.py", "update", "/repo/b.py"), FileChange("/repo/c.py", "add"))
    assert found[6].text == "Success. Updated the following files:\nM a.py\n"
    assert found[6].failed is False


def test_lines_with_items_are_read(read):
    """Transcripts of version 0.151 and later."""
    found = read(
        line("session_meta", **META),
        line("world_state", full=True),
        message_line("user", "fix it"),
        item("UserMessage", content=[{"type": "text", "text": "fix it"}]),
        item("AgentMessage", content=[{"type": "Text", "text": "On it."}]),
        message_line("assistant", "On it."),
        line("response_item", **call("exec_command", {"cmd": "git commit"})),
        item("CommandExecution", id="c1", command=["bash"], status="failed", exit_code=1, aggregated_output="no"),
        line("response_item", **output("Chunk ID: 1\nProcess exited with code 1\nOutput:\nno")),
        line("response_item", type="custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2"),
        item("FileChange", id="c2", status="completed", changes={"/repo/a": {"type": "delete"}}),
        line("response_item", **output("Exit code: 0\nWall time: 0 s\nOutput:\nSuccess.", "c2")),
    )
    assert [type(one) for one in found] == [
        SessionContext,
        Prompt,
        ModelReply,
        ToolCall,
        ToolResult,
        ToolCall,
        FilesChanged,
        ToolResult,
        EndReached,
    ]
    assert (found[4].text, found[4].failed, found[4].structured["exit_code"]) == ("no", True, 1)
    assert found[5].arguments == {"input": "*** Begin Patch"}
    assert found[6].files == (FileChange("/repo/a", "delete"),)
    assert found[7].failed is False


def test_the_code_of_a_patch_has_its_context_and_added_lines() -> None:
    lines = ("*** Update File: /repo/old_name.py", "@@ class Shop:", " def sell():", "-    old_price", "+    new_price")
    patch = "\n".join(["apply_patch <<'EOF'", "*** Begin Patch", *lines, "*** End Patch", "EOF"])
    assert find_patch_code(patch) == "class Shop:\ndef sell():\n    new_price"


def test_each_file_of_a_patch_has_its_own_code_and_removed_files_have_none():
    patch = (
        "*** Begin Patch\n*** Delete File: t.txt\n*** Update File: a.py\n*** Move to: b.py\n-def old():\n+def new():\n"
        "*** Add File: c.py\n+def other():\n*** Update File: d.py\n+x\n*** End Patch\n"
    )
    assert list_patched_files(patch) == ("t.txt", "a.py", "b.py", "c.py", "d.py")
    assert split_patch_code(patch) == ("", "", "def new():", "def other():", "x")
    assert list_removed_files(patch) == ("t.txt", "a.py")


def test_a_call_made_by_code_is_a_separate_call(read):
    """Code mode: the model calls `exec` with a program, and only the items show its effects."""
    found = read(
        line("response_item", type="custom_tool_call", name="exec", input="await tools.exec_command({})", call_id="c1"),
        item("CommandExecution", id="e1", command=["bash", "-lc", "ls"], cwd="file:///repo", exit_code=0,
             aggregated_output="a\n"),
        item("FileChange", id="e2", status="completed", changes={"/repo/a": {"type": "add"}}),
        line("response_item", type="custom_tool_call_output", call_id="c1", output=[
            {"type": "input_text", "text": "Script completed\nWall time 0.0 seconds\nOutput:\n"},
            {"type": "input_text", "text": "{}"},
        ]),
    )  # fmt: skip
    assert [(one.id, one.name, one.within) for one in only(ToolCall, found)] == [
        ("c1", "exec", None), ("e1", "shell", "c1"), ("e2", "apply_patch", "c1"),
    ]  # fmt: skip
    assert only(ToolCall, found)[1].arguments == {"command": ["bash", "-lc", "ls"], "workdir": "/repo"}
    assert [(one.id, one.failed) for one in only(ToolResult, found)] == [("e1", False), ("e2", False), ("c1", False)]
    assert only(FilesChanged, found)[0].files == (FileChange("/repo/a", "add"),)


# --- prompts


@pytest.mark.parametrize(
    "text",
    [
        "<user_instructions>x", "# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>", "<environment_context>x",
        "<permissions instructions>", "<turn_aborted>", "<skill>x", "<user_shell_command>ls", "<hook_prompt id=1>",
        "Warning: apply_patch was requested via shell.",
    ],
)  # fmt: skip
def test_text_of_the_program_in_the_persons_name_is_no_prompt(read, text):
    assert prompts(read(message("user", text), message("assistant", "x"))) == []


def test_prompts_without_a_screen_event_are_ignored_if_others_have_one(read):
    found = read(
        message_line("user", "fix it"),
        line("event_msg", type="user_message", message="fix it"),
        message_line("user", "an instruction of a kind that nobody knows yet"),
        message_line("assistant", "x"),
    )
    assert prompts(found) == ["fix it"]


def test_text_marked_as_not_typed_is_no_prompt(read):
    def kinds(kind: str) -> dict[str, Any]:
        return {"internal_chat_message_metadata_passthrough": {"content_item_kinds": [kind]}}

    assert prompts(read(message_line("user", "x", **kinds("hooks.additional_context")))) == []
    assert prompts(read(message_line("user", "x", **kinds("user.text")))) == ["x"]


def test_text_that_an_editor_adds_before_a_prompt_is_removed(read):
    text = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nfix it\n"
    assert prompts(read(line("event_msg", type="user_message", message=text))) == ["fix it"]


def test_a_prompt_without_a_screen_event_counts_if_no_prompt_has_one(read):
    assert prompts(read(message("user", "fix it"))) == ["fix it"]


def test_a_reply_that_only_a_screen_event_has_is_read(read):
    found = read(line("event_msg", type="agent_message", message="a"), line("event_msg", type="task_complete"))
    assert [one.text for one in only(ModelReply, found)] == ["a"]


# --- calls and results


@pytest.mark.parametrize(
    ("written", "text", "failed"),
    [
        ("Plan updated", "Plan updated", False),
        ("apply_patch verification failed: x", "apply_patch verification failed: x", True),
        ('error: Failed to find expected lines ["x"]', 'error: Failed to find expected lines ["x"]', True),
        ("something", "something", None),
        ({"type": "input_text", "text": "a"}, "a", None),
        (None, "", None),
        ("Chunk ID: 1\nProcess exited with code 3\nOutput:\n[main 1234567] x\n", "[main 1234567] x\n", True),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nok", "ok", False),
        ("Wall time: 1 seconds\nProcess running with session ID 4\nOutput:\nok", "ok", None),
        (json.dumps({"output": "x", "metadata": {"exit_code": 2}}), "x", True),
        ("Script failed\nWall time 0.0 seconds\nOutput:\nx", "x", True),
    ],
)
def test_an_output_is_read_without_its_wrapper(read, written, text, failed):
    result = only(ToolResult, read(output(written)))[0]
    assert (result.text, result.failed) == (text, failed)


@pytest.mark.parametrize(
    ("record", "name", "arguments"),
    [
        (call("update_plan", {"plan": []}), "update_plan", {"plan": []}),
        ({"type": "function_call", "name": "f", "arguments": "cut {", "call_id": "c"}, "f", {"input": "cut {"}),
        ({"type": "custom_tool_call", "name": "shell", "input": '{"command":["ls"]}'}, "shell", {"command": ["ls"]}),
        ({"type": "local_shell_call", "action": {"command": ["ls"]}}, "local_shell", {"command": ["ls"]}),
    ],
)
def test_the_arguments_of_a_call_are_a_table(read, record, name, arguments):
    found = only(ToolCall, read(record))[0]
    assert (found.name, found.arguments) == (name, arguments)


def test_a_patch_that_failed_changed_nothing(read):
    change = {"changes": {"/repo/a": {"type": "add"}}}
    found = read(
        line("event_msg", type="patch_apply_end", call_id="c1", success=False, **change),
        item("FileChange", id="c2", status="failed", **change),
    )
    assert only(FilesChanged, found) == []
    assert [one.failed for one in only(ToolResult, found)] == [True, True]


def test_a_server_tool_called_by_code_is_read(read):
    found = read(line("event_msg", type="mcp_tool_call_end", call_id="m1", invocation={
        "server": "baton", "tool": "load", "arguments": {"x": 1}
    }, result={"Ok": {"content": [{"type": "text", "text": "hi"}], "isError": False}}))  # fmt: skip
    assert only(ToolCall, found)[0][3:5] == ("mcp__baton__load", {"x": 1})
    assert (only(ToolResult, found)[0].text, only(ToolResult, found)[0].failed) == ("hi", False)


# --- the rest


def test_a_compaction_does_not_repeat_the_prompts(read):
    found = read(
        {**message_line("assistant", "the summary"), "metadata": {"compaction_output": True}},
        line("compacted", message="the summary", replacement_history=[message("user", "old")]),
    )
    assert [type(one) for one in found] == [Compaction, EndReached]
    assert found[0].summary == "the summary"


def test_goals_and_names_of_threads_are_read(read):
    found = read(
        line("event_msg", type="thread_goal_updated", goal={"objective": "ship", "status": "active"}),
        line("event_msg", type="thread_name_updated", thread_name="Shipping"),
    )
    assert only(Goal, found)[0][2:] == ("ship", "active")
    assert only(Title, found)[0].text == "Shipping"


def test_a_fork_is_the_session_of_its_first_record(read):
    found = read(line("session_meta", **{**META, "forked_from_id": "p"}), line("session_meta", **{**META, "id": "p"}))
    assert [(one.session, one.parent) for one in only(SessionContext, found)] == [(SESSION, "p")]


def test_a_file_that_goes_on_from_itself_is_read_once(tmp_path):
    base = {"thread_id": SESSION, "end_ordinal_exclusive": 9}
    first = line("session_meta", **META, history_base=base) | {"ordinal": 1}
    said = [line("event_msg", type="user_message", message=text) | {"ordinal": at} for at, text in enumerate("ab", 2)]
    path = write(tmp_path / f"rollout-2026-11-28T08-43-02-{SESSION}.jsonl", first, *said)
    assert [prompt.text for prompt in only(Prompt, [*events(path)])] == ["a", "b"]


def test_reading_continues_where_it_ended(tmp_path):
    path = write(tmp_path / "a", line("session_meta", **META), line("event_msg", type="user_message", message="one"))
    *_, end = events(path)
    assert isinstance(end, EndReached)
    more = write(tmp_path / "b", "x", line("event_msg", type="user_message", message="two"))
    path.write_bytes(path.read_bytes() + more.read_bytes())
    found = list(events(path, end))
    assert prompts(found) == ["two"]
    assert found[-1].unread == 1


def test_records_of_codex_are_recognised():
    assert recognises(line("session_meta", **META))
    assert recognises({"id": "x", "timestamp": TIME, "instructions": None})
    assert recognises({"record_type": "state"})
    assert not recognises({"type": "session_meta"})
    assert not recognises({"type": "user", "message": {}})


def test_sessions_are_found_newest_first_without_those_of_subagents(tmp_path):
    folder = tmp_path / ".codex/sessions/2026/01/02"
    name = f"rollout-2026-01-02T03-04-05-{SESSION}.jsonl"
    first = write(folder / name, line("session_meta", **META))
    second = write(tmp_path / ".codex/archived_sessions" / name, "garbage")
    write(folder / "rollout-sub.jsonl", line("session_meta", **{**META, "source": {"subagent": "review"}}))
    os.utime(first, (1, 1))
    assert [tuple(one[:3]) for one in sessions(tmp_path, {})] == [
        (second, SESSION, None),
        (first, SESSION, "/repo"),
    ]
    moved = (tmp_path / ".codex").rename(tmp_path / "elsewhere")
    assert len(list(sessions(tmp_path, {"CODEX_HOME": str(moved)}))) == 2
