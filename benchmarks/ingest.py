"""Time the first sync with a long history, and the ingest of a push with many records.

A first sync with 10,000 commits and 5,000 archived records is compared with one of 71 commits and 30 live records, as
processor time of whole commands, and with the `git fetch` of the same branch. The ingest of twice the records may take
at most twice the time.
"""

from __future__ import annotations

import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from measuring import missed, now, report
from wide import ARCHIVED, MANY, make, time_command

from baton_git.core.layout import path_of
from baton_git.core.names import Namespace
from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import Key
from baton_git.git.store import ReflogEntry, Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.remote_settings import RemoteSettings
from baton_git.namespace.sync.synchronise import SyncOptions
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.sharing.sync import sync
from baton_git.verbs.work_items.followups import add_follow_up

SIZES = (2_000, 4_000, 8_000, 16_000)
WHO = "Bench <bench@localhost>"
REF = "refs/heads/baton/team"


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
        done = sync(bob, now(), options=SyncOptions(receive_only=True))
        took = time.process_time() - started
        assert not done.errors
        assert done.outcomes[0].received
        bob.branch.store.close()
        bob = workspace(place / "bob")
        started = time.process_time()
        begin_session(bob, now(), StartOptions(sync_seconds=0, check_seconds=0))
        return took, time.process_time() - started


class Side(NamedTuple):
    """A namespace to measure.

    Attributes:
        source: a repository that has it.
        hub: a bare repository to which it was pushed.
    """

    name: str
    source: Path
    hub: Path

    def meet(self, place: Path, *, by_clone: bool) -> Path:
        """Return a new repository that has the hub as its remote."""
        top = place / f"{self.name}-{len(list(place.iterdir()))}"
        if by_clone:
            git(place, "clone", "-q", self.hub.as_uri(), top.name)
        else:
            git(place, "init", "-q", top.name)
            git(top, "remote", "add", "origin", self.hub.as_uri())
        return top

    def time(self, place: Path, what: str) -> float:
        """Return the processor time of one measurement, in seconds."""
        top = self.meet(place, by_clone=what == "clone")
        if what in ("clone", "init"):
            return time_command(top, "sync")
        if what == "git fetch":
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            git(top, "fetch", "-q", "origin", REF)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        git(top, "config", "baton.autosync", "false")  # else a background process competes for the processor
        if what == "complete":
            return time_command(top, "sync")
        time_command(top, "sync")
        if what == "one commit":
            time_command(self.source, "followup", "add", f"one more in {top.name}")
            git(self.source, "push", "-q", str(self.hub), REF)
            return time_command(top, "sync")
        if what in ("boot", "list"):
            time_command(top, "boot")  # the first one finds out who vouches for the records
        words = ("recall", "words that say Item 7") if what == "recall" else (what,)
        return time_command(top, *words)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, stderr=subprocess.DEVNULL)


MEETINGS = {
    "init": ("a first sync where git has fetched nothing", 3),
    "clone": ("a first sync in a clone", 3),
    "complete": ("a first sync that waits for the older history (no goal)", math.inf),
    "git fetch": ("  of which git's part: git fetch of the branch (no goal)", math.inf),
    "one commit": ("a sync with one commit in", 2),
    "recall": ("the first recall", 6),
    "boot": ("a later boot", 1.2),
    "list": ("a later list", 1.2),
}
"""What is measured on a machine that meets the namespace, each with its name and its goal."""


def measure_meetings() -> None:
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as folder:
        place = Path(folder)
        sides = []
        for name in ("few", "long"):
            source, hub = make(place, name), place / f"{name}.git"
            git(place, "init", "-q", "--bare", hub.name)
            git(source, "push", "-q", str(hub), REF)
            git(hub, "gc", "-q")
            sides.append(Side(name, source, hub))
        few, long = (
            {what: statistics.median(side.time(place, what) for _ in range(3)) for what in MEETINGS} for side in sides
        )
    print(f"a first sync with 71 commits and 30 records: {few['init'] * 1e3:.0f} ms")
    for what, (text, goal) in MEETINGS.items():
        base = few["init"] if what in ("complete", "git fetch") else few[what]
        report(text, long[what] / base, goal)


def main() -> None:
    print(f"with {MANY:,} commits and {ARCHIVED:,} archived records, against 71 commits and 30 live records:")
    measure_meetings()
    for diverged in (False, True):
        what = "merged" if diverged else "fast-forward"
        times = [min(time_ingest(number, diverged=diverged) for _ in range(2)) for number in SIZES]
        for number, (took, start) in zip(SIZES, times, strict=True):
            print(f"{number:>6,} new records, {what}: sync {took:.2f} s, the next start {start:.2f} s")
        for earlier, later, number in zip(times, times[1:], SIZES[1:], strict=False):
            report(f"{number:,} records against half of them, {what}", later[0] / earlier[0], 2.3)
            report("  the next start", later[1] / earlier[1], 2.3)


if __name__ == "__main__":
    main()
    sys.exit(1 if missed else 0)
