"""Detect which agent wrote a file; no file, however damaged, stops the reading."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcript_files import write

from baton_git.agents.events import EndReached
from baton_git.agents.extraction.extracting import detect_agent
from baton_git.agents.launcher import Launcher
from baton_git.agents.registry import AGENTS, HookSettings
from baton_git.agents.transcripts import TranscriptFormat
from baton_git.core.errors import InvalidDocument, NotFound

CLAUDE = {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": "x"}}
CODEX = {"type": "session_meta", "timestamp": "t", "payload": {"id": "s"}}
CODEX_BARE = {"id": "s", "timestamp": "t", "instructions": None}
GEMINI = {"sessionId": "s", "projectHash": "p", "startTime": "t"}


@pytest.mark.parametrize(
    ("records", "name"),
    [
        ([CLAUDE], "claude"),
        ([{"type": "file-history-snapshot", "snapshot": {}}, CLAUDE], "claude"),
        ([{"type": "last-prompt", "sessionId": "s"}], "claude"),
        (["garbage", {"silly": 1}, CLAUDE], "claude"),
        (['{"silly":1}' + json.dumps(CLAUDE)], "claude"),
        ([CODEX], "codex"),
        ([CODEX_BARE], "codex"),
        ([GEMINI], "gemini"),
        ([{**GEMINI, "messages": []}], "gemini"),
        ([json.dumps({**GEMINI, "messages": []}, indent=2)], "gemini"),
    ],
)
def test_the_agent_of_a_transcript_is_detected(tmp_path, records, name):
    assert detect_agent(write(tmp_path / "a", *records)) == name


@pytest.mark.parametrize(
    "records", [["garbage"], [{"a": 1}], ["# Title", "text"], [{"x": 1}] * 50 + [CLAUDE], [[CLAUDE]]]
)
def test_a_file_of_no_agent_is_refused_and_named(tmp_path, records):
    with pytest.raises(InvalidDocument, match="notes: is not a transcript of claude, codex or gemini"):
        detect_agent(write(tmp_path / "notes", *records))


def test_an_empty_file_is_refused_as_empty(tmp_path):
    with pytest.raises(InvalidDocument, match="a: is empty"):
        detect_agent(write(tmp_path / "a"))


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(NotFound):
        detect_agent(tmp_path / "nowhere")


@pytest.mark.parametrize("name", AGENTS)
def test_the_modules_of_an_agent_have_the_functions_that_the_shared_code_calls(name):
    cli = AGENTS[name]
    for module, interface in ((cli.transcript, TranscriptFormat), (cli.launcher, Launcher)):
        for function, declared in vars(interface).items():
            if not function.startswith("_"):
                wanted = list(inspect.signature(declared).parameters)[1:]
                assert list(inspect.signature(getattr(module, function)).parameters) == wanted, f"{name}: {function}"
    assert (cli.name, type(cli.hooks)) == (name, HookSettings)
    assert list(cli.hooks.find_switches({})) == []


@pytest.mark.parametrize("name", AGENTS)
def test_missing_folders_have_no_sessions(tmp_path, name):
    assert list(AGENTS[name].find_sessions(tmp_path, {})) == []


@pytest.mark.parametrize("name", AGENTS)
def test_an_empty_transcript_has_only_an_end_event(tmp_path, name):
    [end] = AGENTS[name].transcript.events(write(tmp_path / "a"))
    assert isinstance(end, EndReached)
    assert end[:2] == ((1, 0), 0)


KEYS = (
    "type", "message", "content", "payload", "item", "role", "text", "id", "call_id", "name", "input", "arguments",
    "output", "changes", "status", "toolCalls", "result", "args", "$set", "$rewindTo", "messages", "sessionId",
    "projectHash", "cwd", "git", "source", "isMeta", "origin", "attachment", "toolUseResult", "gitOperation", "commit",
    "sha", "functionResponse", "response", "uuid", "tool_use_id", "timestamp", "metadata", "goal", "invocation",
    "internal_chat_message_metadata_passthrough", "content_item_kinds", "displayContent", "resultDisplay", "exit_code",
)  # fmt: skip
WORDS = (
    "user", "assistant", "attachment", "text", "tool_use", "tool_result", "session_meta", "response_item", "event_msg",
    "turn_context", "compacted", "message", "function_call", "function_call_output", "item_completed", "FileChange",
    "CommandExecution", "McpToolCall", "patch_apply_end", "user_message", "agent_message", "thread_goal_updated",
    "gemini", "success", "run_shell_command", "queued_command", "x", "", "{}", '{"output":"x"}', "<command-message>",
)  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)
RECORD = st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=8)


@settings(max_examples=40, deadline=None)
@given(records=st.lists(RECORD, max_size=4))
def test_fields_of_the_wrong_type_do_not_stop_the_reading(tmp_path_factory, records: list[dict[str, Any]]):
    path = write(Path(tmp_path_factory.getbasetemp()) / "odd.jsonl", *records)
    for agent in (cli.transcript for cli in AGENTS.values()):
        *_, end = agent.events(path)
        assert isinstance(end, EndReached)
        assert all(isinstance(agent.recognises(record), bool) for record in records)
