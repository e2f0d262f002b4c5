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
        time.sleep(_POLL)
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
