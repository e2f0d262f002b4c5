"""The process that saves the facts of a turn shortly after it ended.

Started by `interfaces.hook.delayed_save`, never by hand:
`python -P -m baton_git.interfaces.hook.waiting_saver LOCK COMMON_DIR AGENT SESSION`.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from baton_git.agents.hook_events.hook_session import EndedTurn, HookSessionStore, find_unsaved_turn
from baton_git.agents.hook_events.repository_lookup import find_remaining_folder, find_repository
from baton_git.interfaces.background.detached import leave_caller
from baton_git.interfaces.hook.command import handle_in_time
from baton_git.interfaces.hook.delayed_save import start_saver

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
