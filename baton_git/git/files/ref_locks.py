"""Lock refs with `<ref>.lock`, like git, and detect locks of dead processes.

A ticket is a file in `baton/locks/` that contains the new value of a ref, is synced, and is held with `flock`. To take
the lock, a process creates the hard link `<ref>.lock` to its ticket, which succeeds for one process only. This
distinguishes baton's locks from git's (which are not linked to a ticket) and dead owners from running ones (the kernel
releases the `flock`), even across containers, where process ids are not comparable.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from baton_git.core.errors import Busy
from baton_git.git.files import durable_files

try:
    import fcntl
except ImportError:  # without flock, only the age of a lock decides whether it is stale
    fcntl = None  # type: ignore[assignment]

_TICKET: Final = "ticket-"
_BROKEN: Final = "broken-"
_NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EXDEV, errno.EMLINK, errno.ENOSYS}


@lru_cache(1000)
def local_name(ref: str) -> str:
    """Return a file name of fixed length for data about `ref`, whose own name can be too long for a file name."""
    return hashlib.sha256(ref.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def try_flock(fd: int) -> bool | None:
    """Try to get the exclusive `flock` on an open file without waiting.

    Returns:
        True if this process now holds it, False if another one does, None if flock is not supported.
    """
    if fcntl is None:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without flock
        return None
    return True


@contextmanager
def hold_flock(path: str | Path, wait: float) -> Iterator[bool | None]:
    """Hold `flock` on `path`, which is created if it is missing.

    The context value is True if the lock is held, False if another process held it for longer than `wait` seconds, and
    None if the file cannot be opened or flock is not supported.
    """
    try:
        durable_files.make_folder(os.path.dirname(path))
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:  # a read-only repository, for example; the write itself reports the error
        yield None
        return
    try:
        yield _wait_in_order(fd, wait)
    finally:
        os.close(fd)


def _wait_in_order(fd: int, wait: float) -> bool | None:
    """Wait for the lock in the kernel, which grants it in the order of the requests, unlike polling.

    The blocking call runs in a thread. If that thread gets the lock after the timeout, the lock is released by closing
    the file, which the caller does.
    """
    first = try_flock(fd)
    if first is not False or wait <= 0:
        return first
    results: list[bool | None] = []
    waiting = threading.Thread(target=lambda: results.append(wait_for_flock(fd)), daemon=True)
    waiting.start()
    waiting.join(wait)
    return results[0] if results else False


def wait_for_flock(fd: int) -> bool | None:
    """Wait without a limit for the `flock` on an open file; return True, or None if flock is not supported."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        return None
    return True


def wait_until(done: Callable[[], bool], wait: float) -> bool:
    """Call `done` at jittered intervals until it returns True; return False after `wait` seconds."""
    deadline = time.monotonic() + wait
    pause = 0.001
    while not done():
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, pause * random.uniform(0.5, 1.5)))  # noqa: S311  jitter
        pause = min(pause * 1.5, 0.02)
    return True


@dataclass(slots=True)
class Ticket:
    """A file with the new value of a ref. It must be `synced` before it becomes the ref.

    `on_move` is called once the ref has moved durably.
    """

    path: str
    fd: int
    value: bytes
    synced: bool = False
    on_move: Callable[[], None] | None = None

    def sync(self) -> None:
        """Sync the content to disk, unless this was already done.

        Raises:
            OSError: writing to disk failed.
        """
        if not self.synced:
            os.fsync(self.fd)
            self.synced = True


class HeldLock(NamedTuple):
    """A `<ref>.lock` that this process holds; the file contains the new value of the ref."""

    ref_file: str
    path: str
    identity: tuple[int, int]

    def commit(self) -> None:
        """Rename the lock file to the ref file.

        Raises:
            Busy: another process removed the lock because it seemed stale.
            OSError: writing to disk failed.
        """
        if identity_of(self.path) != self.identity:
            raise Busy(f"{Path(self.path).name} was removed by another process", hint="try again")
        os.replace(self.path, self.ref_file)

    def abandon(self) -> None:
        """Remove the lock file if it is still this process's."""
        if identity_of(self.path) == self.identity:
            durable_files.remove(self.path)


def identity_of(path: str | Path) -> tuple[int, int] | None:
    """Return the device and inode of a file, or None if it does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class RefLocks:
    """Locks for refs.

    Attributes:
        wait: seconds to wait for a held lock.
        stale_after: age in seconds above which a lock is stale if `flock` cannot show whether its owner is dead.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wait = 2.0
        self.stale_after = 60.0

    @contextmanager
    def hold(self, ref_file: str, ticket: Ticket) -> Iterator[HeldLock]:
        """Hold the lock of `ref_file`, containing the value of the ticket, inside the `with` block.

        Raises:
            Busy: the lock was held for longer than `wait`.
            OSError: writing to disk failed.
        """
        lock_file = ref_file + ".lock"
        ticket.sync()
        if not wait_until(lambda: self._take(lock_file, ticket), self.wait):
            raise _busy(lock_file)
        lock = HeldLock(ref_file, lock_file, identity_of(lock_file) or (0, 0))
        try:
            yield lock
        finally:
            lock.abandon()

    @contextmanager
    def ticket(self, value: bytes) -> Iterator[Ticket]:
        """Create a ticket with the new value of a ref; it is removed at the end of the `with` block.

        Raises:
            Busy: another process held the ticket for longer than `wait`.
            OSError: writing to disk failed.
        """
        durable_files.make_folder(self.folder)
        path = f"{self.folder}{os.sep}{_TICKET}{durable_files.random_name()}"
        fd = durable_files.open_new(path, value, mode=0o644)
        try:
            if not wait_until(lambda: try_flock(fd) is not False, self.wait):
                raise _busy(path)  # a ticket without a flock looks like that of a dead process
            yield Ticket(path, fd, value)
        finally:
            durable_files.remove(path)
            os.close(fd)

    def _take(self, lock_file: str, ticket: Ticket) -> bool:
        try:
            os.link(ticket.path, lock_file)
        except FileExistsError:
            return self.break_stale(lock_file) and self._take(lock_file, ticket)
        except FileNotFoundError:  # git may remove an empty ref folder at any time
            durable_files.make_folder(Path(lock_file).parent)
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            return _take_without_links(lock_file, ticket.value)
        return True

    def break_stale(self, lock_file: str) -> bool:
        """Remove a lock whose owner is dead, and return whether the lock is gone.

        With flock, only one process at a time does this. Without it, two may do so concurrently: each first renames the
        lock to a unique name, and links it back if it is not the lock that was found to be stale.
        """
        with hold_flock(self.folder / "breaking", 0.0) as alone:
            seen = identity_of(lock_file)
            if seen is None:
                return True
            dead = alone is not False and self.is_dead(lock_file, seen)
            if dead and identity_of(lock_file) == seen:
                durable_files.remove(lock_file) if alone else self._move_and_remove(lock_file, seen)
            return dead

    def _move_and_remove(self, lock_file: str, identity: tuple[int, int]) -> None:
        aside = f"{self.folder}{os.sep}{_BROKEN}{durable_files.random_name()}"
        with suppress(OSError):  # another process was faster
            os.rename(lock_file, aside)
            if identity_of(aside) != identity:
                os.link(aside, lock_file)
        durable_files.remove(aside)

    def is_dead(self, lock_file: str, identity: tuple[int, int]) -> bool:
        """Return whether the owner of a lock is dead, decided by the flock of its ticket or, without one, by age."""
        for ticket in self.folder.glob(_TICKET + "*"):
            if identity_of(ticket) == identity:
                ownerless = is_ownerless(ticket)
                if ownerless is not None:
                    return ownerless
        try:
            return durable_files.now_of(self.folder) - Path(lock_file).stat().st_mtime > self.stale_after
        except FileNotFoundError:
            return True

    def sweep(self) -> None:
        """Remove the tickets and other leftover files of dead processes."""
        durable_files.clear(self.folder, self._is_leftover)

    def _is_leftover(self, name: str, age: float) -> bool:
        if not name.startswith(_TICKET):
            return name.startswith((durable_files.CLOCK, _BROKEN)) and age > durable_files.LEFTOVER_AFTER
        if age <= self.stale_after or age == float("inf"):  # infinite: `clear` selects by name only
            return age > self.stale_after
        ownerless = is_ownerless(self.folder / name)  # checked last, because it briefly locks the ticket
        return ownerless if ownerless is not None else age > durable_files.LEFTOVER_AFTER


def is_ownerless(ticket: Path) -> bool | None:
    """Return whether no running process holds this ticket, by locking it briefly.

    False if the ticket cannot be opened, None if flock is not supported.
    """
    try:
        fd = os.open(ticket, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return try_flock(fd)
    finally:
        os.close(fd)


def _take_without_links(lock_file: str, value: bytes) -> bool:
    durable_files.make_folder(Path(lock_file).parent)
    try:
        durable_files.write_new(lock_file, value, mode=0o644, sync=True)
    except FileExistsError:
        return False
    return True


def _busy(lock_file: str) -> Busy:
    return Busy(
        f"{Path(lock_file).name} is held by another process",
        hint=f"try again; if no git or baton process is running, delete {lock_file}",
        path=lock_file,
    )
