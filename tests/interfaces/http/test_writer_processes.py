"""The processes that write documents for a server while writes overlap: they answer exactly as the server does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import psutil
import pytest
from waiting import until

from baton_git.core.names import Namespace
from baton_git.git.store import Store
from baton_git.interfaces.http.writer_processes import PROGRAM
from baton_git.namespace.branch import Branch

WRITE = "/v1/baton/write"
LOOP = {"id": "OL-1", "action": "did it", "expected_outcome": "it works", "created_at": "2026-06-17"}


def programs() -> list[psutil.Process]:
    mine = (one for one in psutil.Process().children() if one.status() != psutil.STATUS_ZOMBIE)
    return [one for one in mine if any(word.endswith("writer_program") for word in one.cmdline())]


def document(session: str, **more: Any) -> dict[str, Any]:
    return {"session_id": session, "context": f"of {session}", "open_loops": [LOOP], **more}


def write(server, namespace: str, baton: Any, *, code: int | None = 200, headers: Any = None, **more: Any):
    return server.ask("POST", WRITE, {"namespace": namespace, "baton": baton, **more}, code=code, headers=headers)


def all_at_once(*calls) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda call: call(), calls))


@pytest.fixture(scope="module")
def busy(two_writers):
    """Return a client of a server with two processes that write; its tests use different namespaces."""
    for number in range(5):
        write(two_writers, "alone", document(f"s{number}"))
    assert programs() == []  # one write after the other needs no process
    start_processes(two_writers, set())
    return two_writers


def start_processes(server, others: set[psutil.Process]) -> list[psutil.Process]:
    """Write in parallel until processes besides `others` are started and have written; return them."""

    def written() -> list[int]:
        all_at_once(*[partial(write, server, f"n{number}", document("s")) for number in range(6)])
        return [one.io_counters().write_chars for one in programs() if one not in others]

    until(lambda: len(written()) == 2)
    before = written()
    until(lambda: all(now > was + 10_000 for now, was in zip(written(), before, strict=True)))
    return [one for one in programs() if one not in others]


def test_each_writer_gets_its_own_response_in_the_order_of_its_requests(busy):
    def work(client: int) -> list[int]:
        name = f"n{client % 3}"
        return [
            write(busy, name, document(f"s{client}", context=f"{client} {number}")).json()["revision"]
            for number in range(6)
        ]

    found = all_at_once(*[partial(work, client) for client in range(9)])
    assert all(numbers == sorted(numbers) for numbers in found)
    for name in range(3):
        numbers = sorted(number for client in range(name, 9, 3) for number in found[client])
        assert len(set(numbers)) == len(numbers) == 18
        branch = Branch(busy.site.store, Namespace(f"n{name}"))
        assert {one.revision for one in branch.history()} >= set(numbers)
        read = busy.post("/v1/baton/read", {"namespace": f"n{name}"}).json()
        assert read["revision"] == branch.read().number


def test_refused_requests_get_the_responses_of_the_server_itself(busy, serve):
    plain = serve(repo=busy.folder)
    write(busy, "same", document("s"))
    requests: list[tuple[str, Any, dict[str, Any]]] = [
        ("same", document("s", open_loops="none"), {}),
        ("same", {}, {}),
        ("same", document("s" * 400), {}),
        ("same", document("s"), {"expected_revision": 7}),
        ("same", document("s"), {"headers": {"If-Match": '"0123"'}}),
        ("absent", document("s"), {"headers": {"If-Match": "*"}}),
        ("n" * 300, document("s"), {}),
        ("token=ghp_" + "A1b2" * 9, document("s"), {}),
    ]
    for namespace, baton, more in requests:
        one, other = (write(server, namespace, baton, code=None, **more) for server in (busy, plain))
        assert one.status_code == other.status_code != 200
        assert one.content == other.content
        assert {**one.headers, "date": ""} == {**other.headers, "date": ""}


def test_conditions_and_held_claims_are_answered_as_by_the_server_itself(busy):
    tag = write(busy, "conditions", document("s")).headers["etag"]
    done = write(busy, "conditions", document("s", context="2"), headers={"If-Match": tag})
    assert done.headers["etag"] == f'"{done.json()["commit"]}"' != tag
    assert write(busy, "conditions", document("s"), headers={"If-Match": tag}, code=None).status_code == 412
    pattern = {"id": "P", "what": "x", "first_seen": "2026-06-17", "last_seen": "2026-06-17", "status": "graduated"}
    assert [one["id"] for one in write(busy, "conditions", document("s", patterns=[pattern])).json()["held"]] == ["P"]


def test_only_one_of_several_writes_with_the_same_expected_revision_succeeds(busy):
    write(busy, "raced", document("s"))
    calls = [partial(write, busy, "raced", document(f"s{n}", context=f"{n}"), code=None, expected_revision=1)
             for n in range(8)]  # fmt: skip
    answers = all_at_once(*calls)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7
    assert {answer.json()["detail"]["current_revision"] for answer in answers if answer.status_code == 409} == {2}


def authors(server, namespace: str) -> set[str]:
    with Store(server.site.repository) as store:
        entries = Branch(store, Namespace(namespace)).history()
        return {store.commit(entry.commit).author for entry in entries if entry.op == "write"}


def test_the_commits_say_that_nobody_was_asked_for_a_token(busy):
    all_at_once(*[partial(write, busy, "origin", document("s", context=f"{n}")) for n in range(4)])
    assert authors(busy, "origin") == {"unauthenticated client <unauthenticated@localhost>"}


def test_large_documents_and_documents_for_the_same_namespace_are_both_written(busy):
    large = [{"id": f"FU-{n}", "item": "x" * 500, "first_seen": "2026-06-17"} for n in range(100)]
    small = [partial(write, busy, "mixed", document(f"s{n}", open_loops=[{**LOOP, "id": f"OL-{n}"}])) for n in range(6)]
    all_at_once(*small, partial(write, busy, "mixed", document("large", follow_ups=large)), *small)
    state = Branch(busy.site.store, Namespace("mixed")).read().state
    assert len(state.ids("follow_up") | state.ids("follow_up", archived=True)) == 100
    assert state.ids("open_loop") | state.ids("open_loop", archived=True) >= {f"OL-{n}" for n in range(6)}


def test_a_process_without_a_server_ends_at_once(capfd):
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        done = subprocess.run([sys.executable, "-m", PROGRAM], stdin=theirs.fileno(), timeout=60)
    assert done.returncode == 0
    assert capfd.readouterr() == ("", "")


def test_a_namespace_whose_ref_is_locked_does_not_hold_up_the_others(busy):
    for name in ("locked", "free-0", "free-1", "free-2"):
        write(busy, name, document("s"))
    lock = busy.folder / "refs/heads/baton/locked.lock"
    lock.write_text("")  # as a git that was killed leaves it
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(write, busy, "locked", document("s", context="waited"))
        free = [partial(write, busy, f"free-{n % 3}", document("s", context=f"{n}")) for n in range(9)]
        all_at_once(*free)
        assert not waiting.done()
        lock.unlink()
        assert waiting.result().json()["revision"] == 2


def test_a_killed_process_loses_no_acknowledged_write_and_the_server_goes_on(serve):
    others = {*programs()}
    server = serve(writers=2, token="a-long-secret")
    started = start_processes(server, others)
    acknowledged: dict[str, set[int]] = {f"killed-{n}": set() for n in range(6)}
    stop = threading.Event()
    statuses = set()

    def work(name: str) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            loop = {**LOOP, "id": f"OL-{number}"}
            answer = write(server, name, document("s", open_loops=[loop]), code=None)
            statuses.add(answer.status_code)
            if answer.status_code == 200:
                acknowledged[name].add(number)

    writers = [threading.Thread(target=work, args=(name,)) for name in acknowledged]
    for one in writers:
        one.start()
    until(lambda: sum(map(len, acknowledged.values())) > 30)
    for process in started:
        os.kill(process.pid, signal.SIGKILL)
    killed_at = sum(map(len, acknowledged.values()))
    until(lambda: sum(map(len, acknowledged.values())) > killed_at + 30)
    stop.set()
    for one in writers:
        one.join()
    assert statuses <= {200, 503}
    assert "unauthenticated client <unauthenticated@localhost>" not in authors(server, "killed-0")
    with Store(server.site.repository) as fresh:
        for name, numbers in acknowledged.items():
            state = Branch(fresh, Namespace(name)).read().state
            kept = state.ids("open_loop") | state.ids("open_loop", archived=True)
            assert {f"OL-{number}" for number in numbers} <= kept
