"""Merge packs in a separate process, so that a command that writes does not wait for it.

    python -P -m baton_git.interfaces.context.background_merge COMMON_DIR

The process inherits the lock `baton/merging.lock` from the command that starts it. So only one process runs at a time,
and the kernel releases the lock even if the process is killed. It is detached, has a low priority, and ends after
`SECONDS`. It may be killed at any time; the next merge continues its work.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from baton_git.core.errors import StoreError
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import try_flock
from baton_git.git.store import Repository, Store

SECONDS = 300
"""Time limit of a merge."""
_NICE = 10
_LOCK = 10
"""Lowest number for the lock's file descriptor in the started process, in which 0 to 2 are the null device."""
_children: list[int] = []
"""Ids of processes that were started here and may still run."""


def merge_in_background(common_dir: Path, environment: Mapping[str, str]) -> bool:
    """Start a merge, unless one is running; return False if it cannot be started, so that the caller must merge."""
    reap_children()
    folder = Path(os.path.realpath(common_dir))
    try:
        durable_files.make_folder(folder / "baton")
        lock = os.open(folder / "baton" / "merging.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return False
    try:
        is_alone = try_flock(lock)
        return _start(folder, environment, lock) if is_alone else is_alone is False
    except (OSError, NotImplementedError):
        return False
    finally:
        os.close(lock)


def _start(folder: Path, environment: Mapping[str, str], lock: int) -> bool:
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    copy = (os.POSIX_SPAWN_DUP2, lock, max(lock + 1, _LOCK))  # the copy is inherited, the original is not
    argv = [sys.executable, "-P", "-m", __name__, str(folder)]
    _children.append(os.posix_spawn(sys.executable, argv, environment, file_actions=[copy, *null]))
    return True


def reap_children() -> int:
    """Collect the exit status of ended processes, so that they do not stay zombies; return how many still run."""
    for pid in list(_children):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _children.remove(pid)
    return len(_children)


def main(folder: Path) -> None:
    """Merge packs if a merge is due. Errors are ignored, because a later write starts the merge again."""
    signal.alarm(SECONDS)
    with suppress(OSError):
        os.setsid()
    with suppress(OSError):
        os.nice(_NICE)
    os.chdir("/")
    with suppress(StoreError, OSError), Store(Repository.open(folder)) as store:
        store.roll_up()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
