"""Do what PAIF's settings ask for at the start and at the end of a session, in every interface."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baton_git.core.errors import BatonError
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.paif import paif_config
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sessions import fresh_session


def restore_agent(call: Call, ws: Workspace) -> tuple[Workspace, dict[str, Any]]:
    """Restore PAIF's agent if the settings ask for it; returns the session that begins, and arguments for `boot`."""
    config = paif_config(call)
    if config is None:
        return ws, {}
    from baton_git.systems.paif.checkpoints import agent_at_work, restore_at_start  # few have such settings

    ws = replace(ws, actor=replace(ws.actor, session=ws.actor.session or fresh_session(call.now).text))
    asked = _asked_agent(call)
    lines = restore_at_start(ws, call.now, config, asked=asked)
    return ws, {"persona": agent_at_work(ws, config, asked), "restored": lines}


def checkpoint_session(call: Call, ws: Workspace, summary: str | None, context: str | None) -> tuple[str, ...]:
    """Save the checkpoint that PAIF's settings want at the end; returns its id and messages, or nothing.

    An error becomes a message, since the session has ended.
    """
    config = paif_config(call)
    if config is None or not config.checkpoint_on_exit:
        return ("", *(call.settings.problems or ())) if call.settings.problems else ()
    from baton_git.systems.paif.checkpoints import checkpoint_at_end  # few have such settings

    try:
        saved = checkpoint_at_end(ws, call.now, config, summary=summary, context=context, asked=_asked_agent(call))
    except (BatonError, OSError) as error:
        return "", f"no checkpoint was made: {error}"
    return () if saved is None or saved.id is None else (saved.id, f"checkpoint {saved.id}")


def _asked_agent(call: Call) -> str | None:
    """Return the agent that the command names; one that only a variable names counts less than the settings."""
    return call.settings.agent if call.settings.asked.agent else None
