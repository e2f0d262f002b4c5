"""session-baton's HTTP interface, compared with recorded responses of its own server, and our additions: revisions,
ETags, `held`."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from session_baton_cases import CASES, GOOD, READ, WRITE, asked, recorded
from world import begin

OURS: dict[str, tuple[int, str, str]] = {
    "an empty baton": (422, "session_id", "a baton says which session wrote it"),
    "a text for a list": (422, "must be a list", "a document that is not a baton is rejected with the faulty field"),
    "an unknown status": (422, "'observing', 'rule_candidate'", "as above"),
    "NaN": (422, "not a number that JSON can hold", "it would come back as null"),
    "NaN read back": (200, '"baton": null', "the write was rejected"),
    "half of a surrogate pair": (422, "surrogate", "the original answers 500"),
    "half of a pair in a namespace": (422, "string_unicode", "the original answers 500"),
    "a key twice in a read": (422, "given twice", "it is unclear which value counts"),
    "a key twice": (422, "given twice", "as above"),
    "5 MB in one record": (422, "the limit is 262,144 bytes", "a record has a limit"),
    "70 levels": (422, "the limit is 64 levels", "nesting has a limit, too"),
    "a namespace of 300 letters": (422, "too long for a file name", "a namespace becomes the name of a branch"),
    "a graduation": (200, '"held"', "only a person graduates a pattern"),
    "a revision that is not there": (409, "baton_revision_conflict", "memory-hall responds in the same way"),
    "a negative revision": (422, "greater_than_equal", "revisions are not negative"),
    "another site's page": (403, "another site", "a page of another site must not write here"),
    "a page without an origin": (403, "another site", "as above"),
    "an unknown path": (404, "there is no path '/nope'", "a path that session-baton does not have has problem details"),
    "another name of the server": (421, "does not name this server", "DNS rebinding"),
}
"""For each case in which our response differs: its status, a part of its body, and the reason."""

ADDED = ("revision", "commit", "held")


@pytest.fixture
def api(wire):
    """Return a client of a namespace that does not exist yet: in the original, the first write creates it."""
    return wire


def _without_ours(body: Any) -> Any:
    return {name: value for name, value in body.items() if name not in ADDED} if isinstance(body, dict) else body


def read(api: Any) -> Any:
    return api.post(READ, {"namespace": api.namespace})


def write(api: Any, baton: Any, code: int = 200, **more: Any) -> Any:
    return api.post(WRITE, {"namespace": api.namespace, "baton": baton, **more}, code=code)


def test_responses_equal_those_of_the_original_server(api):
    originals = recorded()
    alike = [name for name in CASES if name not in OURS]
    assert len(alike) > 50
    for name in alike:
        found, original = asked(api.url, CASES[name]), originals[name]
        assert (name, found.status, found.headers) == (name, original.status, original.headers)
        assert (name, json.dumps(_without_ours(found.body), sort_keys=True)) == (
            name, json.dumps(original.body, sort_keys=True),
        )  # fmt: skip


def lineage(api):
    baton = read(api).json()["baton"]
    return baton["session_id"], baton["parent_session"]


def test_the_lineage_is_that_of_the_last_writer_whoever_it_is(api):
    write(api, {"session_id": "A", "context": "a"})
    write(api, {"session_id": "B", "parent_session": "A", "context": "b"})
    assert lineage(api) == ("B", "A")
    api.post("/v1/boot", {"check_seconds": 0}, headers={"Baton-Session": "C"})
    api.post("/v1/wrap", {"context": "c"}, headers={"Baton-Session": "C"})
    assert lineage(api) == ("C", "B")
    write(api, {**read(api).json()["baton"], "session_id": "D", "parent_session": "C"})
    assert lineage(api) == ("D", "C")


def test_a_namespace_that_only_boots_and_wraps_has_a_lineage(api):
    with api.site.work(api.namespace) as ws:
        begin(ws.branch)
    for session, parent in (("A", None), ("B", "A"), ("C", "B")):
        api.post("/v1/boot", {"check_seconds": 0}, headers={"Baton-Session": session})
        api.post("/v1/wrap", {"context": session}, headers={"Baton-Session": session})
        assert lineage(api) == (session, parent)


def test_every_difference_from_the_original_server_has_a_reason(api):
    originals = recorded()
    for name, (status, says, why) in OURS.items():
        found = asked(api.url, CASES[name])
        assert (name, found.status, says in json.dumps(found.body)) == (name, status, True), found
        assert found != originals[name], f"{name}: no difference any more"
        assert why


def test_the_keys_of_an_answer_come_in_the_originals_order(api):
    assert list(write(api, GOOD).json())[:3] == ["ok", "updated_at", "namespace"]
    answer = read(api)
    assert list(answer.json())[:3] == ["baton", "namespace", "updated_at"]
    assert answer.text.startswith('{"baton":{')


def test_the_time_of_a_write_is_that_of_the_next_read(api):
    for context in ("a", "b", "b"):
        done = write(api, {**GOOD, "context": context}).json()
        found = read(api).json()
        assert [found[name] for name in ("updated_at", "revision", "commit")] == [
            done[name] for name in ("updated_at", "revision", "commit")
        ]
        assert found["updated_at"].endswith("+00:00")


def test_an_unconfirmed_graduation_is_held_and_the_rest_is_written(api):
    pattern = {"id": "PAT-1", "what": "w", "first_seen": "2026-01-01", "last_seen": "2026-01-02"}
    baton = {**GOOD, "patterns": [{**pattern, "status": "graduated", "graduated_to": "rules/x.md"}], "context": "kept"}
    done = write(api, baton).json()
    held = [(one["id"], one["field"], one["claimed"]) for one in done["held"]]
    assert held == [("PAT-1", "status", "graduated"), ("PAT-1", "graduated_to", "rules/x.md")]
    found = read(api).json()["baton"]
    assert found["context"] == "kept"
    assert found["patterns"][0]["status"] != "graduated"


def test_a_revision_that_is_not_the_newest_is_a_conflict_with_the_current_state(api):
    first = write(api, GOOD, expected_revision=0).json()
    second = {**GOOD, "context": "second"}
    done = write(api, second, expected_revision=first["revision"]).json()
    assert done["revision"] == first["revision"] + 1
    late = write(api, GOOD, 409, expected_revision=first["revision"])
    detail = late.json()["detail"]
    assert detail == {
        "error": "baton_revision_conflict", "namespace": api.namespace, "expected_revision": first["revision"],
        "current_revision": done["revision"], "current_updated_at": done["updated_at"], "current_baton": second,
    }  # fmt: skip
    assert late.headers["etag"] == f'"{done["commit"]}"'
    assert read(api).json()["commit"] == done["commit"]


def test_a_missing_namespace_has_no_newest_revision(api):
    detail = write(api, GOOD, 409, expected_revision=1).json()["detail"]
    assert [detail[f"current_{name}"] for name in ("revision", "baton", "updated_at")] == [None, None, None]
    assert read(api).json()["baton"] is None


def test_if_match_accepts_only_the_revision_that_was_read(api):
    body = {"namespace": api.namespace, "baton": GOOD}
    absent = read(api).headers["etag"]
    assert api.post(WRITE, body, code=412, headers={"If-Match": "*"}).json()["detail"]["expected_revision"] is None
    first = api.post(WRITE, body, headers={"If-Match": absent}).headers["etag"]
    assert first == read(api).headers["etag"]
    body["baton"] = {**GOOD, "context": "second"}
    second = api.post(WRITE, body, headers={"If-Match": f'"other", {first}'})
    refused = api.post(WRITE, {**body, "baton": GOOD}, code=412, headers={"If-Match": first})
    assert refused.json()["detail"]["current_baton"]["context"] == "second"
    assert refused.headers["etag"] == second.headers["etag"]
    api.post(WRITE, body, code=412, headers={"If-Match": f"W/{second.headers['etag']}"})
    api.post(WRITE, {**body, "baton": GOOD}, headers={"If-Match": "*"})


def test_of_many_conditional_writes_only_one_succeeds(api):
    revision = write(api, GOOD).json()["revision"]
    codes: list[int] = []

    def write_once(number: int) -> None:
        baton = {**GOOD, "session_id": f"s{number}", "context": f"by {number}"}
        body = {"namespace": api.namespace, "baton": baton, "expected_revision": revision}
        codes.append(api.post(WRITE, body, code=None).status_code)

    threads = [threading.Thread(target=write_once, args=(number,)) for number in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(codes) == [200, *[409] * 5]


def test_a_cached_read_uses_no_thread(api, monkeypatch):
    from baton_git.interfaces.http import documents

    write(api, GOOD)
    first = read(api)

    def never(*_: Any) -> Any:
        raise AssertionError("a thread was asked for")

    monkeypatch.setattr(documents, "run_in_threadpool", never)
    assert read(api).content == first.content


@pytest.mark.parametrize("path", [READ, WRITE])
def test_a_bug_is_500_without_a_trace_and_the_log_has_it(api, monkeypatch, caplog, path):
    monkeypatch.setattr(type(api.site), "work", lambda *_, **__: 1 / 0)
    answer = api.post(path, {"namespace": api.namespace, "baton": GOOD}, code=500)
    assert answer.json() == {"detail": "a bug in baton itself; the server's log has the details"}
    assert "ZeroDivisionError" in caplog.text
