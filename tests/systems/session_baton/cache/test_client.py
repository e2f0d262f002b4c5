"""A server that responds oddly or not at all: one clear line within the time limit, and nothing is lost."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from baton_server import Wire, odd, response, served
from cached_batons import a_baton
from looped_cases import for_each

from baton_git.core.errors import InvalidArgument, LimitExceeded, RemoteError, Unreachable
from baton_git.systems.session_baton import http_client
from baton_git.systems.session_baton.http_client import BatonServer, ServerAddress, ServerAnswer, StaleWrite


def hang(sock):
    time.sleep(600)


def trickle(sock):
    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(6_000):
        sock.sendall(b" ")
        time.sleep(0.1)


def trickled_head(sock):
    sock.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in range(6_000):
        sock.sendall(b"x")
        time.sleep(0.1)


AWAY: dict[str, Any] = {
    "hangs": hang,
    "trickles its answer": trickle,
    "trickles its headers": trickled_head,
    "hangs up": b"",
    "502": response(502, "<h1>Bad gateway</h1>"),
    "503": response(503, "{}"),
}
ODD = {
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "HTML": response(200, "<html>"),
    "a list": response(200, "[]"),
    "no baton": response(200, "{}"),
    "a baton that is a text": response(200, '{"baton": "x", "updated_at": null}'),
    "a time that is a number": response(200, '{"baton": null, "updated_at": 5}'),
    "NaN": response(200, '{"baton": {"a": NaN}, "updated_at": null}'),
    "a key twice": response(200, '{"baton": {"a": 1, "a": 2}, "updated_at": null}'),
    "half an answer": response(200, '{"baton": null, "updated_at": null}')[:-5],
    "500": response(500, "Internal Server Error"),
    "404": response(404, '{"detail": "Not Found"}'),
    "422": response(422, '{"detail": [{"type": "missing", "loc": ["body"], "msg": "Field\\nrequired"}]}'),
    "301": response(301, "", "Location: http://127.0.0.1:1/elsewhere"),
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
}


def make_server(url, **settings):
    return BatonServer(ServerAddress.parse(url), **settings)


@pytest.mark.parametrize("shape", AWAY)
def test_a_server_that_does_not_answer_counts_as_offline(cache, shape):
    with odd(AWAY[shape]) as url:
        done = cache("write", "work", "--timeout", "0.3", url=url, doc=a_baton("waits"))
        assert done.json["status"] == "pending_upload"
        done = cache("read", "work", "--timeout", "0.3", url=url)
    assert done.json["baton"]["context"] == "waits"
    assert "offline" in done.err


@pytest.mark.parametrize("shape", ODD)
def test_an_odd_answer_is_reported_on_one_line_and_the_document_waits(cache, shape):
    with odd(ODD[shape]) as url:
        done = cache("write", "work", url=url, doc=a_baton("waits"), code=1)
        assert len([line for line in done.err.splitlines() if line.startswith("baton: ")]) == 1
        assert "the document waits in the local cache" in done.err
        assert "Traceback" not in done.err
        cache("read", "other", url=url, code=1)
    assert cache("status", "--json").json[0]["status"] == "pending_upload"


def test_a_redirect_is_not_followed_so_the_token_goes_to_no_other_host(cache):
    with served(Wire()) as other:
        other.put("work", a_baton("bait"))
        away = response(307, "", f"Location: {other.url}/v1/baton/read")
        with odd(away) as url:
            done = cache("read", "work", url=url, code=1, env={"BATON_API_TOKEN": "s3same"})
        assert "a redirect, which is not followed" in done.err
        assert other.asked == []


def test_an_answer_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(http_client, "MAX_ANSWER", 100)
    answer = response(200, json.dumps({"baton": {"x": "y" * 200}, "updated_at": None}))
    with odd(answer) as url, pytest.raises(LimitExceeded, match="the limit is 100 bytes"):
        make_server(url).read("work")


def test_an_unknown_host_name_counts_as_offline():
    with pytest.raises(Unreachable):
        make_server("http://nowhere.invalid:9101", seconds=3).read("work")


@pytest.mark.parametrize("token", ["a\nb", "té", "a\0"])
def test_a_token_with_characters_not_allowed_in_headers_is_refused_without_being_shown(cache, token):
    if "\0" in token:
        with pytest.raises(InvalidArgument, match="HTTP header must not contain"):
            make_server("http://h", token=token)
        return
    done = cache("read", "work", url="http://127.0.0.1:9", code=2, env={"BATON_API_TOKEN": token})
    assert "check BATON_API_TOKEN" in done.err
    assert token not in done.err


def test_the_repr_of_a_server_does_not_contain_its_token():
    assert "s3same" not in repr(make_server("http://h", token="s3same"))


@for_each(
    ("text", "normalised"),
    [
        ("http://H:80/", "http://h"), ("https://h:443", "https://h"), ("http://[::1]:9101", "http://[::1]:9101"),
        ("HTTP://127.0.0.1:9101//", "http://127.0.0.1:9101"), ("https://h/baton/", "https://h/baton"),
    ],
)  # fmt: skip
def test_an_address_is_normalised(text, normalised):
    assert str(ServerAddress.parse(text)) == normalised
    assert ServerAddress.parse(normalised) == ServerAddress.parse(text)


@pytest.mark.parametrize(
    "body",
    [
        {"detail": {"error": "x", "current_baton": {"a": 1}, "current_updated_at": "t", "current_revision": 4}},
        {"error": "x", "current_baton": {"a": 1}, "current_updated_at": "t", "current_revision": 4},
        {"error": "revision_conflict", "current_revision": 4, "baton": {"a": 1}, "updated_at": "t"},
    ],
)
def test_a_conflict_is_understood_in_each_of_its_forms(body):
    with odd(response(409, json.dumps(body))) as url:
        assert make_server(url).write("work", {}, 3) == StaleWrite(ServerAnswer({"a": 1}, "t", 4))


@pytest.mark.parametrize("body", ["{}", '{"detail": "conflict"}', '{"detail": {"current_baton": 5}}'])
def test_a_409_without_the_current_document_is_still_a_conflict(body):
    with odd(response(409, body)) as url:
        assert make_server(url).write("work", {}, 3) == StaleWrite(None)


def test_an_invalid_write_response_does_not_count_as_written():
    with odd(response(200, '{"baton": null, "updated_at": null}')) as url, pytest.raises(RemoteError):
        make_server(url).write("work", {})
