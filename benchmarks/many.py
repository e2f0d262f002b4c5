"""Time a sync of a namespace next to 10, 10,000 and 100,000 others, and in a project of 100,000 commits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measuring import fill, missed, report, time_prepared
from sync import Machine, nothing

from baton_git.systems.session_baton.documents import read_document

FEW = 10
SIZES = {10_000: 1.5, 100_000: 2.0}
ROUNDS = 6
COMMITS = 100_000


def create_commits(repository: Path, number: int, *, chained: bool) -> list[str]:
    """Create commits, in a chain or without parents, and return their ids; no ref points to them."""

    def stream() -> Iterator[bytes]:
        yield b"blob\nmark :1\ndata 1\nx\n"
        for one in range(number):
            parent = f"from :{one + 1}\n" if chained and one else ""
            message = f"commit {one}\n"
            if not chained:
                yield b"reset refs/heads/built\n\n"
            yield (
                f"commit refs/heads/built\nmark :{one + 2}\ncommitter B <b@localhost> {1_700_000_000 + one} +0000\n"
                f"data {len(message)}\n{message}{parent}M 644 :1 {'file' if chained else 'format.toml'}\n\n"
            ).encode()

    marks = repository / "marks"
    subprocess.run(
        ["git", f"--git-dir={repository}", "fast-import", "--quiet", "--force", f"--export-marks={marks}"],
        input=b"".join(stream()), check=True,
    )  # fmt: skip
    subprocess.run(["git", f"--git-dir={repository}", "update-ref", "-d", "refs/heads/built"], check=True)
    numbered = dict(line.split(" ") for line in marks.read_text().splitlines())
    return [numbered[f":{one + 2}"] for one in range(number)]


def add_namespaces(repository: Path, number: int) -> None:
    """Create this many other namespaces with one commit each, whose refs are packed as git packs them."""
    oids = create_commits(repository, number, chained=False)
    lines = [f"{oid} refs/heads/baton/crowd-{one:06d}\n" for one, oid in enumerate(oids)]
    text = "# pack-refs with: peeled fully-peeled sorted \n" + "".join(lines)
    (repository / "packed-refs").write_text(text)


def clone(place: Path, name: str, remote: Path, source: Path | None = None) -> Machine:
    """Return a machine with the objects and refs of `source` (a bare repository) and the remote `remote`."""
    folder = place / name
    environment = {"PATH": os.environ["PATH"], "HOME": str(place), "XDG_DATA_HOME": f"{place}/data"}
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    if source is not None:
        shutil.copytree(source / "objects", folder / ".git" / "objects", dirs_exist_ok=True)
        shutil.copy(source / "packed-refs", folder / ".git" / "packed-refs")
    machine = Machine(folder, environment)
    machine.git("remote", "add", "origin", str(remote))
    return machine


def bare(place: Path, name: str, like: Path | None = None) -> Path:
    """Return a bare repository with everything that `like` has."""
    path = place / name
    subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
    if like is not None:
        shutil.copytree(like / "objects", path / "objects", dirs_exist_ok=True)
        shutil.copy(like / "packed-refs", path / "packed-refs")
    return path


def share(machine: Machine) -> Machine:
    """Fill the namespace of a machine, send it to the remote, and return the machine."""
    with machine.workspace() as ws:
        fill(ws)
    machine.sync()
    return machine


def read_state(machine: Machine) -> None:
    with machine.workspace() as ws:
        read_document(ws)


def fetch_and_push(machine: Machine) -> None:
    machine.fetch()
    machine.push()


def compare_syncs(few: Machine, many: Machine, what: str, goal: float, *, local: bool = True) -> None:
    """Compare syncs on two machines and, with `local`, also reads and writes."""
    if local:
        a, b = time_prepared(ROUNDS, (nothing, lambda: read_state(few)), (nothing, lambda: read_state(many)))
        report(f"a read {what}", b / a, goal)
        a, b = time_prepared(ROUNDS, (nothing, few.write), (nothing, many.write))
        report(f"a write {what}", b / a, goal)
    for one in (few, many):
        one.sync()
        one.fetch()
    times = time_prepared(
        ROUNDS,
        (nothing, few.sync), (nothing, many.sync), (nothing, few.fetch), (nothing, many.fetch),
        (few.write, few.sync), (many.write, many.sync),
        (few.write, lambda: fetch_and_push(few)), (many.write, lambda: fetch_and_push(many)),
    )  # fmt: skip
    for name, (a, b, git_a, git_b) in zip(("with nothing to do", "of one commit"), (times[:4], times[4:]), strict=True):
        report(f"a sync {name} {what}", b / a, goal)
        print(
            f"  ours {a * 1e3:.1f} → {b * 1e3:.1f} ms; git alone {git_a * 1e3:.1f} → {git_b * 1e3:.1f} ms "
            f"({git_b / git_a:.1f}×); ours against git's {b / git_b:.2f}×"
        )


def measure_namespaces() -> None:
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as text:
        place = Path(text)
        crowds = {number: bare(place, f"crowd-{number}.git") for number in (FEW, *SIZES)}
        for number, source in crowds.items():
            add_namespaces(source, number)
        few = share(clone(place, "few", bare(place, "few.git", crowds[FEW]), crowds[FEW]))
        for number, goal in SIZES.items():
            alone = share(clone(place, f"alone-{number}", bare(place, f"alone-{number}.git"), crowds[number]))
            compare_syncs(few, alone, f"next to {number:,} namespaces", goal)
            with_them = share(
                clone(place, f"many-{number}", bare(place, f"many-{number}.git", crowds[number]), crowds[number])
            )
            compare_syncs(few, with_them, f"next to {number:,}, which the remote has too", goal, local=False)


def measure_project() -> None:
    """Compare syncs in clones of a project of few commits and of one of 100,000; the remotes have the project, too."""
    with tempfile.TemporaryDirectory(prefix="baton-bench-") as text:
        place = Path(text)
        machines = []
        for number in (FEW, COMMITS):
            source = bare(place, f"{number}.git")
            tip = create_commits(source, number, chained=True)[-1]
            (source / "packed-refs").write_text(
                f"# pack-refs with: peeled fully-peeled sorted \n{tip} refs/heads/main\n"
            )
            remote = bare(place, f"remote-{number}.git", source)
            machines.append(share(clone(place, f"project-{number}", remote, source)))
        compare_syncs(*machines, f"in a project of {COMMITS:,} commits", 1.5)


if __name__ == "__main__":
    measure_namespaces()
    measure_project()
    sys.exit(1 if missed else 0)
