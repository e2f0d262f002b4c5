"""JSON in requests is read in the same way on all paths: without repeated keys, and not on the event loop if it is
large."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from baton_git.interfaces.http.operations import HttpOperation, JsonOnly
from baton_git.interfaces.http.session_baton import WriteRequest

JSON = {"Content-Type": "application/json"}


def test_a_repeated_key_is_refused_with_its_place_on_every_path(api: Any) -> None:
    body = b'{"namespace": "a",\n "baton": {"x": [{"y": 1, "y": 2}]}}'
    paths = api.ask("GET", "/openapi.json").json()["paths"]
    verbs = [(path, method) for path in paths for method in paths[path] if "requestBody" in paths[path][method]]
    asked = [(method, re.sub(r"\{\w+\}", "x", path)) for path, method in verbs]
    assert {"/v1/baton/read", "/v1/baton/write", "/checkpoint/x", "/v1/follow-ups"} <= {path for _, path in asked}
    for method, path in asked:
        answer = api.ask(method.upper(), path, content=body, headers=JSON, code=422)
        assert "the key 'y' is given twice at line 2, column 27" in answer.text, path


def body_of(size: int) -> bytes:
    return json.dumps({"namespace": "a", "baton": {"a": [{"b": n} for n in range(size // 12)]}}).encode()


def scope_and_receive(raw: bytes) -> tuple[dict[str, Any], Any]:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": raw, "more_body": False}

    headers = [(b"content-type", b"application/json")]
    return {"type": "http", "method": "POST", "path": "/", "headers": headers, "query_string": b""}, receive


async def turns_during(work: Any) -> int:
    """Return how often the event loop ran other tasks during this work."""
    task = asyncio.ensure_future(work)
    turns = 0
    while not task.done():
        await asyncio.sleep(0.001)
        turns += 1
    await task
    return turns


def test_parsing_a_large_body_does_not_block_the_event_loop() -> None:
    async def inner(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        assert message["body"] == raw

    raw = body_of(1_000_000)
    scope, receive = scope_and_receive(raw)
    assert asyncio.run(turns_during(JsonOnly(inner)(scope, receive, None))) > 3
    write = HttpOperation("write", "POST", "/", lambda _: Response(), "", "", body=WriteRequest)
    assert asyncio.run(turns_during(write.parse(Request(scope, receive)))) > 3


def test_an_mcp_message_with_a_repeated_key_is_answered_and_not_passed_on() -> None:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    for raw, said in (
        (b'{"id": 1, "params": {"a": 1, "a": 2}}', "the key 'a' is given twice at line 1, column 30"),
        (b"[" * 200_000, "nested deeper than 200 levels"),
        (b"\xff", "codec"),
    ):
        sent.clear()
        scope, receive = scope_and_receive(raw)
        asyncio.run(JsonOnly(inner)(scope, receive, send))
        assert sent[0]["status"] == 400
        error = json.loads(sent[1]["body"])["error"]
        assert error["code"] == -32700
        assert said in error["message"]
