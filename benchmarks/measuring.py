"""Functions of all benchmarks: measure the medians of alternating runs, fill a namespace, and print a figure."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from baton_git.core.names import Namespace
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.verbs.work_items.followups import add_follow_up

missed: list[str] = []
"""The figures that missed their goal."""


def time_alternately(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Return the median time of each task in seconds. The tasks alternate, so all run under the same conditions."""
    return time_prepared(rounds, *((_nothing, work) for work in works))


def time_prepared(rounds: int, *works: tuple[Callable[[], object], Callable[[], object]]) -> list[float]:
    """Like `time_alternately`, for tasks with a preparation before each run, which is not timed."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for number, (prepare, work) in enumerate(works):
            prepare()
            started = time.perf_counter()
            work()
            times[number].append(time.perf_counter() - started)
    return [statistics.median(one) for one in times]


def _nothing() -> None:
    pass


def report(what: str, figure: float, goal: float, unit: str = "×") -> None:
    """Print a figure next to its goal, and note in `missed` whether it exceeds the goal."""
    ok = figure <= goal
    print(f"{what:<72}{figure:>9.2f}{unit}  (goal ≤ {goal:g}{unit}){'' if ok else '  MISSED'}")
    if not ok:
        missed.append(what)


@contextmanager
def workspace(folder: str | None = None) -> Iterator[Workspace]:
    """Yield a namespace in a new temporary repository, in `folder` or the usual folder of temporary files."""
    with tempfile.TemporaryDirectory(prefix="baton-bench-", dir=folder) as place:
        repository = Repository.create_bare(Path(place) / "bench.git")
        with Store(repository) as store:
            yield Workspace(Branch(store, Namespace("bench")), Actor("Bench <bench@localhost>", "bench"))


def now() -> datetime:
    return datetime.now(UTC)


def fill(ws: Workspace, count: int = 20) -> list[str]:
    """Add `count` follow-ups of about 300 bytes each, and return their ids."""
    return [
        add_follow_up(ws, now(), item=f"Item {number}: " + "words that say what is to be done " * 4, reason="later").id
        for number in range(count)
    ]
