"""Recognise the known formats of records in Claude Code's transcripts, so that new formats are noticed."""

from __future__ import annotations

from baton_git.agents.fields import Record, table_at, text_at

_CONVERSATION = ("user", "assistant")
_OTHER_TYPES = frozenset(
    ("system", "attachment", "summary", "progress", "file-history-snapshot", "file-history-delta", "queue-operation",
     "last-prompt", "mode", "permission-mode", "ai-title", "custom-title", "pr-link", "bridge-session", "atis-latch",
     "tools-used", "cost-state", "api-request", "api-request-shape", "api-request-blob")
)  # fmt: skip
_REQUIRED_KEYS = {"text": "text", "tool_use": "name", "tool_result": "tool_use_id", "thinking": "thinking"}


def understands(record: Record) -> bool | None:
    """Return True for a record in a known format, False for a message in an unknown one, None for an unknown type."""
    kind = text_at(record, "type")
    if kind not in _CONVERSATION:
        return True if kind in _OTHER_TYPES else None
    content = table_at(record, "message").get("content")
    if not isinstance(content, list):
        return isinstance(content, str)
    return all(isinstance(block, dict) and _is_known(block) for block in content[:1])


def _is_known(block: Record) -> bool:
    """Whether a block of a message has the key that its type requires; blocks of unknown types pass."""
    kind = text_at(block, "type")
    return kind is not None and (kind not in _REQUIRED_KEYS or _REQUIRED_KEYS[kind] in block)
