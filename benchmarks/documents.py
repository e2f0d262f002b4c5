"""Time the write of a whole document by alternating sessions: the 10,000th against the 100th, in processor time.

The two writes alternate between a namespace with a long history and one with a short history, so that both run under
the same conditions: in one namespace, minutes pass between the 100th write and the 10,000th.
"""

from __future__ import annotations

import statistics
import sys
import time

from measuring import missed, now, report, workspace

from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.systems.session_baton.documents import read_document

WRITES = 10_000
SAMPLE = 50


def measure_documents(sessions: int, writes: int) -> None:
    """Let each session in turn read the document, change its own follow-up, and write the whole document."""
    with workspace() as long, workspace() as short:
        longest = max(time_write(long, sessions, number) for number in range(writes - SAMPLE))
        for number in range(100 - SAMPLE):
            time_write(short, sessions, number)
        pairs = [
            (time_write(short, sessions, 100 + number), time_write(long, sessions, writes + number))
            for number in range(-SAMPLE, SAMPLE)
        ]
        early, late = (statistics.median(times) for times in zip(*pairs, strict=True))
        print(f"{sessions} sessions: {early * 1e3:.2f} ms at 100, {late * 1e3:.2f} ms at {writes:,}")
        print(f"  the longest {longest * 1e3:.0f} ms")
        report(f"document {writes:,} against document 100, {sessions} sessions in turn", late / early, 1.3)


def time_write(ws: Workspace, sessions: int, number: int) -> float:
    """Return the processor time of the write with this number, in seconds."""
    name = f"s{number % sessions}"
    follow_ups = (read_document(ws).baton or {}).get("follow_ups", [])
    own = {"id": f"FU-{name}", "item": f"Item {number}", "reason": "later", "first_seen": "s0"}
    document = {
        "schema_version": 1, "namespace": "bench", "session_id": name, "updated_at": "2026-11-01T00:00:00Z",
        "open_loops": [], "active_decisions": [],
        "follow_ups": [*(one for one in follow_ups if one["id"] != own["id"]), own],
    }  # fmt: skip
    started = time.thread_time()
    write_document(ws, now(), document)
    return time.thread_time() - started


def main() -> int:
    writes = int(sys.argv[1]) if len(sys.argv) > 1 else WRITES
    for sessions in (2, 8):
        measure_documents(sessions, writes)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
