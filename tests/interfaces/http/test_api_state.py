"""Namespaces, status, the whole state, validation, and conditional writes."""

from __future__ import annotations

from typing import Any

import pytest

from baton_git.interfaces.http.acting import Acting
from baton_git.interfaces.http.responses import Outdated
from baton_git.verbs.work_items.loops import add_loop

LOOP = {"action": "Deployed X", "expect": "health is 200"}


def test_a_namespace_is_created_only_once(api: Any) -> None:
    name = f"{api.namespace}/名前"
    made = api.post("/v1/namespaces", {"namespace": name}, code=201).json()
    assert (made["namespace"], made["created"], made["revision"]) == (name, True, 0)
    again = api.post("/v1/namespaces", {"namespace": name}, code=200).json()
    assert (again["created"], again["commit"]) == (False, made["commit"])
    assert api.problem("POST", "/v1/namespaces", 422, {"namespace": ""})["error"] == "invalid_request"
    assert api.problem("POST", "/v1/namespaces", 422, {"namespace": "x" * 300})["error"] == "invalid_name"


def test_namespaces_are_listed_with_their_counts_page_by_page(api: Any) -> None:
    begin, names = f"{api.namespace}/", [f"{api.namespace}/{one}" for one in "abc"]
    for name in (begin, *names):
        api.post("/v1/namespaces", {"namespace": name}, code=201)
        api.post("/v1/loops", LOOP, code=201, params={"namespace": name})
    first = api.get("/v1/namespaces", params={"limit": 2, "after": begin}).json()
    assert [(one["namespace"], one["revision"], one["counts"]["open_loop"]) for one in first["namespaces"]] == [
        (names[0], 1, 1), (names[1], 1, 1),
    ]  # fmt: skip
    assert api.get("/v1/namespaces", params={"after": first["next"]}).json()["namespaces"][0]["namespace"] == names[2]
    assert api.problem("GET", "/v1/namespaces", 404, params={"after": "z"})["error"] == "not_found"


def test_a_branch_that_is_not_a_namespace_does_not_hide_the_others(api: Any, git: Any) -> None:
    api.post("/v1/loops", LOOP, code=201)
    tree = git(api.folder, "hash-object", "-t", "tree", "-w", "--stdin")
    git(api.folder, "update-ref", "refs/heads/baton/mine", git(api.folder, "commit-tree", tree, "-m", "mine"))
    told = api.get("/v1/namespaces", params={"limit": 1000}).json()["namespaces"]
    listed = {one["namespace"]: one for one in told}
    assert "format" in listed["mine"]["unreadable"]
    assert listed[api.namespace]["revision"] == 1
    assert api.problem("GET", "/v1/status", 403, params={"namespace": "mine"})["error"] == "not_allowed"


def test_the_status_equals_that_of_the_command_line(api: Any, baton: Any) -> None:
    api.post("/v1/loops", LOOP, code=201)
    told = api.get("/v1/status").json()
    assert told == baton("status", "-n", api.namespace, "--json", cwd=api.folder).json
    assert told["open_loops"] == {"open": 1}


def test_the_state_equals_the_command_lines_and_has_an_etag(api: Any, baton: Any) -> None:
    assert api.problem("GET", "/v1/state", 404, params={"namespace": "x"})["error"] == "not_found"
    api.post("/v1/loops", {**LOOP, "id": "OL-1"}, code=201)
    answer = api.get("/v1/state")
    assert answer.json() == baton("read", "-n", api.namespace, cwd=api.folder).json
    tag = answer.headers["etag"]
    same = api.get("/v1/state", code=304, headers={"If-None-Match": f'"other", W/{tag}'})
    assert (same.content, same.headers["etag"]) == (b"", tag)
    api.post("/v1/loops/OL-1/close")
    moved = api.get("/v1/state", headers={"If-None-Match": tag}).json()
    assert moved["baton"].get("open_loops", []) == []
    assert api.get("/v1/state", params={"at": "~1"}).json()["baton"]["open_loops"][0]["id"] == "OL-1"


def test_if_match_prevents_overwriting_newer_revisions(api: Any) -> None:
    none = {"If-Match": '"none"'}
    tag = api.post("/v1/loops", {**LOOP, "id": "OL-1"}, code=201).headers["etag"]
    problem = api.problem("POST", "/v1/loops", 412, LOOP, headers=none)
    assert (problem["error"], problem["current_revision"]) == ("revision_conflict", 1)
    api.post("/v1/loops/OL-1/close", headers={"If-Match": tag})
    assert api.problem("POST", "/v1/undo", 412, headers={"If-Match": tag})["current_revision"] == 2
    assert api.get("/v1/status").json()["revision"] == 2
    api.post("/v1/undo", headers={"If-Match": "*"})


def test_a_conditional_update_that_loses_a_race_is_rejected(api: Any) -> None:
    tag = api.post("/v1/loops", LOOP, code=201).headers["etag"]
    who = Acting(api.namespace, None, None, tag)

    def too_late() -> None:
        with who.on(api.site) as ws:
            api.post("/v1/loops", LOOP, code=201)
            add_loop(ws, api.site.now(), action="x", expect="y")

    with pytest.raises(Outdated) as refused:
        too_late()
    assert refused.value.data["current_revision"] == 2
    assert api.get("/v1/status").json()["revision"] == 2


def test_validate_reports_a_branch_without_faults(api: Any) -> None:
    api.post("/v1/loops", LOOP, code=201)
    found = api.get("/v1/validate")
    told = found.json()
    assert found.headers["etag"] == api.get("/v1/status").headers["etag"]
    assert (told["ok"], told["faulty"]) == (True, [])
    assert told["checked"] > 1


def test_a_branch_that_another_program_moved_is_reported_also_where_reads_are_cached(api: Any, git: Any) -> None:
    for id_ in ("OL-1", "OL-2"):
        api.post("/v1/loops", {**LOOP, "id": id_}, code=201)
    ref = api.post("/v1/namespaces", {"namespace": api.namespace}).json()["ref"]
    tip = git(api.folder, "rev-parse", ref)
    read = {"namespace": api.namespace}
    before = git(api.folder, "rev-parse", f"{ref}~1")
    git(api.folder, "update-ref", ref, before)
    git(api.folder, "update-ref", ref, tip)
    api.post("/v1/baton/read", read)
    for command in (("update-ref", ref, before), ("update-ref", "-d", ref)):
        git(api.folder, *command)
        for method, path, body in (
            ("GET", "/v1/state", None), ("GET", "/v1/status", None), ("POST", "/v1/loops", {**LOOP, "id": "OL-3"}),
        ):  # fmt: skip
            problem = api.problem(method, path, 409, body)
            assert (problem["error"], problem["known"]) == ("branch_moved", tip)
            assert tip[:10] in problem["detail"]
        assert tip[:10] in api.ask("POST", "/v1/baton/read", read, code=409).text
        assert tip[:10] in api.ask("POST", "/v1/baton/write", {**read, "baton": {"session_id": "s"}}, code=409).text
    assert not git(api.folder, "for-each-ref", ref)
    name = api.namespace.replace(":", "%3A")
    assert api.post(f"/v1/namespaces/{name}/restore", {}).json()["commit"] == tip
    assert api.get("/v1/status").json()["open_loops"] == {"open": 2}


def test_a_cached_read_notices_that_the_branch_was_moved_back_to_what_is_cached(api: Any, git: Any, baton: Any) -> None:
    api.post("/v1/loops", {**LOOP, "id": "OL-1"}, code=201)
    api.post("/v1/baton/read", {"namespace": api.namespace})
    ref = api.post("/v1/namespaces", {"namespace": api.namespace}).json()["ref"]
    cached = git(api.folder, "rev-parse", ref)
    baton("loop", "add", "x", "--expect", "y", "-n", api.namespace, cwd=api.folder)
    git(api.folder, "update-ref", ref, cached)
    api.ask("POST", "/v1/baton/read", {"namespace": api.namespace}, code=409)
