"""PAIF's HTTP interface: flat bodies in requests, nested documents in responses; sessions, restores, and agents'
tokens."""

from __future__ import annotations

import http.client
import json
import stat
import uuid
from typing import Any
from urllib.parse import urlsplit

import pytest

BODY = {
    "started_at": "2026-04-04T18:04:00.000Z", "duration_seconds": 1800, "current_focus": "the parser",
    "active_project_ids": ["p1"], "conversation_summary": "Isolated the namespaces", "pending_items": ["test it"],
    "memory_ids": ["m1"], "last_recall_query": None, "new_beliefs": [{"subject": "git", "confidence": 0.9}],
    "new_skills": [{"name": "parsing", "level": "good"}], "drift_checks": {"passed": 3, "failed": 1},
    "scratchpad": "x = 1", "open_files": ["a.py"], "context_stack": ["fixing"],
}  # fmt: skip
TEXT = {"conversation_summary": "Did it"}


def bearer(token: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}}


# --- the protocol


def test_a_flat_body_becomes_a_nested_checkpoint(api):
    made = api.post("/checkpoint/zero", BODY, code=201).json()
    metadata = made["metadata"]
    assert (metadata["agent_id"], metadata["checkpoint_version"], metadata["duration_seconds"]) == ("zero", "1.0", 1800)
    assert metadata["started_at"] == BODY["started_at"]
    assert uuid.UUID(metadata["session_id"])
    assert made["context"] == {
        name: BODY[name] for name in ("current_focus", "active_project_ids", "conversation_summary", "pending_items")
    }
    assert made["recent_memories"] == {"memory_ids": ["m1"], "last_recall_query": None}
    assert made["identity_updates"]["drift_checks"] == {"passed": 3, "failed": 1}
    assert made["identity_updates"]["new_relationships"] == []
    assert made["working_memory"] == {"scratchpad": "x = 1", "open_files": ["a.py"], "context_stack": ["fixing"]}
    latest = api.get("/checkpoint/zero/latest").json()
    assert {name: made[name] for name in latest} == latest
    assert made["created"] is True
    assert made["revision"] == 1


def test_each_checkpoint_without_a_session_gets_a_new_session(api):
    first, second = (api.post("/checkpoint/zero", {**TEXT, "scratchpad": str(n)}, code=201).json() for n in (1, 2))
    assert first["metadata"]["session_id"] != second["metadata"]["session_id"]
    assert len(api.get("/sessions/zero").json()["sessions"]) == 2


def test_missing_fields_of_a_body_get_the_defaults(api):
    """The data equals the original's; only a missing duration is computed in addition."""
    for body, seconds in (({}, 0), ({"duration_seconds": 12}, 12)):
        made = api.post("/checkpoint/zero", body, code=201).json()
        assert made["metadata"]["duration_seconds"] == seconds
        assert made["context"] == {
            "current_focus": None, "active_project_ids": [], "conversation_summary": "", "pending_items": [],
        }  # fmt: skip
        assert made["working_memory"] == {"scratchpad": "", "open_files": [], "context_stack": []}
        assert api.get("/checkpoint/zero/latest").json()["id"] == made["id"]
    begun = api.post("/restore/zero").json()
    first = api.get("/sessions/zero").json()["sessions"][0]
    assert (first["session_id"], first["ended_at"], first["checkpoints"]) == (begun["session_id"], None, [])


def test_a_session_is_the_one_that_the_header_or_the_body_names(api):
    by_header = api.post("/checkpoint/zero", TEXT, code=201, headers={"Baton-Session": "s1"}).json()
    by_body = api.post("/checkpoint/zero", {**TEXT, "session_id": "s2"}, code=201).json()
    assert [one["metadata"]["session_id"] for one in (by_header, by_body)] == ["s1", "s2"]
    found = api.get("/sessions/zero").json()
    assert (found["agent_id"], {one["session_id"] for one in found["sessions"]}) == ("zero", {"s1", "s2"})
    assert len(api.get("/sessions/zero", params={"limit": 1}).json()["sessions"]) == 1


def test_a_restore_returns_checkpoint_and_identity_and_counts_the_session(api):
    api.post("/checkpoint/zero", BODY, code=201)
    first, second = (api.post("/restore/zero").json() for _ in range(2))
    assert [one["accumulated_experience"] for one in (first, second)] == [1, 2]
    assert first["checkpoint"]["working_memory"]["scratchpad"] == "x = 1"
    assert first["identity"]["mutable"]["beliefs"][0]["subject"] == "git"
    assert uuid.UUID(first["session_id"])
    assert first["session_id"] != second["session_id"]
    assert first["recorded"] is True
    after = api.post("/checkpoint/zero", TEXT, code=201).json()
    assert after["metadata"]["session_id"] == second["session_id"]


def test_a_restore_without_a_checkpoint_is_200_with_none(api):
    found = api.post("/restore/new", headers={"Baton-Session": "s1"}).json()
    assert (found["agent_id"], found["checkpoint"], found["session_id"]) == ("new", None, "s1")
    assert (found["recorded"], found["accumulated_experience"]) == (True, 1)
    assert found["identity"]["mutable"]["state"]["last_session_at"] == found["restored_at"]
    again = api.post("/restore/new").json()
    assert uuid.UUID(again["session_id"])
    assert again["accumulated_experience"] == 2
    api.get("/checkpoint/new/latest", code=404)
    assert len(api.get("/sessions/new").json()["sessions"]) == 2


@pytest.mark.parametrize("path", ["/checkpoint/nobody/latest", "/sessions/nobody"])
def test_unknown_agents_are_404(api, path):
    assert api.problem("GET", path, 404)["error"] == "not_found"


FAULTY: list[tuple[Any, str]] = [
    ({"duration_seconds": -1, **TEXT}, "duration_seconds"),
    ({**TEXT, "open_files": "x"}, "open_files"),
    ({**TEXT, "agent_id": "other"}, "agent_id"),
    ({**TEXT, "session_id": "a\nb"}, "session"),
    ({**TEXT, "new_beliefs": [{"subject": "x", "confidence": 2}]}, "confidence"),
    ([], "body"),
    ("x", "body"),
]


def test_an_invalid_body_is_422_with_the_faulty_field(api):
    for body, says in FAULTY:
        assert says in api.problem("POST", "/checkpoint/zero", 422, body)["detail"]
    api.problem("GET", "/checkpoint/zero/latest", 404)


def test_an_invalid_agent_is_rejected(api):
    for agent in ("a b", "-x", "%00", "..%00", "é", "x" * 200):
        assert api.problem("POST", f"/checkpoint/{agent}", 422, TEXT)["error"] == "invalid_name"


def test_the_namespace_can_be_named(api):
    api.post("/checkpoint/zero", TEXT, code=201, params={"namespace": "other/ns"})
    api.problem("GET", "/checkpoint/zero/latest", 404)
    assert api.get("/checkpoint/zero/latest", params={"namespace": "other/ns"}).json()["context"]
    assert api.problem("GET", "/sessions/zero", 422, params={"namespace": "x" * 300})["error"] == "invalid_name"


def test_a_periodic_checkpoint_that_is_not_due_is_not_saved(api):
    first = api.post("/checkpoint/zero", TEXT, code=201, params={"periodic": True}).json()
    again = api.post("/checkpoint/zero", {**TEXT, "scratchpad": "2"}, params={"periodic": True}).json()
    assert (again["created"], again["id"]) == (False, first["id"])


def test_other_interfaces_return_the_same_data(api, baton):
    api.post("/checkpoint/zero", BODY, code=201)
    shown = baton("restore", "--agent", "zero", "--look", "-n", api.namespace, "--json", cwd=api.folder).json
    assert shown["checkpoint"]["context"]["conversation_summary"] == BODY["conversation_summary"]


# --- agents' tokens


@pytest.fixture
def agents(guarded):
    """Register two agents with a checkpoint each; return their tokens."""
    tokens = {name: guarded.post("/agents", {"agent_id": name}, code=201).json()["token"] for name in ("zero", "one")}
    for name in tokens:
        guarded.post(f"/checkpoint/{name}", {"conversation_summary": f"of {name}"}, code=201)
    return tokens


def test_an_agents_token_opens_its_own_paths(guarded, agents):
    mine = bearer(agents["zero"])
    assert guarded.post("/checkpoint/zero", {**TEXT, "scratchpad": "2"}, code=201, **mine).json()["created"]
    for method, path in (("GET", "/checkpoint/zero/latest"), ("POST", "/restore/zero"), ("GET", "/sessions/zero")):
        assert "Did it" in guarded.ask(method, path, **mine).text


FORBIDDEN = """
GET /checkpoint/one/latest
POST /checkpoint/one
POST /restore/one
GET /sessions/one
GET /checkpoint/zero/../one/latest
GET /checkpoint/zero%2f..%2fone/latest
GET /checkpoint/one%2flatest
GET //checkpoint/one/latest
GET /checkpoint//one/latest
GET /checkpoint/Zero/latest
GET /checkpoint/zero%00/latest
GET /checkpoint/zero./latest
GET /checkpoint/zero/latest/../../one/latest
GET /sessions/one?agent_id=zero
GET /sessions/one#/sessions/zero
GET /sessions/one;zero
GET /agents
POST /agents
DELETE /agents/one
DELETE /agents/zero
POST /v1/baton/read
POST /v1/baton/write
GET /openapi.json
GET /v1/namespaces
GET /nope
GET /checkpoint/zero/latest?namespace=other
POST /restore/zero?namespace=other
GET /sessions/zero?namespace=project:x&namespace=other
GET /sessions/zero?namespace=
GET /sessions/zero?namespace=project%3AX
"""


def test_an_agents_token_opens_nothing_else(guarded, agents):
    host = urlsplit(guarded.url).netloc
    before = guarded.get("/sessions/one").json()
    for line in FORBIDDEN.split("\n")[1:-1]:
        method, path = line.split(" ", 1)
        connection = http.client.HTTPConnection(host, timeout=10)  # httpx would tidy the path
        body = (
            json.dumps({"namespace": "project:x", "agent_id": "zero", "baton": {}, **TEXT})
            if method == "POST"
            else None
        )
        headers = {"Authorization": f"Bearer {agents['zero']}", "Content-Type": "application/json"}
        connection.request(method, path, body if method == "POST" else None, headers)
        answer = connection.getresponse()
        said = answer.read().decode()
        connection.close()
        assert answer.status == 403, f"{line}: {answer.status} {said}"
        assert "of one" not in said
    assert guarded.get("/sessions/one").json() == before


def test_an_agents_token_is_valid_only_in_the_namespace_that_it_was_registered_for(guarded):
    body = {"agent_id": "zero", "namespace": "other"}
    token = guarded.post("/agents", body, code=201).json()["token"]
    guarded.post("/checkpoint/zero", TEXT, code=201, params={"namespace": "other"}, **bearer(token))
    guarded.problem("POST", "/checkpoint/zero", 403, TEXT, **bearer(token))


def test_the_servers_token_opens_every_agents_paths(guarded, agents):
    for name in agents:
        assert guarded.get(f"/checkpoint/{name}/latest").json()["context"]["conversation_summary"] == f"of {name}"


def test_an_invalid_token_gives_no_access(guarded, agents):
    for token in ("x", "Bearer", "baton_agent_", "\xe9", "zero", agents["zero"][:-1], agents["zero"] + "x"):
        headers = {"Authorization": b"Bearer " + token.encode("latin-1")}
        answer = guarded.get("/checkpoint/zero/latest", code=401, headers=headers)
        assert answer.json()["detail"] in ("invalid token", "missing bearer token")


def test_a_new_token_of_an_agent_replaces_the_old_one(guarded, agents):
    new = guarded.post("/agents", {"agent_id": "zero"}, code=201).json()["token"]
    guarded.get("/sessions/zero", code=401, **bearer(agents["zero"]))
    guarded.get("/sessions/zero", **bearer(new))
    guarded.get("/sessions/one", **bearer(agents["one"]))


def test_a_removed_agent_has_no_token_and_keeps_its_records(guarded, agents):
    guarded.ask("DELETE", "/agents/zero", code=204)
    guarded.get("/sessions/zero", code=401, **bearer(agents["zero"]))
    assert [one["agent_id"] for one in guarded.get("/agents").json()["agents"]] == ["one"]
    assert len(guarded.get("/sessions/zero").json()["sessions"]) == 1
    guarded.problem("DELETE", "/agents/zero", 404)


def test_only_digests_of_tokens_are_stored_in_a_private_file(guarded, agents):
    files = [one for one in guarded.site.folder.rglob("*") if one.is_file()]
    kept = guarded.site.agents.path
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    for token in agents.values():
        assert not any(token.encode() in one.read_bytes() for one in files)
        assert token not in guarded.get("/agents").text
    assert not list(kept.parent.glob("*.tmp"))


def test_only_the_owner_can_register_agents(server):
    assert server.problem("POST", "/agents", 403, {"agent_id": "zero"})["error"] == "not_allowed"
    server.problem("GET", "/agents", 403)


def test_after_an_agent_is_registered_a_server_without_a_token_accepts_only_agents(serve):
    opened, owned = serve(), serve(token="secret")
    opened.post("/checkpoint/zero", TEXT, code=201)
    token = owned.post("/agents", {"agent_id": "zero"}, code=201).json()["token"]
    opened.get("/checkpoint/zero/latest", code=401)
    opened.post("/v1/baton/read", {"namespace": "project:x"}, code=401)
    opened.get("/", code=401)
    opened.get("/health")
    assert opened.get("/checkpoint/zero/latest", **bearer(token)).json()["context"]["conversation_summary"] == "Did it"
    owned.ask("DELETE", "/agents/zero", code=204)
    opened.get("/checkpoint/zero/latest")


def test_a_damaged_file_of_agents_opens_nothing(guarded, agents):
    guarded.site.agents.path.write_text('{"agents": {"zero": 5}}')
    answer = guarded.get("/checkpoint/zero/latest", code=500, **bearer(agents["zero"]))
    assert "cannot be read" in answer.json()["detail"]
    guarded.get("/checkpoint/zero/latest")


def test_a_body_does_not_name_a_session_of_another_agent(guarded, agents):
    guarded.post("/v1/boot", {}, headers={"Baton-Session": "s-claude", "Baton-Agent": "claude"})
    guarded.post("/checkpoint/one", {**TEXT, "session_id": "s-one"}, code=201, **bearer(agents["one"]))
    for session in ("s-claude", "s-one"):
        flat, nested = (
            {**TEXT, "session_id": session},
            {"metadata": {"session_id": session}, "context": {"conversation_summary": "Did it"}},
        )
        for body in (flat, nested, {"session_checkpoint": nested}):
            answer = guarded.post("/checkpoint/zero", body, code=403, **bearer(agents["zero"]))
            assert answer.json()["detail"] == f"session {session} is another agent's"
    for session in ("s-zero", "s-zero"):
        guarded.post("/checkpoint/zero", {**TEXT, "session_id": session}, code=None, **bearer(agents["zero"]))
    guarded.post("/checkpoint/one", {**TEXT, "session_id": "s-one"}, code=None, **bearer(agents["one"]))
    newest = guarded.get("/sessions/zero", **bearer(agents["zero"])).json()["sessions"][0]["session_id"]
    assert newest == "s-zero"
    guarded.get("/v1/checkpoints", code=403, **bearer(agents["zero"]))


def test_an_agents_token_does_not_act_in_a_session_that_another_began(guarded):
    zero, one = (guarded.post("/agents", {"agent_id": name}, code=201).json()["token"] for name in ("zero", "one"))
    guarded.post("/v1/boot", {}, headers={"Baton-Session": "s-claude", "Baton-Agent": "claude"})
    own = guarded.post("/restore/one", None, **bearer(one), code=200).json()["session_id"]
    guarded.post("/checkpoint/one", TEXT, code=201, **bearer(one))
    theirs = guarded.post("/restore/one", None, **bearer(one)).json()["session_id"]
    for session, code in (("s-claude", 403), (theirs, 403), ("s-fresh", 201)):
        headers = {"Authorization": f"Bearer {zero}", "Baton-Session": session}
        guarded.post("/checkpoint/zero", TEXT, code=code, headers=headers)
    assert own != theirs
