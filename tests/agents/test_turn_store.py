"""The turns of a session are stored as one private file, without secrets."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from baton_git.agents.turn_store import SessionTurns, Turn, TurnStore, turns_folder
from baton_git.core.errors import WriteFailed

TURNS = (
    Turn(1, "2026-11-01T10:00:00Z", "Fix bug A", "It was the\u2028cache.", 3, 120),
    Turn(2, None, "Stop that: CSV export", "", 9, 4096),
)
SESSION = SessionTurns("claude", "0b1c", "2026-11-01T10:00:00Z", "/work/app", "main", "project:app", TURNS)


def make_store(tmp_path: Path) -> TurnStore:
    return TurnStore(turns_folder(tmp_path))


def test_turns_come_back_as_they_were_saved(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.save(SESSION)
    assert store.load("claude", "0b1c") == SESSION
    assert store.load("claude", "other") is None


def test_the_file_has_a_header_and_one_line_for_each_turn(tmp_path: Path) -> None:
    make_store(tmp_path).save(SESSION)
    path = tmp_path / "baton/turns/claude/0b1c.jsonl"
    header, *turns = map(json.loads, path.read_text().split("\n")[:-1])
    assert header["format"] == 2
    assert header["session"] == "0b1c"
    assert "turns" not in header
    assert [turn["prompt"] for turn in turns] == ["Fix bug A", "Stop that: CSV export"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_secrets_are_not_stored(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    turn = TURNS[0]._replace(prompt=f"use {token}", answer=f"used {token}")
    make_store(tmp_path).save(SESSION._replace(turns=(turn,)))
    loaded = make_store(tmp_path).load("claude", "0b1c")
    assert loaded is not None
    assert token not in repr(loaded)
    assert "[redacted:" in loaded.turns[0].answer


def test_stored_sessions_are_listed_and_deleted(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    assert store.list() == []
    store.save(SESSION)
    store.save(SESSION._replace(agent="codex", session="../A"))
    (store.folder / "claude" / "NOTES.jsonl").write_text("")
    listed = store.list()
    assert [(file.agent, file.session) for file in listed] == [("claude", "0b1c"), ("codex", "../A")]
    assert all(file.size == file.path.stat().st_size and file.mtime_ns for file in listed)
    store.delete("claude", "0b1c")
    store.delete("claude", "0b1c")
    assert [file.session for file in store.list()] == ["../A"]


def test_a_file_of_an_older_or_newer_baton_is_read(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.save(SESSION)
    path = store.path("claude", "0b1c")
    header, *turns = map(json.loads, path.read_text().split("\n")[:-1])
    old = [{name: turn[name] for name in ("number", "time", "prompt", "answer", "line", "offset")} for turn in turns]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in ({**header, "format": 1}, *old)))
    assert store.load("claude", "0b1c") == SESSION
    assert {turn.status for turn in SESSION.turns} == {"unknown"}
    new = [{**turn, "mood": "calm"} for turn in turns]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in ({**header, "format": 3, "place": "x"}, *new)))
    assert store.load("claude", "0b1c") == SESSION


def test_a_damaged_file_is_ignored(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.save(SESSION)
    path = store.path("claude", "0b1c")
    whole = path.read_bytes()
    for content in (b"", b"[]\n", whole[:-20], whole.replace(b'"format": 2', b'"format": 0'), b"\xff\n"):
        path.write_bytes(content)
        assert store.load("claude", "0b1c") is None


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    store.folder.parent.mkdir(parents=True, exist_ok=True)
    store.folder.write_text("in the way")
    with pytest.raises(WriteFailed, match="File exists"):
        store.save(SESSION)
    with pytest.raises(WriteFailed, match="is a file, not a folder"):
        store.delete(SESSION.agent, SESSION.session)
    assert store.folder.read_text() == "in the way"
