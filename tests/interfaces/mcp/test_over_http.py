"""`baton mcp --http`: which requests are accepted, and how the server ends; with a real process and a real client."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

pytestmark = pytest.mark.slow

TOKEN = "sécret-ключ"
HELLO = b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", \
"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}'


@contextmanager
def running(top, *options: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the server; yield the process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "baton_git", "mcp", "--http", "--port", "0", *options],
        cwd=top, env={**os.environ, **env}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        line = next(line for line in process.stderr if "so every request" not in line)
        found = re.search(r"serving MCP at (http://\S+);", line)
        assert found, line + process.stderr.read()
        yield process, found[1]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def status(url: str, method: str = "POST", **headers: str) -> int:
    """Return the status of the response to a request."""
    try:
        with urllib.request.urlopen(request_for(url, method, **headers), timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def request_for(url: str, method: str = "POST", **headers: str) -> urllib.request.Request:
    """Return a request with the handshake of the older era."""
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent |= {name: value.encode().decode("latin-1") for name, value in headers.items()}
    return urllib.request.Request(url, data=HELLO, headers=sent, method=method)


def call_over_http(url: str, tool: str, arguments: dict, *, mode: str = "auto", token: str | None = None):
    """Return the result of a call by a client of the SDK."""
    import httpx2
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async def talk():
        headers = {b"Authorization": f"Bearer {token}".encode()} if token else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=20) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            return await client.call_tool(tool, arguments)

    return asyncio.run(talk())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_writes_a_record(baton, top, mode):
    baton("init")
    with running(top) as (_, url):
        made = call_over_http(url, "followup_add", {"item": "Over HTTP"}, mode=mode)
    assert made.structured_content["id"] in [one["id"] for one in baton("read").json["baton"]["follow_ups"]]


def test_requests_for_other_hosts_or_from_other_origins_are_rejected(baton, top):
    baton("init")
    with running(top) as (_, url):
        assert status(url) == 200
        assert status(url, Host="localhost:1") == 200
        assert status(url, Host="evil.example") == 421
        assert status(url, Host="127.0.0.1.evil.example") == 421
        assert status(url, Origin="http://evil.example") == 403
        assert status(url, Origin="null") == 403
        assert status(url, "GET", Origin="http://evil.example") == 403


def test_with_a_token_every_request_needs_it(baton, top):
    baton("init")
    with running(top, BATON_API_TOKEN=TOKEN) as (_, url):
        assert status(url) == 401
        assert status(url, "GET") == 401
        assert status(url, Authorization="Bearer wrong") == 401
        assert status(url, Authorization=f"Bearer {TOKEN[:-1]}") == 401
        assert status(url, Authorization=TOKEN) == 401
        assert status(url, Authorization=f"Bearer {TOKEN}") == 200
        assert call_over_http(url, "status", {}, token=TOKEN).structured_content["revision"] >= 0


def test_with_only_a_token_of_the_page_every_request_is_refused(baton, top):
    baton("init")
    with running(top, BATON_PAGE_TOKEN=TOKEN) as (_, url):
        assert status(url) == 401
        assert status(url, Authorization=f"Bearer {TOKEN}") == 401


def test_without_a_token_it_listens_only_on_this_machine(baton, top):
    baton("init")
    for host in ("0.0.0.0", "::"):
        done = baton("mcp", "--http", "--host", host, "--port", "0", code=2)
        assert f"without a token, baton mcp serves only this machine, not {host}" in done.err
        assert "BATON_API_TOKEN" in done.err


def test_on_other_addresses_any_host_name_is_accepted_with_the_token(baton, top):
    baton("init")
    with running(top, "--host", "0.0.0.0", BATON_API_TOKEN=TOKEN) as (_, url):
        here = url.replace("0.0.0.0", "127.0.0.1")
        assert status(here, Host="baton.example", Authorization=f"Bearer {TOKEN}") == 200
        assert status(here, Host="baton.example") == 401
        assert status(here, Authorization=f"Bearer {TOKEN}", Origin="http://evil.example") == 403


def test_no_program_that_it_starts_sees_the_token(baton, top, git, tmp_path):
    baton("init")
    git(tmp_path, "init", "-q", "--bare", "there.git")
    git(top, "remote", "add", "origin", str(tmp_path / "there.git"))
    hook = tmp_path / "there.git" / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\n")
    hook.chmod(0o755)
    secret = "x9-very-secret"
    with running(top, BATON_API_TOKEN=secret, CLAUDE_CODE_SESSION_ID="of-the-shell", BATON_SESSION="s9") as (_, url):
        assert call_over_http(url, "sync", {}, token=secret).structured_content["errors"] == []
    seen = (tmp_path / "seen").read_text()
    assert "HOME=" in seen
    for gone in (secret, "of-the-shell", "BATON_SESSION"):
        assert gone not in seen


def test_the_session_is_that_of_the_connection_and_never_the_servers(baton, top):
    from mcp.client import Client

    async def use(url):
        async with Client(url, mode="legacy") as one, Client(url, mode="legacy") as two, Client(url) as new:
            begun = [(await client.call_tool("boot", {})).structured_content["session"] for client in (one, two)]
            for number, client in enumerate((one, two, new)):
                await client.call_tool("followup_add", {"item": f"item {number}"})
            await new.call_tool("followup_add", {"item": "item 3", "session": begun[0]})
            await one.call_tool("wrap", {"context": "It stands"})
            await one.call_tool("followup_add", {"item": "item 4"})
            await two.call_tool("followup_add", {"item": "item 5"})
        return begun

    baton("init")
    shell = {"CLAUDE_CODE_SESSION_ID": "of-the-shell", "BATON_SESSION": "s9", "BATON_AGENT": "zero"}
    with running(top, **shell) as (_, url):
        one, two = asyncio.run(use(url))
    assert one != two
    assert "of-the-shell" not in (one, two)
    log = baton("log", "--limit", "7", "--json").json["commits"]
    *sessions, unnamed, last = [entry["session"] for entry in reversed(log)]
    assert (sessions, last) == ([one, two, None, one, one], two)
    assert unnamed.startswith("mcp-")  # the first connection after its wrap, named after its client
    assert {entry["agent"] for entry in log} == {None}
    assert not list((top / ".git" / "baton" / "sessions").glob("*"))


def test_a_port_in_use_is_reported(baton, top):
    baton("init")
    with running(top) as (process, url):
        port = url.rpartition(":")[2].partition("/")[0]
        done = baton("mcp", "--http", "--port", port, code=1)
    assert done.err.splitlines() == [
        f"baton: 127.0.0.1:{port}: Address already in use, by baton for {top}/.git (process {process.pid})",
        "       choose another with --port",
    ]


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_the_server_stops_cleanly_on_a_signal(baton, top, kind):
    baton("init")
    with running(top) as (process, url):
        assert call_over_http(url, "followup_add", {"item": "x"}, mode="legacy").is_error is False
        process.send_signal(kind)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")


def test_the_server_ends_despite_a_client_that_listens(baton, top):
    baton("init")
    with running(top) as (process, url):
        listening = listen(url)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
        listening.close()


def listen(url: str) -> socket.socket:
    """Open a stream of events, as a client of the older era."""
    place = urlsplit(url)
    with urllib.request.urlopen(request_for(url), timeout=20) as answer:
        session = answer.headers["Mcp-Session-Id"]
    stream = socket.create_connection((place.hostname, place.port), timeout=20)
    head = (
        f"GET {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}"
    )
    stream.sendall(f"{head}\r\n\r\n".encode())
    assert stream.recv(12) == b"HTTP/1.1 200"
    return stream


@pytest.mark.parametrize("words", [("--host", "127.0.0.1"), ("--port", "1")])
def test_options_of_the_address_need_http(baton, words):
    assert "--host and --port go with --http" in baton("mcp", *words, code=2).err
