"""A process beside the server that merges packs. In the server itself that would hold everybody up for 40 to 80 ms each
time, and take a fifth of the interpreter that all its threads share.

It is started when there is something to merge for the first time, is told so by a line, says so by a line when it is
done, and ends when the server does, however that ends: then its input does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock

from baton_git.core.errors import StoreError
from baton_git.git.store import Repository, Store

PATIENCE = 20.0
"""Seconds after which a process that is not done is given up; the next merge happens in the server."""
LEAVE = 2.0
"""Seconds that it is given to end."""
AGAIN = 300.0
"""Seconds until another one is started after one that failed."""


class Tidier:
    """The process that tidies one repository. Threads may use it side by side; there is never more than one.

    `process` is the one that was started last, while it is not given up.
    """

    def __init__(self, repository: Repository) -> None:
        self._folder = repository.common_dir
        self._lock = Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self._since: float | None = None
        self._failed: float | None = None

    def __call__(self) -> bool:
        """Set the process to work unless it is; False if the caller has to do it."""
        if not self._lock.acquire(blocking=False):
            return True
        try:
            return self._is_at_work() or self._begin()
        except (OSError, ValueError):  # it cannot be started, or is gone
            self._give_up()
            return False
        finally:
            self._lock.release()

    def close(self) -> None:
        """End it when its merge is done, or after `LEAVE` seconds: a merge may be killed at any moment."""
        with self._lock:
            process = self.process
            if process is not None and process.stdin is not None:
                with suppress(OSError, subprocess.TimeoutExpired):
                    process.stdin.close()
                    process.wait(LEAVE)
            self._give_up()

    def _is_at_work(self) -> bool:
        if self._since is None or self.process is None:
            return False
        assert self.process.stdout is not None
        answer = self.process.stdout.read(1)
        if answer is None and time.monotonic() - self._since <= PATIENCE:
            return True
        if not answer:
            raise OSError("it hangs, or has ended")
        self._since = None
        return False

    def _begin(self) -> bool:
        if self._failed is not None and time.monotonic() - self._failed < AGAIN:
            return False
        if self.process is None:
            self.process = subprocess.Popen(  # noqa: S603  our own program
                [sys.executable, "-P", "-m", __name__, str(self._folder)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
                start_new_session=True,  # a Ctrl-C is for the server
            )  # fmt: skip
            assert self.process.stdout is not None
            os.set_blocking(self.process.stdout.fileno(), False)
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")
        self._since = time.monotonic()
        return True

    def _give_up(self) -> None:
        process, self.process = self.process, None
        self._since, self._failed = None, time.monotonic()
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


def main(folder: Path) -> None:
    """Merge what is due for each line of the input. Errors are dropped: a later write finds it due again."""
    with Store(Repository.open(folder)) as store:
        while sys.stdin.buffer.readline():
            with suppress(StoreError, OSError):
                store.roll_up()
            sys.stdout.buffer.write(b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
