"""Call the functions that PAIF and other systems run at the start and at the end of a session."""

from __future__ import annotations

import importlib
from datetime import datetime
from typing import Any, NamedTuple

from baton_git.namespace.workspace import Workspace
from baton_git.systems import SYSTEMS


class StartResult(NamedTuple):
    """The result of a system's `start` function, for the brief of the session.

    Attributes:
        agent: the agent whose last checkpoint the brief shows; None means the acting agent.
        restored: lines about this agent's state, from its checkpoint, and about errors while it was restored.
        problems: why settings of the system could not be used.
    """

    agent: str | None = None
    restored: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


class EndResult(NamedTuple):
    """The result of a system's `end` function.

    Attributes:
        checkpoint: the id of the checkpoint that was saved; None if none was saved.
        news: messages for the user.
    """

    checkpoint: str | None = None
    news: tuple[str, ...] = ()


def run_start_hooks(ws: Workspace, now: datetime) -> StartResult:
    """Call the `start` function of each system for the session of `ws`, and combine the results.

    The functions do not raise for expected errors; they report them in `restored` or `problems`.
    """
    results = [module.start(ws, now) for module in _import_hook_modules()]
    return StartResult(
        next((result.agent for result in results if result.agent is not None), None),
        tuple(line for result in results for line in result.restored),
        tuple(line for result in results for line in result.problems),
    )


def run_end_hooks(ws: Workspace, now: datetime, *, summary: str | None, context: str | None) -> EndResult:
    """Call the `end` function of each system for the session of `ws`, and combine the results.

    The functions do not raise for expected errors; they report them in `news`.
    """
    results = [module.end(ws, now, summary=summary, context=context) for module in _import_hook_modules()]
    checkpoint = next((result.checkpoint for result in results if result.checkpoint is not None), None)
    return EndResult(checkpoint, tuple(line for result in results for line in result.news))


def _import_hook_modules() -> list[Any]:
    names = (system.name for system in SYSTEMS if system.has_session_hooks)
    return [importlib.import_module(f"baton_git.systems.{name}.session_hooks") for name in names]
