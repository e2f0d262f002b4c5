"""Let a team work for a year on one namespace, and measure at the end of each month what a machine pays.

`team_history` generates the commits (its docstring has the assumptions), and baton's own folding moves what was
archived into bundles at the times at which its policy asks for it. The remote is a bare repository on the same disk,
maintained as hosts do (geometric repacking, a commit graph). At the end of each month:

- the files in the tree of the tip, the commits, and the bytes of the bare repository;
- the first `baton boot` in a new clone: its time, and whether its brief is whole. It is whole if every live record of
  the remote is in the machine's state, and the brief counts all of them, shown or left out;
- in some months: the time of the sync in which a machine takes in a whole history that git has fetched;
- in these months, on that machine: a write, a boot, a sync that brings what another session wrote, and the end of a
  session (`wrap` with a context, which sends).

Processor time is that of the command and its children, including the remote's `git upload-pack` on the same machine.

    .venv/bin/python benchmarks/year.py                              # 250 agents, 240 working days (an hour)
    .venv/bin/python benchmarks/year.py --agents 10 --days 30 --months 3
    .venv/bin/python benchmarks/year.py --pictures docs/pictures --page docs/team.md
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from charts import draw_chart
from team_history import FOLDERS, Team, check_merges, check_records

from baton_git.core.brief import BUDGET
from baton_git.core.names import Namespace
from baton_git.core.state import Key
from baton_git.git.store import Repository, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.caller import ChangeCaller, Vouching
from baton_git.namespace.folding import fold
from baton_git.namespace.last_tip import accept_tip
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.workspace import Actor, Workspace

NAME = "team"
REF = f"refs/heads/baton/{NAME}"
CHECKED = 40
"""How many merges and files of each month are compared with what baton makes."""
SLOWEST_BOOT = 8.0
"""Seconds that a boot may take: 3 for the sync and 5 for everything else."""
BEGIN, END = "<!-- figures of benchmarks/year.py -->", "<!-- end of the figures -->"
"""The marks around the table in a page of the documentation."""
WHOLE_HISTORY = (1, 3, 6, 12)
"""The months at whose ends a machine with the whole history is measured, too."""
NOUNS = {
    "open_loop": ("open loops", "failed loops", "verified loops"),
    "follow_up": ("follow-ups",),
    "active_decision": ("decisions",),
    "pattern": ("patterns", "rule candidates"),
}
"""What a brief calls the records of a kind that it leaves out, in each of their states: a start makes a loop that is
overdue a failed one."""
PREFIXES = {"open_loop": "OL-", "follow_up": "FU-", "active_decision": "DEC-", "pattern": "PAT-"}
AT_TIME = """
import sys
from datetime import datetime
from baton_git.interfaces.context.settings import Settings
now = datetime.fromisoformat(sys.argv[1]).astimezone()
Settings.now = staticmethod(lambda: now)
sys.argv = ["baton", *sys.argv[2:]]
from baton_git.__main__ import main
main()
"""
"""Runs baton with another time as the present one: an open loop of a month ago is due by the clock of the machine."""


class Run(NamedTuple):
    """A finished command: its exit status and output, and its wall and processor time in seconds."""

    code: int
    output: str
    errors: str
    wall: float
    cpu: float


class Desk:
    """A machine with a home and a new clone of the remote, in which git has fetched everything.

    It shares the objects with the remote, so that a clone takes no time; git's own work is not what is measured.
    """

    def __init__(self, place: Path, name: str, remote: Path, clock: datetime) -> None:
        self.folder, self.clock = place / name, clock
        home = place / f"{name}-home"
        home.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "BATON_NAMESPACE": NAME, "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Eve", "GIT_AUTHOR_EMAIL": "eve@example.org",
            "GIT_COMMITTER_NAME": "Eve", "GIT_COMMITTER_EMAIL": "eve@example.org",
        }  # fmt: skip
        argv = ["git", "clone", "-q", "--shared", "--no-checkout", str(remote), str(self.folder)]
        subprocess.run(argv, check=True, env=self.environment, capture_output=True)

    def baton(self, *words: str, codes: tuple[int, ...] = (0,)) -> Run:
        argv = [sys.executable, "-c", AT_TIME, self.clock.isoformat(), *words]
        before, began = children_time(), time.perf_counter()
        done = subprocess.run(argv, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        run = Run(
            done.returncode, done.stdout, done.stderr, time.perf_counter() - began, children_time() - before
        )  # fmt: skip
        if run.code not in codes:
            raise RuntimeError(
                f"baton {' '.join(words)} ended with {run.code}: {run.output[-300:]} {run.errors[-900:]}"
            )
        return run


def children_time() -> float:
    """Return the processor time of all finished child processes, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def processor_time() -> float:
    return time.process_time() + children_time()


def size(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def git(bare: Path, *words: str) -> str:
    done = subprocess.run(["git", f"--git-dir={bare}", *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def stop_background(place: Path) -> None:
    """End the processes that commands left in the background of a folder, as if the machine were switched off.

    A session start leaves one that fetches older history, the end of one leaves one that sends.
    """
    while here := [process for process in Path("/proc").glob("[0-9]*") if is_at(process, str(place))]:
        for process in here:
            with suppress(ProcessLookupError):
                os.kill(int(process.name), signal.SIGTERM)
        time.sleep(0.2)


def is_at(process: Path, place: str) -> bool:
    """Return whether a process, by its folder in `/proc`, works in a folder or has it in its command line."""
    try:
        return (
            str((process / "cwd").readlink()).startswith(place) or place.encode() in (process / "cmdline").read_bytes()
        )
    except OSError:
        return False


# --- the brief


def count_told(brief: str, kind: str) -> int:
    """Return how many records of a kind a brief shows or says that it leaves out."""
    shown = len(re.findall(rf"^- {PREFIXES[kind]}", brief, re.MULTILINE))
    more = re.findall(rf"^… and (one|\d+) more (?:of the )?(?:{'|'.join(NOUNS[kind])}): ", brief, re.MULTILINE)
    return shown + sum(1 if number == "one" else int(number) for number in more)


def find_gaps(desk: Desk, brief: str, live: Mapping[str, Collection[str]]) -> list[str]:
    """Return what keeps a brief from being whole: records that the machine or the brief does not have."""
    gaps = [] if len(brief.encode()) <= BUDGET else [f"the brief has {len(brief.encode())} bytes"]
    with Store(Repository.open(desk.folder / ".git")) as store:
        state = Branch(store, Namespace(NAME)).read().state
        for kind in FOLDERS:
            names = set(live[kind])
            missing = [
                id_ for id_ in names - set(state.ids(kind)) if state.entry(Key(kind, id_, archived=True)) is None
            ]
            gaps += [f"{len(missing)} of {len(names)} {FOLDERS[kind]} are not on the machine"] if missing else []
    for kind in NOUNS:
        told, there = count_told(brief, kind), len(live[kind])
        gaps += [f"the brief counts {told} of {there} {FOLDERS[kind]}"] if told != there else []
    return gaps


# --- the team's repository


class Remote:
    """The bare repository of the team."""

    def __init__(self, path: Path) -> None:
        self.path, is_new = path, not path.exists()
        self.folds = 0
        self.store = Store(Repository.create_bare(path) if is_new else Repository.open(path))
        self.branch = Branch(self.store, Namespace(NAME))
        if is_new:
            caller = ChangeCaller(None, Vouching())
            self.branch.create(CommitStamp("init", datetime(2025, 1, 1, tzinfo=UTC), "Ada <ada@example.org>", caller))

    def reopen(self) -> None:
        """Forget what was read: another program has added packs. This machine knows the new tip already, since a walk
        over all commits in between would have to show that it follows the old one."""
        self.store.close()
        self.store = Store(Repository.open(self.path))
        self.branch = Branch(self.store, Namespace(NAME))
        tip = self.store.tip(REF)
        assert tip is not None
        accept_tip(self.store, REF, tip)

    def fold(self, now: datetime) -> None:
        """Fold what baton's policy says is to be folded now, as a machine does after its last session of the day."""
        folds = (
            fold(Workspace(self.branch, Actor("Ada 1 <ada1@example.org>", machine="machine-000001")), now) is not None
        )
        self.folds += folds

    def maintain(self) -> None:
        """Repack as hosts do: only small packs are merged, and the commit graph is written."""
        git(self.path, "-c", "pack.threads=1", "repack", "-q", "-d", "--geometric=2")
        git(self.path, "commit-graph", "write", "--reachable")

    def keep_tip(self, month: int) -> str:
        """Keep the tip at the end of a month under a ref of its own, and return it."""
        tip = git(self.path, "rev-parse", REF)
        git(self.path, "update-ref", f"refs/months/{month}", tip)
        return tip

    def copy(self, place: Path, tip: str) -> Path:
        """Return a copy that shares the objects, as it was when it had this tip, for machines that write to it."""
        path = place / "remote.git"
        subprocess.run(["git", "clone", "-q", "--bare", "--shared", str(self.path), str(path)], check=True)
        git(path, "update-ref", REF, tip)
        return path

    @property
    def files(self) -> int:
        return len(git(self.path, "ls-tree", "-r", "--name-only", REF).splitlines())


# --- the figures of a month


class MonthEnd(NamedTuple):
    """The end of a month: the tip of the branch and the time then, the ids of the live records by kind, and figures."""

    month: int
    tip: str
    clock: datetime
    live: dict[str, set[str]]
    figures: dict[str, Any]


def end_month(remote: Remote, team: Team, month: int, clock: datetime) -> MonthEnd:
    live = {kind: team.names(kind) for kind in FOLDERS}
    figures = {
        "month": month, "sessions": team.sessions, "commits": team.commits, "merges": team.merges,
        "live": {folder: len(live[kind]) for kind, folder in FOLDERS.items()}, "files": remote.files,
        "bytes": size(remote.path / "objects"),
    }  # fmt: skip
    return MonthEnd(month, remote.keep_tip(month), clock, live, figures)


def measure_month(remote: Remote, end: MonthEnd, *, whole: bool) -> dict[str, Any]:
    figures, clock = dict(end.figures), end.clock
    with tempfile.TemporaryDirectory(prefix="baton-year-", dir=remote.path.parent) as text:
        place = Path(text)
        copy = remote.copy(place, end.tip)
        desk = Desk(place, "new", copy, clock)
        boot = desk.baton("boot", "--json")
        told = json.loads(boot.output)
        gaps = find_gaps(desk, told["brief"], end.live)
        if boot.wall > SLOWEST_BOOT:
            gaps.append(f"the boot took {boot.wall:.1f} s")
        figures |= {
            "first boot": timed(boot), "gaps": gaps, "news": told["news"], "brief bytes": len(told["brief"].encode()),
        }  # fmt: skip
        stop_background(place)  # what it would fetch is measured in some months only
        if whole:
            try:
                figures |= measure_day(desk, Desk(place, "other", copy, clock), place)
            except RuntimeError as error:
                gaps.append(str(error))
        stop_background(place)
    return figures


def measure_day(desk: Desk, other: Desk, place: Path) -> dict[str, Any]:
    """Measure what a new machine pays for the whole history, and then for the steps of a working day."""
    whole = desk.baton("sync", "--timeout", "600")
    desk.baton("boot", "--session", "own")
    write = desk.baton("followup", "add", "One more item", "--reason", "later", "--session", "own")
    desk.baton("sync")
    other.baton("boot", "--session", "new")
    stop_background(place)
    other.baton("followup", "add", "An item of another machine", "--reason", "later", "--session", "new")
    other.baton("wrap", "--context", "Looked at the exports", "--session", "new")
    stop_background(place)
    sync = desk.baton("sync")
    boot = desk.baton("boot", "--session", "own")
    other.baton("boot", "--session", "new")
    other.baton("wrap", "--context", "Looked at the docs", "--session", "new")
    stop_background(place)
    wrap = desk.baton("wrap", "--context", "Exports are done; the docs are next", "--session", "own")
    return {
        "whole history": timed(whole), "write": timed(write), "sync": timed(sync), "boot": timed(boot),
        "wrap": timed(wrap),
    }  # fmt: skip


def timed(run: Run) -> dict[str, float]:
    return {"wall": round(run.wall, 3), "cpu": round(run.cpu, 3)}


# --- the year


@dataclass
class Year:
    """What a run must remember to go on later: the team, how many days have passed, the ends of the months, and the
    figures of those that were measured."""

    team: Team
    last_evening: datetime
    day: int = 0
    ends: list[MonthEnd] = field(default_factory=list)
    months: dict[int, dict[str, Any]] = field(default_factory=dict)


def live_a_year(arguments: argparse.Namespace, place: Path) -> list[dict[str, Any]]:
    """Generate the year, measure its months, and return their figures."""
    remote, kept = Remote(place / "team.git"), place / "progress.pickle"
    year = Year(Team(arguments.agents, arguments.sessions), datetime.now(UTC).replace(microsecond=0))
    if kept.exists():
        year = pickle.loads(kept.read_bytes())
        git(remote.path, "update-ref", REF, year.ends[-1].tip)  # the days after it are generated again
    for month in arguments.again:
        year.months.pop(month, None)
    each = arguments.days / arguments.months
    for day in range(year.day, arguments.until or arguments.days):
        evening = year.last_evening - timedelta(days=(arguments.days - 1 - day) * 365 / 240)
        year.team.work_a_day(remote.path, REF, day, evening - timedelta(hours=8))
        year.day = day + 1
        remote.reopen()
        remote.fold(evening)
        if (day + 1) // each > len(year.ends):
            check_records(remote.store, year.team, CHECKED)
            check_merges(remote.branch, CHECKED)
            remote.maintain()
            year.ends.append(end_month(remote, year.team, len(year.ends) + 1, evening))
            kept.write_bytes(pickle.dumps(year))
            measure_months(year, remote, kept, arguments)
    measure_months(year, remote, kept, arguments)
    git(remote.path, "-c", "gc.auto=0", "fsck", "--connectivity-only", REF) if arguments.fsck else None
    return [year.months[month] for month in sorted(year.months)]


def measure_months(year: Year, remote: Remote, kept: Path, arguments: argparse.Namespace) -> None:
    """Measure the months that have ended and are not measured yet."""
    for end in year.ends:
        if end.month in year.months or arguments.no_measuring:
            continue
        began = processor_time()
        whole = end.month in WHOLE_HISTORY and not arguments.newest_only
        year.months[end.month] = measure_month(remote, end, whole=whole)
        print_month(year.months[end.month], processor_time() - began)
        kept.write_bytes(pickle.dumps(year))


def print_month(figures: dict[str, Any], seconds: float) -> None:
    times = " ".join(
        f"{name} {figures[name]['wall']:.2f}/{figures[name]['cpu']:.2f} s"
        for name in ("first boot", "whole history", "write", "sync", "boot", "wrap") if name in figures
    )  # fmt: skip
    print(
        f"month {figures['month']:>2}: {figures['sessions']:,} sessions, {figures['commits']:,} commits, "
        f"{figures['files']:,} files, {figures['bytes'] / 1e6:,.1f} MB; wall/processor time: {times}; "
        f"measured in {seconds:.0f} s",
        flush=True,
    )
    for gap in figures["gaps"]:
        print(f"    not whole: {gap}", flush=True)


def draw(months: list[dict[str, Any]], folder: Path) -> None:
    """Write the charts of a year."""

    def line(name: str, key: str = "cpu") -> list[tuple[float, float]]:
        return [(one["month"], one[name][key]) for one in months if name in one]

    charts = {
        "year-time.svg": draw_chart(
            "Processor time of a machine", "month", "seconds",
            {"first boot": line("first boot"), "one commit in": line("sync"), "end of a session": line("wrap"),
             "boot": line("boot"), "write": line("write")},
        ),
        "year-files.svg": draw_chart(
            "Files in the newest tree", "month", "files", {"files": [(one["month"], one["files"]) for one in months]}
        ),
        "year-bytes.svg": draw_chart(
            "Size of the repository", "month", "MB",
            {"on the remote": [(one["month"], one["bytes"] / 1e6) for one in months]},
        ),
    }  # fmt: skip
    for name, text in charts.items():
        (folder / name).write_text(text, encoding="utf-8")


def fill_page(months: list[dict[str, Any]], arguments: argparse.Namespace, page: Path) -> None:
    """Replace the table between the marks of a page of the documentation."""
    head = "month|sessions|commits|files|remote, MB|first boot|one commit in|boot|a write|end of a session"
    names = ("sync", "boot", "write", "wrap", "whole history")
    whole = sum(not one["gaps"] for one in months)
    about = (
        f"{arguments.agents} agents, {arguments.days} working days, {months[-1]['merges']:,} merges. The times are "
        f"processor time of the command and of git on both sides. The brief of the first boot was whole at the end of "
        f"{whole} of {len(months)} months."
    )
    lines = [
        about,
        "",
        f"| {head.replace('|', ' | ')} | whole history |",
        "|---" * 11 + "|",
    ]
    for one in months:
        times = [f"{one[name]['cpu']:.2f} s" if name in one else "" for name in names]
        cells = [f"{one[name]:,}" for name in ("month", "sessions", "commits", "files")]
        cells += [f"{one['bytes'] / 1e6:,.0f}", f"{one['first boot']['cpu']:.2f} s"]
        lines.append(f"| {' | '.join([*cells, *times])} |")
    text = "\n".join(lines)
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--agents", type=int, default=250)
    parser.add_argument("--sessions", type=int, default=4, help="sessions of an agent on a working day")
    parser.add_argument("--days", type=int, default=240, help="working days")
    parser.add_argument("--months", type=int, default=12)
    parser.add_argument("--newest-only", action="store_true", help="measure new machines only")
    parser.add_argument("--fsck", action="store_true", help="check all objects at the end")
    parser.add_argument("--into", type=Path, help="write the figures as JSON")
    parser.add_argument("--pictures", type=Path, help="draw the charts into this folder")
    parser.add_argument("--page", type=Path, help="write the figures into the table of this page")
    parser.add_argument(
        "--place", type=Path, help="work in this folder, which stays; a run that was ended goes on there"
    )
    parser.add_argument("--no-measuring", action="store_true", help="only generate; a later run measures the months")
    parser.add_argument("--again", type=int, nargs="*", default=[], help="measure these months again")
    parser.add_argument("--until", type=int, help="end after this day; a later run with the same --place goes on")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="baton-year-") as text:
        months = live_a_year(arguments, arguments.place or Path(text))
    if arguments.into:
        arguments.into.write_text(json.dumps(months, indent=1) + "\n", encoding="utf-8")
    if arguments.pictures:
        draw(months, arguments.pictures)
    if arguments.page:
        fill_page(months, arguments, arguments.page)
    print(f"{processor_time() / 60:.1f} minutes of processor time")
    return 1 if any(one["gaps"] for one in months) else 0


if __name__ == "__main__":
    sys.exit(main())
