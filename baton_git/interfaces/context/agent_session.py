"""Find the session of the agent CLI that runs this process, from the data that baton's hooks stored."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.agents.registry import AGENTS, session_variables


def find_hooked_session(common_dir: Path) -> str | None:
    """Return the session in which an agent CLI runs this process; None if hooks have not seen it start, or saw it end.

    Most CLIs set the session's id in the environment. For one that does not (Gemini CLI in its shell), this is the
    session that hooks saw last among those whose process is an ancestor of this one.
    """
    memory = HookSessionStore(str(common_dir))
    named = ((cli, os.environ.get(variable)) for variable, cli in session_variables().items())
    known = [memory.get(cli, session) for cli, session in named if session]
    sessions = known or _find_unnamed(memory)
    return next((session.session for session in sessions if session and not session.ended), None)


def _find_unnamed(memory: HookSessionStore) -> Iterator[HookSession]:
    """Yield the sessions of ancestor processes, last seen first, if an agent CLI's variable is set."""
    clis = [name for name, cli in AGENTS.items() if cli.markers.find_variable(os.environ)]
    if clis:
        from baton_git.interfaces.context.person import list_ancestor_ids  # slow to import, and rarely needed

        processes = list_ancestor_ids()
        yield from (session for session in memory.all() if session.cli in clis and session.pid in processes)
