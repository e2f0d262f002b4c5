"""Servers whose threads share a store: several servers on one repository, with kills and git's gc at the same time."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from baton_git.core.names import Namespace
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import Branch

pytestmark = pytest.mark.slow

SERVER = """
import os, sys, threading
from datetime import UTC, datetime
from pathlib import Path
from baton_git.namespace.branch import Branch
from baton_git.core.errors import Busy
from baton_git.core.names import Namespace
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.verbs.work_items.followups import add_follow_up
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.git.store import Repository, Store

top, name, threads, count, journal = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
out = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
store = Store(Repository.open(top))
failures = []

def acknowledge(what, written):
    os.write(out, f"{what} {written.revision.commit}\\n".encode())

def document(session, number):
    items = [{"id": f"FU-{session}-{one}", "item": f"round {number}", "first_seen": "2026-11-21"} for one in range(3)]
    return {"session_id": session, "follow_ups": items, "context": f"{session} {number}"}

def work(thread):
    session = f"{name}-{thread}"
    ws = Workspace(Branch(store, Namespace("work")), Actor("Ada <ada@example.org>", session, "test"))
    done = 0
    while done < count:
        try:
            if thread % 2:
                acknowledge("document", write_document(ws, datetime.now(UTC), document(session, done)).written)
            else:
                made = add_follow_up(ws, datetime.now(UTC), item=f"{session} {done}", id=f"FU-{session}-{done}")
                acknowledge(made.id, made.written)
        except Busy:
            continue
        done += 1

def run(thread):
    try:
        work(thread)
    except BaseException as error:
        failures.append(error)
        raise

running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
for one in running:
    one.start()
for one in running:
    one.join()
sys.exit(1 if failures else 0)
"""


def start(top: Path, name: str, threads: int, count: int, journal: Path) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-W", "error", "-c", SERVER, *map(str, (top, name, threads, count, journal))]
    return subprocess.Popen(argv, stderr=subprocess.PIPE)


def acknowledged(journal: Path) -> list[tuple[str, str]]:
    lines = journal.read_text().splitlines(keepends=True) if journal.exists() else []
    pairs = [line.split() for line in lines if line.endswith("\n")]
    return [(pair[0], pair[1]) for pair in pairs]


def assert_nothing_lost(git, top: Path, journal: Path) -> int:
    writes = acknowledged(journal)
    commits = git(top, "rev-list", "refs/heads/baton/work").split()
    assert {commit for _, commit in writes} <= set(commits)
    assert len({commit for _, commit in writes}) == len(writes)
    with Store(Repository.open(top)) as store:
        state = Branch(store, Namespace("work")).read().state
        # The first document of a session archives what it leaves out.
        ids = state.ids("follow_up") | state.ids("follow_up", archived=True)
        assert {what for what, _ in writes if what != "document"} <= ids
    git(top, "fsck", "--strict", "--no-dangling")
    return len(writes)


def test_two_servers_with_threads_lose_nothing_while_git_collects(git, top, tmp_path):
    journal = tmp_path / "journal"
    servers = [start(top, f"p{number}", 4, 25, journal) for number in range(2)]
    while any(one.poll() is None for one in servers):
        git(top, "gc", "-q", "--prune=now")
        time.sleep(0.2)
    for one in servers:
        _, errors = one.communicate(timeout=280)
        assert one.returncode == 0, errors.decode()
    assert assert_nothing_lost(git, top, journal) == 200


def test_a_killed_server_loses_no_acknowledged_write(git, top, tmp_path):
    journal, rng = tmp_path / "journal", random.Random(5)
    for number in range(8):
        server = start(top, f"k{number}", 6, 1000, journal)
        before = len(acknowledged(journal))
        while len(acknowledged(journal)) == before and server.poll() is None:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.4))
        server.kill()
        server.communicate()
    assert assert_nothing_lost(git, top, journal) >= 8
