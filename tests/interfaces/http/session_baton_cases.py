"""Valid, invalid and odd requests to session-baton's API; session_baton_answers.json has the original's responses.

To record them again from an original with an empty database: python tests/interfaces/http/session_baton_cases.py
http://127.0.0.1:9101
"""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

READ, WRITE = "/v1/baton/read", "/v1/baton/write"
ANSWERS = Path(__file__).with_name("session_baton_answers.json")
GOOD = {"schema_version": 1, "session_id": "s1", "open_loops": [], "context": "x"}
ODD = "../../etc/passwd\n:x y/é"


class Case(NamedTuple):
    """One request. If there is a document `before`, it is written first."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = MappingProxyType({})
    before: bytes | None = None


def _json(data: Any) -> bytes:
    return json.dumps(data).encode()


def _write(baton: Any, namespace: str = "t", **more: Any) -> bytes:
    return _json({"namespace": namespace, "baton": baton, **more})


def _read(body: Any, **headers: str) -> Case:
    return Case("POST", READ, body if isinstance(body, bytes) else _json(body), headers)


def _back(written: bytes, namespace: str) -> Case:
    return Case("POST", READ, _json({"namespace": namespace}), {}, written)


def _nested(depth: int) -> bytes:
    return b'{"namespace":"deep","baton":{"session_id":"s","x":' + b"[" * depth + b"]" * depth + b"}}"


BIG = _write({"session_id": "s", "x": 2**70, "f": 1.0, "n": None}, "big")
ORDER = b'{"baton":{"zz":1,"session_id":"s","aa":2,"context":"c","open_loops":[]},"namespace":"order"}'
NAN = b'{"namespace":"nan","baton":{"session_id":"s","x":NaN}}'
TWICE = b'{"namespace":"twice","baton":{"session_id":"a","session_id":"b"}}'
PATTERN = {"id": "PAT-1", "what": "w", "first_seen": "2026-01-01", "last_seen": "2026-01-01"}
UNKNOWN, GRADUATED = (
    {"session_id": "s", "patterns": [{**PATTERN, "status": status}]} for status in ("huh", "graduated")
)

CASES = {
    "health": Case("GET", "/health"),
    "health with a slash": Case("GET", "/health/"),
    "POST health": Case("POST", "/health", b""),
    "HEAD health": Case("HEAD", "/health"),
    "OPTIONS read": Case("OPTIONS", READ),
    "an unknown namespace": _read({"namespace": "nope"}),
    "more keys in a read": _read({"namespace": "nope", "x": 1}),
    "no namespace": _read({}),
    "an empty namespace": _read({"namespace": ""}),
    "a number for a namespace": _read({"namespace": 5}),
    "null for a namespace": _read({"namespace": None}),
    "a list": _read([]),
    "a text": _read("x"),
    "null": _read(None),
    "no body": Case("POST", READ),
    "an empty body": _read(b""),
    "half of an object": _read(b'{"namespace": "a"'),
    "no JSON": _read(b"{bad}"),
    "more after the object": _read(b'{"namespace":"a"} x'),
    "text/plain": _read({"namespace": "a"}, **{"Content-Type": "text/plain"}),
    "a form": _read({"namespace": "a"}, **{"Content-Type": "application/x-www-form-urlencoded"}),
    "no content type": _read({"namespace": "a"}, **{"Content-Type": ""}),
    "a +json type": _read({"namespace": "a"}, **{"Content-Type": "application/vnd.x+json"}),
    "a charset": _read({"namespace": "a"}, **{"Content-Type": "application/json; charset=utf-8"}),
    "a type in capitals": _read({"namespace": "a"}, **{"Content-Type": "APPLICATION/JSON"}),
    "no UTF-8": _read(b'{"namespace":"\xff"}'),
    "a byte order mark": _read(b'\xef\xbb\xbf{"namespace":"a"}'),
    "UTF-16": _read('{"namespace":"a"}'.encode("utf-16")),
    "a key twice in a read": _read(b'{"namespace":"a","namespace":"b"}'),
    "NaN beside": _read(b'{"namespace":"a","x":NaN}'),
    "5000 digits": _read(b'{"namespace":"a","x":' + b"1" * 5000 + b"}"),
    "100,000 brackets": _read(b"[" * 100_000),
    "GET read": Case("GET", READ),
    "PUT write": Case("PUT", WRITE, b"{}"),
    "read with a slash": Case("POST", READ + "/", _json({"namespace": "a"})),
    "write with a slash": Case("POST", WRITE + "/", b"{}"),
    "an unknown path": Case("GET", "/nope"),
    "an unknown path below": Case("POST", "/v1/baton/nope", b"{}"),
    "two slashes": Case("POST", "/" + READ, _json({"namespace": "a"})),
    "a write": Case("POST", WRITE, _write(GOOD)),
    "and read": _back(_write(GOOD), "t"),
    "more keys in a write": Case("POST", WRITE, _write(GOOD, foo=1)),
    "no baton": Case("POST", WRITE, _json({"namespace": "t"})),
    "null for a baton": Case("POST", WRITE, _write(None)),
    "a list for a baton": Case("POST", WRITE, _write([])),
    "a text for a baton": Case("POST", WRITE, _write("s")),
    "a baton and no namespace": Case("POST", WRITE, _json({"baton": {}})),
    "neither": Case("POST", WRITE, b"{}"),
    "numbers": _back(BIG, "big"),
    "the order of keys": _back(ORDER, "order"),
    "150 KB": Case("POST", WRITE, _write({"session_id": "s", "context": "x" * 150_000}, "fat")),
    "a path for a namespace": _back(_write(GOOD, ODD), ODD),
    "NUL in a namespace": _back(_write(GOOD, "a\0b"), "a\0b"),
    "spaces for a namespace": _back(_write(GOOD, "   "), "   "),
    "1,000 levels": Case("POST", WRITE, _nested(1000)),
    "100,000 levels": Case("POST", WRITE, _nested(100_000)),
    # differences from the original
    "an empty baton": Case("POST", WRITE, _write({}, "empty")),
    "a text for a list": Case("POST", WRITE, _write({"session_id": "s", "open_loops": "x"}, "odd")),
    "an unknown status": Case("POST", WRITE, _write(UNKNOWN, "odd")),
    "NaN": Case("POST", WRITE, NAN),
    "NaN read back": _back(NAN, "nan"),
    "half of a surrogate pair": Case("POST", WRITE, b'{"namespace":"sur","baton":{"session_id":"s","x":"\\ud800"}}'),
    "half of a pair in a namespace": _read(b'{"namespace":"\\ud800"}'),
    "a key twice": Case("POST", WRITE, TWICE),
    "5 MB in one record": Case("POST", WRITE, _write({"session_id": "s", "context": "x" * 5_000_000}, "fatter")),
    "70 levels": Case("POST", WRITE, _nested(70)),
    "a namespace of 300 letters": _read({"namespace": "x" * 300}),
    "a graduation": Case("POST", WRITE, _write(GRADUATED, "g")),
    "a revision that is not there": Case("POST", WRITE, _write(GOOD, "absent", expected_revision=5)),
    "a negative revision": Case("POST", WRITE, _write(GOOD, "absent", expected_revision=-1)),
    "another site's page": _read({"namespace": "t"}, Origin="http://evil.example"),
    "a page without an origin": _read({"namespace": "t"}, Origin="null"),
    "another name of the server": _read({"namespace": "t"}, Host="evil.example"),
}  # fmt: skip


class Answer(NamedTuple):
    """The compared parts of a response. Times, which differ, are replaced by `T`, and the server's address by `URL`."""

    status: int
    headers: dict[str, str]
    body: Any


def asked(url: str, case: Case) -> Answer:
    """Return the response of the server at `url`."""
    if case.before is not None:
        _request(url, Case("POST", WRITE, case.before))
    status, headers, body = _request(url, case)
    kept: dict[str, str] = {
        name: headers[name].replace(url, "URL") for name in ("location", "allow", "content-type") if name in headers
    }
    return Answer(status, kept, _plain(body) if "json" in kept.get("content-type", "") else body.decode())


def _request(url: str, case: Case) -> tuple[int, dict[str, str], bytes]:
    headers = {"Content-Type": "application/json", **case.headers} if case.body is not None else dict(case.headers)
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    connection.request(case.method, case.path, case.body, {name: value for name, value in headers.items() if value})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, body


def _plain(body: bytes) -> Any:
    data = json.loads(body) if body else None
    if isinstance(data, dict) and isinstance(data.get("updated_at"), str):
        data["updated_at"] = "T"
    return data


def recorded() -> dict[str, Answer]:
    return {name: Answer(**one) for name, one in json.loads(ANSWERS.read_text(encoding="utf-8")).items()}


if __name__ == "__main__":
    answers = {name: asked(sys.argv[1], case)._asdict() for name, case in CASES.items()}
    ANSWERS.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
