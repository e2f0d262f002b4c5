"""Terminate a process with all its descendants, also when the supervisor of their session is killed.

For that, a watchdog runs in a POSIX session of its own, so that it survives when the process group is killed or the
terminal is closed. It reads a pipe whose other end only the supervisor holds, until that end is closed. A supervisor
that finishes normally kills its watchdog before it closes the pipe, so the end of the input means that the supervisor
was killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""
_POLL_SECONDS = 0.05
_KILLED = 5.0
"""Maximum seconds to wait for killed processes, which disappear with a delay on a busy machine."""


def terminate(pid: int, grace: float = GRACE, *, is_group: bool = True) -> None:
    """Terminate a process with its group and its descendants; those that still run after `grace` seconds are killed.

    Returns when all of them are gone, or at the latest 5 seconds after the first SIGKILL.

    Args:
        is_group: whether the process leads a process group of its own.
    """
    members = _list_members(pid, is_group)
    if not members:
        return
    _send_signal(members, signal.SIGTERM)
    until = time.monotonic() + grace
    while (members := _filter_living(members) + _list_members(pid, is_group)) and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
    until = time.monotonic() + _KILLED
    while members and time.monotonic() < until:
        _send_signal(members, signal.SIGKILL)
        time.sleep(0.01)
        members = _filter_living(members) + _list_members(pid, is_group)


def _list_members(pid: int, is_group: bool) -> list[psutil.Process]:
    """Return the process, its descendants and the members of its group, as far as they are running.

    Descendants can be found only while their parents run.
    """
    members: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.Error):
        leader = psutil.Process(pid)
        members |= {process.pid: process for process in [leader, *leader.children(recursive=True)]}
    for member in psutil.pids() if is_group else ():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getpgid(member) == pid:
                members[member] = psutil.Process(member)
    return _filter_living(list(members.values()))


def _filter_living(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if is_alive(process)]


def is_alive(process: psutil.Process) -> bool:
    """Whether a process is running: it is no zombie, and its id does not belong to a later process."""
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _send_signal(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)


_PACKAGE = Path(__file__).parents[2]
_MODULE = "baton_git.agents.sessions.termination"
_MAIN = f"import sys; sys.path.insert(0, sys.argv[1]); from {_MODULE} import run_watchdog; run_watchdog()"


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


def run_watchdog() -> None:
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
