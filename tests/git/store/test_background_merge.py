"""Packs are merged in the background of a write, and a killed merge is continued."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_world import REF

from baton_git.git.files.ref_locks import wait_until
from baton_git.git.objects import pack_merge
from baton_git.git.store import Repository, Store
from baton_git.interfaces.background.detached import reap_children
from baton_git.interfaces.background.pack_merge import merge_in_background

DYING = """
import os, signal, sys
from pathlib import Path
from baton_git.git.store import Repository, Store
place, call, moment = sys.argv[1:4]
left = int(moment)
def dying(real):
    def called(*args, **rest):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **rest)
    return called
with Store(Repository.open(Path(place))) as store:
    setattr(os, call, dying(getattr(os, call)))
    store.housekeeping.enough = 3
    store.roll_up()
"""


def packs(top: Path) -> list[str]:
    return sorted(path.name for path in (top / ".git/objects/pack").iterdir())


@pytest.fixture
def written(writer, top):
    """Create a store with some unmerged packs; return it with the content of its tip."""
    writer.store.housekeeping.enough = 1000
    for number in range(6):
        writer.commit({f"f{number}": b"%d" % number})
    assert len(packs(top)) == 12
    writer.store.housekeeping.writes_until_look = 0  # another process would not have looked yet either
    return writer.store


def check(top: Path, git) -> None:
    git(top, "fsck", "--strict")
    with Store(Repository.open(top)) as store:
        assert [git(top, "show", f"{REF}:f{number}") for number in range(6)] == [str(number) for number in range(6)]
        assert len(list(store.log(store.tip(REF)))) == 6


@pytest.mark.parametrize(
    ("call", "moment"), [("fsync", 1), ("replace", 1), ("replace", 2), ("replace", 5), ("replace", 9), ("unlink", 4)]
)
def test_a_killed_pack_merge_is_resumed(written, top, git, call, moment):
    done = subprocess.run([sys.executable, "-c", DYING, str(top), call, str(moment)], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    check(top, git)
    for path in (top / ".git/objects/pack").iterdir():
        os.utime(path, (time.time() - 120,) * 2)
    with Store(Repository.open(top)) as store:
        store.housekeeping.enough = 2
        store.roll_up()
        store.roll_up()
    assert [Path(name).suffix for name in packs(top)] == [".idx", ".pack"]
    assert len(list((top / ".git/baton/packs").iterdir())) == 1
    check(top, git)


def test_many_packs_are_merged_in_steps_that_stay_done(written, top, git, monkeypatch):
    written.housekeeping.enough, written.housekeeping.at_once = 2, 3
    merged = []
    real = pack_merge.merge_packs

    def merge_packs(packs, *args, **more):
        merged.append(len(packs))
        return real(packs, *args, **more)

    monkeypatch.setattr(pack_merge, "merge_packs", merge_packs)
    written.roll_up()
    assert merged[0] == 3
    assert len(merged) > 1
    assert len(packs(top)) <= 4
    check(top, git)


def test_packs_are_merged_by_one_background_process(written, writer, top, git, monkeypatch):
    started = []
    real = os.posix_spawn
    monkeypatch.setattr(os, "posix_spawn", lambda *args, **rest: started.append(real(*args, **rest)) or started[-1])
    for number in range(30):
        writer.commit({"more": b"%d" % number})
    written.housekeeping.writes_until_look, written.housekeeping.enough = 0, 32
    written.housekeeping.roll_up = lambda: pytest.fail("this process merged the packs")
    written.tidied_by = lambda: merge_in_background(top / ".git", os.environ)
    written.tidy()
    assert merge_in_background(top / ".git", os.environ)
    assert len(started) == 1
    assert wait_until(lambda: len(packs(top)) == 2, 20)
    assert wait_until(lambda: reap_children() == 0, 20)
    git(top, "fsck", "--strict")


def test_without_a_background_process_packs_are_merged_immediately(written, top, git, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    written.housekeeping.enough = 2
    written.tidied_by = lambda: merge_in_background(top / ".git", os.environ)
    written.tidy()
    assert len(packs(top)) == 2
    check(top, git)
