"""Which of the sessions that hooks have seen are still running."""

from __future__ import annotations

import psutil

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.core.times import parse_time_or_none


def at_work(memory: HookSessionStore, beside: int = 0) -> set[str]:
    """The sessions that have not ended and whose process lives, but for those of the process `beside` itself."""
    return {
        session.session for session in memory.all() if not session.ended and session.pid != beside and lives(session)
    }


def lives(seen: HookSession) -> bool:
    """Whether the process of a session is there still. A number is given again, after a restart of the machine soon: a
    process that is younger than what the session did last is another one."""
    last = parse_time_or_none(seen.seen)
    if seen.pid <= 1 or last is None:
        return False
    try:
        return bool(psutil.Process(seen.pid).create_time() <= last.timestamp() + 1)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:  # it is there, and says nothing
        return True
