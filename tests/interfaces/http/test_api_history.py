"""The log, differences, undo and rollback over HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from baton_git.core.lifecycle import Confirmed
from baton_git.namespace.branch import Branch
from baton_git.namespace.caller import Vouched
from baton_git.verbs.revisions import log as log_verbs
from baton_git.verbs.revisions.undo import undo
from baton_git.verbs.work_items.patterns import graduate_pattern


@pytest.fixture
def story(api: Any) -> Any:
    """Return a client of a namespace with three revisions: s-1 adds two loops, s-2 verifies one of them."""
    for id_ in ("OL-1", "OL-2"):
        api.post("/v1/loops", {"action": "x", "expect": "y", "id": id_}, code=201, headers=_by("s-1", "claude"))
    api.post("/v1/loops/OL-1/verify", {"result": "passed"}, headers=_by("s-2", "codex"))
    return api


def _by(session: str, agent: str) -> dict[str, str]:
    return {"Baton-Session": session, "Baton-Agent": agent}


def _revisions(answer: Any) -> list[int]:
    return [one["revision"] for one in answer.json()["commits"]]


def test_the_log_equals_that_of_the_command_line(story: Any, baton: Any) -> None:
    told = baton("log", "-n", story.namespace, "--json", cwd=story.folder).json["commits"]
    assert story.get("/v1/log").json() == {"commits": told, "next": None}


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"record": "OL-1"}, [3, 1]), ({"by_session": "s-1"}, [2, 1]), ({"by_agent": "codex"}, [3]),
        ({"until": "2020-01-01"}, [0]), ({"since": "2020-01-01"}, [3, 2, 1]), ({"limit": 2}, [3, 2]),
    ],
)  # fmt: skip
def test_the_log_is_filtered(story: Any, params: dict[str, Any], expected: list[int]) -> None:
    assert _revisions(story.get("/v1/log", params=params)) == expected


def test_the_log_continues_where_a_page_ended(story: Any) -> None:
    first = story.get("/v1/log", params={"limit": 2, "by_session": "s-1"})
    assert first.json()["next"] is None
    first = story.get("/v1/log", params={"limit": 2})
    rest = story.get("/v1/log", params={"limit": 2, "after": first.json()["next"]})
    assert (_revisions(first), _revisions(rest), rest.json()["next"]) == ([3, 2], [1, 0], None)
    assert story.problem("GET", "/v1/log", 404, params={"after": "0" * 40})["error"] == "not_found"
    assert story.problem("GET", "/v1/log", 422, params={"since": "soon"})["error"] == "invalid_argument"
    assert story.problem("GET", "/v1/log", 422, params={"limit": 1001})["error"] == "invalid_request"


def test_one_revision_is_shown_as_by_the_command_line(story: Any, baton: Any) -> None:
    told = story.get("/v1/log/~1").json()
    assert told == baton("show", "~1", "-n", story.namespace, "--json", cwd=story.folder).json
    assert story.problem("GET", "/v1/log/77", 404)["error"] == "not_found"


def test_a_diff_lists_records_and_fields(story: Any, baton: Any) -> None:
    told = story.get("/v1/diff", params={"a": "1", "b": "3"}).json()
    assert told["next"] is None
    assert told == baton("diff", "1", "3", "-n", story.namespace, "--json", cwd=story.folder).json
    assert [(one["id"], one["action"]) for one in told["changes"] if one["kind"] == "open_loop"] == [
        ("OL-1", "changed"), ("OL-2", "added"),
    ]  # fmt: skip
    page = story.get("/v1/diff", params={"a": "1", "limit": 1}).json()
    rest = story.get("/v1/diff", params={"a": "1", "after": page["next"]}).json()
    assert page["changes"] + rest["changes"] == story.get("/v1/diff", params={"a": "1"}).json()["changes"]
    assert story.problem("GET", "/v1/diff", 422)["faults"][0]["path"] == "a"


def test_a_revision_can_be_undone_only_once(story: Any) -> None:
    done = story.post("/v1/undo", {"revision": "3"}).json()
    assert "OL-1 verified" in done["undone"]
    assert story.get("/v1/records/open_loop/OL-1").json()["record"]["status"] == "open"
    assert story.problem("POST", "/v1/undo", 403, {"revision": "3"})["error"] == "not_allowed"


def test_rollback_takes_a_record_a_session_or_a_revision(story: Any) -> None:
    assert story.post("/v1/rollback", {"record": "OL-1"}).json()["changes"][0]["id"] == "OL-1"
    story.post("/v1/rollback", {"of_session": "s-1", "yes": True})
    assert story.get("/v1/records", params={"kind": "open_loop"}).json()["records"] == []
    done = story.post("/v1/rollback", {"revision": "3"}).json()
    assert [one["action"] for one in done["changes"] if one["kind"] == "open_loop"] == ["added", "added"]
    for body in ({}, {"of_session": "s-1", "record": "OL-1"}):
        assert story.problem("POST", "/v1/rollback", 422, body)["error"] == "invalid_argument"
    assert story.problem("POST", "/v1/rollback", 404, {"record": "OL-9"})["error"] == "not_found"


def test_redo_and_rollback_cannot_graduate_a_pattern(api: Any, baton: Any) -> None:
    pattern = {"id": "PAT-1", "what": "w", "first_seen": "2026-01-01", "last_seen": "2026-01-01", "count": 3,
               "status": "rule_candidate", "proposed_rule": "Do not"}  # fmt: skip
    api.post("/v1/baton/write", {"namespace": api.namespace, "baton": {"session_id": "s", "patterns": [pattern]}})
    with api.site.work(api.namespace) as ws:
        word = Confirmed("Ada", "terminal", pattern="PAT-1", rule="Do not", what="w")
        graduated = graduate_pattern(replace(ws, confirmed=word), api.site.now(), "PAT-1").written.revision.number
    assert api.problem("POST", "/v1/undo", 403, {"yes": True})["error"] == "needs_human"
    with api.site.work(api.namespace) as ws:
        undo(replace(ws, confirmed=Vouched("Ada", "page")), api.site.now(), yes=True)
    for path, body in (("/v1/redo", {"yes": True}), ("/v1/rollback", {"revision": str(graduated), "yes": True})):
        assert api.problem("POST", path, 403, body)["error"] == "needs_human"
    assert api.get("/v1/records/pattern/PAT-1").json()["record"]["status"] == "rule_candidate"


def test_the_etag_of_a_log_is_that_of_its_newest_revision(story: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = log_verbs.read_log

    def log(ws: Any, *args: Any, **more: Any) -> Any:
        yield from list(real(ws, *args, **more))
        story.post("/v1/follow-ups", {"item": "by another"}, code=201)

    monkeypatch.setattr(log_verbs, "read_log", log)
    answer = story.get("/v1/log")
    assert answer.headers["etag"] == f'"{answer.json()["commits"][0]["commit"]}"'


def test_a_diff_continues_where_a_page_ended(story: Any) -> None:
    params = {"a": "0", "limit": 1}
    first = story.get("/v1/diff", params=params).json()
    rest = story.get("/v1/diff", params={**params, "after": first["next"]}).json()
    assert (len(first["changes"]), len(rest["changes"])) == (1, 1)
    assert first["changes"] != rest["changes"]
    for after in ("zzz", "0", "77", "1" * 12):
        assert story.problem("GET", "/v1/diff", 404, params={**params, "after": after})["error"] == "not_found"


def test_if_match_counts_for_a_requests_first_write(story: Any) -> None:
    seen = story.get("/v1/status").headers["etag"]
    for path, body in (("/v1/boot", {}), ("/v1/wrap", {"context": "c", "summary": "s"})):
        etag = {"If-Match": story.get("/v1/status").headers["etag"], **_by("s-3", "codex")}
        assert story.post(path, body, headers=etag).status_code == 200
    assert story.problem("POST", "/v1/undo", 412, {}, headers={"If-Match": seen})["error"] == "revision_conflict"


def test_if_match_compares_commits_and_a_star_accepts_any(story: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the write, another process sets the branch to another commit with the same number."""
    real, moved = Branch.update, []

    def update(branch: Branch, change: Any, stamp: Any, **more: Any) -> Any:
        plain = Branch(branch.store, branch.namespace, branch.prefix)
        tip = plain.read()
        info, draft = branch.store.commit(tip.commit), branch.store.draft()
        if not moved:
            other = plain.draft_commit(draft, tip.tree, info.parents, tip.number, "another", stamp, ())
            moved.append(plain.advance(draft, tip.commit, other, stamp, by="sync"))
        return real(branch, change, stamp, **more)

    monkeypatch.setattr(Branch, "update", update)
    etag = {"If-Match": story.get("/v1/status").headers["etag"]}
    assert story.problem("POST", "/v1/follow-ups", 412, {"item": "late"}, headers=etag)["current_revision"] == 3
    moved.clear()
    story.post("/v1/follow-ups", {"item": "any version will do"}, code=201, headers={"If-Match": "*"})
