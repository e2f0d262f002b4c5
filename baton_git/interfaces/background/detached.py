"""Start a detached process of baton, at most one per lock.

The process inherits the lock from the one that starts it. So there is no moment at which two run, and the kernel
releases the lock however the process ends. It may be killed at any time.

Hooks import this module, so it imports only the standard library.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

_LOCK = 10
"""Lowest number for the lock's file descriptor in the started process, in which 0 to 2 are the null device."""
_MAX_FILES = 4096
"""File descriptors below this number are closed; the system's limit can be a billion."""
_children: list[int] = []
"""Ids of processes that were started here and may still run."""


def start_detached(
    lock_file: str, module: str, arguments: Sequence[str], environment: Mapping[str, str], *, mode: int = 0o666
) -> bool:
    """Run `module` with the number of the lock's descriptor and `arguments`, unless a process holds the lock.

    Args:
        lock_file: in an existing folder; created with `mode`.

    Returns:
        Whether such a process is running now. False without flock or `posix_spawn`, and if a limit is reached.
    """
    reap_children()
    try:
        lock = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    except OSError:
        return False
    try:
        if _take(lock):
            _spawn(lock, module, arguments, environment)
    except (ImportError, OSError):
        return False
    finally:
        os.close(lock)
    return True


def is_held(lock_file: str) -> bool:
    """Return whether a process holds the lock; False if that is unknown."""
    try:
        lock = os.open(lock_file, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _take(lock)
    except (ImportError, OSError):
        return False
    finally:
        os.close(lock)


def _take(lock: int) -> bool:
    """Acquire the lock; return False if another process holds it."""
    import fcntl  # not every system has it

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _spawn(lock: int, module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Start the process in a session of its own, because an agent may kill the process group of its hooks."""
    number = max(lock + 1, _LOCK)
    copy = (os.POSIX_SPAWN_DUP2, lock, number)  # the copy is inherited, the original is not
    actions = [copy, *((os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2))]
    argv = [sys.executable, "-P", "-m", module, str(number), *arguments]
    try:
        child = os.posix_spawn(sys.executable, argv, environment, file_actions=actions, setsid=True)
    except NotImplementedError:  # this system cannot spawn with setsid; `leave_caller` calls it a little later
        child = os.posix_spawn(sys.executable, argv, environment, file_actions=actions)
    _children.append(child)


def leave_caller(lock: int) -> None:
    """In the started process: close the other files of the caller, which someone may wait for, and leave its terminal,
    process group and folder."""
    with suppress(OSError):
        os.setsid()
    os.closerange(3, lock)
    os.closerange(lock + 1, _MAX_FILES)
    os.set_inheritable(lock, False)
    os.chdir(os.sep)


def reap_children() -> int:
    """Collect the exit status of ended processes, so that they do not stay zombies; return how many still run."""
    for pid in list(_children):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            with suppress(ValueError):  # another thread removed it
                _children.remove(pid)
    return len(_children)
