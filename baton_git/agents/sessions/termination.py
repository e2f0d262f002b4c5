"""Terminate a process with all its descendants."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import psutil

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL."""
_POLL = 0.05
_KILLED = 5.0
"""Seconds to wait for killed processes, which take a while to disappear on a busy machine."""


def end(pid: int, grace: float = GRACE, *, is_group: bool = True) -> None:
    """Terminate a process with its group and descendants; whatever is left after `grace` seconds is killed.

    When the function returns, they are gone.
    """
    members = _members(pid, is_group)
    if not members:
        return
    _signal(members, signal.SIGTERM)
    until = time.monotonic() + grace
    while (members := _living(members) + _members(pid, is_group)) and time.monotonic() < until:
        time.sleep(_POLL)
    until = time.monotonic() + _KILLED
    while members and time.monotonic() < until:
        _signal(members, signal.SIGKILL)
        time.sleep(0.01)
        members = _living(members) + _members(pid, is_group)


def _members(pid: int, is_group: bool) -> list[psutil.Process]:
    """Return the living members of the group and their descendants, found while their parents live."""
    members: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.Error):
        leader = psutil.Process(pid)
        members |= {process.pid: process for process in [leader, *leader.children(recursive=True)]}
    for member in psutil.pids() if is_group else ():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getpgid(member) == pid:
                members[member] = psutil.Process(member)
    return _living(list(members.values()))


def _living(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if is_alive(process)]


def is_alive(process: psutil.Process) -> bool:
    """Whether a process is running, and its id has not been reused."""
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _signal(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.send_signal(number)
