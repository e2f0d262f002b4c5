"""The first start after a session was killed, as processes: a hook, `baton boot`, and the boot of an MCP client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from default_run import slow_after
from hooked_sessions import Session, context
from waiting import until

from baton_git.interfaces.hook.catch_up import MAX_UNREAD

DONE, KILLED, NEXT = (f"{digit * 8}-0000-4000-8000-000000000001" for digit in "942")

Baton = Callable[..., Any]
Send = Callable[..., Any]
Kill = Callable[[str], Session]


@pytest.fixture
def send(repo: Path, tmp_path: Path) -> Send:
    """Send an event of an agent's process, which has ended when the event's hook has."""

    def call(event: str, session: str, **more: str) -> Any:
        payload = {
            "session_id": session, "transcript_path": str(Session(tmp_path, repo, session).path), "cwd": str(repo),
            "hook_event_name": event, **more,
        }  # fmt: skip
        agent = f"{sys.executable} -m baton_git hook --agent claude; true"
        done = subprocess.run(
            ["sh", "-c", agent], input=json.dumps(payload).encode(), capture_output=True, cwd=repo, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout) if done.stdout else None

    return call


@pytest.fixture
def kill(send: Send, tmp_path: Path, repo: Path) -> Kill:
    """Run a session that is killed before its turn ends."""

    def call(answer: str) -> Session:
        send("SessionStart", KILLED, source="startup")
        send("UserPromptSubmit", KILLED, prompt="Write the lexer")
        return work(Session(tmp_path, repo, KILLED), "Write the lexer", "lexer.py", answer)

    return call


def work(session: Session, prompt: str, file: str, answer: str) -> Session:
    session.say("user", prompt)
    session.call("Write", {"file_path": str(session.repo / file), "content": "x"})
    session.say("assistant", [{"type": "text", "text": answer}])
    return session


def assert_leads(brief: str) -> None:
    first = next(line for line in brief.splitlines() if line.startswith("## "))
    assert f"Handed off by claude session {KILLED[:8]}" in first
    for fact in ("| - Write the lexer", "| Half done, next the tokens.", "lexer.py (changed)"):
        assert fact in brief


def test_boot_tells_a_killed_session_without_an_earlier_handoff(kill: Kill, send: Send, baton: Baton) -> None:
    kill("Half done, next the tokens.")
    assert_leads(baton("boot").out)
    assert_leads(baton("boot").out)
    assert baton("status", "--json").json["gone_sessions"] == []
    assert_leads(context(send("SessionStart", NEXT, source="startup")))


@pytest.mark.parametrize("way", slow_after(1, ["startup", "resume", "boot"]))
def test_a_killed_session_is_told_before_one_that_had_ended_earlier(
    kill: Kill, send: Send, baton: Baton, tmp_path: Path, repo: Path, way: str
) -> None:
    send("SessionStart", DONE, source="startup")
    work(Session(tmp_path, repo, DONE), "Write the parser", "parser.py", "It is done.")
    send("SessionEnd", DONE, reason="other")
    kill("Half done, next the tokens.")
    if way == "boot":
        assert_leads(baton("boot").out)
    else:
        started = send("SessionStart", DONE if way == "resume" else NEXT, source=way)
        assert_leads(context(started))


def test_a_session_that_ended_after_the_kill_is_told_first(kill: Kill, send: Send, tmp_path: Path, repo: Path) -> None:
    send("SessionStart", DONE, source="startup")
    session = kill("Half done, next the tokens.")
    work(Session(tmp_path, repo, DONE), "Write the parser", "parser.py", "It is done.")
    send("SessionEnd", DONE, reason="other")
    past = session.path.stat().st_mtime - 3600
    os.utime(session.path, (past, past))
    state = repo / ".git" / "baton" / "agents" / f"claude-{KILLED}.json"
    state.write_text(json.dumps({**json.loads(state.read_text()), "seen": "2020-01-01T00:00:00.000Z"}))
    brief = context(send("SessionStart", NEXT, source="startup"))
    assert f"Handed off by claude session {DONE[:8]}" in brief
    assert brief.index("| It is done.") < brief.index("Write the lexer")


def test_a_long_transcript_is_read_in_the_background_and_the_brief_says_so(
    kill: Kill, send: Send, baton: Baton, repo: Path
) -> None:
    session = kill("Half done, next the tokens.")
    with session.path.open("a") as file:
        file.write("x" * MAX_UNREAD + "\n")  # no record, so that reading it costs nothing
    started = context(send("SessionStart", NEXT, source="startup"))
    assert f"claude session {KILLED[:8]} ended without a hook event" in started
    assert "are being read in the background" in started
    until(lambda: f"claude/{KILLED[:8]}" in baton("handoff", "list").out, seconds=30)
    assert_leads(baton("boot").out)
