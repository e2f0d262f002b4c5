"""Compare 16 processes that write one namespace with bare dulwich, on the same disk and with the same time limit."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import Barrier, Process, SimpleQueue
from multiprocessing.synchronize import Barrier as BarrierType
from pathlib import Path
from typing import NamedTuple

from dulwich.file import FileLocked
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo
from measuring import missed, now, report

from baton_git.core.errors import BatonError
from baton_git.core.names import Namespace
from baton_git.core.records.work_items import FollowUp
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import PATIENCE, Branch
from baton_git.namespace.caller import ChangeCaller, Vouching
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.verbs.work_items.followups import add_follow_up

WRITERS = 16
SECONDS = 6.0
TURNS = 3
REF = b"refs/heads/baton/bench"
FOLDER = b"follow_ups"

Write = Callable[[int], bytes]
"""Writes once, and returns the id of the commit. Each writer changes a different record."""


class Run(NamedTuple):
    """The result of one run: acknowledged commits per second, the 99th percentile in seconds, and lost commits."""

    rate: float
    slowest: float
    lost: int


def ours(path: Path, writer: int) -> Write:
    store = Store(Repository.open(path))
    ws = Workspace(Branch(store, Namespace("bench")), Actor("Bench <bench@localhost>", f"writer-{writer}"))
    id_ = None

    def write(number: int) -> bytes:
        nonlocal id_
        if id_ is None:
            made = add_follow_up(ws, now(), item=f"Item of {writer}: " + "words on what is to be done " * 4, reason="0")
            id_ = made.id
            return str(made.written.revision.commit).encode()
        done = ws.edit(
            "bench", now(), FollowUp, id_, lambda state, record: state.put(record.replace(reason=str(number)))
        )
        return str(done.written.revision.commit).encode()

    return write


def write_with_dulwich(path: Path, writer: int) -> Write:
    """Make the same commits with dulwich alone, with the same pauses after losing a race."""
    repo = Repo(str(path))
    name = b"FU-%d.toml" % writer

    def attempt(number: int) -> bytes | None:
        tip = repo.refs[REF]
        root = repo[repo[tip].tree]
        blob = Blob.from_string(b'item = "%s"\nreason = "%d"\n' % (b"words on what is to be done " * 5, number))
        inner, outer, new = Tree(), Tree(), Commit()
        entries = repo[root[FOLDER][1]].iteritems() if FOLDER in root else ()
        for entry in entries:
            inner.add(entry.path, entry.mode, entry.sha)
        inner.add(name, 0o100644, blob.id)
        for entry in root.iteritems():
            outer.add(entry.path, entry.mode, entry.sha)
        outer.add(FOLDER, 0o040000, inner.id)
        new.tree, new.parents = outer.id, [tip]
        new.author = new.committer = b"Bench <bench@localhost>"
        new.author_time = new.commit_time = int(time.time())
        new.author_timezone = new.commit_timezone = 0
        new.message = b"writer %d: %d\n" % (writer, number)
        for one in (blob, inner, outer, new):
            repo.object_store.add_object(one)
        return new.id if repo.refs.set_if_equals(REF, tip, new.id) else None

    def write(number: int) -> bytes:
        end = time.monotonic() + PATIENCE
        for tried in range(10_000):
            try:
                done = attempt(number)
            except FileLocked:
                done = None
            if done is not None:
                return done
            if time.monotonic() >= end:
                break
            time.sleep(random.uniform(0, min(0.5, 0.005 * 2**tried)))
        raise TimeoutError(f"writer {writer} gave up")

    return write


def work(
    make: Callable[[Path, int], Write], path: Path, writer: int, start: BarrierType,
    results: SimpleQueue[tuple[list[float], list[bytes], int]],
) -> None:  # fmt: skip
    write = make(path, writer)
    start.wait()
    end = time.monotonic() + SECONDS
    times, commits, refused, number = [], [], 0, 0
    while time.monotonic() < end:
        began = time.perf_counter()
        number += 1
        try:
            commits.append(write(number))
        except (BatonError, OSError) as error:  # the writer gave up: the commit is not acknowledged
            print(f"writer {writer}: {error!r}", file=sys.stderr)
            refused += 1
        times.append(time.perf_counter() - began)
    results.put((times, commits, refused))


def run(make: Callable[[Path, int], Write], path: Path) -> Run:
    start, results = Barrier(WRITERS), SimpleQueue()
    processes = [Process(target=work, args=(make, path, number, start, results)) for number in range(WRITERS)]
    for one in processes:
        one.start()
    parts = [results.get() for _ in processes]
    for one in processes:
        one.join()
    times = sorted(seconds for durations, _, _ in parts for seconds in durations)
    acknowledged = [commit for _, commits, _ in parts for commit in commits]
    refused = sum(number for _, _, number in parts)
    if refused:
        print(f"  {refused} writes gave up")
    reachable = subprocess.run(
        ["git", f"--git-dir={path}", "rev-list", REF.decode()], capture_output=True, check=True
    ).stdout.split()
    lost = len(set(acknowledged) - set(reachable)) + len(acknowledged) - len(set(acknowledged))
    return Run(len(acknowledged) / SECONDS, times[int(len(times) * 0.99)], lost)


def make_repository(place: Path, name: str, *settings: tuple[str, str]) -> Path:
    path = place / name
    with Store(Repository.create_bare(path)) as store:
        branch = Branch(store, Namespace("bench"))
        branch.create(CommitStamp("init", now(), "Bench <bench@localhost>", ChangeCaller(None, Vouching())))
    for key, value in settings:
        subprocess.run(["git", f"--git-dir={path}", "config", key, value], check=True)
    return path


def main() -> int:
    runs: dict[str, list[Run]] = {"ours": [], "dulwich, objects not synced": [], "dulwich, objects synced": []}
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as text:
        place = Path(text)
        for turn in range(TURNS):
            runs["ours"].append(run(ours, make_repository(place, f"ours-{turn}.git")))
            runs["dulwich, objects not synced"].append(
                run(write_with_dulwich, make_repository(place, f"bare-{turn}.git"))
            )
            synced = make_repository(place, f"synced-{turn}.git", ("core.fsyncObjectFiles", "true"))
            runs["dulwich, objects synced"].append(run(write_with_dulwich, synced))
    print(f"{WRITERS} processes, one namespace, {TURNS} runs of {SECONDS:g} s each (medians):")
    for name, done in runs.items():
        rate, slowest = (statistics.median(one[part] for one in done) for part in (0, 1))
        lost = sum(one.lost for one in done)
        print(f"  {name:<30}{rate:8.0f} commits/s   p99 {slowest * 1e3:6.0f} ms   lost {lost}")
    rates = {name: statistics.median(one.rate for one in done) for name, done in runs.items()}
    report("bare dulwich's commits per second, against ours", rates["dulwich, objects not synced"] / rates["ours"], 2)
    report("the 99th percentile of our writes", statistics.median(one.slowest for one in runs["ours"]), 1, " s")
    report("acknowledged and lost", sum(one.lost for one in runs["ours"]), 0, "")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
