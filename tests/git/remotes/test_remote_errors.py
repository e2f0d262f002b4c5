"""Servers that do not respond, are slow, respond oddly or refuse access: one kind of error, within the time limit,
without the password."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from remote_world import INCOMING, Place, X
from servers import LOGIN, free_port, listener

from baton_git.core.errors import AccessDenied, RemoteError, Unreachable
from baton_git.git.remotes import Push

SCHEMES = ["git", "http", pytest.param("ssh", marks=pytest.mark.servers)]


def _fetch(place: Place, url: str, seconds: float = 10.0) -> RemoteError:
    with pytest.raises(RemoteError) as caught:
        place.fetch_refs({X: INCOMING}, url, seconds)
    return _checked(caught.value)


def _push(place: Place, url: str, seconds: float = 10.0) -> RemoteError:
    with pytest.raises(RemoteError) as caught:
        place.remote(url).push([Push(X, place.commit(X, "first"), None)], seconds=seconds)
    return _checked(caught.value)


def _checked(error: RemoteError) -> RemoteError:
    assert "w0rd" not in f"{error} {error.hint} {error.data}"
    assert "\n" not in str(error)
    assert error.hint
    return error


def _start(scheme: str) -> str:
    """Return the beginning of a URL, with a login if the scheme supports it."""
    return {"git": "git://", "ssh": "ssh://ada@", "http": f"http://{LOGIN}@"}[scheme]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_refused_connection_means_unreachable(make_place, scheme):
    place = make_place("path", GIT_SSH_COMMAND="ssh -F none")
    url = f"{_start(scheme)}127.0.0.1:{free_port()}/r.git"
    for error in (_fetch(place, url), _push(place, url)):
        assert isinstance(error, Unreachable)
        assert "refused" in str(error).lower() or "connect" in str(error).lower()


@pytest.mark.parametrize("scheme", ["git", "http"])
def test_an_unknown_host_means_unreachable(make_place, scheme):
    assert isinstance(_fetch(make_place("path"), f"{scheme}://nowhere.invalid/r.git"), Unreachable)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("talk", [_fetch, _push])
def test_a_server_that_never_answers_is_given_up_in_time(make_place, scheme, talk):
    place = make_place("path", GIT_SSH_COMMAND="ssh -F none")
    with listener() as port:
        error = talk(place, f"{_start(scheme)}127.0.0.1:{port}/r.git", 0.4)
    assert isinstance(error, Unreachable)
    assert "no answer within 0.4 s" in str(error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "drip"),
    [("git", b"0006"), ("http", b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n"), ("http", b"H"), ("git", b"f")],
)
def test_a_server_that_drips_is_given_up_in_time(make_place, scheme, drip):
    with listener(drip, drip=0.05) as port:
        error = _fetch(make_place("path"), f"{scheme}://127.0.0.1:{port}/r.git", 0.4)
    assert str(error)


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        b"hello, this is no git server\n", b"\xff" * 99,
        b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\n<html>\nhello",
        (b"HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\nContent-Length: 9\r\n"
         b"Connection: close\r\n\r\n000asomet"),
        b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 302 Over there\r\nLocation: /r.git/info/refs?service=x\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["text", "bytes", "a page", "half a packet", "503", "in circles"],
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["git", "http"])
def test_an_invalid_response_is_a_remote_error(make_place, scheme, answer):
    with listener(answer) as port:
        _fetch(make_place("path"), f"{scheme}://127.0.0.1:{port}/r.git", 0.4)


def test_a_wrong_password_is_named_but_not_shown(make_place):
    place = make_place("http")
    url = place.served.url.replace(LOGIN, "ada:wr0ng-w0rd")
    for error in (_fetch(place, url), _push(place, url), _fetch(place, place.served.url.replace(f"{LOGIN}@", ""))):
        assert isinstance(error, AccessDenied)
    remote = place.remote(url)
    assert "w0rd" not in f"{remote.name} {remote!r}"


def test_git_is_never_allowed_to_ask_for_a_password(make_place, tmp_path):
    asked = tmp_path / "asked"
    ask = tmp_path / "ask"
    ask.write_text(f"#!/bin/sh\ntouch {asked}\necho secret\n")
    ask.chmod(0o755)
    place = make_place("http", GIT_ASKPASS=str(ask), SSH_ASKPASS=str(ask), DISPLAY=":0")
    error = _fetch(place, place.served.url.replace(f"{LOGIN}@", ""))
    assert isinstance(error, AccessDenied)
    assert not asked.exists()


@pytest.mark.slow
def test_all_child_processes_are_killed_at_the_time_limit(make_place, tmp_path):
    pid = tmp_path / "pid"
    script = tmp_path / "ssh-that-hangs"
    script.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {pid}\nwait\n")
    script.chmod(0o755)
    error = _fetch(make_place("path", GIT_SSH_COMMAND=str(script)), "ssh://somebody@example.org/r.git", 1.0)
    assert "no answer within 1 s" in str(error)
    stat = Path("/proc") / pid.read_text().strip() / "stat"
    deadline = time.monotonic() + 5
    while stat.exists() and stat.read_text().split()[2] != "Z" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not stat.exists() or stat.read_text().split()[2] == "Z"


@pytest.mark.slow
def test_incomplete_packs_are_not_stored(make_place, git):
    """The server's repository has lost a blob."""
    ada, bob = make_place("daemon", "ada"), make_place("daemon", "bob")
    first = ada.commit(X, "first")
    ada.push(X, first, None)
    bob.fetch()
    second = ada.commit(X, "second")
    ada.push(X, second, first)
    blob = git(ada.served.bare, "rev-parse", f"{second}:open_loops/second.toml")
    (ada.served.bare / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(RemoteError):
        bob.fetch()
    assert bob.tip(INCOMING) == first
