"""Decide whether a hook has anything to do, before anything else is imported."""

from __future__ import annotations

import os
from collections.abc import Mapping

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.agents.hook_events.payloads import COMPACT, END, PROMPT, START, STOP, Payload
from baton_git.agents.hook_events.repository_lookup import RepositoryPaths, may_hold_state
from baton_git.agents.registry import AGENTS

STORM = 256 * 1024
"""An automatic PreCompress of Gemini CLI is handled only if the transcript has grown by at least this many bytes: the
event comes before every request to the model, and is rarely followed by a compression."""

_EVENTS = {PROMPT: ("on_prompt_submit",), COMPACT: ("on_pre_compact",), STOP: ("on_stop", "on_after_agent")}


def is_idle(payload: Payload, place: RepositoryPaths | None, environment: Mapping[str, str]) -> bool:
    """Whether the hook has nothing to do; False when in doubt."""
    if payload.aside:
        return True
    if place is None or environment.get("BATON_REPO"):
        return False
    if not may_hold_state(place):
        return True
    if payload.kind == START:
        return False
    seen = HookSessionStore(place.common_dir).get(payload.agent, payload.session)
    return seen is not None and not _is_due(payload, seen)


def may_save_later(payload: Payload, seen: HookSession | None) -> bool:
    """Whether all that the hook has to do is to save the facts of the turn that ended, so that it can be done later."""
    if payload.kind != STOP or seen is None or not seen.saves_later or seen.ended:
        return False
    if AGENTS[payload.agent].compacts_unannounced:  # the next prompt depends on what the save finds
        return False
    return not any(event in seen.wants for event in _EVENTS[STOP])


def _is_due(payload: Payload, seen: HookSession) -> bool:
    path = payload.transcript or seen.transcript
    grown = _size(path) - seen.size if path else 1  # without a path, the transcript has to be searched for
    if payload.kind == END:
        return not seen.ended or grown != 0  # Gemini CLI sends this event twice
    if payload.kind == COMPACT and AGENTS[payload.agent].compacts_unannounced:
        return payload.detail == "manual" or grown >= STORM
    if any(event in seen.wants for event in _EVENTS[payload.kind]):
        return True
    if payload.kind == PROMPT:
        return bool(seen.owed) or not seen.told or seen.recalls
    return payload.kind == COMPACT or grown != 0


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return -1
