"""Facts of a session: gathered, stored, and found again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transcript_sessions import GOAL, SESSIONS, Claude, lines
from world import NOW, later, stored

from baton_git.agents.extraction import Options
from baton_git.agents.extraction.extracting import Extraction, extract
from baton_git.agents.sessions.handoff_index import find_last_handoff, list_continued, read_handoff, resolve_handoff
from baton_git.agents.sessions.handoff_store import cut_text, gather_facts, store_handoff
from baton_git.core.errors import Ambiguous, NotFound
from baton_git.core.policy import Policy
from baton_git.core.records.base import parse
from baton_git.core.records.handoff import Handoff
from baton_git.core.records.lineage import Todo
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.work_items.todos import replace_todos


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(SESSIONS["claude-2.1"][1])
    return path


def change_facts(extraction: Extraction, **changes: Any) -> Extraction:
    return replace(extraction, facts={**extraction.facts, **changes})


def test_facts_are_stored_by_agent_and_session(ws, transcript):
    written = store_handoff(ws, NOW, gather_facts(ws, NOW, transcript), trigger="pre_compact", notes="Go on")
    assert written is not None
    kept = read_handoff(ws.branch.read().state, "claude/c-1")
    assert kept is not None
    assert (kept.facts.initial_goal, kept.trigger, kept.machine, kept.notes) == (GOAL, "pre_compact", "laptop", "Go on")
    assert (kept.worktree, kept.branch, kept.started) == ("/work/shop", "main", "2026-01-02T03:04:01Z")
    assert "handoff claude/c-1 extracted: Add a greet module" in ws.branch.store.commit(written.revision.commit).message


def test_volatile_facts_alone_cause_no_write_unless_forced(ws, transcript):
    found = extract(transcript)
    store_handoff(ws, NOW, found, trigger="stop", notes="Go on")
    volatile = change_facts(found, recent_activity=["Ran: ls"], git_status=" M a", unknown={"git_commits": "x"})
    assert store_handoff(ws, later(minutes=1), volatile, trigger="stop") is None
    assert store_handoff(ws, later(minutes=1), found, trigger="stop", force=True) is None
    assert store_handoff(ws, later(minutes=2), volatile, trigger="stop", force=True) is not None
    assert store_handoff(ws, later(minutes=3), change_facts(found, files_modified=["/x"]), trigger="stop") is not None
    assert stored(ws, "handoff", "claude/c-1").notes == "Go on"


def test_a_clock_that_was_set_back_does_not_make_a_handoff_older(ws, transcript):
    found = extract(transcript)
    store_handoff(ws, later(minutes=5), found, trigger="stop")
    store_handoff(ws, NOW, change_facts(found, files_modified=["/x"]), trigger="stop")
    assert stored(ws, "handoff", "claude/c-1").extracted_at == "2026-11-21T08:05:00Z"


def test_facts_beyond_the_limits_are_cut_and_the_write_does_not_fail(ws, transcript):
    huge = {
        "initial_goal": "\x01ü" * 200_000,
        "todo_state": [{"content": f"{number} " + "x" * 5000, "status": "pending"} for number in range(900)],
        "files_modified": [f"/{number}/" + "x" * 500 for number in range(5000)],
        "git_commits": [{"hash": "a", "message": "\x02" * 9000, "verified": None, "stat": "y" * 9000}] * 400,
    }
    assert (
        store_handoff(ws, NOW, change_facts(extract(transcript), **huge), trigger="stop", notes="n" * 100_000)
        is not None
    )
    kept = stored(ws, "handoff", "claude/c-1").facts
    assert kept.initial_goal.startswith("\x01ü")
    assert kept.initial_goal.endswith("bytes in all]")
    assert kept.files_modified[-1].startswith("/4999/")
    for name, whole in huge.items():
        if name != "initial_goal":
            assert kept.left_out[name] == len(whole) - len(getattr(kept, name)) > 0


def test_omissions_are_reported_only_if_there_are_any(ws, transcript):
    todos = [{"content": f"{number}", "status": "pending"} for number in range(203)]
    store_handoff(ws, NOW, change_facts(extract(transcript), todo_state=todos), trigger="stop")
    assert stored(ws, "handoff", "claude/c-1").facts.left_out == {"todo_state": 3}
    store_handoff(ws, later(minutes=1), extract(transcript), trigger="stop")
    assert "left_out" not in stored(ws, "handoff", "claude/c-1").facts.as_data()


def test_secrets_are_redacted_and_equal_facts_still_compare_equal(ws, transcript):
    secret = change_facts(extract(transcript), initial_goal="use AKIAIOSFODNN7EXAMPLE")
    store_handoff(ws, NOW, secret, trigger="stop")
    assert "AKIA" not in stored(ws, "handoff", "claude/c-1").facts.initial_goal
    assert store_handoff(ws, later(minutes=1), secret, trigger="stop") is None


def test_the_oldest_records_are_archived_and_can_be_restored(open_workspace, tmp_path):
    ws = open_workspace(policy=Policy(sessions_kept=2))
    for number, name in enumerate(("one", "two", "three")):
        path = tmp_path / name
        path.write_bytes(SESSIONS["claude-2.1"][1].replace(b'"c-1"', f'"{name}"'.encode()))
        store_handoff(ws, later(minutes=number), extract(path), trigger="stop")
    state = ws.branch.read().state
    assert state.ids("handoff") == {"claude/two", "claude/three"}
    assert resolve_handoff(state, "one").id == "claude/one"
    store_handoff(ws, later(minutes=9), change_facts(extract(tmp_path / "one"), files_modified=[]), trigger="stop")
    assert ws.branch.read().state.ids("handoff") == {"claude/three", "claude/one"}


# --- todos of baton and of the agent


def test_todos_of_baton_are_added_to_those_of_the_agent(ws, tmp_path):
    begin_session(ws, NOW, StartOptions(check_seconds=0, sync_seconds=0))
    own = [("Write greet.py", "cancelled"), ("Report", "completed"), ("Ask", "in_progress")]
    replace_todos(ws, NOW, [Todo(content=text, status=status) for text, status in own])
    path = tmp_path / "session"
    path.write_bytes(SESSIONS["claude-2.0"][1])
    facts = gather_facts(ws, NOW, path, session="s1").facts
    assert [(one["content"], one["status"], one["origin"]) for one in facts["todo_state"]] == [
        ("Fix README", "completed", "agent"), ("Report", "completed", "baton"), ("Ask", "in_progress", "baton"),
    ]  # fmt: skip
    assert facts["active_task"]["title"] == "Ask"
    off = Options.model_validate({"extract": {"todowrite": False}})
    assert "todo_state" not in gather_facts(ws, NOW, path, session="s1", options=off).facts


def test_without_todos_of_the_agent_a_session_has_those_of_baton(ws, tmp_path):
    begin_session(ws, NOW, StartOptions(check_seconds=0, sync_seconds=0))
    replace_todos(ws, NOW, [Todo(content="Ask")])
    made = Claude("2.1")
    made.user("Go")
    path = tmp_path / "session"
    path.write_bytes(lines(made.records))
    assert gather_facts(ws, NOW, path, session="s1").facts["todo_state"] == [
        {"content": "Ask", "status": "pending", "origin": "baton"}
    ]


# --- finding


def put_handoff(ws: Any, id_: str, minutes: int, machine: str | None, worktree: str | None) -> None:
    data = {"id": id_, "extracted_at": later(minutes=minutes).strftime("%Y-%m-%dT%H:%M:%SZ"), "facts": {}}
    more = {"machine": machine, "worktree": worktree}
    record = parse(Handoff, {**data, **{name: text for name, text in more.items() if text}})
    ws.update("test", NOW, lambda tip: tip.state.put(record))


def test_the_next_session_gets_the_newest_handoff_of_its_work_tree_or_of_any_other(ws, tmp_path):
    here, link = tmp_path / "here", tmp_path / "link"
    here.mkdir()
    link.symlink_to(here)

    def newest(machine: str = "laptop", **more: Any) -> str | None:
        there = replace(ws, folder=link, actor=replace(ws.actor, machine=machine))
        found = find_last_handoff(there, ws.branch.read().state, **more)
        return found.id if found else None

    put_handoff(ws, "claude/beside", 50, "laptop", "/other/tree")
    put_handoff(ws, "claude/nowhere", 60, "laptop", None)
    assert newest() == "claude/nowhere"
    put_handoff(ws, "codex/away", 40, "desktop", "/other/tree")
    assert newest() == "claude/nowhere"
    assert [handoff.id for handoff in list_continued(ws, ws.branch.read().state)] == ["codex/away"]
    put_handoff(ws, "claude/old", 1, "laptop", str(here))
    put_handoff(ws, "claude/new", 2, "laptop", str(here))
    assert newest() == "claude/new"
    assert newest(other_than="new") == "claude/old"
    assert newest(other_than="claude/new") == "claude/old"
    assert newest(machine="third") == "claude/nowhere"


def test_a_handoff_is_found_by_an_unambiguous_prefix(ws):
    for name in ("claude/abc", "codex/abd", "codex/x"):
        put_handoff(ws, name, 1, None, None)
    state = ws.branch.read().state
    assert [resolve_handoff(state, text).id for text in ("claude/abc", "abc", "cl", "codex/a", "x")] == [
        "claude/abc", "claude/abc", "claude/abc", "codex/abd", "codex/x",
    ]  # fmt: skip
    with pytest.raises(Ambiguous):
        resolve_handoff(state, "ab")
    with pytest.raises(NotFound):
        resolve_handoff(state, "")


@pytest.mark.parametrize("most", [0, 10, 16, 40, 100, 499, 500])
def test_a_shortened_text_is_never_longer_than_its_limit_or_its_mark(most: int) -> None:
    cut = cut_text("é" * 250, most)
    assert len(cut.encode()) <= max(most, 27)
    assert cut.endswith("é" if most == 500 else "… [cut: 500 bytes in all]")
