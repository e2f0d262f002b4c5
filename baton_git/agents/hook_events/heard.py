"""Prompts and answers that hook events contain, for sessions without a transcript: one small local file per session.

`codex exec --ephemeral` and `claude --no-session-persistence` write no transcript. The file is read only if there is
none when the facts are saved.
"""

from __future__ import annotations

import json
import os

from baton_git.agents.hook_events.hook_session import HookSessionStore, open_private
from baton_git.agents.hook_events.payloads import PROMPT, STOP, Payload

HEARD_SUFFIX = ".heard"
MAX_HEARD = 4 << 20
"""Maximum size of the file; later events are not added."""


def note_event(memory: HookSessionStore, payload: Payload, time: str) -> None:
    """Add the prompt or the answer of an event to the session's file, if the session has no transcript (yet).

    Args:
        time: when the event came: ISO 8601, UTC.
    """
    text = {PROMPT: payload.prompt, STOP: payload.response}.get(payload.kind, "")
    if not text.strip() or payload.aside or _exists(payload.transcript):
        return
    path = memory.path(payload.agent, payload.session, HEARD_SUFFIX)
    line = json.dumps({"kind": payload.kind, "time": time, "text": text}) + "\n"
    try:
        os.makedirs(memory.folder, mode=0o700, exist_ok=True)
        with open(path, "a", encoding="utf-8", opener=open_private) as file:
            if file.tell() < MAX_HEARD:
                file.write(line)
    except OSError:  # a read-only or full disk: the facts are those of the transcript, if there is one
        return


def read_heard(memory: HookSessionStore, agent: str, session: str) -> list[tuple[str, str, str]]:
    """Return kind (`PROMPT` or `STOP`), time and text of each noted event; empty without a file."""
    heard = []
    try:
        with open(memory.path(agent, session, HEARD_SUFFIX), encoding="utf-8", errors="replace") as file:
            for line in file:
                data = _parse_heard(line)
                if data is not None:
                    heard.append(data)
    except OSError:
        return []
    return heard


def _parse_heard(line: str) -> tuple[str, str, str] | None:
    """Return the event of a line; None if it is damaged, as the last one of a killed hook."""
    try:
        data = json.loads(line)
        values = (data["kind"], data["time"], data["text"])
    except (ValueError, KeyError, TypeError):
        return None
    return values if all(isinstance(value, str) for value in values) else None


def _exists(path: str) -> bool:
    try:
        return bool(path) and os.path.isfile(path)
    except ValueError:
        return False
