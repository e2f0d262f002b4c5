"""Handle hook events of an agent's session: each event once, and the events of one session one after the other."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime

from baton_git.agents.hook_events.hook_session import HookSession, find_unsaved_turn
from baton_git.agents.hook_events.payloads import END, PROMPT, START, Payload
from baton_git.agents.hook_events.planner import is_repeated
from baton_git.agents.hook_events.repository_lookup import is_in_repository
from baton_git.agents.registry import SPAWNED
from baton_git.core.errors import BatonError, BranchMoved, NotFound, StoreError
from baton_git.interfaces.hook.event_runner import EventRunner, HookReply, idle_seconds
from baton_git.interfaces.hook.session_facts import HookInputs, lock_session
from baton_git.interfaces.hook.unreadable import can_tell, describe_unreadable
from baton_git.namespace.workspace import Workspace

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
