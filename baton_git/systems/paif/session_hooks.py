"""Restore an agent when a session begins and save its checkpoint when it ends, if PAIF's settings ask for this."""

from __future__ import annotations

from datetime import datetime

from baton_git.core.errors import BatonError
from baton_git.namespace.workspace import Workspace
from baton_git.systems import EndResult, StartResult
from baton_git.systems.paif.settings_file import read_settings


def start(ws: Workspace, now: datetime) -> StartResult:
    """Restore the agent at the start of a session, if the settings ask for it. Errors are reported in the result."""
    try:
        config = read_settings(ws.folder)
    except BatonError as error:
        return StartResult(problems=(_describe_ignored(error),))
    if config is None:
        return StartResult()
    from baton_git.systems.paif.checkpoints import choose_agent, restore_at_start  # few work trees have settings

    named = ws.actor.named_agent
    return StartResult(choose_agent(ws, config, named), restore_at_start(ws, now, config, named=named))


def end(ws: Workspace, now: datetime, *, summary: str | None, context: str | None) -> EndResult:
    """Save a checkpoint at the end of a session, if the settings ask for one.

    Errors are reported in the result and not raised, because the session has already ended.
    """
    try:
        config = read_settings(ws.folder)
    except BatonError as error:
        return EndResult(news=(_describe_ignored(error),))
    if config is None or not config.checkpoint_on_exit:
        return EndResult()
    from baton_git.systems.paif.checkpoints import save_final_checkpoint  # few work trees have settings

    try:
        saved = save_final_checkpoint(ws, now, config, summary=summary, context=context, named=ws.actor.named_agent)
    except (BatonError, OSError) as error:
        return EndResult(news=(f"no checkpoint was made: {error}",))
    if saved is None or saved.id is None:
        return EndResult()
    return EndResult(saved.id, (f"checkpoint {saved.id}",))


def _describe_ignored(error: BatonError) -> str:
    return f"{error}; it is ignored"
