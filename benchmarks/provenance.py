"""Time the computation of who vouches for each record of 10,000 commits, the first time and after one more commit.

The peer is `git log --raw` of the same branch in the same run. One tenth of the commits came from a remote, one
hundredth was made by hand.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from measuring import fill, missed, now, report, time_alternately, workspace

from baton_git.core import layout
from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import Key
from baton_git.git.store import ReflogEntry, Store
from baton_git.namespace.caller import Vouching
from baton_git.namespace.provenance.labels import Labels
from baton_git.namespace.workspace import Workspace

COMMITS = 10_000
RECORDS = 300


def grow(ws: Workspace, ids: list[str]) -> None:
    """Add the commits, and publish all at once; each changes one record."""
    branch, store = ws.branch, ws.branch.store
    tip = branch.read()
    assert tip.commit is not None
    commit, tree, draft = tip.commit, tip.tree, store.draft()
    made, received = [], []
    for number in range(COMMITS):
        key = Key("follow_up", ids[number % len(ids)])
        record = tip.state.get(FollowUp, key.id).replace(item=f"item {number}")
        tree = draft.tree(tree, layout.encode({key: record}))
        message = f"edit\n\nBaton-Op: bench\nBaton-Revision: {tip.number + number + 1}\n"
        commit = draft.commit(
            tree, (commit,), author="B <b@x>", time=1_700_000_000 + number, timezone=0, message=message
        )
        if number % 10 == 5:
            received.append(commit)
        elif number % 100:
            made.append(commit)
    branch.ledger.record_made(made)
    branch.ledger.record_received("https://example.org/x.git", "origin", received)
    assert store.publish(draft, branch.ref, tip.commit, commit, ReflogEntry("B <b@x>", 1, 0, "bench"))


def label_reader(ws: Workspace) -> Callable[[], object]:
    """Return a function that reads one label in a newly opened store, as a new process does."""

    def work() -> None:
        with Store(ws.branch.store.repository) as store:
            branch = type(ws.branch)(store, ws.branch.namespace)
            revision = branch.read()
            [first, *_] = sorted(revision.state.ids("follow_up"))
            Labels(branch, revision.commit, Vouching()).of(Key("follow_up", first))

    return work


def main() -> None:
    with workspace() as ws:
        ids = fill(ws, RECORDS)
        grow(ws, ids)
        common = ws.branch.store.repository.common_dir
        cache = common / "baton" / "provenance" / "labels"

        def first() -> None:
            subprocess.run(["rm", "-rf", str(cache)], check=True)
            label_reader(ws)()

        def log() -> None:
            subprocess.run(
                ["git", "-C", str(common), "log", "--raw", ws.branch.ref], check=True, stdout=subprocess.DEVNULL
            )

        started = time.perf_counter()
        first()
        print(f"first computation over {COMMITS:,} commits: {time.perf_counter() - started:.2f} s")
        first_time, peer = time_alternately(3, first, log)
        report("first computation against git log --raw", first_time / peer, 12)
        ws.update("bench", now(), lambda v: v.state.put(v.state.get(FollowUp, ids[0]).replace(item="one more")))
        again, known = time_alternately(15, label_reader(ws), lambda: read_alone(ws))
        print(f"after one more commit: {again * 1e3:.1f} ms, a read alone {known * 1e3:.1f} ms")
        report("after one more commit, against the first computation", again / first_time, 0.05)
        print(f"cached on the disk: {size(cache) / 1000:,.0f} kB")
    sys.exit(bool(missed))


def read_alone(ws: Workspace) -> None:
    with Store(ws.branch.store.repository) as store:
        type(ws.branch)(store, ws.branch.namespace).read().state.ids("follow_up")


def size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


if __name__ == "__main__":
    main()
