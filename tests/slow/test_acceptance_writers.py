"""Many processes on one namespace, kills at any moment, git's own gc during writes: no acknowledged write is lost."""

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

WORKER = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from baton_git.namespace.branch import Branch
from baton_git.core.errors import Busy
from baton_git.core.names import Namespace
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.git.store import Repository, Store

top, name, count, journal = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
out = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
with Store(Repository.open(top)) as store:
    ws = Workspace(Branch(store, Namespace("work")), Actor("Ada <ada@example.org>", name, "test"))
    done = 0
    while done < count:
        try:
            if done % 4 == 3:
                made = defer_follow_up(ws, datetime.now(UTC), "FU-shared")
            else:
                made = add_follow_up(ws, datetime.now(UTC), item=f"{name} {done}", id=f"FU-{name}-{done}")
        except Busy:
            continue
        done += 1
        os.write(out, f"{made.id} {made.written.revision.commit}\\n".encode())
"""


def start(top, name, count, journal):
    argv = [sys.executable, "-W", "error", "-c", WORKER, *map(str, (top, name, count, journal))]
    return subprocess.Popen(argv, stderr=subprocess.PIPE)


def finish(processes, seconds=280):
    for process in processes:
        _, errors = process.communicate(timeout=seconds)
        assert process.returncode == 0, errors.decode()


def acknowledged(journal: Path) -> list[tuple[str, str]]:
    """Return the acknowledged writes, with id and commit; a line cut off by a kill does not count."""
    lines = journal.read_text().splitlines(keepends=True) if journal.exists() else []
    return [(line.split()[0], line.split()[1]) for line in lines if line.endswith("\n")]


def assert_nothing_lost(git, top, journal):
    """Check that every acknowledged write is in the history; return the writes, and the ids of all commits."""
    writes = acknowledged(journal)
    history = git(top, "rev-list", "baton/work").split()
    assert {commit for _, commit in writes} <= set(history)
    with Store(Repository.open(top)) as store:
        state = Branch(store, Namespace("work")).read().state
        assert {id_ for id_, _ in writes} <= state.ids("follow_up")
        assert list(state.unreadable(["follow_up"])) == []
    git(top, "fsck", "--strict")
    return writes, history


@pytest.fixture
def shared(baton, top):
    """Return a repository with a follow-up that all writers defer."""
    baton("followup", "add", "shared", "--id", "FU-shared")
    return top


def read_shared_count(baton):
    items = baton("read").json["baton"]["follow_ups"]
    return next(one.get("defer_count", 0) for one in items if one["id"] == "FU-shared")


def test_eight_processes_with_200_writes_each_lose_nothing(baton, git, shared, tmp_path):
    journal = tmp_path / "journal"
    finish([start(shared, f"w{number}", 200, journal) for number in range(8)])
    writes, history = assert_nothing_lost(git, shared, journal)
    assert len(writes) == 1600
    assert len({commit for _, commit in writes}) == 1600
    assert len(history) == 1602
    assert baton("read").json["revision"] == 1601
    assert read_shared_count(baton) == 400


def test_kills_at_random_moments_lose_nothing_that_was_acknowledged(baton, git, shared, tmp_path):
    journal, rng = tmp_path / "journal", random.Random(11)
    kills, end = 0, time.monotonic() + 70
    while (kills < 8 or len(acknowledged(journal)) < 200) and time.monotonic() < end:
        process = start(shared, f"k{kills}", 200, journal)
        before = len(acknowledged(journal))
        while len(acknowledged(journal)) == before and process.poll() is None:
            time.sleep(0.005)  # until it writes
        time.sleep(rng.uniform(0, 0.6))
        process.kill()
        process.communicate()
        kills += 1
    writes, _ = assert_nothing_lost(git, shared, journal)
    assert kills >= 8
    assert len(writes) >= 200
    assert read_shared_count(baton) >= sum(id_ == "FU-shared" for id_, _ in writes)
    baton("followup", "defer", "FU-shared")


def test_gits_own_gc_beside_writers_loses_nothing(git, shared, tmp_path):
    journal = tmp_path / "journal"
    processes = [start(shared, f"g{number}", 60, journal) for number in range(3)]
    rounds = 0
    while any(process.poll() is None for process in processes):
        done = subprocess.run(["git", "-C", str(shared), "gc", "--prune=now", "-q"], capture_output=True, check=False)
        rounds += done.returncode == 0
    finish(processes)
    writes, _ = assert_nothing_lost(git, shared, journal)
    assert len(writes) == 180
    assert rounds
    git(shared, "gc", "--prune=now", "-q")
    assert_nothing_lost(git, shared, journal)
