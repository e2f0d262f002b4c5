"""What happens to a session of an agent's CLI, as its hooks tell: once for each event, and one after the other."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from baton_git.agents.hook_events.hook_session import HookSession
from baton_git.agents.hook_events.payloads import PROMPT, START, Payload
from baton_git.core.times import when
from baton_git.interfaces.hook.handler import Answer, Course, Setup, name_of, turn
from baton_git.namespace.workspace import Workspace

TURN = 5.0
"""Seconds to wait for another hook of the same session."""
ECHO = 3.0
"""Seconds within which the same event is the same one."""


def happened(ws: Workspace, now: datetime, payload: Payload, setup: Setup) -> Answer:
    """Does what an event asks for, and remembers the session.

    Raises:
        BatonError: nothing could be done at all; what goes wrong with a part is among the problems.
    """
    ws = replace(ws, actor=replace(ws.actor, session=payload.session, agent=ws.actor.agent or payload.agent))
    if not _has_state(ws):
        return Answer()
    with turn(setup.memory, payload.agent, payload.session, TURN) as alone:
        if alone is False and payload.moment not in (START, PROMPT):
            return Answer(problems=("another hook of this session is at work still; the next one saves the rest",))
        known = setup.memory.get(payload.agent, payload.session)
        if known is not None and _is_echo(known, now, payload):
            return Answer()
        return Course(ws, now, payload, setup, known or _fresh(ws, payload, setup)).run()


def _is_echo(known: HookSession, now: datetime, payload: Payload) -> bool:
    """Whether this was handled a moment ago: where a plugin and the settings both have our hooks, each event comes
    twice."""
    last = when(known.seen)
    return known.event == name_of(payload) and last is not None and (now - last).total_seconds() < ECHO


def _has_state(ws: Workspace) -> bool:
    """Whether the namespace is there, here or on a remote that was fetched from."""
    store, tail = ws.branch.store, ws.branch.ref.removeprefix("refs/heads/")
    return store.tip(ws.branch.ref) is not None or any(ref.endswith(f"/{tail}") for ref in store.refs("refs/remotes/"))


def _fresh(ws: Workspace, payload: Payload, setup: Setup) -> HookSession:
    git_dir = str(ws.branch.store.repository.git_dir)
    return HookSession(payload.agent, payload.session, git_dir, payload.cwd, payload.transcript, setup.pid)
