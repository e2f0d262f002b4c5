"""Errors of requests, as problem details."""

from __future__ import annotations

from typing import Any

import pytest

from baton_git.interfaces.http.responses import answer


def test_unknown_and_missing_fields_are_named(api: Any) -> None:
    problem = api.problem("POST", "/v1/loops", 422, {"action": "x", "expct": "y"})
    assert problem["error"] == "invalid_request"
    assert {one["path"] for one in problem["faults"]} == {"body.expect", "body.expct"}


def test_a_value_that_does_not_fit_its_record_is_named(api: Any) -> None:
    body = {"action": " ", "expect": "y"}
    assert api.problem("POST", "/v1/loops", 422, body)["error"] == "invalid_argument"
    body = {"action": "x", "expect": "y", "verify": {"method": "shell"}}
    assert "verify.method" in api.problem("POST", "/v1/loops", 422, body)["detail"]


@pytest.mark.parametrize("text", ['{"action": "\\ud800", "expect": "y"}', '{"\\ud800": 1}', "[", "{}\xff", "NaN"])
def test_a_body_that_is_not_json_is_rejected_with_problem_details(api: Any, text: str) -> None:
    headers = {"Content-Type": "application/json"}
    answer = api.post("/v1/loops", code=None, content=text.encode("latin-1"), headers=headers)
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_unknown_path_or_method_has_problem_details(api: Any) -> None:
    for path in ("/nope", "/v1/nothing", "/v1", "/checkpoint", "/static/none.css", "/openapi.json/x"):
        problem = api.problem("GET", path, 404)
        assert (problem["error"], f"'{path}'" in problem["detail"], bool(problem["hint"])) == ("not_found", True, True)
    for method, path in (
        ("DELETE", "/v1/loops"),
        ("DELETE", "/checkpoint/zero"),
        ("PUT", "/"),
        ("PUT", "/openapi.json"),
    ):
        problem = api.problem(method, path, 405)
        assert (problem["error"], problem["detail"]) == ("method_not_allowed", f"'{path}' has no method '{method}'")
        assert problem["hint"] == "/openapi.json describes the methods of each path"


def test_errors_of_session_batons_own_paths_keep_its_form(api: Any) -> None:
    for method, path, code, text in (
        ("GET", "/v1/baton/nope", 404, "Not Found"), ("POST", "/v1/baton/", 404, "Not Found"),
        ("GET", "/v1/baton/read", 405, "Method Not Allowed"), ("POST", "/health", 405, "Method Not Allowed"),
    ):  # fmt: skip
        answer = api.ask(method, api.url + path, code=code)
        assert (answer.text, answer.headers["content-type"]) == (f'{{"detail":"{text}"}}', "application/json")


def test_a_body_of_paif_that_cannot_be_parsed_has_problem_details(api: Any) -> None:
    headers = {"Content-Type": "application/json"}
    answer = api.post("/checkpoint/zero", code=400, content=b'{"x": "\xff"}', headers=headers)
    assert answer.headers["content-type"] == "application/problem+json"


def test_unknown_ids_with_line_breaks_are_not_found(api: Any) -> None:
    for path in ("/v1/records/no%0Asuch/reopen", "/v1/records/loop/no%0Asuch%0A/forget"):
        assert api.problem("POST", path, 404, {"reason": "x"} if "forget" in path else {})["error"] == "not_found"
    assert api.problem("GET", "/v1/records/no%0Asuch%0A", 404)["error"] == "not_found"


@pytest.mark.parametrize("name", ["BATON-SESSION", "BATON-AGENT"])
def test_an_invalid_session_or_agent_name_is_rejected(api: Any, name: str) -> None:
    problem = api.problem("POST", "/v1/undo", 422, headers={name: "x" * 200})
    assert (problem["error"], problem["what"]) == ("invalid_name", name.lower().removeprefix("baton-"))


def test_a_session_name_may_have_non_latin_characters(api: Any) -> None:
    api.post("/v1/loops", {"action": "x", "expect": "y"}, code=201, headers=[(b"baton-session", "名前".encode())])
    assert api.get("/v1/log").json()["commits"][0]["session"] == "名前"


def test_a_wrong_token_gets_problem_details(guarded: Any) -> None:
    guarded.get("/v1/status")
    problem = guarded.problem("GET", "/v1/status", 401, headers={"Authorization": "Bearer wrong"})
    assert (problem["error"], problem["detail"]) == ("access_denied", "invalid token")


def test_a_response_is_valid_json_for_any_stored_value() -> None:
    body = bytes(answer({"half": "\ud800", "number": float("nan"), "list": [float("inf"), {"a": 1}]}).body)
    assert body.decode() == '{"half": "\ufffd\ufffd\ufffd", "number": null, "list": [null, {"a": 1}]}'
