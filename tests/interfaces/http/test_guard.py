"""Which requests are accepted, and how malformed requests are handled: tested on the application itself, and with raw
sockets."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from looped_cases import for_each

from baton_git.interfaces.http import serving
from baton_git.interfaces.http.guard import CALLER, FREE_WRONG, Guard, NoPages, is_token, name_of
from baton_git.interfaces.http.limits import MAX_BODY, TimeLimits
from baton_git.interfaces.http.responses import refusal
from baton_git.recall.terms import MAX_QUESTION

HOST = (b"host", b"127.0.0.1:9101")
CHUNKED = (b"transfer-encoding", b"chunked")
READ = "/v1/baton/read"


async def inner(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads the whole body and returns who sent the request."""
    while (await receive()).get("more_body"):
        pass
    kind = scope.get(CALLER, ("?",))[0].encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": kind})


def asked(
    app: Any, *headers: tuple[bytes, bytes], path: str = READ, method: str = "POST", parts: tuple[bytes, ...] = (b"",),
    pause: float = 0.0,
) -> tuple[int, dict[bytes, bytes], bytes]:  # fmt: skip
    """Return the response of an application to a request whose body comes in parts, `pause` seconds apart."""
    sent: list[dict[str, Any]] = []
    left = list(parts)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": list(headers), "query_string": b""}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"]


def status(app: Any, *headers: tuple[bytes, bytes], **more: Any) -> int:
    return asked(app, *headers, **more)[0]


# --- Host and Origin


@for_each(
    "host",
    [b"127.0.0.1", b"127.0.0.1:9101", b"localhost", b"LocalHost:80", b"localhost.", b"localhost.:9101", b"[::1]",
     b"[::1]:9101", b"127.0.0.1:"],
)  # fmt: skip
def test_names_of_this_machine_are_accepted_as_hosts(host):
    assert status(Guard(inner), (b"host", host)) == 200


@for_each(
    "host",
    [b"", b"evil.example", b"127.0.0.1.evil.example", b"evil@127.0.0.1", b"127.0.0.1@evil", b"127.0.0.1/x",
     b"localhost..", b"0.0.0.0", b"127.0.0.1:80:80", b"127.0.0.1:x", b"[::1", b"::1", b"[::2]", b"local host",
     b"localhost#", b"\xff", b"localhost\x00", b"127.0.0.1,evil", b"127.0.0.1\\evil", b"127.0.0.1:999999"],
)  # fmt: skip
def test_other_host_names_are_rejected(host):
    code, headers, body = asked(Guard(inner), (b"host", host))
    assert (code, b"--allow-host" in body, headers[b"cache-control"]) == (421, True, b"private, no-store")


def test_a_request_needs_exactly_one_valid_host_header():
    assert status(Guard(inner)) == 421
    assert status(Guard(inner), HOST, HOST) == 421
    assert status(Guard(inner), HOST, (b"host", b"evil")) == 421
    assert status(Guard(inner, token="t", hosts=None), (b"authorization", b"Bearer t")) == 200


def test_an_allowed_host_name_is_accepted():
    assert status(Guard(inner, hosts=frozenset({"state.lan"})), (b"host", b"State.LAN:1")) == 200
    assert status(Guard(inner, hosts=frozenset({"state.lan"})), HOST) == 421
    assert name_of(b"[FE80::1]:1") == "fe80::1"


@for_each(
    "header",
    [(b"origin", b"null"), (b"origin", b"http://evil.example"), (b"origin", b"http://127.0.0.1"), (b"origin", b""),
     (b"origin", b"http://127.0.0.1:9102"), (b"origin", b"http://127.0.0.1:9101.evil"), (b"origin", b"http://["),
     (b"origin", b"http://evil@127.0.0.1:9101"), (b"origin", b"\xff"), (b"sec-fetch-site", b"cross-site"),
     (b"sec-fetch-site", b"same-site"), (b"sec-fetch-site", b"CROSS-SITE")],
)  # fmt: skip
def test_a_page_of_another_site_writes_nothing(header):
    for method in ("POST", "PUT", "DELETE", "PATCH", "PROPFIND"):
        assert status(Guard(inner), HOST, header, method=method) == 403
    assert status(Guard(inner), HOST, header, method="GET") == 200


def test_a_refused_page_of_another_site_learns_which_header_is_wrong():
    for header, says in (
        ((b"origin", b"http://evil.example"), "Origin is 'http://evil.example', Host is '127.0.0.1:9101'"),
        ((b"origin", b""), "Origin is empty or given twice"),
        ((b"sec-fetch-site", b"cross-site"), "Sec-Fetch-Site is 'cross-site'"),
    ):
        problem = json.loads(asked(Guard(inner), HOST, header, path="/login")[2])
        assert (problem["detail"], bool(problem["hint"])) == (
            f"a page of another site may not write here: {says}",
            True,
        )


def test_a_page_of_the_same_origin_may_write():
    own = (b"origin", b"http://127.0.0.1:9101")
    assert status(Guard(inner), HOST, own, (b"sec-fetch-site", b"same-origin")) == 200
    assert status(Guard(inner), HOST, own, own) == 403


# --- the token


@for_each(
    ("given", "says"),
    [
        ([], b"missing bearer token"), ([b"bearer t"], b"missing bearer token"),
        ([b"Basic t"], b"missing bearer token"), ([b"Bearer"], b"missing bearer token"),
        ([b"Bearer "], b"invalid token"), ([b"Bearer T"], b"invalid token"),
        ([b"Bearer t "], b"invalid token"), ([b"Bearer  t"], b"invalid token"), ([b"Bearer t\xe9"], b"invalid token"),
        ([b"Bearer " + b"t" * 60_000], b"invalid token"), ([b"Bearer t", b"Bearer t"], b"missing bearer token"),
        ([b"Bearer x", b"Bearer t"], b"missing bearer token"), ([b"Bearer t, Bearer x"], b"invalid token"),
    ],
)  # fmt: skip
def test_access_needs_the_token(given, says):
    headers = [(b"authorization", one) for one in given]
    code, more, body = asked(Guard(inner, token="t"), HOST, *headers)
    assert (code, body, b"www-authenticate" in more) == (401, b'{"detail":"' + says + b'"}', False)
    for path in ("/nope", "/health/x", "//health", "/v1/baton/write", "/openapi.json"):
        assert status(Guard(inner, token="t"), HOST, *headers, path=path) == 401


def test_health_needs_no_token():
    for path in ("/health", "/health/"):
        assert status(Guard(inner, token="t"), HOST, path=path, method="GET") == 200


def test_a_token_of_any_characters_is_compared_as_bytes():
    assert is_token("gehöim-名".encode(), "gehöim-名")
    assert not is_token("gehöim-名".encode("utf-16"), "gehöim-名")
    assert not is_token(b"", "é")
    assert asked(Guard(inner, token="é"), HOST, (b"authorization", "Bearer é".encode()))[2] == b"owner"
    assert status(Guard(inner, token="é"), HOST, (b"authorization", b"Bearer \xe9")) == 401


def test_tokens_are_compared_in_constant_time(monkeypatch):
    compared = []
    monkeypatch.setattr(
        "baton_git.interfaces.http.guard.hmac.compare_digest", lambda *both: compared.append(both) or False
    )
    status(Guard(inner, token="secret"), HOST, (b"authorization", b"Bearer secreX"))
    assert compared == [(b"secreX", b"secret")]


def test_wrong_tokens_are_limited_and_the_right_one_always_gets_in():
    guard = Guard(inner, token="secret")
    wrong, right = ((b"authorization", b"Bearer " + token) for token in (b"secreX", b"secret"))
    assert [status(guard, HOST, wrong) for _ in range(FREE_WRONG)] == [401] * FREE_WRONG
    for path in (READ, "/v1/status", "/checkpoint/zero"):
        code, headers, _ = asked(guard, HOST, wrong, path=path)
        assert (code, int(headers[b"retry-after"]) >= 1) == (429, True)
    assert status(guard, HOST) == 401
    assert status(guard, HOST, right) == 200


# --- every response


def test_every_response_forbids_caching():
    for guard, code in ((Guard(inner), 200), (Guard(inner, token="t"), 401), (Guard(inner, hosts=frozenset()), 421)):
        got, headers, _ = asked(guard, HOST)
        assert (got, headers[b"cache-control"], headers[b"x-content-type-options"]) == (
            code, b"private, no-store", b"nosniff",
        )  # fmt: skip
        assert b"access-control-allow-origin" not in headers


class OnePage(NoPages):
    def is_page(self, path: str) -> bool:
        return path == "/"


def test_a_page_loads_nothing_from_elsewhere():
    _, headers, _ = asked(Guard(inner, pages=OnePage()), HOST, path="/", method="GET")
    assert b"default-src 'none'" in headers[b"content-security-policy"]


def test_headers_set_by_the_application_are_kept():
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await refusal("/x", 503, "busy", "no")(scope, receive, send)

    async def cached(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"max-age=1")]})
        await send({"type": "http.response.body", "body": b""})

    assert asked(Guard(app), HOST)[1][b"retry-after"] == b"1"
    assert asked(Guard(cached), HOST)[1][b"cache-control"] == b"max-age=1"


# --- time and size


def test_a_body_that_does_not_arrive_is_408_and_the_connection_ends():
    code, headers, body = asked(
        TimeLimits(inner, receive_seconds=0.05), HOST, CHUNKED, parts=(b"a", b"b", b"c"), pause=0.03
    )
    assert (code, headers[b"connection"]) == (408, b"close")
    assert b"0.05 seconds" in body


def test_a_response_that_takes_too_long_is_503():
    async def sleeps(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        try:
            await asyncio.sleep(5)
        except Exception as error:  # as a framework catches errors
            raise AssertionError from error

    code, headers, body = asked(TimeLimits(sleeps, answer_seconds=0.05), HOST)
    assert (code, headers[b"retry-after"], b"check the current state before you try again" in body) == (503, b"1", True)


@pytest.mark.parametrize("headers", [(), ((b"content-length", b"0"),), (CHUNKED,)])
def test_an_application_that_ignores_the_body_has_the_answer_time_limit(headers: tuple[tuple[bytes, bytes], ...]):
    async def works(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.1)
        await inner(scope, receive, send)

    async def sleeps(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(5)

    assert status(TimeLimits(works, receive_seconds=0.03), HOST, *headers) == 200
    assert status(TimeLimits(sleeps, receive_seconds=0.03, answer_seconds=0.05), HOST, *headers) == 503


def test_the_rest_of_a_body_is_not_waited_for_after_the_application_worked_longer_than_its_limit():
    async def works(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await asyncio.sleep(0.1)  # meanwhile the limit is that of the answer, which is far away
        await inner(scope, receive, send)

    timed = TimeLimits(works, receive_seconds=0.04)
    assert status(timed, HOST, CHUNKED, parts=(b"a", b"b"), pause=0.02) == 408


def test_the_time_limit_is_over_when_the_application_ends_with_a_timeout_of_its_own():
    faults: list[Any] = []

    async def fails(scope: Any, receive: Any, send: Any) -> None:
        raise TimeoutError

    async def talk() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
        await TimeLimits(fails, answer_seconds=0.01)(scope, lambda: asyncio.sleep(0, {}), lambda _: asyncio.sleep(0.02))

    asyncio.run(talk())
    assert faults == []


def test_a_response_that_has_started_has_no_time_limit():
    async def streams(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(0.1)
        await send({"type": "http.response.body", "body": b"done"})

    assert asked(TimeLimits(streams, 0.03, 0.03), HOST)[2] == b"done"


def test_a_client_that_does_not_read_its_stream_is_disconnected():
    async def streams(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})

    async def talk() -> None:
        async def send(message: Any) -> None:
            await asyncio.sleep(5 if message["type"] == "http.response.body" else 0)

        scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
        await TimeLimits(streams, take_seconds=0.05)(scope, lambda: asyncio.sleep(5, {}), send)

    with pytest.raises(TimeoutError):
        asyncio.run(talk())


def test_a_body_that_is_too_large_is_413_even_without_a_length():
    said = asked(Guard(inner), HOST, (b"content-length", str(MAX_BODY + 1).encode()))
    found = asked(TimeLimits(inner), HOST, CHUNKED, parts=(b"x" * (MAX_BODY // 2),) * 3)
    for code, headers, body in (said, found):
        assert (code, headers[b"connection"]) == (413, b"close")
        assert b"larger than 16,777,216 bytes" in body
    assert status(Guard(TimeLimits(inner)), HOST, CHUNKED, parts=(b"x" * (MAX_BODY // 2),) * 2) == 200
    assert status(Guard(inner, token="t"), HOST, (b"content-length", b"99999999")) == 401


# --- raw sockets


@pytest.fixture
def raw(api):
    """Return a function that sends bytes to the server and returns its output until it closes the connection, or for
    `wait` seconds."""

    def send(data: bytes, wait: float = 5.0) -> bytes:
        with socket.create_connection(urlsplit(api.url).netloc.split(":"), timeout=wait) as talk:
            found = b""
            with suppress(ConnectionResetError, BrokenPipeError):  # it may answer before it has read everything
                talk.sendall(data)
            try:
                while part := talk.recv(65536):
                    found += part
            except (TimeoutError, ConnectionResetError):
                return found + b"<OPEN>"
            return found

    return send


def post(*lines: bytes, body: bytes = b'{"namespace":"t"}', path: bytes = b"/v1/baton/read") -> bytes:
    head = [b"POST " + path + b" HTTP/1.1", b"Host: localhost", b"Content-Type: application/json", b"Connection: close"]
    return b"\r\n".join([*head, *lines, b"Content-Length: %d" % len(body), b"", b""]) + body


def test_invalid_requests_are_400_and_close_the_connection(raw):
    whole = post()
    odd = [
        b"\x16\x03\x01\x02\x00\x01\x00" + b"\0" * 50 + b"\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        whole.replace(b"\r\n", b"\n"), b"CONNECT evil:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        post(b"X-A: b\r\n c: d"), post(b"X-A: a\0b"), post(b"X-A : b"),
        post(b"Content-Length: 3"), post(b"Transfer-Encoding: chunked"), whole.replace(b"Length: ", b"Length: -"),
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", post(b"X: " + b"a" * 500_000),
    ]  # fmt: skip
    for one in odd:
        answer = raw(one)
        assert answer.startswith(b"HTTP/1.1 400 "), (one[:80], answer[:200])
        assert b"connection: close" in answer
        assert b"Traceback" not in answer
    assert raw(whole).startswith(b"HTTP/1.1 200 ")
    longest = b"%F2%A8%A1%8F" * MAX_QUESTION  # each of its characters has four bytes
    answer = raw(b"GET /v1/recall?question=" + longest + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.split(b"\r\n")[0].split()[1] in (b"200", b"404")  # 404: there is no namespace


def test_unusual_requests_get_a_response(raw):
    assert raw(post().replace(b"HTTP/1.1", b"HTTP/1.0")).startswith(b"HTTP/1.1 200 ")
    assert raw(post(path=b"http://evil.example/v1/baton/read")).startswith(b"HTTP/1.1 200 ")
    assert raw(post(path=b"//evil.example/v1/baton/read")).startswith(b"HTTP/1.1 404 ")
    assert raw(post(b"Host: evil.example")).startswith(b"HTTP/1.1 421 ")
    assert raw(post(b"Expect: 100-continue")).startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")
    assert raw(post(body=b"\x1f\x8b\x08")).startswith(b"HTTP/1.1 400 ")
    for path in (b"/v1/baton/write", b"/checkpoint/zero"):
        deep = post(path=path, body=b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
        assert raw(deep).startswith(b"HTTP/1.1 400 ")


def test_a_chunked_body_over_the_limit_is_413(raw):
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    for path in (b"/v1/baton/write", b"/checkpoint/zero"):
        head = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        answer = raw(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 17)
        assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_connection_without_a_complete_request_is_closed(raw, monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.2)
    for data in (b"", b"\r\n", b"GET /health HTTP/1.1\r\nHost: lo"):
        assert raw(data) == b""


def is_ended(api: Any, first: bytes, drop: bytes) -> bool:
    """Return whether the server ends a connection that keeps sending bytes."""
    with socket.create_connection(urlsplit(api.url).netloc.split(":"), timeout=5) as talk:
        talk.sendall(first)
        try:
            for _ in range(5_000):
                talk.sendall(drop)
                time.sleep(0.02)
        except (BrokenPipeError, ConnectionResetError):
            return True
    return False


def test_headers_that_drip_in_do_not_hold_a_connection(api, monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.3)
    assert is_ended(api, b"GET /health HTTP/1.1\r\nHost: localhost\r\n", b"X-A: b\r\n")


def test_an_unread_body_does_not_hold_a_connection(api, monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.3)
    assert is_ended(api, b"POST /v1/baton/read HTTP/1.1\r\nHost: evil\r\nContent-Length: 100000\r\n\r\n", b"x")


def receive_answers(talk: socket.socket, number: int) -> list[bytes]:
    """Return the heads and bodies of answers, which arrive in pieces of any size."""
    received = b""
    while received.count(b'"session-baton"}') < number:
        piece = talk.recv(65536)
        assert piece, received
        received += piece
    return received.removesuffix(b'"session-baton"}').split(b'"session-baton"}')


def test_requests_one_after_the_other_on_one_connection_are_answered(api, monkeypatch):
    monkeypatch.setattr(serving, "HEAD_SECONDS", 0.3)
    with socket.create_connection(urlsplit(api.url).netloc.split(":"), timeout=5) as talk:
        for number in (1, 1, 1, 1, 3):
            talk.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * number)
            answers = receive_answers(talk, number)
            assert [answer.partition(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 200 OK"] * number
            time.sleep(0.15)
