"""Time the ingest of a push with many records: twice the records may take at most twice the time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import missed, now, report

from baton_git.core.layout import path_of
from baton_git.core.names import Namespace
from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import Key
from baton_git.git.store import ReflogEntry, Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.remote_settings import RemoteSettings
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.sharing.sync import sync
from baton_git.verbs.work_items.followups import add_follow_up

SIZES = (2_000, 4_000, 8_000, 16_000)
WHO = "Bench <bench@localhost>"


def workspace(folder: Path) -> Workspace:
    store = Store(Repository.open(folder))
    settings = RemoteSettings(remotes=("origin",))
    return Workspace(
        Branch(store, Namespace("bench")),
        Actor(WHO, folder.name),
        environment=dict(os.environ),
        remote_settings=settings,
    )


def clone(place: Path, name: str) -> Workspace:
    top = place / name
    subprocess.run(["git", "init", "-q", "-b", "main", str(top)], check=True)
    subprocess.run(["git", "-C", str(top), "remote", "add", "origin", str(place / "r.git")], check=True)
    return workspace(top)


def push_many(ws: Workspace, number: int) -> None:
    """Push one commit with this many follow-ups."""
    store, tip = ws.branch.store, ws.branch.store.tip(ws.branch.ref)
    assert tip is not None
    draft, text = store.draft(), 'item = "item %d"\nid = "FU-%05d"\nstatus = "deferred"\ncreated_at = "2026-11-01"\n'
    files = {path_of(Key(FollowUp.kind, f"FU-{one:05}")): (text % (one, one)).encode() for one in range(number)}
    tree = draft.tree(store.commit(tip).tree, files)
    new = draft.commit(tree, [tip], author=WHO, time=1_800_000_000, timezone=0, message="many")
    assert store.publish(draft, ws.branch.ref, tip, new, ReflogEntry(WHO, 0, 0, "many"))
    top = store.repository.work_tree
    subprocess.run(["git", "-C", str(top), "push", "-q", "origin", ws.branch.ref], check=True)


def time_ingest(number: int, *, diverged: bool) -> tuple[float, float]:
    """Return the processor time of the sync that receives the records and of the next session start, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        subprocess.run(["git", "init", "-q", "--bare", str(place / "r.git")], check=True)
        ada, bob = clone(place, "ada"), clone(place, "bob")
        add_follow_up(ada, now(), item="first")
        sync(ada, now())
        sync(bob, now())
        if diverged:
            add_follow_up(bob, now(), item="mine")
        push_many(ada, number)
        bob.branch.store.close()
        bob = workspace(place / "bob")
        started = time.process_time()
        done = sync(bob, now(), receive_only=True)
        took = time.process_time() - started
        assert not done.errors
        assert done.outcomes[0].received
        bob.branch.store.close()
        bob = workspace(place / "bob")
        started = time.process_time()
        begin_session(bob, now(), StartOptions(sync_seconds=0, check_seconds=0))
        return took, time.process_time() - started


def main() -> None:
    for diverged in (False, True):
        what = "merged" if diverged else "fast-forward"
        times = [min(time_ingest(number, diverged=diverged) for _ in range(2)) for number in SIZES]
        for number, (took, start) in zip(SIZES, times, strict=True):
            print(f"{number:>6,} new records, {what}: sync {took:.2f} s, the next start {start:.2f} s")
        for earlier, later, number in zip(times, times[1:], SIZES[1:], strict=False):
            report(f"{number:,} records against half of them, {what}", later[0] / earlier[0], 2.3)


if __name__ == "__main__":
    main()
    sys.exit(1 if missed else 0)
