"""Time the slowest of many writes: packs merged by a separate process, against packs merged by the writer itself."""

from __future__ import annotations

import os
import statistics
import sys
import time

from measuring import fill, missed, now, report, workspace

from baton_git.core.records.work_items import FollowUp
from baton_git.interfaces.background.pack_merge import merge_in_background
from baton_git.namespace.workspace import Workspace

WRITES = 1_500


def measure_slowest(ws: Workspace) -> float:
    """Print the median of many writes, and return the mean of the 20 slowest ones in seconds."""
    ids = fill(ws)
    times = []
    for number in range(WRITES):
        id_ = ids[number % len(ids)]
        started = time.perf_counter()
        ws.update(
            "bench", now(), lambda v, i=id_, n=number: v.state.put(v.state.get(FollowUp, i).replace(reason=f"{n}"))
        )
        times.append(time.perf_counter() - started)
    slowest = statistics.mean(sorted(times)[-20:])
    print(f"median {statistics.median(times) * 1e3:.2f} ms, the 20 slowest {slowest * 1e3:.0f} ms")
    return slowest


def main() -> int:
    with workspace() as here, workspace() as in_background:
        folder = in_background.branch.store.repository.common_dir
        in_background.branch.store.tidied_by = lambda: merge_in_background(folder, os.environ)
        report(
            "the slowest writes: packs merged by a process, against by the writer",
            measure_slowest(in_background) / measure_slowest(here),
            0.6,
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
