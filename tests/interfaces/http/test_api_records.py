"""The verbs of records over HTTP, and reads of their results."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "open_loop": ("/v1/loops", {"action": "Deployed X", "expect": "health is 200"}),
    "follow_up": ("/v1/follow-ups", {"item": "Refactor the formula", "reason": "release first"}),
    "pattern": ("/v1/patterns", {"what": "Assumed Docker", "context": "deploying X"}),
    "active_decision": ("/v1/decisions", {"what": "Use A", "why": "B clears", "evidence": ["incident"]}),
}


def add(api: Any, kind: str, **more: Any) -> dict[str, Any]:
    path, body = KINDS[kind]
    return dict(api.post(path, {**body, **more}, code=None).json())


def record(api: Any, kind: str, id_: str, **params: Any) -> dict[str, Any]:
    return dict(api.get(f"/v1/records/{kind}/{id_}", params=params).json())


@pytest.mark.parametrize("kind", KINDS)
def test_a_created_record_is_returned_with_its_revision(api: Any, kind: str) -> None:
    path, body = KINDS[kind]
    answer = api.post(path, body, code=200 if kind == "pattern" else 201, headers={"Baton-Session": "s-1"})
    made = answer.json()
    assert made["revision"] == 1
    assert answer.headers["etag"] == f'"{made["commit"]}"'
    assert [(one["kind"], one["id"], one["action"]) for one in made["changes"]] == [(kind, made["id"], "added")]
    found = record(api, kind, made["id"])
    assert found["commit"] == made["commit"]
    assert not found["archived"]
    said = {"expected_outcome" if name == "expect" else name: value for name, value in body.items()}
    said.pop("context", None)
    assert said.items() <= found["record"].items()
    assert api.get("/v1/log").json()["commits"][0]["session"] == "s-1"


def test_checks_run_and_an_unapproved_one_is_unknown(api: Any) -> None:
    passing = add(api, "open_loop", verify={"method": "file_exists", "path": "readme"})
    unapproved = add(api, "open_loop", verify={"method": "command", "argv": ["touch", "/tmp/never"]})
    found = api.post("/v1/verify").json()["checks"]
    assert found[passing["id"]]["result"] == "passed"
    assert found[unapproved["id"]]["result"] == "unknown"
    assert "not approved" in found[unapproved["id"]]["why"]
    one = api.post(f"/v1/loops/{passing['id']}/verify").json()
    assert list(one["checks"]) == [passing["id"]]
    assert api.problem("POST", "/v1/verify", 404, {"ids": ["OL-none"]})["error"] == "not_found"


def test_an_existing_id_is_rejected_with_the_name_of_the_field(api: Any, baton: Any) -> None:
    add(api, "open_loop", id="OL-1")
    problem = api.problem("POST", "/v1/loops", 403, {"action": "x", "expect": "y", "id": "OL-1"})
    told = baton(
        "loop", "add", "x", "--expect", "y", "--id", "OL-1", "-n", api.namespace, "--json", code=1, cwd=api.folder
    ).json
    assert (problem["error"], problem["detail"]) == (told["error"], told["message"])
    hints = [f"leave out {name} to get a new one" for name in ("id", "--id")]
    assert [problem["hint"], told["hint"]] == hints


def test_records_are_listed_page_by_page(api: Any) -> None:
    for number in range(5):
        add(api, "open_loop", id=f"OL-{number}")
    add(api, "follow_up", id="FU-1")
    first = api.get("/v1/records", params={"limit": 3}).json()
    rest = api.get("/v1/records", params={"limit": 3, "after": first["next"]}).json()
    assert [one["id"] for one in first["records"] + rest["records"]] == [*(f"OL-{n}" for n in range(5)), "FU-1"]
    assert rest["next"] is None
    assert api.problem("GET", "/v1/records", 404, params={"after": "loup/OL-1"})["error"] == "not_found"
    api.post("/v1/loops/OL-2/verify", {"result": "failed"})
    failed = api.get("/v1/records", params={"kind": "open_loop", "status": "failed"}).json()["records"]
    assert [one["id"] for one in failed] == ["OL-2"]
    api.post("/v1/loops/OL-3/close")
    closed = api.get("/v1/records", params={"kind": "open_loop", "archived": True}).json()["records"]
    assert [(one["id"], one["archived"], one["record"]["status"]) for one in closed] == [("OL-3", True, "open")]


def test_an_unknown_kind_is_an_invalid_argument_with_the_kinds_as_a_hint(api: Any) -> None:
    assert "open-loops" in api.problem("GET", "/v1/records/loup/OL-1", 422)["hint"]
    assert api.problem("GET", "/v1/records", 422, params={"kind": "loup"})["error"] == "invalid_argument"
    assert api.problem("GET", "/v1/schema/loop", 404)["error"] == "not_found"
    assert api.get("/v1/schema/open_loop").json()["title"] == "open_loop"


def test_a_prefix_of_several_ids_is_ambiguous(api: Any) -> None:
    add(api, "open_loop", id="OL-1a")
    add(api, "open_loop", id="OL-1b")
    problem = api.problem("GET", "/v1/records/open_loop/OL-1", 409)
    assert (problem["error"], problem["candidates"]) == ("ambiguous", ["OL-1a", "OL-1b"])


def test_a_record_can_be_read_at_an_older_revision(api: Any) -> None:
    add(api, "open_loop", id="OL-1")
    api.post("/v1/loops/OL-1/verify", {"result": "passed"})
    assert record(api, "open_loop", "OL-1", at="1")["record"]["status"] == "open"
    assert api.problem("GET", "/v1/records/open_loop/OL-1", 404, params={"at": "99"})["error"] == "not_found"
    problem = api.problem("GET", "/v1/records/open_loop/OL-1", 422, params={"at": "nonsense"})
    assert problem["error"] == "invalid_argument"


def test_unreadable_state_is_reported_as_unreadable_and_not_missing(api: Any, git: Any, tmp_path: Any) -> None:
    add(api, "open_loop", id="OL-1")
    tree = tmp_path / "tree"
    git(api.folder, "worktree", "add", "-q", str(tree), _branch(api))
    (tree / "open_loops" / "OL-1.toml").write_text("id = [")
    git(tree, "commit", "-q", "-am", "broken by hand")
    found = record(api, "open_loop", "OL-1")
    assert found["record"] is None
    assert found["unreadable"]["path"] == "open_loops/OL-1.toml"
    assert api.get("/v1/records").json()["records"][0]["unreadable"] == found["unreadable"]
    assert api.get("/v1/status").json()["damaged"] == [found["unreadable"]]
    assert not api.get("/v1/validate").json()["ok"]
    assert api.problem("POST", "/v1/loops/OL-1/close", 500)["error"] == "corrupt"


def test_an_id_may_be_any_word(api: Any) -> None:
    for id_ in ("a/b%20c", "名前", "x?y#z", "%41"):
        add(api, "open_loop", id=id_)
        assert api.post(f"/v1/loops/{_quoted(id_)}/close").json()["id"] == id_
        assert record(api, "open_loop", _quoted(id_))["id"] == id_


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _branch(api: Any) -> str:
    return str(api.post("/v1/namespaces", {"namespace": api.namespace}).json()["ref"]).removeprefix("refs/heads/")
