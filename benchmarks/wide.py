"""Processor time of whole commands in a namespace with many records, against one with 71 commits and 30 records."""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from measuring import fill, missed, now, report

from baton_git.core.names import Namespace
from baton_git.core.records.base import Record
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, VerifySpec
from baton_git.core.state import State
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.workspace import Actor, Workspace

MANY: Final = 10_000
ARCHIVED: Final = 5_000
KINDS: Final = ("decisions", "checks", "sessions")
ROUNDS: Final = 5


def add_live(state: State) -> State:
    template = state.records(FollowUp)[0]
    for number in range(MANY):
        state = state.put(template.replace(id=f"FU-new{number}", item=f"Item {number} about the import"))
    return state


def add_conflicts(state: State) -> State:
    ids = sorted(state.ids("follow_up"))
    for number in range(MANY):
        state = state.put(
            Conflict(
                id=f"C-{number:08x}", record_kind="follow_up", record_id=ids[number % len(ids)], field="reason",
                base="a", ours=f"b{number}", theirs="c", winner="ours",
            )
        )  # fmt: skip
    return state


def add_kind(state: State, name: str) -> State:
    """Return the state with many live records of a kind."""
    day = f"{now():%Y-%m-%d}"
    check = VerifySpec(method="file_exists", path="x")
    for number in range(MANY):
        record: Record
        text = f"Text {number} about the import"
        if name == "decisions":
            record = ActiveDecision(id=f"DEC-{number}", what=text, why="w", created_at=day)
        elif name == "checks":
            record = OpenLoop(id=f"OL-{number}", action=text, expected_outcome="e", created_at=day, verify=check)
        else:
            record = Session(id=f"s-{number}", started=day, ended=day, status="ended")
        state = state.put(record)
    return state


def add_archived(state: State) -> State:
    template = state.records(FollowUp)[0]
    for number in range(ARCHIVED):
        old = template.replace(id=f"FU-old{number}", item=f"Item {number} about the export")
        state = state.put(old).archive(old, at=f"2026-{1 + number % 9:02}-01T00:00:00Z", reason="done", session=None)
    return state


def change(ws: Workspace, ids: Sequence[str], commits: int) -> None:
    for number in range(commits):
        id_ = ids[number % len(ids)]
        ws.update("bench", now(), lambda v: v.state.put(v.state.get(FollowUp, id_).replace(reason=f"later {number}")))  # noqa: B023  called at once


def make(place: Path, name: str) -> Path:
    """Create a repository with a namespace; `name` says what it has beside the 30 live records."""
    folder = place / name
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    repository = Repository.discover(folder)
    assert repository is not None
    with Store(repository) as store:
        ws = Workspace(Branch(store, Namespace("team")), Actor("Bench <bench@localhost>", "bench"))
        ids = fill(ws, 30)
        if name in ("live", "conflicts"):
            add = add_live if name == "live" else add_conflicts
            ws.update("import", now(), lambda v: add(v.state))
        if name in KINDS:
            ws.update("import", now(), lambda v: add_kind(v.state, name))
        if name == "long":
            ws.update("import", now(), lambda v: add_archived(v.state))
        change(ws, ids, MANY if name == "long" else 40)
    return folder


def time_command(folder: Path, *words: str) -> float:
    """Return the processor time of a command in seconds."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder.parent), "BATON_NAMESPACE": "team",
        "XDG_DATA_HOME": f"{folder.parent}/data",
    }  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "baton_git", *words], cwd=folder, env=environment, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder: Path, *words: str, prepare: str = "") -> float:
    """Return the median of the processor times of a command, in seconds; `prepare` is a folder to remove before."""
    times = []
    for _ in range(ROUNDS):
        if prepare:
            shutil.rmtree(folder / ".git" / "baton" / prepare, ignore_errors=True)
        times.append(time_command(folder, *words))
    return statistics.median(times)


def measure_commands(place: Path) -> None:
    few, live, conflicts, long = (make(place, name) for name in ("few", "live", "conflicts", "long"))
    for folder in (few, live, conflicts, long):
        time_command(folder, "boot")
    boot = measure(few, "boot")
    print(f"boot with 30 live records: {boot * 1e3:.0f} ms")
    report(f"boot with {MANY:,} live records", measure(live, "boot") / boot, 2)
    report("the same without outlines of earlier runs", measure(live, "boot", prepare="outlines") / boot, 3.5)
    report(f"boot with {MANY:,} open conflicts", measure(conflicts, "boot") / boot, 2)
    for name in KINDS:
        folder = make(place, name)
        time_command(folder, "boot")
        report(f"boot with {MANY:,} live {name}", measure(folder, "boot") / boot, 2)
    for words in (("ready",), ("status",), ("followup", "add", "An item")):
        base = measure(few, *words)
        report(f"{' '.join(words[:2])} with {MANY:,} live records", measure(live, *words) / base, 2)
    report(f"boot with {MANY:,} commits and {ARCHIVED:,} archived records", measure(long, "boot") / boot, 1.2)
    report(
        f"list with {MANY:,} commits and {ARCHIVED:,} archived records",
        measure(long, "list") / measure(few, "list"),
        1.2,
    )
    question = ("recall", "words that say Item 7")
    first = measure(few, *question, prepare="recall")
    report("the first recall there", measure(long, *question, prepare="recall") / first, 6)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as text:
        measure_commands(Path(text))
    sys.exit(1 if missed else 0)
