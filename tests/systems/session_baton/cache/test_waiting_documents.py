"""Documents that could not be sent are sent by the next command of any namespace, and by the start of a session."""

from __future__ import annotations

import io
import json
import time
from dataclasses import dataclass, field

import pytest
from baton_server import Wire, served
from cached_batons import NOWHERE, a_baton
from mcp_client import talk

from baton_git.interfaces.hook.command import main

OFF = {"BATON_URL": ""}
BOOT = ("boot", "--no-verify", "--sync-budget", "30")  # a busy machine may need more than 3 seconds for a request


def leave_waiting(cache, wire, *names, **rest):
    """Write a document for each namespace while the server is away."""
    answer, wire.answer = wire.answer, lambda *_: (503, {})
    for name in names:
        cache("write", name, url=wire.url, doc=a_baton(name), **rest)
    wire.answer = answer


def statuses(cache):
    return {each["namespace"]: each["status"] for each in cache("status", "--json").json}


COMMANDS = {
    "read": lambda cache, url: cache("read", "other", url=url),
    "write": lambda cache, url: cache("write", "other", url=url, doc=a_baton("x")),
    "send": lambda cache, url: cache("send", "third", url=url),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_next_command_of_any_namespace_sends_what_waits(cache, wire, command):
    leave_waiting(cache, wire, "project:x", "third", "a/b")
    done = COMMANDS[command](cache, wire.url)
    assert "project:x: the document that waited in the cache was sent\n" in done.err
    assert {name: wire.get(name)["context"] for name in ("project:x", "third", "a/b")} == {
        "project:x": "project:x", "third": "third", "a/b": "a/b",
    }  # fmt: skip
    assert set(statuses(cache).values()) <= {"synced", "nothing"}


def test_json_names_the_others_only_if_there_are_any(cache, wire):
    assert "others" not in cache("read", "other", "--json", url=wire.url).json
    leave_waiting(cache, wire, "work")
    found = cache("read", "other", "--json", url=wire.url).json
    assert found["others"] == [{"namespace": "work", "sent": True, "why": ""}]
    leave_waiting(cache, wire, "work2")
    sent = cache("send", "work", "--json", url=wire.url).json
    assert [each["namespace"] for each in sent] == ["work", "work2"]


def test_a_conflict_of_another_namespace_is_told_and_not_resolved(cache, wire):
    cache("write", "work", url=wire.url, doc=a_baton("base"))
    leave_waiting(cache, wire, "work")
    wire.put("work", a_baton("theirs"))
    done = cache("read", "other", url=wire.url)
    assert (
        "work: the server has a newer document; yours waits in the cache (baton cache send work shows both)" in done.err
    )
    assert wire.get("work")["context"] == "theirs"
    asked = len(wire.asked)
    assert "work" not in cache("read", "other", url=wire.url).err  # somebody must choose
    assert len(wire.asked) == asked + 1


def test_a_refused_document_keeps_neither_the_command_nor_the_others_back(cache, plain):
    leave_waiting(cache, plain, "a", "b")
    answer = plain.answer
    plain.answer = lambda path, body, token: (
        (413, {"detail": "too large"}) if body["namespace"] in ("a", "c") else answer(path, body, token)
    )
    done = cache("read", "other", url=plain.url)
    assert "a: the document still waits in the cache:" in done.err
    assert plain.get("b")["context"] == "b"
    leave_waiting(cache, plain, "d")
    plain.answer = lambda path, body, token: (
        (413, {"detail": "too large"}) if body["namespace"] in ("a", "c") else answer(path, body, token)
    )
    assert "d: the document that waited" in cache("write", "c", url=plain.url, doc=a_baton("c"), code=1).err


def test_what_waits_for_another_server_goes_only_there(cache, wire, baton):
    cache("write", "work", url=NOWHERE, doc=a_baton("elsewhere"))
    cache("read", "other", url=wire.url)
    assert "work" not in wire.batons
    assert baton(*BOOT, env={"BATON_URL": wire.url}).out.count(f"still waits in the client's cache: {NOWHERE}") == 1
    assert "work" not in wire.batons


def test_all_that_wait_have_one_time_limit(cache, plain):
    leave_waiting(cache, plain, *"abcdefgh")
    answer = plain.answer

    def slow(path, body, token):
        time.sleep(0.1)
        return answer(path, body, token)

    plain.answer = slow
    done = cache("read", "other", "--timeout", "0.4", url=plain.url)  # eight documents would take at least 1.6 seconds
    assert "still waits in the cache" in done.err
    assert len(plain.batons) < 8
    plain.answer = answer
    cache("read", "other", url=plain.url)
    assert len(plain.batons) == 8


# --- the start of a session


@pytest.mark.parametrize("env", [{}, OFF])
def test_boot_sends_what_waits_and_says_so(cache, wire, baton, env):
    leave_waiting(cache, wire, "project:x", "work")
    begun = baton(*BOOT, "--json", env=env).json
    assert begun["news"] == [f"2 documents in the client's cache were sent to {wire.url}"]
    assert wire.get("project:x")["context"] == "project:x"
    assert set(statuses(cache).values()) == {"synced"}
    assert baton(*BOOT, "--json").json["news"] == []


def test_boot_where_no_session_can_start_sends_what_waits_all_the_same(cache, wire, baton, tmp_path):
    leave_waiting(cache, wire, "work")
    (tmp_path / "plain").mkdir()
    failed = baton(*BOOT, code=1, cwd=tmp_path / "plain")
    assert "not in a git repository" in failed.err
    assert f"1 document in the client's cache was sent to {wire.url}" in failed.err
    assert wire.get("work")["context"] == "work"


def test_boot_without_sync_asks_no_server(cache, wire, baton):
    leave_waiting(cache, wire, "work")
    baton("boot", "--no-verify", "--no-sync")
    assert wire.batons == {}
    assert statuses(cache) == {"work": "pending_upload"}


def test_boot_tells_a_conflict_each_time(cache, wire, baton):
    cache("write", "work", url=wire.url, doc=a_baton("base"))
    leave_waiting(cache, wire, "work")
    wire.put("work", a_baton("theirs"))
    for _ in range(2):
        [line] = baton(*BOOT, "--json").json["news"]
        assert line.startswith("1 document in the client's cache is in conflict with the server")


def test_a_damaged_cache_does_not_stop_a_start(cache, wire, baton, folder):
    leave_waiting(cache, wire, "work")
    (folder / ".baton" / "odd.json").write_text("{")
    (folder / "odd.json").mkdir()
    assert "1 document in the client's cache was sent" in baton(*BOOT).out
    leave_waiting(cache, wire, "work")
    bad = baton(*BOOT, env={"BATON_URL": "ftp://x"})
    assert "what waits in the client's cache was not sent: 'ftp://x' is not an http or https url" in bad.out


TOKEN = {"BATON_API_TOKEN": "s3same"}


@dataclass
class Noting(Wire):
    """A server that notes the tokens it is sent."""

    tokens: list[str] = field(default_factory=list)

    def answer(self, path, body, token):
        self.tokens.append(token)
        return super().answer(path, body, token)


def test_the_token_goes_to_the_named_server_or_to_the_only_one(cache, baton):
    noting = Noting()
    with served(Wire(token="s3same")) as ours, served(noting) as other:
        leave_waiting(cache, ours, "work")
        assert baton(*BOOT, env=TOKEN).code == 0
        assert ours.get("work")["context"] == "work"
        leave_waiting(cache, ours, "work2")
        leave_waiting(cache, other, "there")
        out = baton(*BOOT, env=TOKEN).out  # two servers, and none is named
        assert "1 document still waits in the client's cache:" in out
        assert other.get("there")["context"] == "there"
        assert noting.tokens
        assert not any(noting.tokens)
        baton(*BOOT, env={**TOKEN, "BATON_URL": ours.url})
        assert ours.get("work2")["context"] == "work2"


def test_a_hooked_start_sends_what_waits(cache, plain, top, monkeypatch, capfd):
    leave_waiting(cache, plain, "work")
    event = {"session_id": "s1", "transcript_path": "", "cwd": str(top), "hook_event_name": "SessionStart"}
    given = json.dumps({**event, "source": "startup"}).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(given)))
    monkeypatch.chdir(top)
    assert main(["--agent", "claude"]) == 0
    assert plain.get("work")["context"] == "work"
    assert "1 document in the client's cache was sent" in capfd.readouterr().out


def test_an_mcp_start_sends_what_waits(cache, plain, top, monkeypatch):
    leave_waiting(cache, plain, "work")
    monkeypatch.chdir(top)
    talk(lambda client: client.call_tool("boot", {}))
    assert plain.get("work")["context"] == "work"
