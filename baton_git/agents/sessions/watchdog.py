"""A watchdog that ends a session with all its descendants when the session's supervisor is killed.

The watchdog runs in a POSIX session of its own, so that it survives when the process group is killed or the terminal is
closed. It reads a pipe whose other end only the supervisor holds, until that end is closed. A supervisor that finishes
normally kills its watchdog before it closes the pipe, so the end of the input means that the supervisor was killed.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from baton_git.agents.sessions.termination import GRACE, terminate

_PACKAGE = Path(__file__).parents[2]
_MAIN = "import sys; sys.path.insert(0, sys.argv[1]); from baton_git.agents.sessions.watchdog import main; main()"


@contextlib.contextmanager
def start_watchdog(*, is_group: bool) -> Iterator[Callable[[int], None]]:
    """Start a watchdog for the duration of the block; yield a function that sends it the session's process id.

    Args:
        is_group: whether the session leads a process group of its own.

    Raises:
        OSError: the watchdog cannot be started; no session runs without one.
    """
    watchdog = subprocess.Popen(  # noqa: S603  our own module
        [sys.executable, "-P", "-c", _MAIN, str(_PACKAGE.parent)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        cwd="/", bufsize=0,
    )  # fmt: skip
    pipe = watchdog.stdin
    assert pipe is not None

    def report_pid(pid: int) -> None:
        with contextlib.suppress(psutil.Error, BrokenPipeError):
            pipe.write(f"{pid} {psutil.Process(pid).create_time()} {int(is_group)}".encode())

    try:
        yield report_pid
    finally:
        watchdog.kill()  # before the pipe is closed, which would make the watchdog terminate the session
        watchdog.wait()
        pipe.close()


def main() -> None:
    """Wait until the supervisor is gone, then end its session."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    words = Path("/dev/stdin").read_bytes().split()
    if len(words) == 3 and _is_same_process(int(words[0]), float(words[1])):
        terminate(int(words[0]), GRACE, is_group=words[2] == b"1")


def _is_same_process(pid: int, began: float) -> bool:
    """Whether a process id has not been reused: its process started at the same time, or is gone.

    The session's first process may be gone while others of its group still run.
    """
    try:
        return bool(abs(psutil.Process(pid).create_time() - began) < 1)
    except psutil.NoSuchProcess:
        return True
