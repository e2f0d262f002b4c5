"""Run the seed systems' functions for the start and end of a session, for all interfaces."""

from __future__ import annotations

import importlib
from datetime import datetime
from typing import Any, NamedTuple

from baton_git.namespace.workspace import Workspace
from baton_git.systems import SYSTEMS


class StartResult(NamedTuple):
    """What a system adds to the start of a session.

    Attributes:
        agent: the agent whose last checkpoint the brief shows; None means the acting agent.
        restored: the text that restores this agent from its checkpoint.
        problems: invalid settings of the system.
    """

    agent: str | None = None
    restored: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class EndResult(NamedTuple):
    """What a system did at the end of a session.

    Attributes:
        checkpoint: the id of the saved checkpoint.
        news: messages for the user.
    """

    checkpoint: str | None = None
    news: tuple[str, ...] = ()


def run_start_hooks(ws: Workspace, now: datetime) -> StartResult:
    """Run the systems' start functions for the session of `ws`. They never raise: errors are returned as problems."""
    results = [module.start(ws, now) for module in _modules()]
    return StartResult(
        next((result.agent for result in results if result.agent is not None), None),
        tuple(line for result in results for line in result.restored),
        tuple(line for result in results for line in result.problems),
    )


def run_end_hooks(ws: Workspace, now: datetime, *, summary: str | None, context: str | None) -> EndResult:
    """Run the systems' end functions for the session of `ws`. They never raise: errors are returned as news."""
    results = [module.end(ws, now, summary=summary, context=context) for module in _modules()]
    checkpoint = next((result.checkpoint for result in results if result.checkpoint is not None), None)
    return EndResult(checkpoint, tuple(line for result in results for line in result.news))


def _modules() -> list[Any]:
    names = (system.name for system in SYSTEMS if system.has_session_hooks)
    return [importlib.import_module(f"baton_git.systems.{name}.session_hooks") for name in names]
