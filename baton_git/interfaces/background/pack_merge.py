"""Merge packs in separate processes, so that neither a command that writes nor a server waits for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Lock

from baton_git.core.errors import StoreError
from baton_git.git.files import durable_files
from baton_git.git.store import Repository, Store
from baton_git.interfaces.background.detached import leave_caller, start_detached

SECONDS = 300
"""Time limit of a merge after a command. Its process holds the lock `baton/merging.lock` and may be killed at any time;
the next merge continues its work."""
_NICE = 10


def merge_in_background(common_dir: Path, environment: Mapping[str, str]) -> bool:
    """Start a merge, unless one is running; return False if it cannot be started, so that the caller must merge."""
    folder = Path(os.path.realpath(common_dir))
    try:
        durable_files.make_folder(folder / "baton")
    except OSError:
        return False
    return start_detached(str(folder / "baton" / "merging.lock"), __name__, [str(folder)], environment)


def merge_detached(lock: int, folder: Path) -> None:
    """Merge packs if a merge is due. Errors are ignored, because a later write starts the merge again."""
    signal.alarm(SECONDS)
    leave_caller(lock)
    with suppress(OSError):
        os.nice(_NICE)
    with suppress(StoreError, OSError), Store(Repository.open(folder)) as store:
        store.roll_up()


# --- a server's process, which merges on request
# In the server itself, each merge would delay requests by 40 to 80 ms, and merges would take a fifth of the time of the
# interpreter, which all threads share. The server writes a line for each merge, and the process writes one back when it
# is done. It ends when its input ends, and therefore also if the server is killed. After a large merge it ends, too,
# because Python would keep much of the memory that the merge needed (100 MB for 100,000 objects).


MERGE_SECONDS = 20.0
"""Time limit of a merge in seconds. If it has passed when the next merge is requested, the process is killed. After
that, the server merges packs itself for `RETRY_SECONDS`."""
STOP_SECONDS = 2.0
"""Seconds that the process has to end when the server stops."""
RETRY_SECONDS = 300.0
"""Seconds after a failure until another process is started."""
LARGE = 20_000
"""Number of objects in a merged pack from which on the process ends after the merge."""
_DONE, _LEAVING = b"\n", b"."
"""What the process writes after a merge: that it waits for the next one, or that it ends."""


class PackMergeProcess:
    """Starts and controls the process that merges the packs of one repository; safe for concurrent threads.

    Attributes:
        process: the running process; None if none was started, and after a failure or `close`.
    """

    def __init__(self, repository: Repository) -> None:
        self._folder = repository.common_dir
        self._lock = Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self._since: float | None = None
        self._failed: float | None = None

    def __call__(self) -> bool:
        """Request a merge, unless one is running; return False if the caller must merge instead."""
        if not self._lock.acquire(blocking=False):
            return True
        try:
            return self._is_merging() or self._start_merge()
        except (OSError, ValueError):  # the process cannot be started, or has ended
            self._give_up()
            return False
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the process when its merge is done, or kill it after `STOP_SECONDS`, which does no harm."""
        with self._lock:
            process = self.process
            if process is not None and process.stdin is not None:
                with suppress(OSError, subprocess.TimeoutExpired):
                    process.stdin.close()
                    process.wait(STOP_SECONDS)
            self._give_up()

    def _is_merging(self) -> bool:
        if self._since is None or self.process is None:
            return False
        assert self.process.stdout is not None
        answer = self.process.stdout.read(1)
        if answer is None and time.monotonic() - self._since <= MERGE_SECONDS:
            return True
        if not answer:
            raise OSError("the process hangs, or has ended")
        self._since = None
        if answer == _LEAVING:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
            self._dismiss()
        return False

    def _start_merge(self) -> bool:
        if self._failed is not None and time.monotonic() - self._failed < RETRY_SECONDS:
            return False
        if self.process is None:
            self.process = subprocess.Popen(  # noqa: S603  our own program
                [sys.executable, "-P", "-m", __name__, str(self._folder)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
                start_new_session=True,  # so that Ctrl-C reaches only the server
            )  # fmt: skip
            assert self.process.stdout is not None
            os.set_blocking(self.process.stdout.fileno(), False)
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self._since = time.monotonic()
        return True

    def _give_up(self) -> None:
        self._failed = time.monotonic()
        self._dismiss()

    def _dismiss(self) -> None:
        process, self.process, self._since = self.process, None, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


def merge_on_request(folder: Path) -> None:
    """For each line of the input, merge packs, and write a line. Errors are ignored, because a later write requests the
    merge again."""
    with Store(Repository.open(folder)) as store:
        packs = store.housekeeping
        is_large = False
        while not is_large and sys.stdin.buffer.readline():
            before = {*packs.list_noted()}
            with suppress(StoreError, OSError):
                store.roll_up()
            is_large = any(pack.objects >= LARGE for pack in {*packs.list_noted()} - before)
            sys.stdout.buffer.write(_LEAVING if is_large else _DONE)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    if len(sys.argv) == 3:  # after a command: the lock, and the folder
        merge_detached(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        merge_on_request(Path(sys.argv[1]))
