"""A watchdog that ends a session with all its descendants when the session's supervisor is killed.

The watchdog runs in a session of its own, so that killing the process group or closing the terminal does not end it. It
waits for the end of a pipe whose other end only the supervisor holds. A supervisor that finishes normally kills its
watchdog first, so the pipe's end means that the supervisor is gone.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from baton_git.agents.sessions.termination import GRACE, end

_PACKAGE = Path(__file__).parents[2]
_MAIN = "import sys; sys.path.insert(0, sys.argv[1]); from baton_git.agents.sessions.watchdog import main; main()"


@contextlib.contextmanager
def start_watchdog(*, is_group: bool) -> Iterator[Callable[[int], None]]:
    """Start a watchdog for the duration of the block; yield a function that tells it the session's process id.

    Args:
        is_group: whether the session leads a process group of its own.

    Raises:
        OSError: the watchdog cannot be started; no session runs without one.
    """
    guard = subprocess.Popen(  # noqa: S603  our own module
        [sys.executable, "-P", "-c", _MAIN, str(_PACKAGE.parent)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        cwd="/", bufsize=0,
    )  # fmt: skip
    pipe = guard.stdin
    assert pipe is not None

    def tell(pid: int) -> None:
        with contextlib.suppress(psutil.Error, BrokenPipeError):
            pipe.write(f"{pid} {psutil.Process(pid).create_time()} {int(is_group)}".encode())

    try:
        yield tell
    finally:
        guard.kill()  # before the pipe is closed, which would make it act
        guard.wait()
        pipe.close()


def main() -> None:
    """Wait until the supervisor is gone, then end its session."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    words = Path("/dev/stdin").read_bytes().split()
    if len(words) == 3 and _is_still(int(words[0]), float(words[1])):
        end(int(words[0]), GRACE, is_group=words[2] == b"1")


def _is_still(pid: int, began: float) -> bool:
    """Whether the process id still belongs to the session.

    If its first process is gone, its group may still exist, and then the id cannot have been reused.
    """
    try:
        return bool(abs(psutil.Process(pid).create_time() - began) < 1)
    except psutil.NoSuchProcess:
        return True
