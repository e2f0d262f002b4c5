"""The work of subagents counts as the session's; their prompts and answers do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transcript_sessions import HERE, Claude, lines

from baton_git.agents.extraction.extracting import Extraction, extract
from baton_git.agents.registry import AGENTS
from baton_git.systems.gobby.loops import LoopLimits, LoopTurn, write_context


def make_subagent() -> list[Any]:
    helper = Claude("2.1")
    helper.user("You are a helper: write the parser", isSidechain=True)
    edit = {"file_path": f"{HERE}/parser.py", "content": "def parse():"}
    helper.call("Write", edit, "toolu_w", isSidechain=True)
    helper.result("toolu_w", "ok", isSidechain=True)
    helper.call("Bash", {"command": "git commit -m 'Add parser'"}, "toolu_c", isSidechain=True)
    helper.result("toolu_c", "[main 7654321] Add parser", isSidechain=True)
    return [{**record, "uuid": f"s{record['uuid']}"} for record in helper.records]


def make_parent() -> Claude:
    parent = Claude("2.1")
    parent.user("Write a parser")
    parent.run("Task", {"description": "parser", "subagent_type": "worker"}, "Done.")
    parent.say("It is written.")
    return parent


def check_facts(extraction: Extraction, file: str) -> None:
    facts = extraction.facts
    assert facts["initial_goal"] == "Write a parser"
    assert "latest_prompts" not in facts
    assert facts["last_answer"]["text"] == "It is written."
    assert facts["files_modified"] == [f"{HERE}/parser.py"]
    assert facts["sources"]["files_modified"][0]["file"] == file
    [commit] = facts["git_commits"]
    assert (commit["hash"], commit["message"], commit["found"]) == ("7654321", "Add parser", "subagent")
    [use] = facts["files_used"]
    assert use == {"path": f"{HERE}/parser.py", "changes": 1, "found": "subagent", "names": ["parse"]}


@pytest.mark.parametrize("place", ["c-1/subagents/agent-1.jsonl", "agent-1.jsonl"])
def test_the_transcripts_of_subagents_are_read(tmp_path: Path, place: str) -> None:
    path, file, memory = tmp_path / "c-1.jsonl", tmp_path / place, tmp_path / "memory"
    path.write_bytes(lines(make_parent().records))
    assert extract(path, memory=memory).facts["files_modified"] == []
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(lines(make_subagent()))
    check_facts(extract(path, memory=memory), "agent-1.jsonl")
    file.unlink()  # the facts known so far are kept
    check_facts(extract(path, memory=memory), "agent-1.jsonl")


def test_a_subagent_of_another_session_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "c-1.jsonl"
    path.write_bytes(lines(make_parent().records))
    (tmp_path / "agent-1.jsonl").write_bytes(lines([{**one, "sessionId": "other"} for one in make_subagent()]))
    assert extract(path).facts["files_modified"] == []


def test_subagents_of_codex_and_gemini_are_found(tmp_path: Path) -> None:
    own, child, other = (tmp_path / f"rollout-2026-01-01T00-00-0{n}-x.jsonl" for n in range(3))
    for path, parent in ((own, None), (child, "t-1"), (other, "t-2")):
        source = {"subagent": {"thread_spawn": {}}} if parent else "cli"
        payload = {"id": path.stem[-3:], "cwd": HERE, "source": source, "parent_thread_id": parent}
        path.write_text(json.dumps({"type": "session_meta", "timestamp": "", "payload": payload}) + "\n")
    assert list(AGENTS["codex"].launcher.subagents(own, "t-1")) == [child]
    chats = tmp_path / "chats"
    (chats / "g-1").mkdir(parents=True)
    (chats / "g-1" / "sub.jsonl").write_text("{}\n")
    assert list(AGENTS["gemini"].launcher.subagents(chats / "session-1.jsonl", "g-1")) == [chats / "g-1/sub.jsonl"]
    assert list(AGENTS["gemini"].launcher.subagents(chats / "session-1.jsonl", "..")) == []


# --- noise


def test_calls_of_baton_are_no_activity(tmp_path: Path) -> None:
    session = Claude("2.1")
    session.user("Do it")
    for command in ("baton todo add x", "/usr/bin/baton read", "make batons"):
        session.run("Bash", {"command": command}, "ok")
    session.run("mcp__baton__load_state", {}, "{}")
    path = tmp_path / "c-1.jsonl"
    path.write_bytes(lines(session.records))
    assert extract(path).facts["recent_activity"] == ["Ran: make batons"]


@pytest.mark.parametrize("wrap", ["{}\n\n{}", "{1}\n\n{0}", "{}\n\n<stdin>\n{}\n</stdin>"])
def test_the_instructions_of_loop_run_are_no_goal(tmp_path: Path, wrap: str) -> None:
    last = LoopTurn("exited", "I did half.\n\nMore tomorrow.")
    for context in (write_context(1, LoopLimits(), None), write_context(2, LoopLimits(), last)):
        session = Claude("2.1")
        session.user(wrap.format("Fix all tests", context))
        path = tmp_path / "c-1.jsonl"
        path.write_bytes(lines(session.records))
        assert extract(path).facts["initial_goal"] == "Fix all tests"
