"""Several servers on one repository, one of which is killed during writes: no acknowledged write is lost."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from baton_git.core.names import Namespace
from baton_git.core.records.base import Archived
from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import Key, State
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.systems.paif.record import Checkpoint

pytestmark = pytest.mark.slow

CLIENTS, ROUNDS = 6, 12
NAMESPACE = "project:x"


class Process:
    """One `baton serve`; after a restart it listens on the same port."""

    def __init__(self, repository: Path) -> None:
        self._argv = [
            sys.executable,
            "-m",
            "baton_git",
            "serve",
            "--repo",
            str(repository),
            "-n",
            NAMESPACE,
            "--create",
        ]
        self.port = 0
        self.start()

    def start(self) -> None:
        argv = [*self._argv, "--port", str(self.port)]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().strip().rpartition(":")[2])

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=20)

    def stop(self) -> int:
        self.process.terminate()
        self.process.communicate(timeout=20)
        return self.process.returncode


@dataclass
class Acknowledged:
    """The writes that the servers reported as done."""

    revisions: dict[int, str] = field(default_factory=dict)
    """The commit of each revision. Two writes must not report the same revision."""
    records: dict[str, str] = field(default_factory=dict)
    """The text of each follow-up, by its id."""
    checkpoints: dict[str, str] = field(default_factory=dict)
    """The agent of each checkpoint, by the checkpoint's id."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note_revision(self, answer: dict[str, Any]) -> None:
        with self.lock:
            assert self.revisions.setdefault(answer["revision"], answer["commit"]) == answer["commit"]


class Writer(threading.Thread):
    """A session that writes documents, adds records and saves checkpoints, through the servers in turn."""

    def __init__(self, name: str, servers: list[Process], done: Acknowledged) -> None:
        super().__init__(name=name, daemon=True)
        self._servers, self._done = servers, done
        self._turn, self._last = int(name[1:]), 0
        self.lost = 0
        self.error_of_thread: BaseException | None = None

    def run(self) -> None:
        try:
            for number in range(ROUNDS):
                self._document(number)
                self._verb(number)
                self._checkpoint(number)
        except BaseException as error:
            self.error_of_thread = error
            raise

    def _document(self, number: int) -> None:
        own = [self._follow_up(one) for one in range(number + 1)]
        baton = {"session_id": self.name, "context": f"{self.name} is at {number}", "follow_ups": own}
        self._write("/v1/baton/write", {"namespace": NAMESPACE, "baton": baton})
        with self._done.lock:
            self._done.records[own[-1]["id"]] = own[-1]["item"]

    def _follow_up(self, number: int) -> dict[str, str]:
        id_ = f"FU-{self.name}-{number}"
        return {"id": id_, "item": f"by document {id_}", "first_seen": "2026-11-21"}

    def _verb(self, number: int) -> None:
        id_ = f"FU-{self.name}-verb-{number}"
        answer = self._write("/v1/follow-ups", {"item": f"by verb {id_}", "id": id_}, again=403)
        if answer is not None:
            with self._done.lock:
                self._done.records[id_] = f"by verb {id_}"

    def _checkpoint(self, number: int) -> None:
        body = {"conversation_summary": f"{self.name} at {number}", "session_id": f"{self.name}-{number}"}
        answer = self._write(f"/checkpoint/{self.name}", body)
        assert answer is not None
        with self._done.lock:
            self._done.checkpoints[answer["id"]] = self.name

    def _write(self, path: str, body: Any, again: int | None = None) -> dict[str, Any] | None:
        """Send a write to the servers in turn until it succeeds; return the response.

        Returns None if an earlier try had been executed without a response, so that repeating it gets the status
        `again`. That may be so if the server ended, and after a 503.
        """
        may_be_executed = False
        end = time.monotonic() + 240
        while time.monotonic() < end:
            self._turn += 1
            status, answer = self._request(self._servers[self._turn % len(self._servers)].port, path, body)
            if status in (200, 201):
                return self._note_answer(answer)
            if may_be_executed and status == again:
                return None
            assert status in (0, 503), (path, status, answer)
            may_be_executed = True
            time.sleep(0.05)
        raise AssertionError("no server answers")

    def _note_answer(self, answer: dict[str, Any]) -> dict[str, Any]:
        assert answer["revision"] > self._last
        self._last = answer["revision"]
        self._done.note_revision(answer)
        return answer

    def _request(self, port: int, path: str, body: Any) -> tuple[int, Any]:
        """Return status and response; the status is 0 if the server ended during the request."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Content-Type": "application/json", "Baton-Session": self.name}
        try:
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            self.lost += 1
            return 0, None
        finally:
            connection.close()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[Process]]:
    started = [Process(tmp_path / "state.git") for _ in range(3)]
    yield started
    for one in started:
        if one.process.poll() is None:
            one.kill()


def test_acknowledged_writes_survive_a_killed_server(servers, tmp_path, git):
    done = Acknowledged()
    writers = [Writer(f"s{number}", servers, done) for number in range(CLIENTS)]
    for one in writers:
        one.start()
    for _ in range(3):
        while len(done.checkpoints) < CLIENTS and any(one.is_alive() for one in writers):
            time.sleep(0.02)
        servers[1].kill()
        time.sleep(0.3)
        servers[1].start()
    for one in writers:
        one.join(280)
        assert not one.is_alive()
        assert one.error_of_thread is None
    assert sum(one.lost for one in writers) > 0, "no request met the server that was killed"
    assert [one.stop() for one in servers] == [0, 0, 0]
    repository = tmp_path / "state.git"
    _check_that_nothing_is_lost(repository, done)
    assert "error" not in git(repository, "fsck", "--strict")
    said = git(repository, "log", "--first-parent", "--format=%(trailers:key=Baton-Revision,valueonly)", "--all")
    revisions = [int(line) for line in said.split() if line]
    assert revisions == sorted(set(revisions), reverse=True)
    assert revisions[0] == max(done.revisions)
    commits = set(git(repository, "log", "--all", "--format=%H").split())
    assert set(done.revisions.values()) <= commits


def _check_that_nothing_is_lost(repository: Path, done: Acknowledged) -> None:
    """Check that all acknowledged records exist, live or archived. A record that its session knew and a document leaves
    out is archived."""
    assert len(done.records) > CLIENTS * ROUNDS
    assert len(done.checkpoints) == CLIENTS * ROUNDS
    with Store(Repository.open(repository)) as store:
        state = Branch(store, Namespace(NAMESPACE)).read().state
        assert {id_: _item(state, id_) for id_ in done.records} == done.records
        known = state.ids(Checkpoint.kind) | state.ids(Checkpoint.kind, archived=True)
        assert {*done.checkpoints} <= known


def _item(state: State, id_: str) -> Any:
    live, closed = (state.entry(Key(FollowUp.kind, id_, archived)) for archived in (False, True))
    return live.item if isinstance(live, FollowUp) else closed.record["item"] if isinstance(closed, Archived) else None
