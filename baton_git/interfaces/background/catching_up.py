"""Catch up with killed sessions outside of a hook: at `baton boot`, and as the background task `catch_up`.

The task reads the transcripts that are too long for the start of a session.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.agents.hook_events.payloads import Payload
from baton_git.core.redaction import redact_text
from baton_git.namespace.workspace import Workspace


def with_catch_up(ws: Workspace) -> Workspace:
    """Return the workspace in which `boot` saves the facts of sessions that were killed on this machine."""
    return replace(ws, catch_up=_catch_up_at_boot)


def catch_up_in_work_trees(ws: Workspace, now: datetime) -> None:
    """Catch up in each work tree that has unended sessions."""
    for git_dir, work_tree in {session.git_dir: session.work_tree for session in _list_unended(ws)}.items():
        folder = Path(work_tree) if work_tree and os.path.isdir(work_tree) else None
        _catch_up(replace(ws, folder=folder), now, git_dir, None)


def _catch_up_at_boot(ws: Workspace, now: datetime) -> list[str]:
    if not ws.branch.has_begun or not _list_unended(ws):
        return []
    from baton_git.interfaces.hook.catch_up import MAX_UNREAD  # reads transcripts, which most starts need not

    return _catch_up(ws, now, str(ws.branch.store.repository.git_dir), MAX_UNREAD)


def _list_unended(ws: Workspace) -> list[HookSession]:
    memory = HookSessionStore(str(ws.branch.store.repository.common_dir))
    return [session for session in memory.all() if not session.ended and session.session != ws.actor.session]


def _catch_up(ws: Workspace, now: datetime, git_dir: str, max_unread: int | None) -> list[str]:
    """Catch up with the sessions of one work tree, with its settings; problems go to the log of the hooks."""
    from baton_git.interfaces.context.invocation import Call
    from baton_git.interfaces.context.settings import CommonOptions, Settings
    from baton_git.interfaces.context.system_settings import read_call_options, workflow_folders
    from baton_git.interfaces.hook.catch_up import TASK, catch_up
    from baton_git.interfaces.hook.command import LOG, log_problems
    from baton_git.interfaces.hook.session_facts import HookInputs

    common_dir = str(ws.branch.store.repository.common_dir)
    named = CommonOptions(str(ws.folder or common_dir), str(ws.branch.namespace))
    call = Call(Settings(named, is_lenient=True))
    options = read_call_options(call)
    if not options.enabled:
        return []
    memory = HookSessionStore(common_dir)
    inputs = HookInputs(memory, options, lambda: workflow_folders(call), Path.home(), ws.environment)
    problems: list[str] = []
    own = call.settings.hooked_session or ws.session  # the agent that runs this process is at work
    late = catch_up(ws, now, inputs, HookSession("", own, git_dir), problems, max_unread)
    redacted = [redact_text(problem)[0] for problem in problems]
    log_problems(os.path.join(common_dir, "baton", LOG), Payload("baton", TASK, "", ws.session), redacted)  # noqa: PTH118
    return late
