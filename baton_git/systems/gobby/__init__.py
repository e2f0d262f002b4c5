"""Gobby: the facts of a session, their injection into later sessions, workflows, and chains of sessions."""

from baton_git.core.records.lineage import Session
from baton_git.core.state import State
from baton_git.systems.seed_system import SeedSystem


def _has_todos(state: State) -> bool:
    """Return whether a session has a to-do list, perhaps without a handoff, such as one in a shell."""
    return any(session.has_todos for session in state.outlines(Session))


SYSTEM = SeedSystem("gobby", kinds=("handoff", "turns"), tells_more=_has_todos)
