"""Locks of refs: who waits for them, when the lock of another process is broken, and what killed processes leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from store_world import REF, WHO

from baton_git.core.errors import Busy
from baton_git.git.files import durable_files as disk
from baton_git.git.files import ref_locks as locks
from baton_git.git.files.ref_locks import HeldLock, RefLocks
from baton_git.git.store import ReflogEntry, Repository, Store

HOLDER = """
import sys, time
from pathlib import Path
from baton_git.git.files.ref_locks import RefLocks
locks = RefLocks(Path(sys.argv[1]))
with locks.ticket(b"1" * 40 + b"\\n") as ticket, locks.hold(sys.argv[2], ticket):
    print("held", flush=True)
    time.sleep(600)
"""

QUEUER = """
import sys, time
from pathlib import Path
from baton_git.git.store import Repository, Store
with Store(Repository.open(Path(sys.argv[1]))) as store, store.queue(sys.argv[2], 5) as mine:
    print(mine, flush=True)
    time.sleep(600)
"""


def _start(code, *args):
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, args)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


@pytest.fixture
def holder(top):
    """Start a process that holds the lock of the ref."""
    process = _start(HOLDER, top / ".git/baton/locks", top / ".git" / REF)
    yield process
    process.kill()
    process.communicate()


def test_a_lock_of_a_living_process_is_waited_for_and_then_busy(holder, store, writer, top, monkeypatch):
    store.locks.wait = 0.2
    real, attempts = os.link, []
    monkeypatch.setattr(os, "link", lambda *args, **more: (attempts.append(args), real(*args, **more)))
    with pytest.raises(Busy, match="held") as caught:
        writer.commit({"a": b"1"})
    assert len(attempts) > 1
    assert "try again" in caught.value.hint
    assert not list((top / ".git/objects/pack").iterdir())
    os.utime(top / ".git" / (REF + ".lock"), (0, 0))  # the age does not matter, since the owner lives
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


def test_git_respects_our_lock(holder, git, top):
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


def test_the_queue_admits_one_process_at_a_time_and_forgets_a_killed_one(store, top):
    process = _start(QUEUER, top, REF)
    with store.queue(REF, 0.05) as mine:
        assert not mine
    with store.queue("refs/heads/baton/y", 0.0) as mine:
        assert mine
    process.kill()
    process.communicate()
    with store.queue(REF, 1.0) as mine:
        assert mine


def test_a_lost_lock_does_not_move_the_ref(top):
    locks = RefLocks(top / ".git/baton/locks")
    ref_file = top / ".git/refs/heads/baton"
    with locks.ticket(b"x") as ticket, locks.hold(str(ref_file), ticket) as lock:
        Path(lock.path).unlink()
        Path(lock.path).write_text("of another")
        with pytest.raises(Busy, match="removed by another process"):
            lock.commit()
    assert Path(lock.path).read_text() == "of another"
    assert not ref_file.exists()


def test_a_writer_locks_its_ticket_before_publishing_it(top, monkeypatch):
    ref_locks = RefLocks(top / ".git/baton/locks")
    ref_file = top / ".git/refs/heads/baton"
    real, calls = locks.try_flock, []

    def contended(fd):
        """The first attempt happens while a sweeper holds the flock of the ticket."""
        calls.append(fd)
        return False if len(calls) == 1 else real(fd)

    monkeypatch.setattr(locks, "try_flock", contended)
    with ref_locks.ticket(b"x") as ticket, ref_locks.hold(str(ref_file), ticket):
        assert len(calls) > 1
        assert not ref_locks.break_stale(f"{ref_file}.lock")


def test_a_ticket_held_for_long_is_busy(top, monkeypatch):
    ref_locks = RefLocks(top / ".git/baton/locks")
    ref_locks.wait = 0.02
    monkeypatch.setattr(locks, "try_flock", lambda fd: False)
    ref_file = str(top / ".git/refs/heads/baton")
    with pytest.raises(Busy), ref_locks.ticket(b"x") as ticket, ref_locks.hold(ref_file, ticket):
        pass
    assert not list(ref_locks.folder.glob("ticket-*"))
    assert not (top / ".git/refs/heads/baton.lock").exists()


def test_without_flock_writers_do_not_wait_for_a_ticket(writer, monkeypatch):
    writer.commit({"a": b"1"})  # makes the folders, for which it would try again
    monkeypatch.setattr(locks, "try_flock", lambda fd: None)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("it waited"))
    writer.commit({"a": b"2"})


def test_sweeping_leaves_fresh_tickets_alone(top, monkeypatch):
    ref_locks = RefLocks(top / ".git/baton/locks")
    with ref_locks.ticket(b"x") as ticket, ref_locks.hold(str(top / ".git/refs/heads/baton"), ticket):
        monkeypatch.setattr(locks, "is_ownerless", lambda ticket: pytest.fail("a fresh ticket was touched"))
        ref_locks.sweep()


def _run_after_the_move(monkeypatch, then):
    """Call `then` once, right after a lock file has become the ref and before anything reads the ref."""
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
    return new, store.publish(draft, REF, tip, new, ReflogEntry(WHO, 9, 0, "ours"))


def test_a_ref_that_does_not_contain_our_value_counts_as_not_moved(store, writer, git, top, monkeypatch):
    first = writer.commit({"a": b"1"})
    tip = writer.commit({"a": b"2"})
    _run_after_the_move(monkeypatch, lambda ref_file: ref_file.write_text(first + "\n"))
    new, moved = _attempt(store, tip)
    assert not moved
    assert store.tip(REF) == first
    git(top, "fsck", "--strict")
    assert git(top, "cat-file", "-t", new) == "commit"  # somebody may have built on it


def test_a_ref_that_another_writer_moved_on_from_our_value_counts_as_moved(store, writer, git, top, monkeypatch):
    tip = writer.commit({"a": b"1"})

    def another(_):
        with Store(Repository.open(top)) as other:
            writer.store = other
            writer.commit({"b": b"on top"})

    _run_after_the_move(monkeypatch, another)
    new, moved = _attempt(store, tip)
    assert moved
    assert git(top, "rev-parse", f"{REF}~1") == new
    git(top, "fsck", "--strict")


@pytest.fixture
def no_flock(monkeypatch):
    """Simulate a file system without flock."""
    monkeypatch.setattr(locks, "try_flock", lambda fd: None)
    monkeypatch.setattr(locks, "wait_for_flock", lambda fd: None)


@pytest.mark.usefixtures("no_flock")
def test_without_flock_the_lock_of_a_killed_holder_is_broken_after_its_time(holder, store, writer, git, top):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    lock = top / ".git" / (REF + ".lock")
    store.locks.wait = 0.05
    with pytest.raises(Busy):  # whether it is dead cannot be determined
        writer.commit({"a": b"1"})
    os.utime(lock, (time.time() - 90, time.time() - 90))
    new = writer.commit({"a": b"1"})
    assert git(top, "rev-parse", REF) == new
    assert not lock.exists()
    assert not list(store.locks.folder.glob("broken-*"))


@pytest.mark.usefixtures("no_flock")
def test_without_flock_tickets_of_the_dead_are_swept_when_they_are_old(holder, top):
    ref_locks = RefLocks(top / ".git/baton/locks")
    (ticket,) = ref_locks.folder.glob("ticket-*")
    ref_locks.sweep()
    assert ticket.exists()
    os.utime(ticket, (time.time() - 4000, time.time() - 4000))
    ref_locks.sweep()
    assert not ticket.exists()


@pytest.mark.usefixtures("no_flock")
def test_without_flock_a_lock_taken_by_another_is_restored(top, monkeypatch):
    ref_locks = RefLocks(top / ".git/baton/locks")
    lock = top / ".git/refs/heads/baton.lock"
    lock.write_text("of a dead one")
    os.utime(lock, (0, 0))
    dead = ref_locks.is_dead

    def overtaken(lock_file, identity):
        """Another process breaks the lock and takes it, after we found the first one dead."""
        was_dead = dead(lock_file, identity)
        monkeypatch.setattr(
            locks, "identity_of", lambda path, real=locks.identity_of: identity if path == lock_file else real(path)
        )
        lock.rename(top / "kept")  # so that its id is not reused
        lock.write_text("of a living one")
        return was_dead

    monkeypatch.setattr(ref_locks, "is_dead", overtaken)
    ref_locks.break_stale(str(lock))
    assert lock.read_text() == "of a living one"


# --- files left by killed processes


def test_reading_the_time_of_the_disk_leaves_no_file_and_reuses_a_leftover_one(top):
    folder = top / "clocks"
    folder.mkdir()
    leftover = folder / f"clock-{os.getuid()}"
    leftover.touch()
    os.utime(leftover, (0, 0))
    assert abs(disk.now_of(folder) - time.time()) < 5
    assert not list(folder.iterdir())


def test_leftovers_of_killed_writers_are_removed_by_the_next_write(store, writer, top):
    packs, tickets = top / ".git/objects/pack", top / ".git/baton/locks"
    for folder in (packs, tickets):
        folder.mkdir(exist_ok=True, parents=True)
    gone = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, text=True, check=True).stdout.strip()
    old = [
        packs / "tmp_pack_baton_0123456789abcdef", packs / f"tmp_idx_baton_{gone}_00", packs / "clock-0123456789abcdef",
        tickets / "clock-0123456789abcdef", tickets / "ticket-00",
    ]  # fmt: skip
    young = [packs / f"tmp_pack_baton_{gone}_01", packs / f"tmp_pack_baton_{os.getpid()}_02", packs / "tmp_pack_x"]
    for path in (*old, *young):
        path.touch()
        age = 90 if path.name.startswith("tmp_idx") else 4000
        os.utime(path, (time.time() - age,) * 2)
    os.utime(young[0])
    os.utime(young[1], (time.time() - 90,) * 2)
    writer.commit({"a": b"1"})
    assert [path.name for path in old if path.exists()] == []
    assert [path.name for path in young if not path.exists()] == []
