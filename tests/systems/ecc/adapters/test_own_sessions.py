"""The adapter `baton`: sessions of the namespace as snapshots."""

from __future__ import annotations

from pathlib import Path

import pytest
from session_snapshots import around, look

from baton_git.core.errors import Ambiguous, NotFound
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import FollowUp, Head, OpenLoop
from baton_git.core.state import State
from baton_git.systems.ecc.adapters import baton

FIRST = {"id": "s-one", "started": "2026-11-20T08:00:00Z", "ended": "2026-11-20T09:00:00Z", "status": "ended"}
LAST = {"id": "s-two", "started": "2026-11-21T07:00:00Z", "agent": "claude", "machine": "laptop", "parent": "s-one"}


def make_state(*, first: dict[str, str] | None = None, last: dict[str, str] | None = None, **head: str) -> State:
    state = State().put(Session.model_validate({**FIRST, **(first or {})}))
    state = state.put(Session.model_validate({**LAST, **(last or {})}))
    loop = {"id": "OL-1", "action": "Deployed", "expected_outcome": "answers", "created_at": "2026-11-20"}
    state = state.put(OpenLoop.model_validate(loop))
    state = state.put(FollowUp.model_validate({"id": "FU-1", "item": "Refactor", "first_seen": "2026-11-20"}))
    return state.put(Head.model_validate(head)) if head else state


def open_target(folder: Path, state: State, target: str = "baton:latest"):
    return look(around(folder, state=state), target)


def test_a_session_is_mapped_from_its_record(tmp_path):
    found = open_target(
        tmp_path, make_state(session_id="s-two", context="Half way.\nMore.", updated_at="2026-11-21T07:58:00Z")
    )
    assert found["session"] == {
        "id": "s-two", "kind": "baton", "state": "active", "repoRoot": None,
        "sourceTarget": {"type": "baton", "value": "latest"},
    }  # fmt: skip
    [worker] = found["workers"]
    assert worker["label"] == "claude"
    assert (worker["state"], worker["health"]) == ("active", "healthy")
    assert worker["runtime"] == {
        "kind": "baton-session", "command": "claude", "pid": None, "active": True, "dead": False
    }  # fmt: skip
    assert worker["intent"] == {"objective": "Half way.", "seedPaths": []}
    assert worker["outputs"] == {
        "summary": [], "validation": [], "remainingRisks": ["OL-1 Deployed: answers", "FU-1 Refactor"]
    }  # fmt: skip
    assert worker["artifacts"] == {"started": LAST["started"], "parent": "s-one", "machine": "laptop"}


def test_open_items_of_a_baton_belong_to_the_session_that_wrote_it(tmp_path):
    state = make_state(first={"summary": "Set it up"}, session_id="s-two", context="Half way.")
    [worker] = open_target(tmp_path, state, "baton:s-one")["workers"]
    assert worker["outputs"] == {"summary": ["Set it up"], "validation": [], "remainingRisks": []}
    assert worker["intent"]["objective"] == "Set it up"
    assert (worker["state"], worker["health"], worker["runtime"]["dead"]) == ("ended", "healthy", True)


def test_an_active_session_without_a_recent_update_is_stale(tmp_path):
    assert open_target(tmp_path, make_state())["workers"][0]["health"] == "stale"
    recent = make_state(last={"started": "2026-11-21T07:59:00Z"})
    assert open_target(tmp_path, recent)["workers"][0]["health"] == "healthy"


def test_a_session_without_a_summary_still_has_an_objective(tmp_path):
    assert open_target(tmp_path, make_state())["workers"][0]["intent"]["objective"] == "Session s-two"


def test_a_session_is_found_by_a_prefix_of_its_id(tmp_path):
    assert open_target(tmp_path, make_state(), "baton:s-t")["session"]["id"] == "s-two"
    with pytest.raises(Ambiguous):
        open_target(tmp_path, make_state(), "baton:s")


@pytest.mark.parametrize("target", ["baton:", "baton:nobody"])
def test_a_target_that_matches_nothing_is_an_error(tmp_path, target):
    with pytest.raises(NotFound):
        open_target(tmp_path, make_state(), target)
    with pytest.raises(NotFound):
        open_target(tmp_path, State())


def test_sessions_are_listed_newest_first(tmp_path):
    found = list(baton.sessions(around(tmp_path, state=make_state())))
    assert [(one.target, one.updated_at) for one in found] == [
        ("baton:s-two", LAST["started"]), ("baton:s-one", FIRST["ended"])
    ]  # fmt: skip
