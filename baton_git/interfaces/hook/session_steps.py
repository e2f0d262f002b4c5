"""Begin and end a session, with PAIF's checkpoints where the work tree has PAIF's settings.

Few work trees have them, so PAIF's modules are loaded only for those that do.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from baton_git.core.output import one_line
from baton_git.interfaces.hook.inputs import HookInputs
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.session_start import BegunSession, StartOptions, begin_session

CHECK_SECONDS = 2.0
SYNC_SECONDS = 2.0
"""Limits for checks and a remote at a start: a person waits for it."""

Attempt = Callable[[Callable[[], Any]], Any]
"""Returns what a function returns, or None after noting its error."""


def start_session(
    ws: Workspace, now: datetime, settings: HookInputs, parent: str | None, attempt: Attempt
) -> BegunSession:
    """Begin the session, and restore the checkpoint of PAIF's agent."""
    paif = settings.paif
    options = StartOptions(check_seconds=CHECK_SECONDS, sync_seconds=SYNC_SECONDS, parent=parent, handoff=False)
    if paif is not None:
        from baton_git.systems.paif.checkpoints import agent_at_work, restore_at_start

        restored = attempt(lambda: restore_at_start(ws, now, paif)) or ()
        options = options._replace(agent=agent_at_work(ws, paif), restored=restored)
    return begin_session(ws, now, options)


def save_periodic_checkpoint(ws: Workspace, now: datetime, settings: HookInputs, response: str) -> None:
    """Save a checkpoint with the agent's last answer, if PAIF's settings name an agent and it is due."""
    paif = settings.paif
    if paif is None or paif.agent_id is None:
        return
    from baton_git.systems.paif.checkpoints import save_checkpoint

    body = {"conversation_summary": one_line(response, 1000) or "at work"}
    save_checkpoint(ws, now, paif.agent_id, body, interval_minutes=paif.interval_minutes)


def save_last_checkpoint(ws: Workspace, now: datetime, settings: HookInputs) -> None:
    """Save the checkpoint of a session's end."""
    if settings.paif is not None:
        from baton_git.systems.paif.checkpoints import checkpoint_at_end

        checkpoint_at_end(ws, now, settings.paif)
