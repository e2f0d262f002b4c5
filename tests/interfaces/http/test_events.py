"""The event stream: changes by all processes as they happen."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import Queue
from typing import Any, NamedTuple

import httpx2
import pytest
from waiting import until

from baton_git.core.names import Namespace
from baton_git.interfaces.context.settings import CommonOptions
from baton_git.interfaces.http import events
from baton_git.interfaces.http.site import Site


class Event(NamedTuple):
    name: str
    id: str | None
    data: Any


class Listener:
    """A client that reads a stream in a separate thread."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.events: Queue[Event | None] = Queue()
        self.comments = 0
        self._stream = httpx2.Client(verify=False, timeout=30)
        self._opened = self._stream.stream("GET", url, headers=headers)
        self.answer = self._opened.__enter__()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        fields: dict[str, str] = {}
        try:
            for line in self.answer.iter_lines():
                name, _, value = line.partition(": ")
                if line.startswith(":"):
                    self.comments += 1
                elif line:
                    fields[name] = value
                elif fields:
                    self.events.put(Event(fields["event"], fields.get("id"), json.loads(fields["data"])))
                    fields = {}
        except httpx2.HTTPError:
            pass
        self.events.put(None)

    def next(self, seconds: float = 5.0) -> Event | None:
        return self.events.get(timeout=seconds)

    def close(self) -> None:
        self._stream.close()


Listen = Callable[..., Listener]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Return a function that opens streams of a server: of its namespace by default, of all if `namespace` is None."""
    opened: list[Listener] = []

    def start(server: Any, namespace: str | None = "", since: str | None = None) -> Listener:
        name = server.namespace if namespace == "" else namespace
        query = f"?{httpx2.QueryParams({'namespace': name})}" if name is not None else ""
        headers = server.headers | ({"Last-Event-ID": since} if since is not None else {})
        opened.append(Listener(f"{server.url}/v1/events{query}", headers))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


def add(server: Any, id_: str) -> str:
    answer = server.post("/v1/loops", {"action": "x", "expect": "y", "id": id_}, code=201)
    return str(answer.json()["commit"])


def test_changes_of_another_process_are_sent(api: Any, listen: Listen, baton_process: Any) -> None:
    commit = add(api, "OL-1")
    stream = listen(api)
    assert stream.answer.headers["content-type"].startswith("text/event-stream")
    first = stream.next()
    assert first == ("current", commit, {"namespace": api.namespace, "commit": commit, "revision": 1, "missed": False})
    words = ("--session", "s-7", "--agent", "claude", "-n", api.namespace)
    baton_process("loop", "close", "OL-1", *words, cwd=api.folder)
    event = stream.next()
    data = event.data
    assert (event.name, event.id) == ("change", data["commit"])
    assert (data["namespace"], data["revision"], data["op"]) == (api.namespace, 2, "loop-close")
    assert (data["session"], data["agent"]) == ("s-7", "claude")
    assert "OL-1" in data["subject"]


def test_a_stream_shows_the_creation_of_its_namespace(api: Any, listen: Listen) -> None:
    name = f"{api.namespace}/new"
    stream = listen(api, namespace=name)
    assert stream.next().data["commit"] is None
    api.post("/v1/namespaces", {"namespace": name}, code=201)
    api.post("/v1/loops", {"action": "x", "expect": "y"}, code=201, params={"namespace": name})
    assert [stream.next().data["op"] for _ in range(2)] == ["root", "loop-add"]


def test_a_reconnecting_client_gets_missed_events(api: Any, listen: Listen) -> None:
    commits = [add(api, f"OL-{number}") for number in range(4)]
    stream = listen(api, since=commits[1])
    assert stream.next().data["missed"] is False
    assert [stream.next().id for _ in range(2)] == commits[2:]
    everywhere = listen(api, namespace=None, since=commits[2])
    assert everywhere.next().data == {"namespace": None, "commit": None, "revision": None, "missed": False}
    assert everywhere.next().id == commits[3]


@pytest.mark.parametrize("since", ["0" * 40, "nonsense", ""])
def test_a_client_with_an_unknown_event_id_must_reload(api: Any, listen: Listen, since: str) -> None:
    commit = add(api, "OL-1")
    current = listen(api, since=since).next()
    assert (current.id, current.data["missed"]) == (commit, True)


def test_a_client_that_missed_too_much_must_reload(api: Any, listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baton_git.interfaces.http.events.BACKLOG", 1)
    commits = [add(api, f"OL-{number}") for number in range(3)]
    assert listen(api, since=commits[0]).next().data["missed"] is True
    assert listen(api, since=commits[1]).next().data["missed"] is False


def test_a_client_is_told_to_reload_if_too_many_commits_are_found_at_once(
    api: Any, listen: Listen, git: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baton_git.interfaces.http.events.BACKLOG", 2)
    commits = [add(api, f"OL-{number}") for number in range(4)]
    ref = api.post("/v1/namespaces", {"namespace": api.namespace}).json()["ref"]
    git(api.folder, "update-ref", ref, commits[0])
    stream, everywhere = listen(api), listen(api, namespace=None)
    assert (stream.next().id, everywhere.next().id) == (commits[0], None)
    git(api.folder, "update-ref", ref, commits[3])
    gap = {"namespace": api.namespace, "commit": commits[3], "revision": 4, "missed": True}
    assert stream.next() == ("current", commits[3], gap)
    gap = {"namespace": None, "commit": None, "revision": None, "missed": True}
    assert everywhere.next() == ("current", None, gap)
    newest = add(api, "OL-4")
    assert (stream.next().id, everywhere.next().id) == (newest, newest)


def test_without_a_namespace_all_are_watched(api: Any, listen: Listen) -> None:
    stream = listen(api, namespace=None)
    stream.next()
    other = f"{api.namespace} other"
    api.post("/v1/namespaces", {"namespace": other}, code=201)
    assert stream.next().data["namespace"] == other


@pytest.mark.slow
def test_a_reset_or_removed_branch_is_an_event(api: Any, listen: Listen, git: Any) -> None:
    commits = [add(api, f"OL-{number}") for number in range(2)]
    stream = listen(api)
    stream.next()
    ref = api.post("/v1/namespaces", {"namespace": api.namespace}).json()["ref"]
    git(api.folder, "update-ref", ref, commits[0])
    assert stream.next().id == commits[0]
    git(api.folder, "update-ref", "-d", ref)
    gone = stream.next()
    assert (gone.name, gone.data["commit"]) == ("current", None)


def test_an_invalid_namespace_is_rejected_before_the_stream_starts(api: Any) -> None:
    assert api.problem("GET", "/v1/events", 422, params={"namespace": ""})["error"] == "invalid_name"


def test_an_idle_stream_sends_comments(api: Any, listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT", 0.05)
    stream = listen(api)
    stream.next()
    time.sleep(6 * events.HEARTBEAT)
    commit = add(api, "OL-1")
    assert stream.next().id == commit
    assert stream.comments > 1


@pytest.mark.slow
def test_the_number_of_streams_is_limited_until_one_ends(
    serve: Any, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events.StreamLimit.__init__, "__defaults__", (1,))
    server = serve()
    address = httpx2.URL(server.url)
    with socket.create_connection((address.host, address.port)) as first:
        first.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert first.recv(1000).startswith(b"HTTP/1.1 200")
        assert server.problem("GET", "/v1/events", 503)["error"] == "busy"
        assert server.get("/v1/events", code=503).headers["retry-after"]
    until(lambda: listen(server).answer.status_code == 200)


@pytest.mark.slow
def test_streams_end_with_the_server(run_server: Any, listen: Listen, api: Any, top: Path) -> None:
    site = Site(CommonOptions(str(top), api.namespace, None, None))
    with run_server(site) as url:
        stream = listen(type(api)(url, site))
        assert stream.next().name == "current"
    assert stream.next(2) is None


def test_a_bug_in_a_stream_is_logged(
    api: Any, listen: Listen, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any) -> Any:
        yield b": one\n\n"
        raise ZeroDivisionError

    monkeypatch.setattr(events, "stream_events", broken)
    with suppress(httpx2.HTTPError), httpx2.stream("GET", f"{api.url}/v1/events", timeout=5) as answer:
        list(answer.iter_lines())
    until(lambda: any("the stream of /v1/events" in one.message for one in caplog.records))


@pytest.mark.slow
def test_the_pages_streams_and_those_of_the_api_share_one_limit(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events.StreamLimit.__init__, "__defaults__", (1,))
    server = serve()
    cookies = dict(httpx2.get(server.url).cookies)
    with httpx2.stream("GET", f"{server.url}/v1/events", timeout=5) as first:
        assert first.status_code == 200
        path = f"/n/{Namespace('project:x').component.replace('%', '%25')}/events"
        assert httpx2.get(server.url + path, cookies=cookies, timeout=5).status_code == 503
