"""A guard beside a session: when whoever looks after it is killed, the session ends, with all that it started.

The guard is a process in a session of its own, so that what kills a whole group or closes a terminal passes it by. It
holds the reading end of a pipe of which only the keeper has the other end, and reads to the end of it: the keeper ends
its guard when all went well, so that end comes only when the keeper is gone.
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
    """Gives what tells the guard the process id of the session; at the end of the block the guard goes.

    Args:
        is_group: whether the session leads a group of its own.

    Raises:
        OSError: the guard cannot be started; nothing runs without one.
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
        guard.kill()  # before the pipe closes, which would wake it
        guard.wait()
        pipe.close()


def main() -> None:
    """Waits until the keeper is gone, then ends the session that it told of."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    words = Path("/dev/stdin").read_bytes().split()
    if len(words) == 3 and _is_still(int(words[0]), float(words[1])):
        end(int(words[0]), GRACE, is_group=words[2] == b"1")


def _is_still(pid: int, began: float) -> bool:
    """Whether the number still means the session; when its first process is gone, its group may be there yet, and
    keeps the number from others."""
    try:
        return bool(abs(psutil.Process(pid).create_time() - began) < 1)
    except psutil.NoSuchProcess:
        return True
