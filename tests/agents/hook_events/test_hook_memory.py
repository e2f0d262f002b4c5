"""Remembered sessions, the folders of the hooks' state, and when a hook has nothing to do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from baton_git.agents.hook_events.fast_exit import MIN_GROWTH, is_idle
from baton_git.agents.hook_events.hook_session import KEPT, HookSession, HookSessionStore
from baton_git.agents.hook_events.payloads import EVENT_KINDS, Payload
from baton_git.agents.hook_events.repository_lookup import find_repository, may_hold_state


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True)
    return tmp_path / "repo"


def test_a_session_is_remembered(tmp_path):
    memory = HookSessionStore(str(tmp_path))
    seen = HookSession(
        "claude", "s-1", "/r/.git", "/r", "/t.jsonl", 12, "2026-01-01T00:00:00Z", "Stop", 5, wanted_events=("on_stop",)
    )
    assert memory.save(seen)
    assert memory.get("claude", "s-1") == seen
    assert memory.get("codex", "s-1") is None
    assert list(memory.all()) == [seen]


def test_renamed_fields_keep_their_names_in_the_file(tmp_path):
    memory = HookSessionStore(str(tmp_path))
    fields = {"seen": "2026-01-01T00:00:00Z", "knows": "c0", "told": True, "owed": "compact", "spawned": "SP-1"}
    stored = {"cli": "claude", "session": "s", **fields, "wants": ["on_stop"]}
    path = Path(memory.path("claude", "s"))
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(stored))
    session = HookSession(
        "claude", "s", last_seen="2026-01-01T00:00:00Z", known_commit="c0", has_context=True, owed_sources="compact",
        spawn_record="SP-1", wanted_events=("on_stop",),
    )  # fmt: skip
    assert memory.get("claude", "s") == session
    assert memory.save(session)
    assert stored.items() <= json.loads(path.read_text()).items()


@pytest.mark.parametrize("session", ["../../etc/passwd", "ä" * 200, "a/b", "", "x" * 500, "..", "a\nb"])
def test_no_session_id_leads_out_of_the_folder(tmp_path, session):
    memory = HookSessionStore(str(tmp_path))
    path = Path(memory.path("claude", session))
    assert path.parent == Path(memory.folder)
    assert len(path.name) < 255


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cli": 7}', '{"cli": "claude"}', "\xff"])
def test_a_damaged_file_is_ignored(tmp_path, text):
    memory = HookSessionStore(str(tmp_path))
    memory.save(HookSession("claude", "s"))
    Path(memory.path("claude", "s")).write_text(text)
    assert memory.get("claude", "s") is None
    assert list(memory.all()) == []


def test_a_field_of_another_type_gets_its_default(tmp_path):
    memory = HookSessionStore(str(tmp_path))
    memory.save(HookSession("claude", "s"))
    Path(memory.path("claude", "s")).write_text(json.dumps({"cli": "claude", "session": "s", "pid": "x", "told": 1}))
    assert memory.get("claude", "s") == HookSession("claude", "s")


def test_old_sessions_are_forgotten(tmp_path):
    memory = HookSessionStore(str(tmp_path))
    for number in range(KEPT + 5):
        memory.save(HookSession("claude", f"s{number}", last_seen=f"2026-01-01T00:{number:02}:00Z"))
    memory.forget_old()
    assert len(list(memory.all())) == KEPT
    assert memory.get("claude", "s0") is None


def test_a_repository_is_found_from_below_and_from_linked_work_trees(repo, tmp_path):
    git = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(tmp_path / "linked")], check=True)
    (repo / "a" / "b").mkdir(parents=True)
    inner = find_repository(str(repo / "a" / "b"))
    linked = find_repository(str(tmp_path / "linked"))
    assert inner is not None
    assert linked is not None
    assert inner.common_dir == str(repo / ".git") == linked.common_dir
    assert linked.git_dir != inner.git_dir
    assert find_repository("/") is None


def test_a_repository_without_a_namespace_holds_no_state(repo):
    place = find_repository(str(repo))
    assert place is not None
    assert not may_hold_state(place)
    for ref in ("refs/heads/baton", "refs/remotes/origin/baton", "baton"):
        (repo / ".git" / ref).mkdir(parents=True)
        assert may_hold_state(place)
        (repo / ".git" / ref).rmdir()
    (repo / ".git" / "packed-refs").write_text(f"{'a' * 40} refs/heads/baton/x\n")
    assert may_hold_state(place)


def make_event(event: str, agent: str = "claude", **more: Any) -> Payload:
    return Payload(agent, event, EVENT_KINDS[event], "s")._replace(**more)


def is_skipped(repo: Path, payload: Payload, seen: HookSession | None) -> bool:
    """Return whether a hook skips this event once `seen` is stored as the state of its session."""
    place = find_repository(str(repo))
    assert place is not None
    if seen is not None:
        HookSessionStore(place.common_dir).save(seen)
    return is_idle(payload, place, {})


def test_an_event_is_skipped_where_no_state_can_exist(repo):
    assert is_skipped(repo, make_event("SessionStart"), None)


@pytest.fixture
def repo_with_state(repo: Path) -> Path:
    (repo / ".git" / "refs" / "heads" / "baton").mkdir()
    return repo


def test_an_event_of_an_unknown_session_is_not_skipped(repo_with_state):
    assert not is_skipped(repo_with_state, make_event("UserPromptSubmit"), None)
    assert not is_skipped(repo_with_state, make_event("Stop"), None)


def test_a_prompt_is_skipped_unless_something_is_owed(repo_with_state):
    seen = HookSession("claude", "s", has_context=True)
    assert is_skipped(repo_with_state, make_event("UserPromptSubmit"), seen)
    assert not is_skipped(repo_with_state, make_event("UserPromptSubmit"), seen._replace(owed_sources="compact"))
    assert not is_skipped(
        repo_with_state, make_event("UserPromptSubmit"), seen._replace(wanted_events=("on_prompt_submit",))
    )
    assert not is_skipped(repo_with_state, make_event("UserPromptSubmit"), seen._replace(has_context=False))


def test_a_stop_is_skipped_unless_the_transcript_has_grown(repo_with_state, tmp_path):
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("x" * 10)
    seen = HookSession("claude", "s", has_context=True, size=10, transcript=str(transcript))
    assert is_skipped(repo_with_state, make_event("Stop"), seen)
    assert not is_skipped(repo_with_state, make_event("Stop"), seen._replace(size=9))
    assert not is_skipped(repo_with_state, make_event("Stop"), seen._replace(wanted_events=("on_after_agent",)))


def test_geminis_compaction_event_before_every_request_is_skipped_until_the_transcript_grows(repo_with_state, tmp_path):
    transcript = tmp_path / "t.jsonl"
    transcript.write_bytes(b"x" * 1000)
    seen = HookSession("gemini", "s", has_context=True, size=10, transcript=str(transcript))
    assert is_skipped(repo_with_state, make_event("PreCompress", "gemini", detail="auto"), seen)
    assert not is_skipped(repo_with_state, make_event("PreCompress", "gemini", detail="manual"), seen)
    transcript.write_bytes(b"x" * (MIN_GROWTH + 10))
    assert not is_skipped(repo_with_state, make_event("PreCompress", "gemini", detail="auto"), seen)


def test_an_end_reported_twice_is_handled_once(repo_with_state, tmp_path):
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("x" * 10)
    seen = HookSession("gemini", "s", has_context=True, size=10, transcript=str(transcript), ended="exit")
    assert is_skipped(repo_with_state, make_event("SessionEnd", "gemini"), seen)
    assert not is_skipped(repo_with_state, make_event("SessionEnd", "gemini"), seen._replace(ended=""))


def test_an_event_of_a_subagent_is_skipped(repo_with_state):
    assert is_skipped(repo_with_state, make_event("SessionStart", aside=True), None)
