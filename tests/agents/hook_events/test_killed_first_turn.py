"""A session that is killed in its first turn, before or after the agent CLI wrote its prompt to the transcript.

Gemini CLI 0.61 begins the transcript with its head and the context of the session, and Codex 0.171 with `session_meta`;
the prompt is written after the hook that receives it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hooked_sessions import NEW, OLD, context, transcript

from baton_git.agents.hook_events.hook_session import HookSessionStore

TIME = "2026-11-28T08:45:10.756Z"
HEAD = {"sessionId": OLD, "projectHash": "p", "startTime": TIME, "lastUpdated": TIME, "kind": "main"}
SETTING = {"id": "m0", "timestamp": TIME, "type": "user", "content": [{"text": "<session_context>"}]}
ASKED = {"id": "m1", "timestamp": TIME, "type": "user", "content": [{"text": "Deploy the shop"}]}
CALL = {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}, "status": "executing", "timestamp": TIME}
AT_WORK = {"id": "m2", "timestamp": TIME, "type": "gemini", "content": "", "model": "g", "toolCalls": [CALL]}
GEMINI = [HEAD, {"$set": {"messages": [SETTING]}}, ASKED, AT_WORK]
CODEX = [{"timestamp": TIME, "type": "session_meta", "payload": {"id": OLD}}]
CLAUDE = [{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False}]


def save(tmp_path: Path, records: list[dict[str, Any]]) -> None:
    path = transcript(tmp_path, OLD)
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


@pytest.mark.parametrize(
    ("agent", "event", "before", "after"),
    [
        ("gemini", "BeforeAgent", [], GEMINI[:1]), ("gemini", "BeforeAgent", GEMINI[:2], GEMINI[:2]),
        ("gemini", "BeforeAgent", GEMINI[:2], GEMINI[:3]), ("gemini", "BeforeAgent", GEMINI[:2], GEMINI),
        ("codex", "UserPromptSubmit", CODEX, CODEX), ("claude", "UserPromptSubmit", CLAUDE, CLAUDE),
    ],
)  # fmt: skip
def test_the_prompt_of_a_session_that_was_killed_in_its_first_turn_is_told(
    hook, repo, tmp_path, agent, event, before, after
):
    if before:
        save(tmp_path, before)
    hook("SessionStart", agent=agent, source="startup")
    hook(event, agent=agent, prompt="Deploy the shop")
    save(tmp_path, after)
    memory = HookSessionStore(str(repo / ".git"))
    seen = memory.get(agent, OLD)
    assert seen is not None
    memory.save(seen._replace(pid=0))  # it was killed
    told = context(hook("SessionStart", NEW, source="startup"))
    assert told.count("Deploy the shop (no answer: the session ended before it)") == 1


@pytest.mark.parametrize("before", [[], [{"v": 9, "what": "head"}]])
def test_a_transcript_that_was_not_understood_is_no_session_without_an_answer(hook, repo, tmp_path, before):
    if before:
        save(tmp_path, before)
    hook("SessionStart", source="startup")
    hook("UserPromptSubmit", prompt="Deploy the shop")
    save(tmp_path, [{"v": 9, "what": "said", "body": "Deployed."}] * 5)
    hook("SessionEnd", reason="exit")
    assert "records seen 5, understood 0" in (repo / ".git" / "baton" / "agents.log").read_text()
    assert "no answer" not in context(hook("SessionStart", NEW, source="startup"))


def test_a_first_prompt_that_was_taken_back_is_not_told(hook, repo, tmp_path):
    asked, answer, left = (
        {"type": "user_message", "message": "Déploie “the shop”\n"},
        {"type": "agent_message", "message": "Deployed."},
        {"type": "thread_rolled_back", "num_turns": 1},
    )
    save(tmp_path, CODEX)
    hook("SessionStart", agent="codex", source="startup")
    hook("UserPromptSubmit", agent="codex", prompt=asked["message"])
    path = transcript(tmp_path, OLD)
    with path.open("a", encoding="utf-8") as file:
        for payload in (asked, answer, left):
            line = {"timestamp": TIME, "type": "event_msg", "payload": payload}
            file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
    hook("SessionEnd", agent="codex", reason="other")
    assert "Déploie" not in context(hook("SessionStart", NEW, source="startup"))


def test_the_first_prompt_is_not_noted_beside_a_transcript_with_a_past(hook, repo, tmp_path):
    records = [{**ASKED, "id": f"m{number}", "content": [{"text": "x" * 1000}]} for number in range(300)]
    save(tmp_path, [HEAD, *records])
    hook("SessionStart", agent="gemini", source="resume")
    hook("BeforeAgent", agent="gemini", prompt="Deploy the shop")
    assert not Path(HookSessionStore(str(repo / ".git")).path("gemini", OLD, ".first")).exists()
