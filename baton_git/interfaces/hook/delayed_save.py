"""Save the facts of an ended turn in a separate process, so that the agent does not wait for it.

The hook stores the data that only it receives, and starts `interfaces.hook.waiting_saver`, unless such a process is
already waiting for the session. The process inherits a lock from the hook and holds it while it waits. If the process
is killed, the turn is saved by the next hook of the session or the next start of another session.
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
"""Lowest number for the lock's file descriptor in the started process, in which 0 to 2 are the null device."""


def save_later(payload: Payload, common_dir: str, environment: Mapping[str, str]) -> bool:
    """Start a process that saves an ended turn; return False if the hook must save the turn itself."""
    memory = HookSessionStore(common_dir)
    if environment.get("BATON_REPO") or not may_save_later(payload, memory.get(payload.agent, payload.session)):
        return False
    return save_ended_turn(memory, payload) and start_saver(common_dir, payload.agent, payload.session, environment)


def start_saver(common_dir: str, agent: str, session: str, environment: Mapping[str, str]) -> bool:
    """Start the process, unless one is already waiting for the session; return False if it cannot be started."""
    path = HookSessionStore(common_dir).path(agent, session, ".waiting")
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return False
    try:
        return not _take(lock) or _spawn([common_dir, agent, session], lock, environment)
    except (ImportError, NotImplementedError, OSError):  # neither flock nor posix_spawn, or too many processes
        return False
    finally:
        os.close(lock)


def _take(lock: int) -> bool:
    """Acquire the lock; return False if another process holds it."""
    import fcntl  # not every system has it

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _spawn(arguments: list[str], lock: int, environment: Mapping[str, str]) -> bool:
    """Start the process outside of the hook's process group, which the agent may kill."""
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    number = max(lock + 1, _LOCK)
    copy = (os.POSIX_SPAWN_DUP2, lock, number)  # the copy is inherited, the original is not
    argv = [sys.executable, "-P", "-m", "baton_git.interfaces.hook.waiting_saver", str(number), *arguments]
    os.posix_spawn(sys.executable, argv, without_secrets(environment), file_actions=[copy, *null], setsid=True)
    return True
