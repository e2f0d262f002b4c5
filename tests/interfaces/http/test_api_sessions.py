"""Sessions over HTTP: begin, end, lineage, checkpoints, handoffs, protocol runs and snapshots."""

from __future__ import annotations

from typing import Any

from baton_git.core.records.base import parse
from baton_git.core.records.handoff import Handoff
from baton_git.systems.ecc.session_verbs import SNAPSHOT

STEP = {"challenge": "ask", "uri": "kairos://mem/1", "index": 1, "state": {"who": ["Ada", None]}}


def test_a_session_begins_ends_and_is_followed_by_another(api: Any) -> None:
    begun = api.post("/v1/boot", headers={"Baton-Session": "s-1", "Baton-Agent": "claude"}).json()
    assert (begun["session"], begun["parent"]) == ("s-1", None)
    ended = api.post("/v1/wrap", {"context": "half way", "summary": "began"}, headers={"Baton-Session": "s-1"}).json()
    assert (ended["session"], ended["news"]) == ("s-1", [])
    after = api.post("/v1/boot", {"check_seconds": 0, "budget": 4000}).json()
    assert after["parent"] == "s-1"
    assert "half way" in after["brief"]
    listed = api.get("/v1/sessions").json()["sessions"]
    assert {one["id"]: one["status"] for one in listed} == {after["session"]: "active", "s-1": "ended"}
    assert api.get("/v1/sessions", params={"limit": 1}).json()["next"] == listed[0]["id"]


def test_an_end_that_expects_another_revision_is_rejected(api: Any) -> None:
    api.post("/v1/boot")
    problem = api.problem("POST", "/v1/wrap", 409, {"context": "x", "expected_revision": 7})
    assert (problem["error"], problem["current_revision"]) == ("revision_conflict", 1)
    assert api.problem("POST", "/v1/wrap", 422, {"context": " "})["error"] == "invalid_argument"
    assert api.problem("POST", "/v1/boot", 422, {"budget": 1})["error"] == "invalid_request"


def test_the_settings_of_paif_apply_over_http(api: Any) -> None:
    file = api.folder / ".claude" / "CLAUDE.md"
    file.parent.mkdir()
    protocol = "{restore_on_start: true, checkpoint_on_exit: true}"
    try:
        file.write_text(f"paif_config:\n  agent_id: zero\n  session_protocol: {protocol}\n")
        api.post("/v1/boot", headers={"Baton-Session": "s-1"})
        ended = api.post("/v1/wrap", {"summary": "did it"}, headers={"Baton-Session": "s-1"}).json()
        assert ended["checkpoint"].startswith("zero/")
        assert ended["news"] == [f"checkpoint {ended['checkpoint']}"]
        assert "did it" in api.post("/v1/boot").json()["brief"]
        file.write_text("paif_config: {agent_id: 7}\n")
        assert "it is ignored" in "".join(api.post("/v1/boot").json()["problems"])
    finally:
        file.unlink()
        file.parent.rmdir()


def test_checkpoints_are_listed_by_session(api: Any, baton: Any) -> None:
    assert api.problem("GET", "/v1/checkpoints", 404, params={"agent": "zero"})["error"] == "not_found"
    baton("checkpoint", "--agent", "zero", "--summary", "did it", "-n", api.namespace, "--session", "s-1",
          cwd=api.folder)  # fmt: skip
    told = api.get("/v1/checkpoints", params={"agent": "zero"}).json()
    assert (
        told["sessions"]
        == baton("sessions", "--agent", "zero", "-n", api.namespace, "--json", cwd=api.folder).json["sessions"]
    )
    assert told["sessions"][0]["conversation_summary"] == "did it"
    assert "paif_config.agent_id" in api.problem("GET", "/v1/checkpoints", 422)["hint"]
    assert api.problem("GET", "/v1/checkpoints", 422, params={"agent": "../x"})["error"] == "invalid_name"


def test_handoffs_are_listed_and_shown(api: Any) -> None:
    facts = {"initial_goal": "mend it", "files_modified": [], "git_commits": []}
    data = {"id": "claude/1f0c", "extracted_at": "2026-01-01T00:00:00Z", "trigger": "command", "facts": facts}
    with api.site.work(api.namespace) as ws:
        ws.update("handoff-extract", api.site.now(), lambda tip: tip.state.put(parse(Handoff, data)))
    listed = api.get("/v1/handoffs").json()["handoffs"]
    assert [(one["id"], one["goal"]) for one in listed] == [("claude/1f0c", "mend it")]
    assert api.get("/v1/handoffs/1f0").json()["handoff"]["facts"]["initial_goal"] == "mend it"
    assert api.problem("GET", "/v1/handoffs/claude/none", 404)["error"] == "not_found"


def test_a_run_proceeds_from_step_to_step_until_it_ends(api: Any, baton: Any) -> None:
    api.post("/v1/handovers/run-1/step", STEP)
    stepped = api.post("/v1/handovers/run-1/step", {"challenge": "act", "uri": "kairos://mem/2", "came_from": "ask"})
    assert (stepped.json()["step_index"], stepped.json()["state"]) == (2, {"who": ["Ada", None]})
    told = api.get("/v1/handovers/run-1/resume").json()
    cli = baton("handover", "resume", "--session", "run-1", "-n", api.namespace, "--json", cwd=api.folder).json
    assert {**told, "age_seconds": 0} == {**cli, "age_seconds": 0}
    assert api.get("/v1/resume", params={"uri": "kairos://mem/2"}).json()["SESSION_ID"] == "run-1"
    assert api.get("/v1/handovers/run-1", params={"at": "~1"}).json()["current_challenge"] == "ask"
    assert [one["SESSION_ID"] for one in api.get("/v1/handovers").json()["handovers"]] == ["run-1"]
    api.post("/v1/handovers/run-1/clear", {"outcome": "completed"})
    assert api.get("/v1/handovers/run-1").json()["ended"]["outcome"] == "completed"
    assert api.problem("GET", "/v1/handovers/run-1/resume", 410)["error"] == "ended"
    assert api.problem("GET", "/v1/handovers/run-2/resume", 404)["error"] == "not_found"


def test_a_client_that_lost_a_race_gets_the_current_step(api: Any) -> None:
    begun = api.post("/v1/handovers", STEP).json()
    problem = api.problem("POST", f"/v1/handovers/{begun['SESSION_ID']}/step", 409, STEP)
    assert (problem["error"], problem["current"]["current_challenge"]) == ("step_conflict", "ask")
    kept = api.post("/v1/handovers", {"stay": True, "state": {"more": 1}, "unset": ["who"]}).json()
    assert kept["state"] == {"more": 1}
    assert api.problem("POST", "/v1/handovers", 422, {"challenge": "x"})["error"] == "invalid_argument"
    params = {"session": "a", "uri": "b"}
    assert api.problem("GET", "/v1/resume", 422, params=params)["error"] == "invalid_argument"


def test_a_snapshot_is_recorded_once_and_its_history_is_kept(api: Any) -> None:
    done = api.post("/v1/snapshots", SNAPSHOT, code=201).json()
    assert (done["id"], done["changed"]) == ("claude-history/a1b2c3d4", True)
    assert api.post("/v1/snapshots", SNAPSHOT, code=200).json()["changed"] is False
    newer = {**SNAPSHOT, "session": {**SNAPSHOT["session"], "state": "active"}}
    api.post("/v1/snapshots", newer, code=201)
    assert [(one["id"], one["state"]) for one in api.get("/v1/snapshots").json()["snapshots"]] == [
        ("claude-history/a1b2c3d4", "active")
    ]
    assert api.get("/v1/snapshots/a1b2").json()["snapshot"] == newer
    story = api.get("/v1/snapshots/claude-history/a1b2c3d4/history").json()["snapshots"]
    assert [one["snapshot"]["session"]["state"] for one in story] == ["active", "recorded"]
    assert api.problem("GET", "/v1/snapshots/none", 404)["error"] == "not_found"
    problem = api.problem("POST", "/v1/snapshots", 422, {**SNAPSHOT, "adapterId": ""})
    assert (problem["error"], problem["faults"][0]["path"]) == ("invalid_document", "adapterId")


def test_todos_of_a_session_are_managed_over_http(api: Any) -> None:
    session = {"Baton-Session": api.post("/v1/boot").json()["session"]}
    api.post("/v1/todos", {"text": "Write it"}, headers=session, code=200)
    done = api.post("/v1/todos/done", {"which": "Write"}, headers=session).json()
    assert done["todos"] == [{"number": 1, "content": "Write it", "status": "completed"}]
    assert api.get("/v1/todos", headers=session).json()["todos"] == []
    assert api.get("/v1/todos", params={"all": "true"}, headers=session).json()["todos"] == done["todos"]
