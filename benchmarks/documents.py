"""Time the write of a whole document by alternating sessions: the 10,000th against the 100th, in processor time; and by
sessions that never read, the 1,300th beside 10,000 archived records against the 200th.

The two writes alternate between a namespace with a long history and one with a short history, so that both run under
the same conditions: in one namespace, minutes pass between the 100th write and the 10,000th.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from measuring import missed, now, report, workspace

from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import State
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.systems.session_baton.documents import read_document
from baton_git.verbs.work_items.followups import add_follow_up

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


UNREAD_WRITES, EARLY, ARCHIVED = 1_300, 200, 10_000


def measure_unread(about: str, make_items: Callable[[str, int], Sequence[str]]) -> None:
    """Let two sessions in turn write documents that they made without reading, as session-baton's clients do.

    The base of each merge is then the session's own last document, which lacks everything that the other one wrote.
    """
    with workspace() as long, workspace() as short:
        add_archived(long, ARCHIVED)
        for number in range(UNREAD_WRITES - SAMPLE):
            time_unread(long, number, make_items)
        for number in range(EARLY - SAMPLE):
            time_unread(short, number, make_items)
        pairs = [
            (time_unread(short, EARLY + number, make_items), time_unread(long, UNREAD_WRITES + number, make_items))
            for number in range(-SAMPLE, SAMPLE)
        ]
        early, late = (statistics.median(times) for times in zip(*pairs, strict=True))
        print(f"unread, {about}: {early * 1e3:.2f} ms at {EARLY}, {late * 1e3:.2f} ms at {UNREAD_WRITES:,}")
        report(f"document {UNREAD_WRITES:,} beside {ARCHIVED:,} archived, unread, {about}", late / early, 1.3)


def add_archived(ws: Workspace, count: int) -> None:
    """Add closed follow-ups to the archive, in one commit."""
    id_ = add_follow_up(ws, now(), item="Item", reason="later").id

    def change(tip: Revision) -> State:
        record, state = tip.state.get(FollowUp, id_), tip.state
        for number in range(count):
            closed = record.replace(id=f"FU-old{number}", item=f"Item {number}")
            state = state.put(closed).archive(closed, at="2026-01-01T00:00:00Z", reason="done", session=None)
        return state

    ws.update("import", now(), change)


def time_unread(ws: Workspace, number: int, make_items: Callable[[str, int], Sequence[str]]) -> float:
    """Return the processor time of the write of a document with these follow-ups, in seconds."""
    name = f"s{number % 2}"
    document = {
        "schema_version": 1, "namespace": "bench", "session_id": name, "updated_at": "2026-11-01T00:00:00Z",
        "open_loops": [], "active_decisions": [],
        "follow_ups": [
            {"id": id_, "item": f"Item {number}", "reason": "later", "first_seen": "s0"}
            for id_ in make_items(name, number)
        ],
    }  # fmt: skip
    started = time.thread_time()
    write_document(ws, now(), document)
    return time.thread_time() - started


UNREAD: Mapping[str, Callable[[str, int], Sequence[str]]] = {
    "own items": lambda name, _: [f"FU-{name}"],
    "new items": lambda name, number: [f"FU-{name}-{number}"],
    "one shared item": lambda _, __: ["FU-1"],
    "a shared and a new item": lambda name, number: ["FU-1", f"FU-{name}-{number}"],
}
"""The ids of the follow-ups in each document: new items fill the archive, a shared one gives a conflict each time."""


def main() -> int:
    writes = int(sys.argv[1]) if len(sys.argv) > 1 else WRITES
    for sessions in (2, 8):
        measure_documents(sessions, writes)
    for about, make_items in UNREAD.items():
        measure_unread(about, make_items)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
