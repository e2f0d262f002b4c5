"""Decide whether a hook has anything to do, before the rest of the program is imported."""

from __future__ import annotations

import os
from collections.abc import Mapping

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.agents.hook_events.payloads import COMPACT, END, PROMPT, START, STOP, Payload, asks
from baton_git.agents.hook_events.repository_lookup import RepositoryPaths, has_moved_branch, may_hold_state
from baton_git.agents.registry import AGENTS

MIN_GROWTH = 256 * 1024
"""An automatic PreCompress of Gemini CLI is handled only if the transcript has grown by at least this many bytes: the
event comes before every request to the model, and is rarely followed by a compression."""

_EVENTS = {PROMPT: ("on_prompt_submit",), COMPACT: ("on_pre_compact",), STOP: ("on_stop", "on_after_agent")}


def is_idle(payload: Payload, repository: RepositoryPaths | None, environment: Mapping[str, str]) -> bool:
    """Whether the hook has nothing to do; False when that is uncertain."""
    if payload.aside:
        return True
    if repository is None or environment.get("BATON_REPO"):
        return False
    if not may_hold_state(repository):
        return True
    if payload.kind == START or (payload.kind == PROMPT and has_moved_branch(repository)):
        return False
    session = HookSessionStore(repository.common_dir).get(payload.agent, payload.session)
    return session is not None and not _is_due(payload, session)


def only_recalls(payload: Payload, session: HookSession | None) -> bool:
    """Whether the hook only has to search for the prompt, which needs neither the settings nor the records."""
    if payload.kind != PROMPT or session is None or not (session.recalls and session.has_context and session.namespace):
        return False
    return not session.owed_sources and not any(event in session.wanted_events for event in _EVENTS[PROMPT])


def may_save_later(payload: Payload, session: HookSession | None) -> bool:
    """Whether the hook only has to save the facts of the turn that ended, which a later process can do."""
    if payload.kind != STOP or session is None or not session.saves_later or session.ended:
        return False
    if AGENTS[payload.agent].compacts_unannounced:  # the next prompt depends on what the save finds
        return False
    return not any(event in session.wanted_events for event in _EVENTS[STOP])


def _is_due(payload: Payload, session: HookSession) -> bool:
    path = payload.transcript or session.transcript
    grown = _get_size(path) - session.size if path else 1  # without a path, the transcript has to be searched for
    if payload.kind == END:
        return not session.ended or grown != 0  # Gemini CLI sends this event twice
    if payload.kind == COMPACT and AGENTS[payload.agent].compacts_unannounced:
        return payload.detail == "manual" or grown >= MIN_GROWTH
    if any(event in session.wanted_events for event in _EVENTS[payload.kind]):
        return True
    if payload.kind == PROMPT:
        return bool(session.owed_sources) or not session.has_context or (session.recalls and asks(payload.prompt))
    return payload.kind == COMPACT or grown != 0


def _get_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return -1
