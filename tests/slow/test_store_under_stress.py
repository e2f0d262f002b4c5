"""The store is used together with other processes: writers, readers, git's own gc, kills at any moment. Nothing may be
lost."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from baton_git.core.errors import Busy
from baton_git.git.store import ReflogEntry, Repository, Store

pytestmark = pytest.mark.slow

REF = "refs/heads/baton/x"
WHO = "Agent <agent@machine>"

WORKER = """
import os, sys, time
from pathlib import Path
from baton_git.core.errors import Busy
from baton_git.git.store import ReflogEntry, Repository, Store

top, name, seconds, journal = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4]
REF, WHO = "refs/heads/baton/x", "Agent <agent@machine>"
out = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
end = time.monotonic() + seconds
count = 0
with Store(Repository.open(top)) as store:
    store.locks.wait = 5.0
    while time.monotonic() < end:
        with store.queue(REF, 2.0):
            tip = store.tip(REF)
            draft = store.draft()
            path = f"records/{name}-{count % 10}"
            tree = draft.tree(tip and store.commit(tip).tree, {path: b"%s %d" % (name.encode(), count)})
            new = draft.commit(tree, [tip] if tip else [], author=WHO, time=1700000000 + count, timezone=0, message="m")
            try:
                if store.publish(draft, REF, tip, new, ReflogEntry(WHO, 1700000000, 0, "m")):
                    os.write(out, new.encode() + b"\\n")
            except Busy:
                pass
        count += 1
"""

READER = """
import sys, time
from pathlib import Path
from baton_git.git.store import Repository, Store

top, seconds = Path(sys.argv[1]), float(sys.argv[2])
end = time.monotonic() + seconds
reads = 0
with Store(Repository.open(top)) as kept:
    while time.monotonic() < end:
        for store in (kept, Store(Repository.open(top))):
            tip = store.tip("refs/heads/baton/x")
            if tip is None:
                continue
            for commit in list(store.log(tip))[:40]:
                folder = store.folder(commit.tree).folder("records")
                assert all(folder.read(name) for name in folder.entries())
                reads += 1
            if store is not kept:
                store.close()
assert reads
"""


@pytest.fixture(autouse=True)
def _sealed(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def top(tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path / "work")], check=True)
    return tmp_path / "work"


def _start(code, *args):
    return subprocess.Popen([sys.executable, "-W", "error", "-c", code, *map(str, args)], stderr=subprocess.PIPE)


def _finish(processes):
    errors = [process.communicate(timeout=60)[1].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), "\n".join(errors)


def _git(top, *args):
    done = subprocess.run(["git", "-C", str(top), *args], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{args}: {done.stdout}{done.stderr}"
    return done.stdout


def _acknowledged(journal: Path) -> list[str]:
    return [line for line in journal.read_text().splitlines() if len(line) == 40]


def _assert_nothing_lost(top, journal):
    history = set(_git(top, "rev-list", REF).split())
    acknowledged = _acknowledged(journal)
    assert acknowledged
    assert set(acknowledged) <= history
    _git(top, "fsck", "--strict")
    with Store(Repository.open(top)) as store:
        assert len(list(store.log(store.tip(REF)))) == len(history)
    return acknowledged, history


def test_writers_in_many_processes_lose_nothing_and_all_get_a_turn(top, tmp_path):
    journals = [tmp_path / f"journal-{number}" for number in range(6)]
    _finish([_start(WORKER, top, number, 5, journal) for number, journal in enumerate(journals)])
    shares = [len(_acknowledged(journal)) for journal in journals]
    assert min(shares) > 0
    (tmp_path / "all").write_text("".join(journal.read_text() for journal in journals))
    acknowledged, history = _assert_nothing_lost(top, tmp_path / "all")
    assert len(acknowledged) == len(history)
    assert not list((top / ".git/objects/pack").glob("*.keep"))


def test_git_update_ref_and_pack_refs_beside_writers_lose_nothing(top, tmp_path):
    journal = tmp_path / "journal"
    processes = [_start(WORKER, top, number, 6, journal) for number in range(3)]
    end = time.monotonic() + 5
    theirs = 0
    while time.monotonic() < end:
        _git(top, "pack-refs", "--all", "--prune")
        if tip := _git(top, "for-each-ref", "--format=%(objectname)", REF).strip():
            who = ["-c", "user.name=g", "-c", "user.email=g@g"]
            new = _git(top, *who, "commit-tree", f"{tip}^{{tree}}", "-p", tip, "-m", "git").strip()
            command = ["git", "-C", str(top), "update-ref", REF, new, tip]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                theirs += 1
                with journal.open("a") as file:
                    file.write(new + "\n")
    _finish(processes)
    _assert_nothing_lost(top, journal)
    assert theirs


@pytest.mark.parametrize("command", [["gc", "--prune=now", "-q"], ["repack", "-a", "-d", "-q"]], ids=" ".join)
def test_git_gc_in_a_loop_beside_writers_and_readers_loses_nothing(top, tmp_path, command):
    journal = tmp_path / "journal"
    processes = [_start(WORKER, top, number, 8, journal) for number in range(2)] + [_start(READER, top, 8)]
    end = time.monotonic() + 8
    rounds = 0
    while time.monotonic() < end:
        done = subprocess.run(["git", "-C", str(top), *command], capture_output=True, text=True, check=False)
        rounds += done.returncode == 0
    _finish(processes)
    assert rounds
    _assert_nothing_lost(top, journal)


def test_packing_beside_readers_and_writers_loses_nothing(top, tmp_path):
    journal = tmp_path / "journal"
    processes = [_start(WORKER, top, number, 8, journal) for number in range(2)]
    processes += [_start(READER, top, 8) for _ in range(2)]
    with Store(Repository.open(top)) as store:
        while processes[0].poll() is None:
            with suppress(Busy):
                store.pack(everything=True)
    _finish(processes)
    _assert_nothing_lost(top, journal)


def test_kills_at_any_moment_lose_nothing_and_block_nobody(top, tmp_path):
    journal = tmp_path / "journal"
    rng = random.Random(7)
    workers = [_start(WORKER, top, number, 60, journal) for number in range(3)]
    end = time.monotonic() + 15
    kills = 0
    halfway = 0
    while time.monotonic() < end:
        time.sleep(rng.uniform(0.15, 0.4))  # starting a worker takes most of that
        victim = rng.randrange(len(workers))
        workers[victim].kill()
        workers[victim].communicate()
        kills += 1
        workers[victim] = _start(WORKER, top, f"k{kills}", 60, journal)
        if not halfway and time.monotonic() > end - 7:
            halfway = len(_acknowledged(journal))
    for worker in workers:
        worker.kill()
        worker.communicate()
    acknowledged, _ = _assert_nothing_lost(top, journal)
    assert len(acknowledged) > halfway > 0
    last = tmp_path / "after"
    _finish([_start(WORKER, top, "after", 0.5, last)])
    assert _acknowledged(last)


def test_a_large_history_needs_little_space_and_time(tmp_path):
    with Store(Repository.create_bare(tmp_path / "s.git")) as store:
        started = time.monotonic()
        tip, tree, count = None, None, 0
        while count < 1500 and time.monotonic() < started + 20:
            draft = store.draft()
            text = f'id = "OL-{count % 20}"\ntitle = "{"word " * 40}"\nupdated_at = "{count:08d}"\n'
            tree = draft.tree(tree, {f"open_loops/OL-{count % 20}.toml": text.encode()})
            parents = [tip] if tip else []
            new = draft.commit(tree, parents, author=WHO, time=count, timezone=0, message=f"change {count}")
            assert store.publish(draft, REF, tip, new, ReflogEntry(WHO, count, 0, "change"))
            tip, count = new, count + 1
        packs = list((tmp_path / "s.git/objects/pack").iterdir())
        assert sum(path.stat().st_size for path in packs) / count < 1000
        assert len(packs) < 60
        assert store.pack(everything=True).bytes_after / count < 700
    _git(tmp_path / "s.git", "fsck", "--strict")
