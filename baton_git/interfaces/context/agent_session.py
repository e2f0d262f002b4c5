"""Find the session of the agent's CLI around us, as hooks know it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.agents.registry import AGENTS, session_variables


def find_hooked_session(common_dir: Path) -> str | None:
    """Find the session that started us, if hooks have seen it begin and not end.

    Its id is in our environment. Of a CLI that puts none there, as Gemini's for its shell, it is the last one that
    hooks saw of the process that started us.
    """
    memory = HookSessionStore(str(common_dir))
    named = ((cli, os.environ.get(variable)) for variable, cli in session_variables().items())
    known = [memory.get(cli, session) for cli, session in named if session]
    return next((seen.session for seen in known or _find_unnamed(memory) if seen and not seen.ended), None)


def _find_unnamed(memory: HookSessionStore) -> Iterator[HookSession]:
    """Yield the sessions of the processes that started us, the last seen first, where an agent's variable is set."""
    clis = [name for name, cli in AGENTS.items() if cli.acting.find_variable(os.environ)]
    if clis:
        from baton_git.interfaces.context.person import list_ancestor_ids  # few are started so

        processes = list_ancestor_ids()
        yield from (seen for seen in memory.all() if seen.cli in clis and seen.pid in processes)
