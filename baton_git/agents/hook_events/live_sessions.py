"""Determine which of the sessions that hooks remember are still running."""

from __future__ import annotations

import os

from baton_git.agents.hook_events.hook_session import GONE, HookSession, HookSessionStore
from baton_git.core.times import parse_time_or_none


def list_running(memory: HookSessionStore, without_pid: int = 0) -> set[str]:
    """Return the ids of the sessions that have not ended and whose process is running.

    Args:
        without_pid: the id of a process whose sessions are left out; 0: none is left out.
    """
    others = (session for session in memory.all() if not session.ended and session.pid != without_pid)
    return {session.session for session in others if is_running(session)}


def list_gone(memory: HookSessionStore) -> set[str]:
    """Return the ids of the sessions whose process disappeared without a hook event for their end."""
    return {
        session.session
        for session in memory.all()
        if session.ended == GONE or (not session.ended and not is_running(session))
    }


def is_running(session: HookSession) -> bool:
    """Whether the process of a session is still running.

    Process ids are reused, so a process that started after the session's last event is a different one.
    """
    last = parse_time_or_none(session.last_seen)
    if session.pid <= 1 or last is None or not _is_number_taken(session.pid):
        return False
    import psutil  # rarely needed: most sessions without an end have no process any more

    try:
        process = psutil.Process(session.pid)
        return bool(process.create_time() <= last.timestamp() + 1 and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:  # it exists, but we may not inspect it
        return True


def _is_number_taken(pid: int) -> bool:
    """Whether a process with this id may exist."""
    if os.name != "posix":  # elsewhere os.kill would end the process
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
