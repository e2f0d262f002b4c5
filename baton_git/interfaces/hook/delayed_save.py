"""Leave the save of a turn that ended to a process of its own, so that the agent does not wait for it.

The hook stores what only it was told, and starts `interfaces.hook.waiting_saver`, unless one is waiting for the
session: that process inherits the lock that says so. If it is killed, the next hook of the session saves the turn, or
the next start of another session.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from baton_git.agents.hook_events.ended_turns import save_ended_turn
from baton_git.agents.hook_events.fast_exit import may_save_later
from baton_git.agents.hook_events.hook_session import HookSessionStore
from baton_git.agents.hook_events.payloads import Payload
from baton_git.core.child_environment import without_secrets

_LOCK = 10
"""The least number that the lock has in the process; 0 to 2 are the null device there."""


def save_later(payload: Payload, common_dir: str, environment: Mapping[str, str]) -> bool:
    """Leave the save of a turn that ended to a process of its own; False if it cannot be left to one."""
    memory = HookSessionStore(common_dir)
    if environment.get("BATON_REPO") or not may_save_later(payload, memory.get(payload.agent, payload.session)):
        return False
    return save_ended_turn(memory, payload) and start_saver(common_dir, payload.agent, payload.session, environment)


def start_saver(common_dir: str, agent: str, session: str, environment: Mapping[str, str]) -> bool:
    """Start the process unless one waits for the session; False if it cannot be started."""
    path = HookSessionStore(common_dir).path(agent, session, ".waiting")
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        return not _take(lock) or _spawn([common_dir, agent, session], lock, environment)
    except (ImportError, NotImplementedError, OSError):  # no such locks here, or no room for another process
        return False
    finally:
        os.close(lock)


def _take(lock: int) -> bool:
    """Return whether nobody had the lock, which we have now."""
    import fcntl  # not every system has it

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _spawn(arguments: list[str], lock: int, environment: Mapping[str, str]) -> bool:
    """Start the process apart from the group of the hook, which the agent may end."""
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    number = max(lock + 1, _LOCK)
    copy = (os.POSIX_SPAWN_DUP2, lock, number)  # unlike the lock itself it is inherited
    argv = [sys.executable, "-P", "-m", "baton_git.interfaces.hook.waiting_saver", str(number), *arguments]
    os.posix_spawn(sys.executable, argv, without_secrets(environment), file_actions=[copy, *null], setsid=True)
    return True
