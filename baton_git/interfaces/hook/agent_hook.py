"""Handle one hook event with the settings of this machine; `baton hook` calls this only if there is something to do."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from baton_git.agents.hook_events.hook_session import HookSessionStore
from baton_git.agents.hook_events.payloads import END, PROMPT, START, Payload
from baton_git.agents.hook_events.repository_lookup import PARENT
from baton_git.agents.registry import AGENTS
from baton_git.agents.settings.mcp_server import has_server
from baton_git.core.errors import BatonError
from baton_git.core.redaction import redact_text
from baton_git.interfaces.context.client_cache import with_client_cache
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.process import hide_tokens
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.interfaces.context.system_settings import paif_config, read_call_options
from baton_git.interfaces.hook.event_runner import HookReply
from baton_git.interfaces.hook.handler import handle_event
from baton_git.interfaces.hook.session_facts import HookInputs
from baton_git.interfaces.hook.session_steps import meet_at_first_start

if TYPE_CHECKING:
    from baton_git.systems.gobby.workflow.files import WorkflowFolders


def handle(payload: Payload) -> HookReply:
    """Handle one event. Invalid settings do not stop the hook; they are reported as problems."""
    hide_tokens()
    app = Call(Settings(CommonOptions(), is_lenient=True))
    memory = HookSessionStore(str(app.settings.repository.common_dir))
    known = None if os.path.isdir(payload.cwd) else memory.get(payload.agent, payload.session)
    if known is not None and known.namespace:  # the settings of the removed work tree are gone with it
        app = Call(Settings(CommonOptions(namespace=known.namespace), is_lenient=True))
    settings = app.settings
    inputs = HookInputs(
        memory,
        read_call_options(app),
        lambda: _find_workflow_folders(app),
        Path.home(),
        settings.environment,
        _pid_of(payload),
        paif_config(app),
        settings.recalls_at_prompt,
    )
    with app.workspace() as ws:
        first = meet_at_first_start(ws, settings.now(), payload)
        if first.is_over:
            return HookReply(first.line)
        if first.meeting is not None:
            ws, inputs = first.meeting.ws, inputs._replace(meeting=first.meeting)
            app = app.on(ws.branch.namespace)
        ws = replace(ws, calls_tools=payload.kind in (START, PROMPT) and _has_server(app, payload.agent))
        if payload.kind == START:
            ws = with_client_cache(ws)
        hook_reply = handle_event(ws, settings.now(), payload, inputs)
    problems = (*hook_reply.problems, *settings.problems, *_record_session(app, payload))
    return hook_reply._replace(problems=tuple(redact_text(problem)[0] for problem in problems))


def _find_workflow_folders(app: Call) -> WorkflowFolders:
    from baton_git.interfaces.context.system_settings import workflow_folders  # most turns have no workflows

    return workflow_folders(app)


def _has_server(app: Call, agent: str) -> bool:
    """Return whether the user's settings of the agent, or those of the work tree, have baton's MCP server."""
    top = None if app.settings.is_own_store else app.settings.repository.work_tree
    return has_server(agent, Path.home(), top, os.environ)


def _pid_of(payload: Payload) -> int:
    """Return the process id of the agent: the one it reports, else that of the process that started the hook."""
    parent = os.environ.pop(PARENT, "")  # must not be inherited by sessions that we start
    reported = os.environ.get(AGENTS[payload.agent].process_variable, "")
    return next((int(pid) for pid in (reported, parent) if pid.isdecimal()), os.getppid())


def _record_session(app: Call, payload: Payload) -> tuple[str, ...]:
    """Make the session the current one of this work tree, for later commands, or remove it at its end.

    Errors are returned instead of raised, so that the reply is not lost.
    """
    try:
        _update_current_session(app, payload)
    except (BatonError, OSError) as error:
        return (str(error),)
    return ()


def _update_current_session(app: Call, payload: Payload) -> None:
    current = app.current
    if payload.kind == START:
        if current.get() != payload.session and not _is_hooked(app, current.get()):
            current.pause()
        current.set(payload.session)
        _export_session(payload)
    elif payload.kind == END and current.get() == payload.session:
        current.set(None)


def _is_hooked(app: Call, session: str | None) -> bool:
    """Return whether an agent's hooks have seen the session, so that it is not one of a shell."""
    memory = HookSessionStore(str(app.settings.repository.common_dir))
    return session is None or any(known.session == session for known in memory.all())


def _export_session(payload: Payload) -> None:
    """Write BATON_SESSION to the file from which the agent's shell reads its environment, if there is one."""
    file = os.environ.get(AGENTS[payload.agent].env_file_variable)
    if not file:
        return
    try:
        with Path(file).open("a", encoding="utf-8") as env:
            env.write(f"export BATON_SESSION={shlex.quote(payload.session)}\n")
    except OSError:
        return
