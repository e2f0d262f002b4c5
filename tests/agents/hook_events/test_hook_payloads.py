"""The payloads and replies of hooks, for the three agent CLIs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each

from baton_git.agents.hook_events.payloads import (
    COMPACT,
    END,
    EVENT_KINDS,
    MAX_BYTES,
    PROMPT,
    START,
    STOP,
    Payload,
    fits,
    make_empty_reply,
    parse,
    reply,
)

COMMON = {"session_id": "s1", "transcript_path": "/h/.claude/projects/p/s1.jsonl", "cwd": "/repo"}


def make_input(event: str, **more: object) -> str:
    return json.dumps({**COMMON, "hook_event_name": event, **more})


@for_each(
    ("event", "more", "kind", "detail"),
    [
        ("SessionStart", {"source": "compact"}, START, "compact"),
        ("PreCompact", {"trigger": "auto"}, COMPACT, "auto"),
        ("PreCompress", {"trigger": "manual"}, COMPACT, "manual"),
        ("SessionEnd", {"reason": "clear"}, END, "clear"),
        ("Stop", {}, STOP, ""),
        ("AfterAgent", {}, STOP, ""),
        ("UserPromptSubmit", {}, PROMPT, ""),
        ("BeforeAgent", {}, PROMPT, ""),
    ],
)
def test_the_events_of_all_agents_are_of_five_kinds(event, more, kind, detail):
    payload = parse(make_input(event, **more), "claude", {})
    assert payload is not None
    assert (payload.kind, payload.detail, payload.session, payload.cwd) == (kind, detail, "s1", "/repo")


@for_each("text", ["", "nothing", "[]", "7", "null", '{"hook_event_name": "Stop"}', '{"session_id": "s"}', "[" * 5000])
def test_invalid_input_is_ignored(text):
    assert parse(text, "claude", {}) is None


def test_an_unhandled_event_is_ignored():
    assert parse(make_input("PreToolUse"), "claude", {}) is None


@for_each(
    ("more", "environment", "agent"),
    [
        ({"timestamp": "2026-01-01T00:00:00Z"}, {}, "gemini"),
        ({}, {"GEMINI_SESSION_ID": "x"}, "gemini"),
        ({"transcript_path": "/h/.codex/sessions/2026/01/01/rollout-x.jsonl"}, {}, "codex"),
        ({"transcript_path": "/elsewhere/rollout-x.jsonl"}, {}, "codex"),
        ({"transcript_path": None, "turn_id": "t"}, {}, "codex"),
        ({}, {}, "claude"),
    ],
)
def test_the_payload_names_the_agent_by_default(more, environment, agent):
    payload = parse(make_input("Stop", **more), None, environment)
    assert payload is not None
    assert payload.agent == agent


def test_text_added_by_hooks_is_not_a_prompt():
    payload = parse(make_input("BeforeAgent", prompt="<hook_context>old</hook_context>\n\nfix it"), "gemini", {})
    assert payload is not None
    assert payload.prompt == "fix it"


@pytest.mark.parametrize("more", [{"agent_id": "a1"}, {"prompt": "<task-notification>\ndone</task-notification>"}])
def test_subagents_and_background_tasks_are_aside(more):
    payload = parse(make_input("UserPromptSubmit", **more), "claude", {})
    assert payload is not None
    assert payload.aside


def make_reply(agent: str, event: str, context: str = "", block: str | None = None) -> str:
    return reply(Payload(agent, event, EVENT_KINDS[event], "s"), context, block)


@for_each("agent", ["claude", "codex"])
@for_each("event", ["PreCompact", "Stop", "SessionEnd"])
def test_events_that_only_save_print_nothing(agent, event):
    assert make_reply(agent, event, context="never") == ""


@for_each("event", ["PreCompress", "AfterAgent", "SessionEnd", "SessionStart", "BeforeAgent"])
def test_gemini_always_gets_a_json_object(event):
    assert make_reply("gemini", event) == "{}"
    assert make_empty_reply("gemini") == "{}"


@for_each(
    ("more", "environment", "is_copilot"),
    [
        ({"source": "new"}, {}, True),
        ({"initial_prompt": "go"}, {}, True),
        ({"source": "resume"}, {"COPILOT_CLI": "1"}, True),
        ({"source": "resume"}, {"COPILOT_CLI": "1", "CLAUDE_CODE_SESSION_ID": "another"}, True),
        ({"source": "resume"}, {"COPILOT_CLI": "1", "CLAUDE_CODE_SESSION_ID": "s1"}, False),
        ({"timestamp": "2026-11-28T08:36:15.086Z", "transcript_path": None, "prompt": "go"}, {}, True),
        ({"transcript_path": "/home/ada/.copilot/session-state/4f3dfd2e/events.jsonl"}, {}, True),
        ({"source": "startup"}, {}, False),
        ({"source": "startup", "timestamp": "2026-11-28T08:36:15.086Z"}, {}, False),
    ],
)
def test_copilot_which_runs_the_hooks_of_claude_is_left_alone(more, environment, is_copilot):
    assert (parse(make_input("SessionStart", **more), "claude", environment) is None) is is_copilot
    assert parse(make_input("SessionStart", **more), "codex", environment) is not None


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "BeforeAgent"])
def test_context_is_returned_under_the_name_of_the_event(event):
    output = {"hookEventName": event, "additionalContext": "the context – ü"}
    assert json.loads(make_reply("codex", event, "the context – ü")) == {"hookSpecificOutput": output}


def test_a_workflow_can_keep_an_agent_from_stopping():
    assert json.loads(make_reply("claude", "Stop", block="not yet")) == {"decision": "block", "reason": "not yet"}
    assert make_reply("claude", "SessionEnd", block="not yet") == ""


@given(st.text(max_size=4000))
def test_text_is_limited_in_bytes_and_in_utf_16_units(text):
    payload = Payload("claude", "SessionStart", START, "s")
    if fits(payload, text):
        printed = reply(payload, text).encode("utf-8", "replace")
        assert len(printed) <= MAX_BYTES
        assert len(text.encode("utf-16-le", "replace")) // 2 <= MAX_BYTES


@given(st.binary(max_size=300))
def test_no_input_crashes(raw):
    parse(raw.decode("utf-8", "replace"), None, {})
