"""Checks from elsewhere do not access this machine until its user approves them, and their results are not shared."""

from __future__ import annotations

import http.server
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from going_back import rollback_record
from machines import Machine, loop

from baton_git.checks.approvals import Approvals
from baton_git.core.errors import InvalidArgument
from baton_git.verbs.doctor.examination import Examination
from baton_git.verbs.doctor.recorded import check_records
from baton_git.verbs.sessions import session_start
from baton_git.verbs.sessions.session_end import end_session
from baton_git.verbs.sessions.session_start import begin_session
from baton_git.verbs.verification.checks import verify
from baton_git.verbs.verification.consent import approve_check, find_loop_with_check, list_waiting_checks, revoke_check
from baton_git.verbs.verification.hooks import verify_due
from baton_git.verbs.verification.trust import distrust_remote, trust_remote


class CountingServer(http.server.ThreadingHTTPServer):
    """A server on this machine that counts its clients, including those that only open its port."""

    daemon_threads = True
    count = 0

    def process_request(self, request: Any, client_address: Any) -> None:
        self.count += 1
        super().process_request(request, client_address)


class Answer(http.server.BaseHTTPRequestHandler):
    """Answer each GET request with 200."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[CountingServer]:
    with CountingServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def both(pair: tuple[Machine, Machine], tmp_path: Path) -> tuple[Machine, Machine]:
    """Return two machines with work trees, each with separate approvals."""
    for one in pair:
        approvals = Approvals(tmp_path / f"{one.name}.json", one.store.repository.common_dir)
        one.ws = replace(one.ws, folder=one.top, approvals=approvals)
    return pair


def spies(server: CountingServer, key: Path) -> dict[str, dict[str, Any]]:
    """Return a check of each method; each of them would access this machine if it ran."""
    port = server.server_address[1]
    return {
        "key": {"method": "file_exists", "path": str(key)},
        "process": {"method": "process_running", "process_name": Path(sys.executable).name},
        "port": {"method": "port_open", "host": "127.0.0.1", "port": port},
        "get": {"method": "http", "url": f"http://127.0.0.1:{port}/"},
        "commit": {"method": "git_commit", "commit": "secret"},
        "command": {"method": "command", "argv": ["true"]},
    }


def checks_of(one: Machine) -> dict[str, Any]:
    """Return the stored check result of each loop that has one."""
    found = {id_: one.get("open_loop", id_) for id_ in one.state.ids("open_loop")}
    return {id_: loop.last_check for id_, loop in found.items() if loop.last_check is not None}


def test_a_pushed_check_sends_no_request_and_no_result(both, server, tmp_path):
    ada, bob = both
    key = tmp_path / "id_ed25519"
    key.touch()
    for id_, spec in spies(server, key).items():
        ada.loop(id_, verify=spec)
    ada.sync()
    begun = begin_session(bob.ws, bob.clock())
    told = {**begun.checks, **verify(bob.ws, bob.clock()).evidence, **verify(bob.ws, bob.clock(), ["key"]).evidence}
    verify_due(bob.ws, bob.clock(), 5)
    end_session(bob.ws, bob.clock(), context="done")
    bob.sync()
    ada.sync()
    assert server.count == 0
    assert {one.result for one in told.values()} == {"unknown"}
    assert all(one.why.startswith("waits for approval: this check came from origin") for one in told.values())
    assert set(told) == set(list_waiting_checks(bob.ws)) == set(spies(server, key))
    assert checks_of(ada) == {}
    assert "6 checks from elsewhere wait for a person's approval" in begun.brief.text
    assert begin_session(ada.ws, ada.clock()).checks["get"].result == "passed"  # here it was written


def test_checks_that_wait_do_not_keep_a_start_from_running_its_own(both, server, tmp_path, monkeypatch):
    ada, bob = both
    monkeypatch.setattr(session_start, "MOST_AT_START", 1)
    for id_ in ("a", "b", "c"):
        ada.loop(id_, verify=spies(server, tmp_path)["get"])
    ada.sync()
    bob.sync()
    bob.loop("own", verify={"method": "file_exists", "path": "x"})
    approve_check(bob.ws, bob.clock(), "b", find_loop_with_check(bob.ws, "b")[1])
    begun = begin_session(bob.ws, bob.clock())
    assert set(begun.checks) == {"a", "b"}  # `b` is older than `own`, and approved
    assert (begun.checks["b"].result, begun.checks["a"].result, server.count) == ("passed", "unknown", 1)
    assert "2 checks from elsewhere wait for a person's approval: a, c (" in begun.brief.text
    assert any("only the 1 most urgent checks ran, 1 more did not" in one for one in begun.problems)
    begun = begin_session(bob.ws, bob.clock())
    assert "own" in begun.checks  # `b` is verified and archived


def test_a_check_runs_after_its_exact_text_was_approved(both, server, tmp_path):
    ada, bob = both
    spec = spies(server, tmp_path)["get"]
    ada.loop("get", verify=spec)
    ada.sync()
    bob.sync()
    shown = find_loop_with_check(bob.ws, "get")[1]
    assert approve_check(bob.ws, bob.clock(), "get", shown)
    assert not approve_check(bob.ws, bob.clock(), "get", shown)
    assert verify(bob.ws, bob.clock()).evidence["get"].result == "passed"
    assert revoke_check(bob.ws, "get")
    assert list_waiting_checks(bob.ws)
    approve_check(bob.ws, bob.clock(), "get", shown)
    ada.change("open_loop", "get", verify={**spec, "url": spec["url"] + "other"})
    ada.sync()
    bob.sync()
    asked = server.count
    assert verify(bob.ws, bob.clock(), ["get"]).evidence["get"].result == "unknown"
    assert server.count == asked
    with pytest.raises(InvalidArgument, match="changed just now"):
        approve_check(bob.ws, bob.clock(), "get", shown)


def test_checks_of_a_trusted_remote_run_until_the_trust_is_revoked(both, server, tmp_path):
    ada, bob = both
    ada.loop("get", verify=spies(server, tmp_path)["get"])
    ada.sync()
    bob.sync()
    assert trust_remote(bob.ws, bob.clock(), "origin")
    assert list_waiting_checks(bob.ws) == {}
    assert distrust_remote(bob.ws, "origin")
    assert list(list_waiting_checks(bob.ws)) == ["get"]
    trust_remote(bob.ws, bob.clock(), "origin")
    assert verify(bob.ws, bob.clock()).evidence["get"].result == "passed"


@pytest.mark.parametrize("by_git", [True, False])
def test_a_check_committed_by_hand_waits_for_approval_even_on_the_same_machine(both, server, tmp_path, by_git):
    ada, bob = both
    text = loop("get") + f'[verify]\nmethod = "http"\nurl = "http://127.0.0.1:{server.server_address[1]}/"\n'.encode()
    if by_git:
        ada.by_hand({"open_loops/get.toml": text})
        ada.push()
        bob.pull()
    else:
        bob.by_hand({"open_loops/get.toml": text})
    found = verify(bob.ws, bob.clock()).evidence["get"]
    assert found.why == (
        "waits for approval: this check was not written with baton on this machine "
        f"({'ada' if by_git else 'bob'} <{'ada' if by_git else 'bob'}@example.org>); run: baton trust get"
    )
    assert server.count == 0


def test_editing_a_loop_or_restoring_its_check_does_not_approve_the_check(both, server, tmp_path):
    ada, bob = both
    ada.loop("get", verify=spies(server, tmp_path)["get"])
    ada.sync()
    bob.sync()
    bob.change("open_loop", "get", action="deployed again")
    assert list(list_waiting_checks(bob.ws)) == ["get"]
    bob.change("open_loop", "get", verify={"method": "file_exists", "path": "x"})
    assert list_waiting_checks(bob.ws) == {}
    rollback_record(bob.ws, bob.clock(), "get")
    assert list(list_waiting_checks(bob.ws)) == ["get"]
    bob.by_hand({"open_loops/get.toml": b"action = ["})
    examination = Examination(bob.clock(), bob.ws.branch.store, bob.ws.branch.prefix, bob.ws)
    (repair,) = [finding.repair for finding in check_records(examination) if finding.repair]
    repair.run()
    assert list(list_waiting_checks(bob.ws)) == ["get"]
    assert verify(bob.ws, bob.clock()).evidence["get"].result == "unknown"
    assert server.count == 0


def test_a_check_written_here_needs_no_approval_after_it_was_synced_back(both, server, tmp_path):
    ada, bob = both
    ada.loop("get", verify=spies(server, tmp_path)["get"])
    ada.sync()
    bob.sync()
    bob.defer("FU-1")
    ada.defer("FU-1")
    bob.sync()
    ada.sync()
    assert list_waiting_checks(ada.ws) == {}


@pytest.mark.slow
def test_a_session_starts_without_a_request_while_very_many_checks_from_elsewhere_wait(both, server):
    _, bob = both
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    spec = f'[verify]\nmethod = "http"\nurl = "{url}"\n'.encode()
    bob.by_hand({f"open_loops/l{number}.toml": loop(f"l{number}") + spec for number in range(5_000)})
    bob.loop("mine", verify={"method": "file_exists", "path": os.devnull})
    begun = begin_session(bob.ws, bob.clock())
    assert server.count == 0
    assert len(bob.state.ids("open_loop")) == 5_002
    assert begun.checks["mine"].result == "passed"
    assert len(begun.checks) == 51
    assert "5,000 checks from elsewhere wait" in begun.brief.text
