"""What the seed systems do at the start and at the end of every session, whichever interface begins and ends it."""

from __future__ import annotations

import importlib
from datetime import datetime
from typing import Any, NamedTuple

from baton_git.namespace.workspace import Workspace
from baton_git.systems import SYSTEMS


class StartResult(NamedTuple):
    """What a system adds to the start of a session.

    Attributes:
        agent: whose last checkpoint the brief shows; None: that of the acting agent.
        restored: what that agent gets back from it.
        problems: what is wrong with the system's settings.
    """

    agent: str | None = None
    restored: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class EndResult(NamedTuple):
    """What a system did at the end of a session.

    Attributes:
        checkpoint: the id of the checkpoint that it saved.
        news: what it has to say.
    """

    checkpoint: str | None = None
    news: tuple[str, ...] = ()


def run_start_hooks(ws: Workspace, now: datetime) -> StartResult:
    """Run what systems do when the session of `ws` begins. They never fail: what is wrong is among the problems."""
    results = [module.start(ws, now) for module in _modules()]
    return StartResult(
        next((result.agent for result in results if result.agent is not None), None),
        tuple(line for result in results for line in result.restored),
        tuple(line for result in results for line in result.problems),
    )


def run_end_hooks(ws: Workspace, now: datetime, *, summary: str | None, context: str | None) -> EndResult:
    """Run what systems do when the session of `ws` has ended. They never fail: what is wrong is among the news."""
    results = [module.end(ws, now, summary=summary, context=context) for module in _modules()]
    checkpoint = next((result.checkpoint for result in results if result.checkpoint is not None), None)
    return EndResult(checkpoint, tuple(line for result in results for line in result.news))


def _modules() -> list[Any]:
    names = (system.name for system in SYSTEMS if system.has_session_hooks)
    return [importlib.import_module(f"baton_git.systems.{name}.session_hooks") for name in names]
