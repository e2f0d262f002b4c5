"""Machines as processes that write and sync with lanes at the same time; some of their syncs are killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
MACHINES, CYCLES = 4, 6
BRANCH = "refs/heads/baton/team"


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("BATON", "GIT_"))}
    names = {f"GIT_{who}_{key}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    return {**kept, **names, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "BATON_NAMESPACE": "team"}


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True, text=True).stdout


def baton(folder: Path, *words: str, kill_after: float | None = None) -> tuple[int, str]:
    argv = [sys.executable, "-m", "baton_git", *words]
    env = environment(folder.parent / f"home-{folder.name}")
    with subprocess.Popen(
        argv, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        try:
            out, _ = run.communicate(timeout=kill_after or 120)
        except subprocess.TimeoutExpired:
            run.kill()
            out, _ = run.communicate()
    return run.returncode, out


def on_remote(bare: Path) -> set[str]:
    """Return the ids of all records. Lanes are listed before the branch, and may be deleted as soon as it has them."""
    commits = git(bare, "for-each-ref", "--format=%(objectname)", "refs/baton-lanes/team/", BRANCH).split()
    return {Path(path).stem for commit in commits for path in git(bare, "ls-tree", "-r", "--name-only", commit).split()}


def test_accepted_writes_are_on_the_remote_and_all_clones_become_equal(tmp_path: Path) -> None:
    bare, chosen = tmp_path / "origin.git", random.Random(28)
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True)
    clones = [tmp_path / f"c{number}" for number in range(MACHINES)]
    for clone in clones:
        (tmp_path / f"home-{clone.name}").mkdir()
        subprocess.run(["git", "init", "-q", "-b", "main", str(clone)], check=True)
        git(clone, "remote", "add", "origin", str(bare))
        git(clone, "config", "remote.origin.batonLanes", "true")
    assert baton(clones[0], "init")[0] == 0
    assert baton(clones[0], "sync")[0] == 0
    lost: list[str] = []
    written: list[set[str]] = [set() for _ in clones]

    def work(number: int) -> None:
        clone, waits = clones[number], set()
        for cycle in range(CYCLES):
            code, out = baton(clone, "followup", "add", f"machine {number} item {cycle}", "--reason", "measured")
            assert code == 0, out
            waits.add(out.split()[0])
            kill = chosen.uniform(0.2, 1.5) if cycle % 3 == 1 else None
            if baton(clone, "sync", kill_after=kill)[0] == 0:
                lost.extend(waits - on_remote(bare))
                written[number] |= waits
                waits.clear()
        written[number] |= waits

    for clone in clones[1:]:
        assert baton(clone, "sync")[0] == 0
    threads = [threading.Thread(target=work, args=(number,)) for number in range(MACHINES)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not lost
    for clone in (*clones, *clones):
        code, out = baton(clone, "sync")
        assert code == 0, out
    assert len({git(folder, "rev-parse", BRANCH) for folder in (bare, *clones)}) == 1
    files = {Path(path).stem for path in git(bare, "ls-tree", "-r", "--name-only", BRANCH).split()}
    assert set().union(*written) <= files
    assert int(git(bare, "rev-list", "--merges", "--count", BRANCH)) <= 2 * MACHINES * CYCLES
