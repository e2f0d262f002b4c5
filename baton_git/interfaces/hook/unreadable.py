"""Tell the agent in one line that the state cannot be read, so that it does not take the silence for an empty state."""

from __future__ import annotations

from baton_git.agents.hook_events.payloads import PROMPT, START, Payload
from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError, BranchMoved, BrokenFormat, BrokenSettings, Corrupt, NewerLayout
from baton_git.core.output import one_line

REPAIR = "baton sync, or else baton doctor --fix"
MAX_CHARACTERS = 700


def can_tell(event: Payload) -> bool:
    """Return whether the reply to an event can carry a line that reaches the agent."""
    return event.kind == PROMPT or (event.kind == START and not AGENTS[event.agent].loses_start_context)


def describe_unreadable(error: Exception) -> str:
    """Return one line about the error that prevented reading the state, and what to do."""
    if isinstance(error, BranchMoved):  # its hint is for a person: how to accept the move
        unknown = "Until then, what earlier sessions recorded is unknown here, not empty."
        return one_line(f"baton: {one_line(str(error), 400)}. {unknown}", MAX_CHARACTERS)
    if isinstance(error, OSError):
        why = f"{error.filename or 'the system'}: {error.strerror or error}"
    else:
        why = str(error) or type(error).__name__
    is_damage = isinstance(error, Corrupt) and not isinstance(error, BrokenFormat | BrokenSettings | NewerLayout)
    hint = error.hint if isinstance(error, BatonError) and not is_damage else ""
    return one_line(
        f"baton: the state of this project cannot be read: {one_line(why, 240)}. What earlier sessions recorded is "
        f"unknown here, not empty. To repair it: {one_line(hint or REPAIR, 240)}",
        MAX_CHARACTERS,
    )


def describe_timeout(seconds: float) -> str:
    """Return the line for a hook that was stopped before it could read the state."""
    return (
        f"baton: the state of this project was not read within {seconds:g} s, so what earlier sessions recorded is "
        "unknown here, not empty. To read it, run: baton list"
    )
