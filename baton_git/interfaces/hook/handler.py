"""Handle one hook event with the settings of this machine; `baton hook` calls this only if there is something to do."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore, find_unsaved_turn
from baton_git.agents.hook_events.payloads import END, PROMPT, START, Payload
from baton_git.agents.hook_events.planner import is_repeated
from baton_git.agents.hook_events.repository_lookup import PARENT, is_in_repository
from baton_git.agents.registry import AGENTS, SPAWNED
from baton_git.agents.settings.mcp_server import has_server
from baton_git.core.errors import BatonError, BranchMoved, NotFound, StoreError
from baton_git.core.redaction import redact_text
from baton_git.interfaces.context.client_cache import with_client_cache
from baton_git.interfaces.context.invocation import Call
from baton_git.interfaces.context.process import hide_tokens
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.interfaces.context.system_settings import paif_config, read_call_options
from baton_git.interfaces.hook.event_runner import EventRunner, HookReply, idle_seconds
from baton_git.interfaces.hook.session_facts import HookInputs, lock_session
from baton_git.interfaces.hook.session_steps import meet_at_first_start
from baton_git.interfaces.hook.unreadable import can_tell, describe_unreadable
from baton_git.namespace.workspace import Workspace

if TYPE_CHECKING:
    from baton_git.systems.gobby.workflow.files import WorkflowFolders

# --- each event is handled once, and the events of one session one after the other

LOCK_SECONDS = 5.0
"""Seconds to wait for another hook of the same session. After them, only session starts and prompts are handled."""


def handle_event(ws: Workspace, now: datetime, event: Payload, settings: HookInputs) -> HookReply:
    """Handle an event and store the state of its session; errors of single steps become problems of the reply.

    Raises:
        BatonError: the event could not be handled at all.
    """
    ws = replace(ws, actor=replace(ws.actor, session=event.session, agent=ws.actor.agent or event.agent))
    if not ws.branch.has_begun and settings.meeting is None:
        return HookReply()
    if event.kind == END and settings.memory.get(event.agent, event.session) is None and not _has_transcript(event):
        return _end_sessions_of_process(ws, now, event, settings)
    return _handle_alone(ws, now, event, settings)


def _has_transcript(event: Payload) -> bool:
    return bool(event.transcript) and os.path.lexists(event.transcript)


def _end_sessions_of_process(ws: Workspace, now: datetime, event: Payload, settings: HookInputs) -> HookReply:
    """End the sessions of the process that reports the end of a session that no hook has seen.

    Gemini CLI, driven by an editor, reports no starts, and at its end the id of a session that had no prompt.
    """
    common_dir, problems = str(ws.branch.store.repository.common_dir), list[str]()
    for session in list(settings.memory.all()):
        is_of_process = session.cli == event.agent and session.pid == settings.pid and not session.ended
        if is_of_process and is_in_repository(session.cwd, common_dir):
            own = event._replace(session=session.session, transcript="", cwd=session.cwd)
            acting = replace(ws, actor=replace(ws.actor, session=session.session))
            problems += _handle_alone(acting, now, own, settings).problems
    return HookReply(problems=tuple(problems))


def _handle_alone(ws: Workspace, now: datetime, event: Payload, settings: HookInputs) -> HookReply:
    with lock_session(settings.memory, event.agent, event.session, LOCK_SECONDS) as is_alone:
        if is_alone is False and event.kind not in (START, PROMPT):
            return HookReply(problems=("another hook of this session is still running; the next one saves the rest",))
        known = settings.memory.get(event.agent, event.session)
        unsaved = known is not None and find_unsaved_turn(settings.memory, known) is not None
        if known is not None and is_repeated(event, known, idle_seconds(known, now)) and not unsaved:
            return HookReply()
        known = known or _new_session(ws, event, settings)
        try:
            ws.branch.tip()  # nothing can be saved on a moved branch; a later hook of the session does it
            return EventRunner(ws, now, event, settings, known).run()
        except (NotFound, StoreError, BranchMoved) as error:  # NotFound: the branch is below another prefix
            return _tell_unreadable(event, known, settings, error)


def _tell_unreadable(event: Payload, known: HookSession, settings: HookInputs, error: BatonError) -> HookReply:
    """Return one line about the unreadable state, unless the session has received the same line before."""
    line = describe_unreadable(error)
    if not can_tell(event) or known.unreadable == line:
        return HookReply(problems=(str(error),))
    settings.memory.save(known._replace(unreadable=line))
    return HookReply(line, problems=(str(error),))


def _new_session(ws: Workspace, event: Payload, settings: HookInputs) -> HookSession:
    git_dir = str(ws.branch.store.repository.git_dir)
    spawned = settings.environment.get(SPAWNED, "")
    session = HookSession(event.agent, event.session, git_dir, event.cwd, event.transcript, settings.pid)
    # A session without a transcript begins here; one with a past may have worked in another project at the same place.
    begins = event.kind == START and bool(event.transcript) and not os.path.lexists(event.transcript)
    return session._replace(spawn_record=spawned, is_weighed=begins)


# --- the settings of this machine, and the session in the environment


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
