"""Read a session's settings from Codex CLI's records: the first record, and the context of each turn."""

from __future__ import annotations

import re

from baton_git.agents.events import Position, SessionContext
from baton_git.agents.fields import Record, table_at, text_at

_CWD = re.compile(r"<cwd>((?:(?!<cwd>).)*?)</cwd>|^Current working directory: (.*)$", re.MULTILINE)


def session_start(place: Position, record: Record) -> SessionContext | None:
    """Return the session described by a first record, bare (up to 0.3x) or `session_meta`; None for other records."""
    bare = "type" not in record and "instructions" in record and "id" in record
    if not bare and record.get("type") != "session_meta":
        return None
    payload = record if bare else table_at(record, "payload")
    git, source = table_at(payload, "git"), payload.get("source")
    return SessionContext(
        place,
        text_at(record, "timestamp"),
        session=text_at(payload, "id"),
        cwd=text_at(payload, "cwd"),
        branch=text_at(git, "branch"),
        commit=text_at(git, "commit_hash"),
        version=text_at(payload, "cli_version"),
        parent=text_at(payload, "forked_from_id") or text_at(payload, "parent_thread_id"),
        subagent=isinstance(source, dict) and "subagent" in source,
    )


def set_by_turn(last: SessionContext, payload: Record) -> SessionContext:
    """Return the setting updated with a `turn_context`."""
    return last._replace(
        cwd=text_at(payload, "cwd") or last.cwd,
        model=text_at(payload, "model") or last.model,
    )


def set_by_environment(last: SessionContext, text: str) -> SessionContext:
    """Return the setting with the folder named in a message to the model, which is the only place in old formats."""
    match = _CWD.search(text) if last.cwd is None and "<environment_context>" in text else None
    return last._replace(cwd=match[1] or match[2]) if match else last
