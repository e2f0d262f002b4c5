from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_world import REF, WHO

from baton_git.errors import Busy
from baton_git.store import Repository, Store, locks
from baton_git.store.locks import HeldLock, RefLocks

HOLDER = """
import sys, time
from pathlib import Path
from baton_git.store.locks import RefLocks
locks = RefLocks(Path(sys.argv[1]))
with locks.ticket(b"1" * 40 + b"\\n") as ticket, locks.held(sys.argv[2], ticket):
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
    with locks.ticket(b"x") as ticket, locks.held(str(ref_file), ticket) as lock:
        Path(lock.path).unlink()
        Path(lock.path).write_text("of another")
        with pytest.raises(Busy, match="taken away"):
            lock.commit()
    assert Path(lock.path).read_text() == "of another"
    assert not ref_file.exists()


def test_a_writer_holds_its_ticket_before_it_is_the_lock(top, monkeypatch):
    ref_locks = RefLocks(top / ".git/baton/locks")
    ref_file = top / ".git/refs/heads/baton"
    real, calls = locks.grab, []

    def contended(fd):
        """The first look comes at the instant at which a sweeper holds the flock of the ticket."""
        calls.append(fd)
        return False if len(calls) == 1 else real(fd)

    monkeypatch.setattr(locks, "grab", contended)
    with ref_locks.ticket(b"x") as ticket, ref_locks.held(str(ref_file), ticket):
        assert len(calls) > 1
        assert not ref_locks._break_stale(f"{ref_file}.lock")


def test_a_ticket_that_somebody_keeps_is_busy(top, monkeypatch):
    ref_locks = RefLocks(top / ".git/baton/locks")
    ref_locks.wait = 0.02
    monkeypatch.setattr(locks, "grab", lambda fd: False)
    ref_file = str(top / ".git/refs/heads/baton")
    with pytest.raises(Busy), ref_locks.ticket(b"x") as ticket, ref_locks.held(ref_file, ticket):
        pass
    assert not list(ref_locks.folder.glob("ticket-*"))
    assert not (top / ".git/refs/heads/baton.lock").exists()


def test_where_there_is_no_flock_a_writer_does_not_wait_for_it(writer, monkeypatch):
    monkeypatch.setattr(locks, "grab", lambda fd: None)
    started = time.monotonic()
    writer.commit({"a": b"1"})
    assert time.monotonic() - started < 1.5


def test_sweeping_leaves_fresh_tickets_alone(top, monkeypatch):
    ref_locks = RefLocks(top / ".git/baton/locks")
    with ref_locks.ticket(b"x") as ticket, ref_locks.held(str(top / ".git/refs/heads/baton"), ticket):
        monkeypatch.setattr(locks, "_ownerless", lambda ticket: pytest.fail("a fresh ticket was touched"))
        ref_locks.sweep()


def _overtaken(monkeypatch, then):
    """After our lock became the ref, `then` happens before anybody looks."""
    real = HeldLock.commit

    def commit(self):
        real(self)
        monkeypatch.setattr(HeldLock, "commit", real)
        then(Path(self.ref_file))

    monkeypatch.setattr(HeldLock, "commit", commit)


def _attempt(store, tip):
    draft = store.draft()
    tree = draft.tree(store.commit(tip).tree, {"a": b"ours"})
    new = draft.commit(tree, [tip], author=WHO, time=9, timezone=0, message="ours")
    return new, store.publish(draft, REF, tip, new, who=WHO, time=9, timezone=0, message="ours")


def test_a_ref_that_does_not_say_our_value_has_not_moved(store, writer, git, top, monkeypatch):
    first = writer.commit({"a": b"1"})
    tip = writer.commit({"a": b"2"})
    _overtaken(monkeypatch, lambda ref_file: ref_file.write_text(first + "\n"))
    new, moved = _attempt(store, tip)
    assert not moved
    assert store.tip(REF) == first
    git(top, "fsck", "--strict")
    assert git(top, "cat-file", "-t", new) == "commit"  # somebody may have built on it


def test_a_ref_that_was_moved_on_from_our_value_did_move(store, writer, git, top, monkeypatch):
    tip = writer.commit({"a": b"1"})

    def another(_):
        with Store(Repository.open(top)) as other:
            writer.store = other
            writer.commit({"b": b"on top"})

    _overtaken(monkeypatch, another)
    new, moved = _attempt(store, tip)
    assert moved
    assert git(top, "rev-parse", f"{REF}~1") == new
    git(top, "fsck", "--strict")
