"""`baton serve` as a process: its address, refused options and exit, and the environment of programs that it starts."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from looped_cases import for_each

from baton_git.core.errors import InvalidArgument, StoreError
from baton_git.interfaces.cli.machine.serve import check_published, is_this_machine, resolve_addresses
from baton_git.interfaces.context.running_servers import RunningServer, find_server, recorded_server
from baton_git.interfaces.context.settings import CommonOptions
from baton_git.interfaces.http.app import application
from baton_git.interfaces.http.site import Site

ARGV = [sys.executable, "-m", "baton_git", "serve"]


@for_each("published", ["127.0.0.1:9101:9101", "127.0.0.1::9101", "127.3.2.1:1-9:1-9/tcp", "[::1]:9101:9101"])
def test_a_port_published_on_loopback_only_needs_no_token(monkeypatch, published):
    monkeypatch.setenv("BATON_PUBLISHED", published)
    check_published("0.0.0.0")


@for_each(
    "published",
    ["", "9101", "9101:9101", "0.0.0.0:9101:9101", "192.0.2.7:9101:9101", "[::]:9101:9101", "[::1]", "localhost:1:1"],
)
def test_a_port_that_other_machines_may_reach_needs_a_token(monkeypatch, published):
    monkeypatch.setenv("BATON_PUBLISHED", published)
    with pytest.raises(InvalidArgument, match="token"):
        check_published("0.0.0.0")


def request_json(url: str, path: str, body: Any = None, **headers: str) -> Any:
    """Send a request, with `body` as JSON if there is one; return the data of the response."""
    data = json.dumps(body).encode() if body is not None else None
    request = Request(url + path, data, {"Content-Type": "application/json", **headers})
    with build_opener(ProxyHandler({})).open(request, timeout=20) as answer:
        return json.loads(answer.read())


def asked(app: Any, path: str, body: bytes) -> tuple[int, bytes]:
    """Return the status and the body of the response of an application to a POST."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    path, _, query = path.partition("?")
    scope = {"type": "http", "method": "POST", "path": path, "query_string": query.encode(), "headers": headers}
    asyncio.run(app({**scope, "client": ("127.0.0.1", 1)}, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@contextmanager
def serving(*words: str, cwd: Path, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server; yield it with its address, which it prints on its first line."""
    started = subprocess.Popen(
        [*ARGV, *words], cwd=cwd, env={**os.environ, **variables}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert started.stdout is not None
    try:
        yield started, started.stdout.readline().strip()
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate(timeout=20)


def refused(*words: str, cwd: Path, code: int, **variables: str) -> str:
    """Return the error line (and hint) with which the server refuses to start."""
    done = subprocess.run(
        [*ARGV, *words],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    return done.stderr


# --- start and end


def test_serve_prints_its_address_exits_with_0_and_hides_its_token(top):
    folder = top.parent / "bin"
    folder.mkdir()
    (folder / "git").write_text(f'#!/bin/sh\nenv > "{folder}/seen.$$"\nPATH="$REST" exec git "$@"\n')
    (folder / "git").chmod(0o755)
    rest = os.environ["PATH"]
    variables = {
        "PATH": f"{folder}:{rest}",
        "REST": rest,
        "BATON_API_TOKEN": "very-secret",
        "BATON_PAGE_TOKEN": "page-secret",
    }
    with serving("--port", "0", cwd=top, **variables) as (server, url):
        assert url.startswith("http://127.0.0.1:")
        assert request_json(url, "/health") == {"status": "ok", "service": "session-baton"}
        body = {"namespace": "work", "baton": {"session_id": "s", "context": "x"}}
        assert request_json(url, "/v1/baton/write", body, Authorization="Bearer very-secret")["revision"] == 1
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=20)
    assert (server.returncode, out) == (0, "")
    assert str(top / ".git") in err
    assert "Traceback" not in err
    seen = [one.read_text() for one in folder.glob("seen.*")]
    assert seen
    assert not any("-secret" in text for text in [err, *seen])


@pytest.mark.slow
def test_the_server_stops_despite_open_streams_and_slow_clients(top):
    with serving("--port", "0", "--json", cwd=top) as (server, line):
        url = json.loads(line)["url"]
        assert json.loads(line)["repository"] == str(top / ".git")
        place = ("127.0.0.1", int(url.rpartition(":")[2]))
        with socket.create_connection(place) as listens, socket.create_connection(place) as sends:
            listens.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200" in listens.recv(4096)
            sends.sendall(b"POST /v1/baton/read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            request_json(url, "/health")
            server.send_signal(signal.SIGINT)
            assert server.wait(30) == 0


@pytest.mark.slow
def test_outside_of_any_repository_it_serves_the_users_own_store_without_a_set_up(tmp_path):
    home = tmp_path / "data"
    for context in ("first", "again"):
        with serving("--port", "0", "--json", cwd=tmp_path, XDG_DATA_HOME=str(home)) as (_, line):
            told = json.loads(line)
            assert told["repository"] == str(home / "baton" / "state.git")
            before = request_json(told["url"], "/v1/baton/read", {"namespace": "project:x"})["baton"]
            assert before == (None if context == "first" else {"session_id": "s", "context": "first"})
            body = {"namespace": "project:x", "baton": {"session_id": "s", "context": context}}
            assert request_json(told["url"], "/v1/baton/write", body)["ok"]
    named = refused("--repo", str(tmp_path / "no-such.git"), cwd=tmp_path, code=1, XDG_DATA_HOME=str(home))
    assert "does not exist" in named  # it may be mistyped


@pytest.mark.slow
def test_variables_set_the_address_and_options_override_them(top):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    variables = {"BATON_HOST": "localhost", "BATON_PORT": port, "BATON_API_TOKEN": "t"}
    with serving(cwd=top, **variables) as (_, url):
        assert url in (f"http://127.0.0.1:{port}", f"http://[::1]:{port}")
        request_json(url, "/v1/baton/read", {"namespace": "x"}, Authorization="Bearer t")
    with serving("--host", "127.0.0.1", "--port", "0", cwd=top, **variables) as (_, url):
        assert not url.endswith(port)


@pytest.mark.slow
def test_a_port_in_use_is_reported_in_one_line(top):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        said = refused("--port", port, cwd=top, code=1)
        assert f"127.0.0.1:{port}: Address already in use, by " in said
        assert f"(process {os.getpid()})" in said


@pytest.mark.slow
def test_a_port_in_use_is_said_to_be_taken_by_which_repository(top, git, tmp_path):
    git(tmp_path, "init", "-q", "other")
    other, data = tmp_path / "other", tmp_path / "data"
    with serving("--port", "0", cwd=top, XDG_DATA_HOME=str(data)) as (started, url):
        port = url.rpartition(":")[2]
        said = refused("--port", port, cwd=other, code=1, XDG_DATA_HOME=str(data))
        assert f"Address already in use, by baton for {top}/.git (process {started.pid})" in said
        said = refused("--port", port, cwd=other, code=1, XDG_DATA_HOME=str(tmp_path / "another"))
        assert "by a server with session-baton's API, whose repository is not known here" in said
        assert f"(process {started.pid})" in said


@for_each(
    "text",
    ["{", "[]", '{"version": 2}', f'{{"version": 1, "pid": {os.getpid()}, "started": 1.0, "repository": "/wrong"}}',
     '{"version": 1, "pid": "x", "started": 1.0, "repository": "/wrong"}', "\0"],
)  # fmt: skip
def test_a_damaged_or_outdated_record_of_a_server_is_ignored(text, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    record = tmp_path / "baton" / "servers" / "9101.json"
    record.parent.mkdir(parents=True, exist_ok=True)
    record.write_text(text)
    assert find_server(9101) is None


def test_a_server_that_stops_leaves_no_record(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with recorded_server(9101, tmp_path / "shop.git"):
        assert find_server(9101) == RunningServer(os.getpid(), str(tmp_path / "shop.git"))
        assert find_server(9102) is None
    assert find_server(9101) is None
    assert list(tmp_path.rglob("*.json")) == []


def create_in(site: Site, written: str = "shpo", saved: str = "shop2") -> list[int]:
    """Return the statuses of writes of other systems' clients to two namespaces that do not exist."""
    app = application(site)
    document = json.dumps({"namespace": written, "baton": {"session_id": "s-1"}}).encode()
    answers = [asked(app, "/v1/baton/write", document), asked(app, f"/checkpoint/zero?namespace={saved}", b"{}")]
    for (status, body), name in zip(answers, (written, saved), strict=True):
        assert status != 404 or f"to create it: POST /v1/namespaces?namespace={name}" in body.decode()
    assert asked(app, "/v1/baton/read", b'{"namespace": "unknown"}')[0] == 200
    site.close()
    return [status for status, _ in answers]


def test_in_a_project_clients_of_other_systems_create_no_namespace_that_nobody_knows(top, baton, git):
    baton("init", "--namespace", "shop")
    before = git(top, "for-each-ref")
    for repo in (top, top / ".git"):
        assert create_in(Site(CommonOptions(str(repo), "shop"))) == [404, 404]
    assert git(top, "for-each-ref") == before
    assert create_in(Site(CommonOptions(str(top), "shop2"))) == [404, 201]  # named by whoever started the server
    git(top, "config", "baton.namespace", "shpo")
    assert create_in(Site(CommonOptions(str(top))))[0] == 200
    assert create_in(Site(CommonOptions(str(top), "shop"), may_create=True), "new", "newer") == [200, 201]


def test_a_store_that_is_made_for_serving_creates_the_namespaces_that_clients_write_to(tmp_path, git):
    git(tmp_path, "init", "-q", "--bare", "state.git")
    assert create_in(Site(CommonOptions(str(tmp_path / "state.git")))) == [200, 201]


def test_invalid_options_are_rejected_before_serving(baton):
    for words, variables, says in (
        ((), {"BATON_HOST": "0.0.0.0"}, "without a token baton serves only this machine"),
        (("--host", "0"), {}, "without a token baton serves only this machine"),
        (("--host", ""), {}, "--host is empty"),
        ((), {"BATON_PORT": "x"}, "is not a port"),
        ((), {"BATON_PORT": "65536"}, "is not a port"),
        ((), {"BATON_API_TOKEN": " t"}, "an HTTP header cannot transport"),
        ((), {"BATON_PAGE_TOKEN": "t\n"}, "BATON_PAGE_TOKEN contains characters that an HTTP header cannot transport"),
        (
            (),
            {"BATON_API_TOKEN": "same", "BATON_PAGE_TOKEN": "same"},
            "BATON_PAGE_TOKEN is the same as BATON_API_TOKEN",
        ),
    ):
        said = baton("serve", *words, code=2, env=variables)
        assert says in said.err
        assert said.out == ""
    assert "no.such.host.invalid" in baton("serve", "--host", "no.such.host.invalid", code=1).err


def test_with_registered_agents_it_does_not_start_without_a_token(baton, top):
    site = Site(CommonOptions(str(top), "work", None, None))
    site.agents.register("zero", "work", "2026-11-21")
    assert "agents are registered" in baton("serve", "--port", "0", code=1).err


# --- the token is not passed on


def test_the_sites_environment_for_programs_has_no_token(top, monkeypatch):
    from baton_git.interfaces.context.process import STARTING_ENVIRONMENT, read_server_token

    monkeypatch.setenv("BATON_API_TOKEN", "very-secret")
    monkeypatch.setitem(STARTING_ENVIRONMENT, "BATON_API_TOKEN", "very-secret")
    site = Site(CommonOptions(str(top), "work", None, None), "very-secret")
    with site.work() as ws:
        assert "BATON_API_TOKEN" not in ws.environment
    assert read_server_token() == "very-secret"
    assert "very-secret" not in {*os.environ.values(), *STARTING_ENVIRONMENT.values()}


# --- which addresses are this machine's


@for_each("address", ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "::1%lo"])
def test_loopback_addresses_are_recognised(address):
    assert is_this_machine(address)


@for_each("address", ["0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1", "169.254.1.1", "128.0.0.1", "fe80::1"])
def test_other_addresses_do_not_count_as_this_machine(address):
    assert not is_this_machine(address)


def test_a_host_name_is_judged_by_its_addresses(monkeypatch):
    known = {"127.evil.example": ["10.0.0.1"], "localhost.evil": ["10.0.0.1"], "both": ["127.0.0.1", "10.0.0.1"]}

    def resolve(host: str, port: int, **_: Any) -> list[Any]:
        return [(0, 0, 0, "", (one, port)) for one in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    for name in known:
        assert not all(is_this_machine(one) for one in resolve_addresses(name, 1))


def test_texts_that_are_not_addresses_are_rejected():
    for name in ("no.such.host.invalid", "a" * 300, "a b", "\udcff"):
        with pytest.raises(StoreError):
            resolve_addresses(name, 1)
    assert resolve_addresses("0", 1) == ["0.0.0.0"]
