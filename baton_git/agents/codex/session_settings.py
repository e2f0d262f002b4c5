"""Read the context of a session from Codex CLI's records: from the first record, and from that of each turn."""

from __future__ import annotations

import re

from baton_git.agents.events import Position, SessionContext
from baton_git.agents.fields import Record, table_at, text_at

_CWD = re.compile(r"<cwd>((?:(?!<cwd>).)*?)</cwd>|^Current working directory: (.*)$", re.MULTILINE)


def read_session_start(position: Position, record: Record) -> SessionContext | None:
    """Return the context in the first record of a session; None for any other record.

    The type of that record is `session_meta`; in sessions of Codex CLI up to 0.3x, it has no type.
    """
    bare = "type" not in record and "instructions" in record and "id" in record
    if not bare and record.get("type") != "session_meta":
        return None
    payload = record if bare else table_at(record, "payload")
    git, source = table_at(payload, "git"), payload.get("source")
    return SessionContext(
        position,
        text_at(record, "timestamp"),
        session=text_at(payload, "id"),
        cwd=text_at(payload, "cwd"),
        branch=text_at(git, "branch"),
        commit=text_at(git, "commit_hash"),
        version=text_at(payload, "cli_version"),
        parent=text_at(payload, "forked_from_id") or text_at(payload, "parent_thread_id"),
        subagent=isinstance(source, dict) and "subagent" in source,
    )


def apply_turn_context(last: SessionContext, payload: Record) -> SessionContext:
    """Return the context updated from the payload of a `turn_context` record."""
    return last._replace(
        cwd=text_at(payload, "cwd") or last.cwd,
        model=text_at(payload, "model") or last.model,
    )


def apply_environment_message(last: SessionContext, text: str) -> SessionContext:
    """Return the context with the folder that a message to the model names; old formats name it nowhere else."""
    match = _CWD.search(text) if last.cwd is None and "<environment_context>" in text else None
    return last._replace(cwd=match[1] or match[2]) if match else last
