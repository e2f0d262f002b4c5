from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from store_world import REF

from baton_git.errors import Busy
from baton_git.store.locks import RefLocks

HOLDER = """
import sys, time
from pathlib import Path
from baton_git.store.locks import RefLocks
with RefLocks(Path(sys.argv[1])).held(Path(sys.argv[2]), b"1" * 40 + b"\\n"):
    print("held", flush=True)
    time.sleep(60)
"""

QUEUER = """
import sys, time
from pathlib import Path
from baton_git.store import Repository, Store
with Store(Repository.open(Path(sys.argv[1]))) as store, store.queue(sys.argv[2], 5) as mine:
    print(mine, flush=True)
    time.sleep(60)
"""


def _start(code, *args):
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, args)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


@pytest.fixture
def holder(top):
    """A process that holds the lock of the ref."""
    process = _start(HOLDER, top / ".git/baton/locks", top / ".git" / REF)
    yield process
    process.kill()
    process.communicate()


def test_a_living_holder_is_waited_for_and_then_reported_as_busy(holder, store, writer, top):
    store.locks.wait = 0.2
    started = time.monotonic()
    with pytest.raises(Busy, match="held") as caught:
        writer.commit({"a": b"1"})
    assert 0.2 <= time.monotonic() - started < 2
    assert "try again" in caught.value.hint
    assert not list((top / ".git/objects/pack").iterdir())
    os.utime(top / ".git" / (REF + ".lock"), (0, 0))  # however old: its owner lives
    with pytest.raises(Busy):
        writer.commit({"a": b"1"})


def test_the_lock_of_a_killed_holder_is_broken_at_once(holder, store, writer, git, top):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (top / ".git" / (REF + ".lock")).exists()
    store.locks.wait = 0.2
    new = writer.commit({"a": b"1"})
    assert git(top, "rev-parse", REF) == new
    assert not (top / ".git" / (REF + ".lock")).exists()


def test_a_foreign_lock_is_respected_until_it_is_old(store, writer, top):
    lock = top / ".git" / (REF + ".lock")
    lock.parent.mkdir(parents=True)
    lock.touch()
    store.locks.wait = 0.05
    with pytest.raises(Busy):
        writer.commit({"a": b"1"})
    assert lock.exists()
    os.utime(lock, (time.time() - 90, time.time() - 90))
    writer.commit({"a": b"1"})
    assert not lock.exists()


def test_git_waits_for_our_lock(holder, git, top):
    git(top, "update-ref", REF, "HEAD", code=128)


def test_a_file_system_without_links_still_locks(writer, git, top, monkeypatch):
    def refused(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    new = writer.commit({"a": b"1"})
    assert git(top, "rev-parse", REF) == new
    writer.store.locks.wait = 0.05
    (top / ".git" / (REF + ".lock")).touch()
    with pytest.raises(Busy):
        writer.commit({"a": b"2"})


def test_tickets_of_the_dead_are_swept(holder, top):
    locks = RefLocks(top / ".git/baton/locks")
    locks.stale_after = -10.0
    locks.sweep()
    assert len(list(locks.folder.glob("ticket-*"))) == 1
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    locks.sweep()
    assert not list(locks.folder.glob("ticket-*"))


def test_the_queue_lets_one_in_and_the_dead_out(store, top):
    process = _start(QUEUER, top, REF)
    with store.queue(REF, 0.05) as mine:
        assert not mine
    with store.queue("refs/heads/baton/y", 0.0) as mine:
        assert mine
    process.kill()
    process.communicate()
    with store.queue(REF, 1.0) as mine:
        assert mine


def test_a_lock_that_somebody_took_away_does_not_move_the_ref(top):
    locks = RefLocks(top / ".git/baton/locks")
    ref_file = top / ".git/refs/heads/baton"
    with locks.held(ref_file, b"x") as lock:
        lock.path.unlink()
        lock.path.write_text("of another")
        with pytest.raises(Busy, match="taken away"):
            lock.commit()
    assert lock.path.read_text() == "of another"
    assert not ref_file.exists()
