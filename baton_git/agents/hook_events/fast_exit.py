"""Is there anything to do? Asked before anything else is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping

from baton_git.agents.hook_events.hook_session import HookSession, HookSessionStore
from baton_git.agents.hook_events.payloads import COMPACT, END, PROMPT, START, STOP, Payload
from baton_git.agents.hook_events.repository_lookup import RepositoryPaths, may_hold_state
from baton_git.agents.registry import AGENTS

STORM = 256 * 1024
"""Bytes that a transcript must have grown before Gemini CLI's PreCompress is taken up: it comes before every request
to the model, nearly always without a compression."""

_EVENTS = {PROMPT: ("on_prompt_submit",), COMPACT: ("on_pre_compact",), STOP: ("on_stop", "on_after_agent")}


def is_idle(payload: Payload, place: RepositoryPaths | None, environment: Mapping[str, str]) -> bool:
    """Whether nothing needs to be done. In doubt there is something."""
    if payload.aside:
        return True
    if place is None or environment.get("BATON_REPO"):
        return False
    if not may_hold_state(place):
        return True
    if payload.moment == START:
        return False
    seen = HookSessionStore(place.common_dir).get(payload.agent, payload.session)
    return seen is not None and not _is_due(payload, seen)


def may_save_later(payload: Payload, seen: HookSession | None) -> bool:
    """Return whether nothing but the facts of the turn is due at its end, and these can wait."""
    if payload.moment != STOP or seen is None or not seen.saves_later or seen.ended:
        return False
    if AGENTS[payload.agent].compacts_unannounced:  # the save tells whether the next prompt must bring a context
        return False
    return not any(event in seen.wants for event in _EVENTS[STOP])


def _is_due(payload: Payload, seen: HookSession) -> bool:
    path = payload.transcript or seen.transcript
    grown = _size(path) - seen.size if path else 1  # where nobody says, it is looked for
    if payload.moment == END:
        return not seen.ended or grown != 0  # Gemini CLI says it twice
    if payload.moment == COMPACT and AGENTS[payload.agent].compacts_unannounced:
        return payload.detail == "manual" or grown >= STORM
    if any(event in seen.wants for event in _EVENTS[payload.moment]):
        return True
    if payload.moment == PROMPT:
        return bool(seen.owed) or not seen.told or seen.recalls
    return payload.moment == COMPACT or grown != 0


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return -1
