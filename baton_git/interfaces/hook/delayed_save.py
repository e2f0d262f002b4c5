"""Save the facts of an ended turn in a separate process, so that the agent does not wait for it.

The hook stores the data that only it receives, and starts `interfaces.hook.waiting_saver`, unless such a process is
already waiting for the session. The process inherits a lock from the hook and holds it while it waits. If the process
is killed, the turn is saved by the next hook of the session or the next start of another session.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton_git.agents.hook_events.fast_exit import may_save_later
from baton_git.agents.hook_events.hook_session import HookSessionStore, save_ended_turn
from baton_git.agents.hook_events.payloads import Payload
from baton_git.core.child_environment import without_secrets
from baton_git.interfaces.background.detached import start_detached

_SAVER = "baton_git.interfaces.hook.waiting_saver"


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
