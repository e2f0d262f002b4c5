"""Compare the 10,000th write and read with the 100th, and writes next to a full and an empty archive."""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from measuring import fill, missed, now, report, workspace

from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import State
from baton_git.git.store import Store
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.documents import read_document

WRITES = 10_000
SAMPLE = 100


def change(ws: Workspace, ids: list[str], number: int) -> None:
    id_ = ids[number % len(ids)]
    ws.update("bench", now(), lambda v: v.state.put(v.state.get(FollowUp, id_).replace(reason=f"later {number}")))


def time_read(ws: Workspace) -> float:
    """Return the time of one read from a newly opened store, in seconds."""
    started = time.perf_counter()
    with Store(ws.branch.store.repository) as store:
        read_document(Workspace(type(ws.branch)(store, ws.branch.namespace), ws.actor))
    return time.perf_counter() - started


def size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def measure_growth() -> None:
    with workspace() as ws:
        ids = fill(ws)
        writes: list[float] = []
        reads: dict[int, float] = {}
        for number in range(1, WRITES + SAMPLE // 2 + 1):
            started = time.perf_counter()
            change(ws, ids, number)
            writes.append(time.perf_counter() - started)
            if number in (SAMPLE, WRITES):
                reads[number] = statistics.median(time_read(ws) for _ in range(30))
        early = writes[SAMPLE // 2 : SAMPLE + SAMPLE // 2]
        late = writes[WRITES - SAMPLE // 2 : WRITES + SAMPLE // 2]
        print(
            f"write: {statistics.median(early) * 1e3:.2f} ms at {SAMPLE}, "
            f"{statistics.median(late) * 1e3:.2f} ms at {WRITES}"
        )
        print(
            f"       mean of all {statistics.mean(writes) * 1e3:.2f} ms, "
            f"the longest {max(writes) * 1e3:.0f} ms (a merge of packs)"
        )
        report(
            f"the {WRITES:,}th write against the {SAMPLE}th", statistics.median(late) / statistics.median(early), 1.3
        )
        report(f"the {WRITES:,}th read against the {SAMPLE}th", reads[WRITES] / reads[SAMPLE], 1.3)
        objects = ws.branch.store.repository.common_dir / "objects"
        print(f"on disk before packing: {size(objects) / len(writes):,.0f} bytes a commit")
        ws.branch.store.pack(everything=True)
        report("on disk after packing, a commit", size(objects) / len(writes) / 1000, 1.5, " kB")


def measure_archive() -> None:
    """Compare a write next to 10,000 archived records with one next to none."""
    with workspace() as empty, workspace() as full:
        ids = {id(ws): fill(ws) for ws in (empty, full)}

        def add_archived(state: State) -> State:
            template = state.records(FollowUp)[0]
            for number in range(10_000):
                old = template.replace(id=f"FU-old{number}")
                state = state.put(old).archive(old, at="2026-01-01T00:00:00Z", reason="done", session=None)
            return state

        full.update("bench", now(), lambda v: add_archived(v.state))
        times: dict[int, list[float]] = {id(empty): [], id(full): []}
        for number in range(150):
            for ws in (empty, full):
                started = time.perf_counter()
                change(ws, ids[id(ws)], number)
                times[id(ws)].append(time.perf_counter() - started)
        report(
            "a write next to 10,000 archived records",
            statistics.median(times[id(full)]) / statistics.median(times[id(empty)]), 1.5,
        )  # fmt: skip


if __name__ == "__main__":
    measure_archive()
    measure_growth()
    sys.exit(1 if missed else 0)
