"""The tools of `baton mcp`, called by a client in memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.interfaces.mcp.server import UnansweredCalls
from baton_git.verbs.upkeep.extras import describe_install


def test_a_session_uses_the_tools_from_boot_to_wrap(call, baton):
    begun = call("boot", session="s1")
    assert begun["session"] == "s1"
    loop = call("loop_add", action="Sent it", expect="it is there", verify={"method": "file_exists", "path": "readme"})
    later = call("followup_add", item="Look again", reason="no time", priority="elevated")
    choice = call("decision_add", what="Use X", why="because", rejected=["Y: slow"])
    again = call("pattern_record", what="Assumed", context="here")
    assert call("loop_verify", id=loop["id"])["checks"][loop["id"]]["result"] == "passed"
    ended = call("wrap", context="All is well", summary="tried it")
    assert ended["session"] == "s1"
    state = baton("read").json["baton"]
    assert state["context"] == "All is well"
    assert [state[name][0]["id"] for name in ("open_loops", "follow_ups", "patterns", "active_decisions")] == [
        loop["id"], later["id"], again["id"], choice["id"],
    ]  # fmt: skip
    assert state["active_decisions"][0]["source_tier"] == "llm_derived"


def test_changes_appear_in_the_status_and_the_log(call):
    call("boot", session="s1")
    made = call("followup_add", item="Later")
    found = call("status")
    assert found["follow_ups"] == {"normal": 1}
    assert [session["id"] for session in found["active_sessions"]] == ["s1"]
    (newest,) = call("log", limit=1)["commits"]
    assert newest["session"] == "s1"
    assert newest["revision"] == made["revision"]
    assert [one["revision"] for one in call("log", record=made["id"])["commits"]] == [made["revision"]]


def test_an_unapproved_check_is_unknown(call):
    made = call("loop_add", action="a", expect="b", verify={"method": "command", "argv": ["true"]})
    assert call("loop_verify", id=made["id"])["checks"][made["id"]]["result"] == "unknown"


def test_the_session_is_the_named_one_or_that_of_the_agent_or_the_one_that_booted_here(call, top, monkeypatch):
    def session_of(**arguments: Any) -> str:
        call("pattern_record", what="x", **arguments)
        return call("log", limit=1)["commits"][0]["session"]

    call("boot", session="booted")
    assert session_of() == "booted"
    monkeypatch.setenv("GEMINI_SESSION_ID", "of-gemini")
    assert session_of() == "booted"  # that session is unknown here: no hook has seen it
    HookSessionStore(str(top / ".git")).save(HookSession("gemini", "of-gemini"))
    assert session_of() == "of-gemini"
    assert call("log", limit=1)["commits"][0]["agent"] == "gemini"
    monkeypatch.setenv("BATON_SESSION", "of-baton")
    assert session_of() == "of-baton"
    assert session_of(session="named") == "named"


def test_a_missing_handoff_is_reported(call):
    assert "there is no handoff" in call("handoff_show", error=True)
    assert "there is no handoff 'claude/x'" in call("handoff_show", error=True, id="claude/x")


@pytest.mark.slow
def test_standard_output_has_only_the_protocol_and_all_answers(top):
    messages = [
        {"id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "boot", "arguments": {"session": "s1"}}},
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "baton_git", "mcp"], cwd=top, env=dict(os.environ), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    given = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in messages)
    printed, errors = process.communicate(given, timeout=30)
    answers = [json.loads(line) for line in printed.splitlines()]
    assert [one["id"] for one in answers] == [1, 2]
    assert answers[1]["result"]["structuredContent"]["session"] == "s1"
    assert "Traceback" not in errors
    assert process.returncode == 0


def test_at_the_end_of_the_input_only_calls_that_do_not_ask_the_client_are_waited_for():
    async def run() -> None:
        calls = UnansweredCalls()
        calls.note_received(SimpleNamespace(method="tools/call", id=1))
        calls.note_received(SimpleNamespace(method="tools/call", id=2))
        calls.note_sent(SimpleNamespace(method="elicitation/create", id=1))
        async with anyio.create_task_group() as group:
            group.start_soon(calls.wait)
            await anyio.sleep(0)
            calls.note_sent(SimpleNamespace(id=2))
        calls.note_received(SimpleNamespace(id=1))
        with anyio.move_on_after(0.01) as waiting:
            await calls.wait()
        assert waiting.cancelled_caught
        calls.note_received(SimpleNamespace(method="notifications/cancelled", params={"requestId": 1}))
        await calls.wait()

    anyio.run(run)


def test_without_the_sdk_the_error_names_the_extra_to_install(baton, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = baton("mcp", code=1)
    assert done.out == ""
    said, command = done.err.splitlines()
    assert said == "baton: baton mcp needs the MCP SDK"
    assert " install " in command
    assert "'mcp" in command


def test_the_packages_of_an_extra_are_installed_where_baton_is(monkeypatch):
    command = describe_install("http", "mcp")
    assert sys.executable in command
    monkeypatch.setattr("sys.prefix", "/home/ada/.local/share/pipx/venvs/baton-git")
    assert describe_install("http", "mcp").startswith("pipx inject baton-git ")
    assert {"starlette", "mcp"} <= {re.split("[<>=]", word)[0].strip("'") for word in command.split()}
