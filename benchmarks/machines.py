"""Let several machines work on one namespace of one remote at the same time, and print what that costs them.

Each machine is a clone with a home of its own, and each of its steps is a process of its own. Three kinds of work:

- `write`: a follow-up is added and synced;
- `session`: whole sessions: `boot`, a follow-up, and `wrap` with a context, which sends;
- `git`: the peer, plain git: a file is added and committed, then `git pull --rebase` and `git push` until both succeed.

One run prints, for each kind: writes a second of all machines, the median and the 95th percentile of the time that a
write needs to reach the remote (the sync, the `wrap`, or the pulls and pushes), commits on the branch per write,
conflicts (nobody makes one here), writes that were unsent at the end of the run and writes that are lost after all have
synced (there must be none), and whether all clones are equal then (they must be). It ends with the cost of the guard on
a server: a push to a bare repository with `baton hooks install` in it, against one without.

    .venv/bin/python benchmarks/machines.py                                   # four machines, three rounds, over HTTP
    .venv/bin/python benchmarks/machines.py --machines 16 --delay 200         # each answer of the server 200 ms later
    .venv/bin/python benchmarks/machines.py --transport path --kinds session git
    .venv/bin/python benchmarks/machines.py --machines 16 --lanes --kinds write
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from measuring import missed, report, time_prepared

sys.path.append(str(Path(__file__).parents[1] / "tests" / "git" / "remotes"))

from servers import smart_http

NAME = "team"
BRANCH = f"baton/{NAME}"
BATON = str(Path(sys.executable).with_name("baton"))
PUSHES = 6
"""How many pushes with and without the guard are timed."""
PATIENCE = 120.0
"""Seconds after which the peer gives up a push."""


class Done(NamedTuple):
    """A finished command: its exit status, its output, and its time in seconds."""

    code: int
    output: str
    seconds: float


@dataclass
class Machine:
    """A clone with a home, and what was acknowledged to it: the ids that it wrote and the times of its syncs."""

    number: int
    folder: Path
    environment: dict[str, str]
    written: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def run(self, *argv: str, codes: tuple[int, ...] = (0,)) -> Done:
        began = time.perf_counter()
        done = subprocess.run(argv, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        if done.returncode not in codes:
            self.failed.append(f"{' '.join(argv[1:3])}: {done.returncode} {done.stderr[-300:]}")
        return Done(done.returncode, done.stdout, time.perf_counter() - began)

    def add(self, item: str, *words: str) -> None:
        done = self.run(BATON, "followup", "add", item, "--reason", "measured", *words)
        if done.code == 0:
            self.written.append(done.output.split()[0])

    @property
    def tip(self) -> str:
        return self.run("git", "rev-parse", f"refs/heads/{BRANCH}").output.strip()


class Result(NamedTuple):
    """What a run gave; `unsent`, `lost` and `conflicts` are numbers of records."""

    kind: str
    machines: int
    writes: int
    seconds: float
    times: list[float]
    commits: int
    conflicts: int
    unsent: int
    lost: int
    equal: bool
    failed: list[str]


# --- the three kinds of work


def write(machine: Machine, number: int) -> None:
    machine.add(f"Item {number} of machine {machine.number}")
    machine.times.append(machine.run(BATON, "sync").seconds)


def work_a_session(machine: Machine, number: int) -> None:
    session = ("--session", f"m{machine.number}-{number}")
    machine.run(BATON, "boot", *session)
    machine.add(f"Item {number} of machine {machine.number}", *session)
    ended = machine.run(BATON, "wrap", "--context", f"Machine {machine.number} ended session {number}", *session)
    machine.times.append(ended.seconds)


def commit_a_file(machine: Machine, number: int) -> None:
    name = f"FU-m{machine.number}n{number}"
    path = machine.folder / "follow_ups" / f"{name}.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'id = "{name}"\nitem = "Item {number} of machine {machine.number}"\nreason = "measured"\n')
    machine.run("git", "add", "follow_ups")
    if machine.run("git", "commit", "-q", "-m", f"{name} added").code == 0:
        machine.written.append(name)
    machine.times.append(pull_and_push(machine))


def pull_and_push(machine: Machine) -> float:
    """Pull and push until both succeed, and return the seconds that it took."""
    began = time.perf_counter()
    while time.perf_counter() - began < PATIENCE:
        pulled = machine.run("git", "pull", "-q", "--rebase", codes=(0, 1, 128))
        if pulled.code == 0 and machine.run("git", "push", "-q", codes=(0, 1)).code == 0:
            break
    return time.perf_counter() - began


WORKS: dict[str, Callable[[Machine, int], None]] = {"write": write, "session": work_a_session, "git": commit_a_file}


# --- one run


class Team:
    """Machines with clones of one bare repository that has a namespace."""

    def __init__(self, place: Path, url: str, machines: int, kind: str, *, guard: bool, lanes: bool) -> None:
        self.place, self.bare, self.kind, self.lanes = place, place / "srv" / "team.git", kind, lanes
        self.url = url
        seed = self.make_machine(0)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(self.bare)], check=True)
        seed.run("git", f"--git-dir={self.bare}", "config", "http.receivepack", "true")
        if guard:
            subprocess.run([BATON, "hooks", "install"], cwd=self.bare, env=seed.environment, check=True)
        seed.run("git", "init", "-q", "-b", "main")
        seed.run("git", "commit", "-q", "--allow-empty", "-m", "The project begins")
        seed.run("git", "remote", "add", "origin", url)
        seed.run("git", "push", "-q", "origin", "main")
        if kind == "git":
            seed.run("git", "push", "-q", "origin", f"main:refs/heads/{BRANCH}")
        else:
            seed.run(BATON, "init")
            seed.run(BATON, "sync")
        self.machines = [self.join(number) for number in range(1, machines + 1)]
        self.failed = seed.failed + [line for machine in self.machines for line in machine.failed]
        self.first_commits = self.count_commits()

    def make_machine(self, number: int) -> Machine:
        folder, home = self.place / f"m{number}", self.place / f"home{number}"
        folder.mkdir()
        home.mkdir()
        names = {
            f"GIT_{who}_{what}": f"m{number}@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        environment = {
            "PATH": f"{Path(BATON).parent}:{os.environ['PATH']}", "HOME": str(home), "BATON_NAMESPACE": NAME,
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", **names,
        }  # fmt: skip
        return Machine(number, folder, environment)

    def join(self, number: int) -> Machine:
        """Return a new machine: a clone, up to date."""
        machine = self.make_machine(number)
        machine.run("git", "clone", "-q", self.url, ".")
        if self.kind == "git":
            machine.run("git", "checkout", "-q", BRANCH)
        else:
            if self.lanes:
                machine.run("git", "config", "remote.origin.batonLanes", "true")
            machine.run(BATON, "sync")
        return machine

    def count_commits(self) -> int:
        return int(self.ask("rev-list", "--count", f"refs/heads/{BRANCH}"))

    def ask(self, *words: str) -> str:
        argv = ["git", f"--git-dir={self.bare}", *words]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()

    def paths(self) -> list[str]:
        return self.ask("ls-tree", "-r", "--name-only", f"refs/heads/{BRANCH}").splitlines()

    def missing(self) -> int:
        """Return how many acknowledged writes the remote does not have."""
        there = {Path(path).stem for path in self.paths()}
        return sum(len(set(machine.written) - there) for machine in self.machines)

    def settle(self) -> bool:
        """Sync all machines until nothing changes, and return whether all are equal to the remote then."""
        for _ in range(4):
            for machine in self.machines:
                pull_and_push(machine) if self.kind == "git" else machine.run(BATON, "sync", codes=(0, 3))
            tips = {machine.tip for machine in self.machines}
            if tips == {self.ask("rev-parse", f"refs/heads/{BRANCH}")}:
                return True
        return False


def run_team(team: Team, rounds: int) -> Result:
    """Let all machines work at the same time, then settle."""
    work, start = WORKS[team.kind], threading.Barrier(len(team.machines) + 1)

    def live(machine: Machine) -> None:
        start.wait()
        for number in range(rounds):
            work(machine, number)

    threads = [threading.Thread(target=live, args=(machine,)) for machine in team.machines]
    for thread in threads:
        thread.start()
    start.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    unsent = team.missing()
    equal = team.settle()
    conflicts = sum(path.startswith(("conflicts/", "archive/conflicts/")) for path in team.paths())
    return Result(
        team.kind, len(team.machines), sum(len(machine.written) for machine in team.machines), seconds,
        [one for machine in team.machines for one in machine.times], team.count_commits() - team.first_commits,
        conflicts, unsent, team.missing(), equal, [line for machine in team.machines for line in machine.failed],
    )  # fmt: skip


@contextmanager
def reachable(place: Path, transport: str, delay: float) -> Iterator[str]:
    """Yield the URL at which machines reach the bare repository in `place`."""
    folder = place / "srv"
    folder.mkdir()
    if transport == "path":
        yield str(folder / "team.git")
        return
    with smart_http(folder, delay) as server:
        yield f"{server.start}/team.git"


def measure(kind: str, arguments: argparse.Namespace) -> Result:
    with tempfile.TemporaryDirectory(prefix="baton-machines-") as text:
        place = Path(text)
        with reachable(place, arguments.transport, arguments.delay / 1000) as url:
            team = Team(place, url, arguments.machines, kind, guard=arguments.guard, lanes=arguments.lanes)
            return run_team(team, arguments.rounds)


def print_result(result: Result) -> None:
    times = sorted(result.times)
    late = times[min(len(times) - 1, int(len(times) * 0.95))]
    print(
        f"{result.kind:<8} {result.machines:>3} machines  {result.writes / result.seconds:6.2f} writes/s  "
        f"p50 {statistics.median(times):5.2f} s  p95 {late:5.2f} s  "
        f"{result.commits / result.writes:4.1f} commits a write  "
        f"{result.conflicts} conflicts  {result.unsent} unsent  {result.lost} lost  "
        f"{'equal' if result.equal else 'NOT EQUAL'}"
    )
    for line in result.failed[:3]:
        print(f"    {line}")
    report(f"{result.kind}: lost writes and machines that differ", result.lost + (not result.equal), 0, "")
    report(f"{result.kind}: conflicts that nobody made", result.conflicts, 0, "")
    if result.kind == "write":
        report("write: commits for each write", result.commits / result.writes, 2.0, "")


def measure_guard() -> None:
    """Compare a push of one commit to a bare repository with the guard with one to a repository without."""
    with tempfile.TemporaryDirectory(prefix="baton-machines-") as text:
        machines = []
        for name in ("plain", "guarded"):
            place = Path(text) / name
            (place / "srv").mkdir(parents=True)
            team = Team(place, str(place / "srv" / "team.git"), 1, "write", guard=name == "guarded", lanes=False)
            machines.append(team.machines[0])

        def push(machine: Machine) -> Callable[[], object]:
            return lambda: machine.run("git", "push", "-q", "origin", f"refs/heads/{BRANCH}")

        def add(machine: Machine) -> Callable[[], object]:
            return lambda: machine.add(f"Item {len(machine.written)} of many")

        plain, guarded = time_prepared(PUSHES, *((add(machine), push(machine)) for machine in machines))
        assert not any(machine.failed for machine in machines), [machine.failed for machine in machines]
        print(f"a push takes {plain * 1e3:.0f} ms without the guard, {guarded * 1e3:.0f} ms with it")
        report("the guard on a server, per push", guarded - plain, 0.15, " s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--machines", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3, help="writes or sessions of each machine")
    parser.add_argument("--transport", choices=("path", "http"), default="http")
    parser.add_argument("--delay", type=float, default=0, help="milliseconds that each answer of the server waits")
    parser.add_argument("--guard", action="store_true", help="with `baton hooks install` in the bare repository")
    parser.add_argument("--lanes", action="store_true", help="with remote.origin.batonLanes in each clone")
    parser.add_argument("--kinds", nargs="*", choices=WORKS, default=list(WORKS))
    arguments = parser.parse_args()
    for kind in arguments.kinds:
        print_result(measure(kind, arguments))
    measure_guard()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
