"""Which of the sessions that hooks have seen are still running."""

from __future__ import annotations

import os

from baton_git.agents.hook_events.hook_session import GONE, HookSession, HookSessionStore
from baton_git.core.times import parse_time_or_none


def at_work(memory: HookSessionStore, beside: int = 0) -> set[str]:
    """The sessions that have not ended and whose process lives, but for those of the process `beside` itself."""
    return {
        session.session for session in memory.all() if not session.ended and session.pid != beside and lives(session)
    }


def gone(memory: HookSessionStore) -> set[str]:
    """Return the sessions that have not ended, or ended only because their process was gone."""
    return {seen.session for seen in memory.all() if seen.ended == GONE or (not seen.ended and not lives(seen))}


def lives(seen: HookSession) -> bool:
    """Whether the process of a session is there still. A number is given again, after a restart of the machine soon: a
    process that is younger than what the session did last is another one."""
    last = parse_time_or_none(seen.seen)
    if seen.pid <= 1 or last is None or not _is_number_taken(seen.pid):
        return False
    import psutil  # most sessions that did not end are gone

    try:
        process = psutil.Process(seen.pid)
        return bool(process.create_time() <= last.timestamp() + 1 and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:  # it is there, and says nothing
        return True


def _is_number_taken(pid: int) -> bool:
    """Return whether there may be a process of that number."""
    if os.name != "posix":  # elsewhere the question could end the process
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
