"""Who may change a ref now: `<ref>.lock`, which git obeys too, and the queue of baton processes before it.

A ticket is a file under `baton/locks/` that holds the new value, is synced, and is held with `flock`. Taking the lock
is making a second name for that file, `<ref>.lock`, which succeeds for one process only. So a lock of ours can be told
from one of git (no ticket is the same file), and a dead owner from a living one (the kernel frees its `flock`),
also across containers, where process ids mean nothing.
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
except ImportError:  # no flock on this system: age alone decides about stale locks
    fcntl = None  # type: ignore[assignment]

_TICKET: Final = "ticket-"
_BROKEN: Final = "broken-"
_NO_LINKS: Final = {errno.EPERM, errno.ENOTSUP, errno.EXDEV, errno.EMLINK, errno.ENOSYS}


@lru_cache(1000)
def local_name(ref: str) -> str:
    """A file name for what is kept about `ref`: fixed length, so that no ref name is too long."""
    return hashlib.sha256(ref.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def try_flock(fd: int) -> bool | None:
    """Whether the exclusive `flock` on this open file is ours now; None where there is no flock. Never waits."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system that knows none
        return None
    return True


@contextmanager
def hold_flock(path: str | Path, wait: float) -> Iterator[bool | None]:
    """Holds `flock` on `path` (made when missing).

    Gives False when another held it for longer than `wait` seconds, and None when there is no lock to be had here.
    """
    try:
        durable_files.make_folder(os.path.dirname(path))
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:  # nowhere to queue (a read-only repository): the write itself will say so
        yield None
        return
    try:
        yield _in_line(fd, wait)
    finally:
        os.close(fd)


def _grab_within(fd: int, wait: float) -> bool | None:
    return try_flock(fd) if until(lambda: try_flock(fd) is not False, wait) else False


def _in_line(fd: int, wait: float) -> bool | None:
    """Stands in the kernel's own line, which is first come, first served: who asks again and again may never be next.

    The thread that waits for us takes nothing with it when we give up: closing the file ends its turn as it comes.
    """
    first = try_flock(fd)
    if first is not False or wait <= 0:
        return first
    answer: list[bool | None] = []
    waiting = threading.Thread(target=lambda: answer.append(wait_for_flock(fd)), daemon=True)
    waiting.start()
    waiting.join(wait)
    return answer[0] if answer else False


def wait_for_flock(fd: int) -> bool | None:
    """As `try_flock`, but waits for as long as it takes."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError:
        return None
    return True


def until(done: Callable[[], bool], wait: float) -> bool:
    """Asks `done` until it says yes, at most `wait` seconds, at jittered intervals; what it said last."""
    deadline = time.monotonic() + wait
    pause = 0.001
    while not done():
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, pause * random.uniform(0.5, 1.5)))  # noqa: S311  not for secrets
        pause = min(pause * 1.5, 0.02)
    return True


@dataclass(slots=True)
class Ticket:
    """The file that shall become a ref. `synced`: whether what it holds is durable, as it must be before that."""

    path: str
    fd: int
    value: bytes
    synced: bool = False

    def sync(self) -> None:
        """Makes its content durable, unless that was done.

        Raises:
            OSError: writing to disk failed.
        """
        if not self.synced:
            os.fsync(self.fd)
            self.synced = True


class HeldLock(NamedTuple):
    """`<ref>.lock`, taken by this process, with the new value in it."""

    ref_file: str
    path: str
    identity: tuple[int, int]

    def commit(self) -> None:
        """Makes the lock file the ref.

        Raises:
            Busy: somebody took the lock for dead and removed it.
            OSError: writing to disk failed.
        """
        if identity_of(self.path) != self.identity:
            raise Busy(f"{Path(self.path).name} was taken away by another process", hint="try again")
        os.replace(self.path, self.ref_file)

    def abandon(self) -> None:
        """Removes the lock if it is still ours."""
        if identity_of(self.path) == self.identity:
            durable_files.remove(self.path)


def identity_of(path: str | Path) -> tuple[int, int] | None:
    """What tells a file from all others, whatever its name; None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class RefLocks:
    """The locks of refs. `wait`: seconds for a held one; `stale_after`: age in seconds at which one is dead."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wait = 2.0
        self.stale_after = 60.0

    @contextmanager
    def hold(self, ref_file: str, ticket: Ticket) -> Iterator[HeldLock]:
        """The lock of `ref_file` with the value of the ticket in it; released at the end in any case.

        Raises:
            Busy: somebody living held it for longer than `wait`.
            OSError: writing to disk failed.
        """
        lock_file = ref_file + ".lock"
        ticket.sync()
        if not until(lambda: self._take(lock_file, ticket), self.wait):
            raise _busy(lock_file)
        lock = HeldLock(ref_file, lock_file, identity_of(lock_file) or (0, 0))
        try:
            yield lock
        finally:
            lock.abandon()

    @contextmanager
    def ticket(self, value: bytes) -> Iterator[Ticket]:
        """A ticket for a ref that is to become `value`.

        Raises:
            Busy: somebody held it for longer than `wait`.
            OSError: writing to disk failed.
        """
        durable_files.make_folder(self.folder)
        path = f"{self.folder}{os.sep}{_TICKET}{durable_files.random_name()}"
        fd = durable_files.open_new(path, value, mode=0o644)
        try:
            if _grab_within(fd, self.wait) is False:  # a ticket that nobody holds would be taken for a dead one's
                raise _busy(path)
            yield Ticket(path, fd, value)
        finally:
            durable_files.remove(path)
            os.close(fd)

    def _take(self, lock_file: str, ticket: Ticket) -> bool:
        try:
            os.link(ticket.path, lock_file)
        except FileExistsError:
            return self.break_stale(lock_file) and self._take(lock_file, ticket)
        except FileNotFoundError:  # git removes empty ref folders at any moment
            durable_files.make_folder(Path(lock_file).parent)
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            return _take_without_links(lock_file, ticket.value)
        return True

    def break_stale(self, lock_file: str) -> bool:
        """Removes a lock whose owner is dead; whether it is gone. One process at a time does this.

        Where there is no flock two may do it at once. Then each takes the lock away under a name of its own first, and
        puts it back when it is not the one that was found dead.
        """
        with hold_flock(self.folder / "breaking", 0.0) as alone:
            seen = identity_of(lock_file)
            if seen is None:
                return True
            dead = alone is not False and self.is_dead(lock_file, seen)
            if dead and identity_of(lock_file) == seen:
                durable_files.remove(lock_file) if alone else self._take_away(lock_file, seen)
            return dead

    def _take_away(self, lock_file: str, identity: tuple[int, int]) -> None:
        aside = f"{self.folder}{os.sep}{_BROKEN}{durable_files.random_name()}"
        with suppress(OSError):  # another one was faster
            os.rename(lock_file, aside)
            if identity_of(aside) != identity:
                os.link(aside, lock_file)
        durable_files.remove(aside)

    def is_dead(self, lock_file: str, identity: tuple[int, int]) -> bool:
        """Whether the owner of a lock is dead: the kernel knows that of a ticket, else its age says so."""
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
        """Removes the tickets of dead processes, and what else they left here."""
        durable_files.clear(self.folder, self._is_left)

    def _is_left(self, name: str, age: float) -> bool:
        if not name.startswith(_TICKET):
            return name.startswith((durable_files.CLOCK, _BROKEN)) and age > durable_files.LEFT_AFTER
        if age <= self.stale_after or age == float("inf"):  # too young; or only asked whether it may be one
            return age > self.stale_after
        ownerless = is_ownerless(self.folder / name)  # asked last: it holds the ticket for a moment, as its writer may
        return ownerless if ownerless is not None else age > durable_files.LEFT_AFTER


def is_ownerless(ticket: Path) -> bool | None:
    """Whether no living process holds this ticket; it is held by us while we ask. None where there is no flock."""
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
