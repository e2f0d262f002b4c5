"""Other machines over HTTP: sync with configured remotes, changes that wait for a review, and conflicts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from baton_git.namespace.sync import synchronise
from baton_git.verbs.work_items.loops import add_loop

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def shared(api: Any) -> Any:
    """Return a namespace with one loop, which `origin` also has."""
    api.post("/v1/loops", {"action": "x", "expect": "y", "id": "OL-1"}, code=201)
    assert api.post("/v1/sync").json()["namespaces"][0]["sent"] == 2
    return api


@pytest.fixture
def elsewhere(api: Any, baton: Any) -> Callable[..., None]:
    """Return a function that runs a command in the other clone, between two syncs."""

    def call(*words: str) -> None:
        for line in (("sync",), words, ("sync",)):
            baton(*line, "-n", api.namespace, cwd=api.folder.parent / "other")

    return call


def test_a_sync_with_if_match_sends_no_merge_of_a_revision_that_the_client_did_not_see(
    shared: Any, elsewhere: Any, baton: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere("loop", "add", "z", "--expect", "y", "--id", "OL-2")
    shared.post("/v1/loops", {"action": "a", "expect": "y", "id": "OL-3"}, code=201)
    real = synchronise.propose

    def propose(*args: Any) -> Any:
        monkeypatch.undo()
        with shared.site.work(shared.namespace) as ws:  # another client writes during the fetch
            add_loop(ws, NOW, action="b", expect="y", id="OL-4")
        return real(*args)

    monkeypatch.setattr(synchronise, "propose", propose)
    etag = {"If-Match": shared.get("/v1/status").headers["etag"]}
    assert shared.problem("POST", "/v1/sync", 409, {}, headers=etag)["error"] == "revision_conflict"
    assert shared.post("/v1/sync", headers=etag | {"If-Match": "*"}).json()["namespaces"][0]["sent"] == 3


def test_changes_of_another_machine_are_fetched(shared: Any, elsewhere: Any) -> None:
    elsewhere("loop", "add", "z", "--expect", "y", "--id", "OL-2")
    plan = shared.post("/v1/sync", {"dry_run": True}).json()["namespaces"][0]
    assert [one["kind"] for one in plan["actions"]] == ["forward"]
    assert shared.problem("GET", "/v1/records/open_loop/OL-2", 404)["error"] == "not_found"
    done = shared.post("/v1/sync", {"remote": "origin"}).json()
    assert (done["namespaces"][0]["received"], done["summary"]) == (1, ["1 commit came in from origin"])
    assert shared.get("/v1/records/open_loop/OL-2").json()["record"]["action"] == "z"


def test_a_request_cannot_name_an_address_instead_of_a_remote(shared: Any) -> None:
    place = shared.folder.parent / "origin.git"
    for remote in (
        str(place),
        f"file://{place}",
        "../origin.git",
        ".",
        "-x",
        "ext::sh -c id",
        "https://example.org",
        "",
    ):
        problem = shared.problem("POST", "/v1/sync", 404, {"remote": remote})
        assert (problem["error"], problem["hint"]) == ("not_found", "the configured remotes: origin, reviewed, gone")
        assert shared.problem("GET", "/v1/review", 404, params={"remote": remote})["error"] == "not_found"


def test_without_a_remote_there_is_nothing_to_sync_with(server: Any) -> None:
    for method, path in (("POST", "/v1/sync"), ("GET", "/v1/review")):
        assert server.problem(method, path, 404)["error"] == "not_found"


def test_an_inaccessible_remote_has_problem_details(shared: Any) -> None:
    assert shared.problem("POST", "/v1/sync", 502, {"remote": "gone"})["error"] == "access_denied"


def test_requests_neither_see_nor_decide_what_waits(shared: Any, elsewhere: Any) -> None:
    reviewed = {"remote": "reviewed"}
    assert shared.get("/v1/review", params=reviewed).json() == {"remote": "reviewed", "waiting": []}
    elsewhere("loop", "add", "z", "--expect", "y", "--id", "OL-2")
    shared.post("/v1/sync", reviewed)
    waiting = shared.get("/v1/review", params=reviewed).json()
    assert waiting["waiting"] == [{"kind": "open_loop", "id": "OL-2", "changes": []}]
    assert "agents can send requests" in waiting["withheld"]
    for body in ({}, {"accept": ["OL-2"], "reject": ["OL-2"]}, {"accept_all": True, "reject_all": True}):
        assert shared.problem("POST", "/v1/review", 422, body, params=reviewed)["error"] == "invalid_argument"
    old = shared.get("/v1/status").headers["etag"]
    now = shared.post("/v1/follow-ups", {"item": "meanwhile"}, code=201).headers["etag"]
    take = {"accept": ["OL-2"], "shown": waiting["theirs"]}
    assert shared.problem("POST", "/v1/review", 412, take, params=reviewed, headers={"If-Match": old})["current_commit"]
    for body in (take, {"accept_all": True}, {"reject_all": True}, {"reject": ["OL-2"]}):
        told = shared.problem("POST", "/v1/review", 403, body, params=reviewed, headers={"If-Match": now})
        assert told["error"] == "needs_human"
        assert "only a person may review, on the page" in told["hint"]
    shared.get("/v1/records/open_loop/OL-2", code=404)
    assert len(shared.get("/v1/review", params=reviewed).json()["waiting"]) == 1


def test_a_conflict_is_listed_and_resolved(shared: Any, elsewhere: Any, baton: Any) -> None:
    shared.post("/v1/handovers/run-1/step", {"challenge": "a", "uri": "u:1"})
    shared.post("/v1/sync")
    elsewhere("handover", "step", "--session", "run-1", "--challenge", "b", "--uri", "u:2")
    shared.post("/v1/handovers/run-1/step", {"challenge": "c", "uri": "u:3"})
    shared.post("/v1/sync")
    told = shared.get("/v1/conflicts").json()["conflicts"]
    assert told == baton("conflicts", "-n", shared.namespace, "--json", cwd=shared.folder).json["conflicts"]
    one = told[0]
    loser = "theirs" if one["winner"] == "ours" else "ours"
    path = f"/v1/conflicts/{one['id']}/resolve"
    for body in ({}, {"side": "ours", "value": 1}):
        assert shared.problem("POST", path, 422, body)["error"] == "invalid_argument"
    settled = shared.post(path, {"side": loser}).json()
    assert (settled["record"], settled["field"]) == ("run-1", one["field"])
    assert shared.get("/v1/conflicts").json()["conflicts"] == []
    handover = shared.get("/v1/handovers/run-1").json()
    assert handover["current_challenge"] == one[loser]["current_challenge"]
    assert shared.problem("POST", path, 404, {"side": loser})["error"] == "not_found"


def test_the_policy_of_a_remote_gets_stricter_and_only_a_person_loosens_it(shared: Any) -> None:
    remotes = {one["remote"]: one for one in shared.get("/v1/remotes").json()["remotes"]}
    assert {name: one["policy"] for name, one in remotes.items()} == {
        "origin": "auto", "reviewed": "review", "gone": "auto",
    }  # fmt: skip
    assert (remotes["origin"]["is_default"], remotes["origin"]["trusted"]) == (True, False)
    assert shared.problem("POST", "/v1/remotes/gone/policy", 422, {"policy": "signed"})["error"] == "invalid_argument"
    assert shared.post("/v1/remotes/gone/policy", {"policy": "review"}).json()["previous"] == "auto"
    assert shared.get("/v1/remotes").json()["remotes"][2]["policy"] == "review"
    assert shared.problem("POST", "/v1/remotes/gone/policy", 403, {"policy": "auto"})["error"] == "needs_human"
    assert shared.problem("POST", "/v1/remotes/gone/review", 502)["error"] == "access_denied"
    assert (
        shared.problem("POST", "/v1/remotes/nix/review", 404)["hint"]
        == "the configured remotes: origin, reviewed, gone"
    )
