"""Transcripts of Claude Code, Codex CLI and Gemini CLI as snapshots: one shape for all three."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from session_snapshots import aged, around, look, see

from baton_git.core.errors import Ambiguous, InvalidDocument, NotFound
from baton_git.systems.ecc.adapters.all_adapters import ADAPTERS

CLAUDE_ID = "0b4446a0-2b2c-4f0b-9d3b-1f1f5f0c1a01"
CODEX_ID = "01999999-2b2c-7f0b-9d3b-1f1f5f0c1a02"
GEMINI_ID = "6d6d6d6d-2b2c-4f0b-9d3b-1f1f5f0c1a03"
DONE = "2026-11-20T10:00:00.000Z"
JUST_NOW = "2026-11-21T07:58:00.000Z"


def lines(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    return path


def claude(home: Path, id_: str = CLAUDE_ID, *, time: str = DONE, replied: bool = True) -> Path:
    shared = {"sessionId": id_, "cwd": "/srv/shop", "gitBranch": "cart", "version": "2.0.1", "timestamp": time}
    prompt = {**shared, "type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix the\nrounding"}}
    reply = {"role": "assistant", "model": "m-1", "content": [{"type": "text", "text": "Fixed it.\n\nTests pass."}]}
    records = [prompt, {**shared, "type": "assistant", "uuid": "u2", "message": reply}]
    return lines(home / f".claude/projects/-srv-shop/{id_}.jsonl", *records[: 2 if replied else 1])


def codex(home: Path, id_: str = CODEX_ID, *, time: str = DONE, replied: bool = True) -> Path:
    meta = {"id": id_, "timestamp": time, "cwd": "/srv/shop", "cli_version": "0.60.0", "git": {"branch": "cart"}}
    prompt = {"type": "user_message", "message": "Fix the\nrounding"}
    reply = {"type": "agent_message", "message": "Fixed it.\n\nTests pass."}
    payloads = [("session_meta", meta), ("event_msg", prompt), ("event_msg", reply)]
    records = [{"timestamp": time, "type": kind, "payload": payload} for kind, payload in payloads]
    name = f".codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-{id_}.jsonl"
    return lines(home / name, *records[: 3 if replied else 2])


def gemini(home: Path, id_: str = GEMINI_ID, *, time: str = DONE, replied: bool = True) -> Path:
    messages = [
        {"id": "1", "timestamp": time, "type": "user", "content": "Fix the\nrounding"},
        {"id": "2", "timestamp": time, "type": "gemini", "content": "Fixed it.\n\nTests pass.", "model": "g-1"},
    ]
    chat = {"sessionId": id_, "projectHash": "ab" * 32, "startTime": time, "lastUpdated": time}
    folder = home / ".gemini/tmp/shop"
    path = folder / f"chats/session-2026-11-20T10-00-{id_[-8:]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    (folder / ".project_root").write_text("/srv/shop")
    path.write_text(json.dumps({**chat, "messages": messages[: 2 if replied else 1]}))
    return path


EACH = pytest.mark.parametrize(
    ("make", "adapter", "prefix", "kind", "id_"),
    [
        (claude, ADAPTERS["claude-jsonl"], "claude-jsonl", "claude-code", CLAUDE_ID),
        (codex, ADAPTERS["codex-rollout"], "codex", "codex-cli", CODEX_ID),
        (gemini, ADAPTERS["gemini-chat"], "gemini", "gemini-cli", GEMINI_ID),
    ],
    ids=["claude", "codex", "gemini"],
)


@EACH
def test_a_transcript_is_a_session_with_one_worker(tmp_path, make, adapter, prefix, kind, id_):
    where = around(tmp_path)
    path = make(where.home)
    found = look(where, f"{prefix}:latest")
    assert found["adapterId"] == adapter.ID
    assert found["session"] == {
        "id": id_, "kind": "transcript", "state": "recorded", "repoRoot": "/srv/shop",
        "sourceTarget": {"type": adapter.ID, "value": "latest"},
    }  # fmt: skip
    [worker] = found["workers"]
    assert worker["id"] == id_
    assert (worker["state"], worker["health"]) == ("recorded", "healthy")
    assert worker["worktree"] == "/srv/shop"
    assert worker["branch"] == (None if make is gemini else "cart")
    assert worker["runtime"]["kind"] == kind
    assert (worker["runtime"]["active"], worker["runtime"]["dead"]) == (False, False)
    assert worker["intent"] == {"objective": "Fix the rounding", "seedPaths": []}
    assert worker["outputs"]["summary"] == ["Fixed it.", "Tests pass."]
    assert worker["artifacts"]["transcriptFile"] == str(path)


@EACH
def test_a_target_is_an_id_a_prefix_or_a_path(tmp_path, make, adapter, prefix, kind, id_):
    where = around(tmp_path)
    path = make(where.home)
    for target in (f"{prefix}:{id_}", f"{prefix}:{id_[:6].upper()}", f"{prefix}:{path}", str(path)):
        assert look(where, target)["session"]["id"] == id_
    assert look(where, str(path))["session"]["sourceTarget"] == {"type": "transcript", "value": str(path)}
    assert look(where, "latest", adapter=adapter.ID)["adapterId"] == adapter.ID
    assert look(where, id_, type_=adapter.ID)["adapterId"] == adapter.ID


@EACH
def test_state_and_health_follow_the_last_event(tmp_path, make, adapter, prefix, kind, id_):
    where = around(tmp_path)

    def state_of(**more: object) -> tuple[str, str, bool]:
        make(where.home, **more)
        worker = look(where, f"{prefix}:latest")["workers"][0]
        return worker["state"], worker["health"], worker["runtime"]["active"]

    assert state_of(time=JUST_NOW) == ("active", "healthy", True)
    assert state_of(time=JUST_NOW, replied=False) == ("active", "healthy", True)
    assert state_of(time=DONE) == ("recorded", "healthy", False)
    assert state_of(time=DONE, replied=False) == ("recorded", "stale", False)
    assert state_of(time="whenever") == ("recorded", "unknown", False)


@EACH
def test_no_match_or_several_matches_are_an_error(tmp_path, make, adapter, prefix, kind, id_):
    where = around(tmp_path)
    for target in (f"{prefix}:latest", f"{prefix}:zzz", f"{prefix}:"):
        with pytest.raises(NotFound):
            look(where, target)
    make(where.home)
    make(where.home, f"{id_[:-1]}f")
    with pytest.raises(Ambiguous):
        look(where, f"{prefix}:{id_[:8]}")


@EACH
def test_sessions_are_listed_with_their_first_prompt(tmp_path, make, adapter, prefix, kind, id_):
    where = around(tmp_path)
    assert list(adapter.sessions(where)) == []
    make(where.home)
    [one] = adapter.sessions(where)
    assert (one.target, one.id, one.title) == (f"{prefix}:{id_}", id_, "Fix the rounding")
    assert one.updated_at.endswith("Z")


@EACH
def test_latest_and_the_list_skip_transcripts_that_cannot_be_read(tmp_path, make, adapter, prefix, kind, id_):
    where = around(tmp_path)
    path = make(where.home)
    aged(path, 60)
    broken = [path.with_name(path.name.replace(id_[-8:], f"{id_[-8:-1]}{digit}")) for digit in "ef"]
    broken[0].write_bytes(b"\0\xff garbage\n[]\n")
    broken[1].write_text("")
    assert [one.id for one in adapter.sessions(where)] == [id_]
    found = see(where, f"{prefix}:latest")
    assert found.snapshot.session.id == id_
    assert len(found.problems) == 2
    assert all(one.partly and one.why.startswith("skipped /") for one in found.problems)
    path.unlink()
    with pytest.raises(InvalidDocument):
        look(where, f"{prefix}:latest")


@pytest.mark.parametrize(("make", "adapter"), [(claude, ADAPTERS["claude-jsonl"]), (codex, ADAPTERS["codex-rollout"])])
def test_a_file_name_may_differ_from_its_session(tmp_path, make, adapter):
    where = around(tmp_path)
    inner, outer = "11111111-2b2c-4f0b-9d3b-1f1f5f0c1a01", "22222222-2b2c-4f0b-9d3b-1f1f5f0c1a01"
    path = make(where.home, inner)
    path.rename(path.with_name(path.name.replace(inner, outer)))
    [one] = adapter.sessions(where)
    assert one.id == inner
    prefix = one.target.partition(":")[0]
    for target in (
        one.target,
        f"{prefix}:{inner}",
        f"{prefix}:{outer}",
        f"{prefix}:{inner[:9]}",
        f"{prefix}:{outer[:9]}",
    ):
        assert look(where, target)["session"]["id"] == inner


def test_an_adapter_refuses_the_transcript_of_another_agent(tmp_path):
    where = around(tmp_path)
    path = codex(where.home)
    with pytest.raises(InvalidDocument, match="is a transcript of codex"):
        look(where, str(path), adapter="claude-jsonl")
    (where.cwd / "x.jsonl").write_text("what is this?\n")
    with pytest.raises(InvalidDocument, match=r"x\.jsonl: is not a transcript of"):
        look(where, "x.jsonl")


def test_the_objective_is_no_prompt_that_was_taken_back(tmp_path):
    where = around(tmp_path)
    path = codex(where.home)
    more = [
        ("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        ("event_msg", {"type": "user_message", "message": "Explain the rounding"}),
    ]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"timestamp": DONE, "type": kind, "payload": payload}) + "\n" for kind, payload in more
        )
    [worker] = look(where, "codex:latest")["workers"]
    assert worker["intent"]["objective"] == "Explain the rounding"
    assert worker["outputs"]["summary"] == []


def test_damage_is_counted_and_the_rest_is_read(tmp_path):
    where = around(tmp_path)
    path = claude(where.home)
    path.write_text(path.read_text() + "{broken\n{also broken\n")
    [worker] = look(where, "claude-jsonl:latest")["workers"]
    assert worker["artifacts"]["unreadLines"] == 2
    assert worker["outputs"]["summary"] == ["Fixed it.", "Tests pass."]


def test_long_texts_with_control_characters_are_cut_and_cleaned(tmp_path):
    where = around(tmp_path)
    shared = {"sessionId": "s", "cwd": "/x", "timestamp": DONE}
    nasty = "\x1b[31m" + "word " * 5000
    reply = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "\n".join([nasty] * 50)}]}
    lines(
        where.home / ".claude/projects/x/s.jsonl",
        {**shared, "type": "user", "uuid": "1", "message": {"role": "user", "content": nasty}},
        {**shared, "type": "assistant", "uuid": "2", "message": reply},
    )
    [worker] = see(where, "claude-jsonl:s").snapshot.workers
    assert len(worker.intent.objective) <= 200
    assert len(worker.outputs.summary) <= 5
    assert all(len(line) <= 600 and "\x1b" not in line for line in worker.outputs.summary)
