"""Save the facts of an ended turn in a separate process, so that the agent does not wait for it.

The hook stores the data that only it receives, and starts this module as a process, unless one is already waiting
for the session. The process inherits a lock from the hook and holds it while it waits. If the process is killed, the
turn is saved by the next hook of the session or the next start of another session.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Mapping

from baton_git.agents.hook_events.fast_exit import may_save_later
from baton_git.agents.hook_events.hook_session import EndedTurn, HookSessionStore, find_unsaved_turn, save_ended_turn
from baton_git.agents.hook_events.payloads import Payload
from baton_git.agents.hook_events.repository_lookup import find_remaining_folder, find_repository
from baton_git.core.child_environment import without_secrets
from baton_git.interfaces.background.detached import leave_caller, start_detached

_SAVER = "baton_git.interfaces.hook.delayed_save"


def save_later(payload: Payload, common_dir: str, environment: Mapping[str, str]) -> bool:
    """Start a process that saves an ended turn; return False if the hook must save the turn itself."""
    memory = HookSessionStore(common_dir)
    if environment.get("BATON_REPO") or not may_save_later(payload, memory.get(payload.agent, payload.session)):
        return False
    return save_ended_turn(memory, payload) and start_saver(common_dir, payload.agent, payload.session, environment)


def start_saver(common_dir: str, agent: str, session: str, environment: Mapping[str, str]) -> bool:
    """Start the process, unless one is already waiting for the session; return False if it cannot be started."""
    path = HookSessionStore(common_dir).path(agent, session, ".waiting")
    environment = without_secrets(environment)
    return start_detached(path, _SAVER, [common_dir, agent, session], environment, mode=0o600)


# --- the process, `python -P -m baton_git.interfaces.hook.delayed_save LOCK COMMON_DIR AGENT SESSION`


DELAY = 1.5
"""Seconds to wait after a turn. Most sessions that end do so within this time; their last hook then saves the turn."""
MAX_SECONDS = 25
"""Seconds after which the process ends in any case."""


def main(lock: int, common_dir: str, agent: str, session: str) -> None:
    """Wait, and save the session's last turn if it is still unsaved; start another process for a newer turn."""
    leave_caller(lock)
    signal.alarm(MAX_SECONDS)
    memory = HookSessionStore(common_dir)
    time.sleep(DELAY)
    turn = _find_turn(memory, agent, session)
    if turn is not None:
        from baton_git.interfaces.hook.command import handle_in_time  # it imports this module

        folder = find_remaining_folder(turn.cwd, common_dir)  # the work tree is often removed right after the answer
        handle_in_time(turn.payload(agent, session), folder, find_repository(folder))
    os.close(lock)
    newer = _find_turn(memory, agent, session)
    if newer is not None and newer != turn:
        start_saver(common_dir, agent, session, os.environ)


def _find_turn(memory: HookSessionStore, agent: str, session: str) -> EndedTurn | None:
    stored = memory.get(agent, session)
    return find_unsaved_turn(memory, stored) if stored is not None else None


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:5])
