"""`baton session list` and `stop`: spawned sessions are listed, marked, and ended."""

from __future__ import annotations

import os

import pytest

from baton_git.agents.sessions.records import Process, SpawnedSession, SpawnedSessions


@pytest.fixture
def records(top, baton):
    baton("init")
    return SpawnedSessions(top / ".git" / "baton" / "spawned")


def test_spawned_sessions_are_listed_newest_first(baton, records):
    records.save(
        SpawnedSession("SP-one000", "claude", "exited", started="2026-11-20T10:00:00Z", cost_usd=0.25, loop="chain")
    )
    records.save(
        SpawnedSession("SP-two000", "codex", "failed", started="2026-11-21T10:00:00Z", prompt="Go \x1b[31m on")
    )
    shown = baton("session", "list", "--spawned")
    rows = shown.out.splitlines()[1:]
    assert ["SP-two000" in rows[0], "SP-one000" in rows[1], len(rows)] == [True, True, 2]
    assert "0.25 USD" in shown.out
    assert "\x1b" not in shown.out
    assert "not both" in baton("session", "list", "--spawned", "--adapter", "claude", code=2).err
    assert len(baton("session", "list", "--spawned", "--limit", "1", "--json").json) == 1


def test_the_list_shows_how_sessions_ended_and_their_cost(baton, records):
    records.save(SpawnedSession("SP-one000", "claude", "exited", started="2026-11-20T10:00:00Z", exit=0, cost_usd=0.25))
    records.save(SpawnedSession("SP-two000", "codex", "failed", started="2026-11-21T10:00:00Z", exit=7, error="no key"))
    _, failed, fine = baton("session", "list", "--spawned").out.splitlines()
    assert "failed  exit 7" in failed
    assert "cost unknown" in failed
    assert "no key" in failed
    assert "exit 0" in fine
    assert "0.25 USD" in fine


def test_an_unreadable_record_is_reported(baton, records):
    records.folder.mkdir(parents=True)
    (records.folder / "SP-torn00.json").write_text("{")
    (records.folder / "SP-list00.json").write_text(
        '{"id": "SP-list00", "cli": "claude", "status": "running", "keeper": 3}'
    )
    (records.folder / "SP-bare00.json").write_text('{"status": "exited"}')
    done = baton("session", "list", "--spawned", "--json")
    assert done.json == []
    assert "SP-torn00" in done.err
    assert "keeper: " in done.err
    assert "id: Field required" in done.err
    assert "__init__" not in done.err


def test_a_list_shows_no_internal_data(baton, records):
    me = Process.of(os.getpid())
    records.save(SpawnedSession("SP-run000", "claude", process=me, variables={"secret": 1}))
    session = baton("session", "list", "--spawned", "--json").json[0]
    assert session["pid"] == os.getpid()
    assert session["status"] == "running"
    assert "variables" not in session


def test_spawned_sessions_are_marked_in_the_list_of_all_sessions(baton, records, top):
    baton("boot", "--session", "s1", "--no-verify")
    records.save(SpawnedSession("SP-one000", "claude", "exited", session="s1"))
    done = baton("session", "list", "--adapter", "baton")
    assert "SP-one000 exited" in done.out
    sessions = baton("session", "list", "--adapter", "baton", "--json").json["sessions"]
    marked = [session for session in sessions if "spawned" in session]
    assert [(session["spawned"], session["status"]) for session in marked] == [("SP-one000", "exited")]


def test_stopping_an_ended_session_changes_nothing(baton, records):
    records.save(SpawnedSession("SP-one000", "claude", "exited", exit=0))
    done = baton("session", "stop", "SP-one")
    assert done.out == "SP-one000 exited\n"
    assert "had already ended" in done.err
