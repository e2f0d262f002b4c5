"""Many processes write in two clones while both clones sync with one remote: no process loses anything."""

from __future__ import annotations

import time
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest
from claims import History
from clones import Act, Clone, create_clone, create_remote, run_git, sync, try_action, write_many

from baton_git.core.records.work_items import FollowUp
from baton_git.verbs.sharing.sync import Synced
from baton_git.verbs.work_items.followups import add_follow_up

pytestmark = pytest.mark.slow

PROCESSES = 16
WRITES = 10


def acts_of(number: int) -> list[Act]:
    """Return the actions of one writer: every second action defers the shared follow-up."""
    verbs = ("followup add", "followup defer")
    return [Act(verbs[n % 2], 0, f"FU-{number}-{n}", f"w{number}", number * 100 + n + 1) for n in range(WRITES)]


def sync_until(top: Path, end: float) -> None:
    """Sync repeatedly until the time `end`."""
    clone = Clone(top)
    while time.time() < end:
        done = try_action(lambda: sync(clone.workspace("sync"), clone.now(timedelta())))
        assert not isinstance(done, Synced) or not done.offline


def test_sixteen_processes_in_one_namespace_beside_syncs_lose_nothing(tmp_path):
    create_remote(tmp_path / "remote.git")
    clones = [create_clone(tmp_path / name, tmp_path / "remote.git") for name in ("one", "two")]
    add_follow_up(clones[0].workspace(), clones[0].now(timedelta()), item="shared", id="FU-0")
    for clone in clones:
        sync(clone.workspace(), clone.now(timedelta()))
    processes = get_context("forkserver")
    syncing = [processes.Process(target=sync_until, args=(clone.top, time.time() + 3600)) for clone in clones]
    journals = [tmp_path / f"journal-{number}" for number in range(PROCESSES)]
    writers = [
        processes.Process(
            target=write_many,
            args=(clones[number % 2].top, timedelta(), timedelta(), acts_of(number), False, journals[number]),
        )
        for number in range(PROCESSES)
    ]
    for process in (*syncing, *writers):
        process.start()
    for process in writers:
        process.join(250)
    for process in syncing:
        process.terminate()
        process.join()
    assert [process.exitcode for process in writers] == [0] * PROCESSES
    for clone in (*clones, *clones):
        done = sync(clone.workspace(), clone.now(timedelta()))
        assert not done.errors
    acknowledged = [line for journal in journals for line in journal.read_text().split()]
    assert len(acknowledged) == PROCESSES * WRITES
    [tip] = {clone.tip for clone in clones}
    assert tip is not None
    history = {info.oid: info for info in clones[0].store.log(tip)}
    assert {*acknowledged} <= history.keys()
    assert any(len(info.parents) == 2 for info in history.values())
    state = clones[0].branch.read().state
    assert len(state.ids("follow_up")) == 1 + PROCESSES * WRITES // 2
    assert sum(one.defer_count for one in state.records(FollowUp)) == PROCESSES * WRITES // 2
    checker = History(clones[0].store)
    checker.check(tip)
    assert checker.check_counts(tip) == 1 + PROCESSES * WRITES // 2
    run_git(clones[0].top, "fsck", "--strict", "--no-dangling")
    assert list(state.unreadable(["follow_up"])) == []
    for clone in clones:
        clone.store.close()
