"""Compare the 10,000th write and read with the 100th, and writes next to many live or archived records with others."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from documents import add_archived
from measuring import fill, missed, now, report, workspace

from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern
from baton_git.core.state import Entry, Key, State
from baton_git.git.store import ReflogEntry, Store
from baton_git.git.store.stored_moves import bundle
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.documents import read_document
from baton_git.verbs.sessions.session_end import wrap
from baton_git.verbs.work_items.decisions import add_decision
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up, finish_follow_up
from baton_git.verbs.work_items.loops import add_loop, close_loop
from baton_git.verbs.work_items.patterns import record_pattern

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


def measure_live() -> None:
    """Compare a write next to 10,000 live records, in a folder that is fanned out, with one next to 30."""
    with workspace() as small, workspace() as large:
        ids = {id(ws): fill(ws, 30) for ws in (small, large)}
        large.update("bench", now(), lambda v: add_live(v.state))
        times: dict[int, list[float]] = {id(small): [], id(large): []}
        objects = large.branch.store.repository.common_dir / "objects"
        large.branch.store.pack(everything=True)
        before = size(objects)
        for number in range(60):
            for ws in (small, large):
                times[id(ws)].append(time_cpu(partial(change, ws, ids[id(ws)], number)))
        report("a write next to 10,000 live records, processor time", ratio(times, large, small), 3)
        report("  on disk before packing, a commit", (size(objects) - before) / 60 / 1000, 6, " kB")


VERBS: dict[str, Callable[[Workspace, int], object]] = {
    "followup add": lambda ws, n: add_follow_up(ws, now(), item=f"Write part {n}", reason="later"),
    "followup defer": lambda ws, n: defer_follow_up(ws, now(), id=f"X-live{n}"),
    "followup done": lambda ws, n: finish_follow_up(ws, now(), id=f"X-live{n}"),
    "loop add": lambda ws, n: add_loop(ws, now(), action=f"Deployed {n}", expect="health is 200"),
    "loop close": lambda ws, n: close_loop(ws, now(), id=f"X-live{n}"),
    "pattern record": lambda ws, n: record_pattern(ws, now(), what=f"New kind of fault {n}"),
    "decision add": lambda ws, n: add_decision(ws, now(), what=f"Use tool number {n}", why="it is good"),
    "wrap": lambda ws, n: wrap(ws, now(), context=f"done {n}"),
}


def measure_verbs() -> None:
    """Compare each everyday write beside 10,000 live records of each kind with the same beside 30."""
    with workspace() as small, workspace() as large:
        for ws, count in ((small, 30), (large, 10_000)):
            put_each_kind(ws, count)
        for name, work in VERBS.items():
            times: dict[int, list[float]] = {id(small): [], id(large): []}
            for number in range(11):
                for ws in (small, large):
                    took = time_cpu(partial(work, ws, number))
                    if number:  # the first one lists the records, and makes their outlines
                        times[id(ws)].append(took)
            report(f"{name} beside 10,000 live records of each kind", ratio(times, large, small), 3)


def put_each_kind(ws: Workspace, count: int) -> None:
    made = (
        (FollowUp, add_follow_up(ws, now(), item="Refactor the export", reason="later").id, "item"),
        (OpenLoop, add_loop(ws, now(), action="Deployed the export", expect="health is ok").id, "action"),
        (ActiveDecision, add_decision(ws, now(), what="Use the new format", why="others read it").id, "what"),
        (Pattern, record_pattern(ws, now(), what="The build fails without the cache").id, "what"),
    )

    def add_each(state: State) -> State:
        edits: dict[Key, Entry | None] = {}
        for model, id_, about in made:
            template = state.get(model, id_)
            for number in range(count):
                text = f"{getattr(template, about)} number {number} for {number % 53}"
                edits[Key(model.kind, f"X-live{number}")] = template.replace(id=f"X-live{number}", **{about: text})
        return State(state.source, edits)

    ws.update("bench", now(), lambda v: add_each(v.state))


def measure_bundles() -> None:
    """Compare adding and closing next to 10,000 archived records in bundles with the same next to none."""
    with workspace() as empty, workspace() as full:
        for ws in (empty, full):
            fill(ws)
        add_archived(full, 10_000)
        started = time.process_time()
        bundle_archive(full)
        print(f"moving 10,000 archived records into bundles: {time.process_time() - started:.2f} s of processor time")
        for name, work in (("adding", add), ("closing", close)):
            times: dict[int, list[float]] = {id(empty): [], id(full): []}
            for number in range(40):
                for ws in (empty, full):
                    times[id(ws)].append(work(ws, number))
            report(f"{name} a record next to 10,000 bundled records", ratio(times, full, empty), 1.3)


def add_live(state: State) -> State:
    template = state.records(FollowUp)[0]
    for number in range(10_000):
        state = state.put(template.replace(id=f"FU-live{number}"))
    return state


def bundle_archive(ws: Workspace) -> None:
    """Move all archived follow-ups into bundles, in a commit of its own."""
    branch, revision = ws.branch, ws.branch.read()
    assert revision.commit is not None
    draft = branch.store.draft()
    ids = revision.state.ids(FollowUp.kind, archived=True)
    tree = bundle(draft, branch.store.commit(revision.commit).tree, [Key(FollowUp.kind, id_, True) for id_ in ids])
    who = "Bench <bench@localhost>"
    new = draft.commit(tree, [revision.commit], author=who, time=1, timezone=0, message="fold")
    branch.store.publish(draft, branch.ref, revision.commit, new, ReflogEntry(who, 1, 0, "fold"), keep=True)


def add(ws: Workspace, number: int) -> float:
    """Return the processor time of adding a follow-up with a newly opened store, as a command does it."""
    return time_reopened(ws, lambda one: add_follow_up(one, now(), item=f"Item number {number}", reason="later"))


def close(ws: Workspace, number: int) -> float:
    id_ = add_follow_up(ws, now(), item=f"Closing number {number}", reason="later").id
    return time_reopened(ws, lambda one: finish_follow_up(one, now(), id=id_))


def time_reopened(ws: Workspace, work: Callable[[Workspace], object]) -> float:
    with Store(ws.branch.store.repository) as store:
        return time_cpu(partial(work, Workspace(type(ws.branch)(store, ws.branch.namespace), ws.actor)))


def time_cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def ratio(times: dict[int, list[float]], one: Workspace, other: Workspace) -> float:
    return statistics.median(times[id(one)]) / statistics.median(times[id(other)])


if __name__ == "__main__":
    measure_live()
    measure_verbs()
    measure_bundles()
    measure_archive()
    measure_growth()
    sys.exit(1 if missed else 0)
