"""Recognise the known formats of records in Codex CLI's transcripts, so that new formats are noticed."""

from __future__ import annotations

from baton_git.agents.fields import Record, table_at, tables, text_at

_ENVELOPES = ("response_item", "event_msg")
_OTHER_TYPES = ("session_meta", "turn_context", "compacted", "world_state", "token_usage_record")
_REQUIRED_KEYS = {
    "function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action",
    "function_call_output": "output", "custom_tool_call_output": "output", "user_message": "message",
    "agent_message": "message", "item_completed": "item", "patch_apply_end": "changes", "exec_command_end": "exit_code",
}  # fmt: skip
_KEYLESS_TYPES = frozenset(
    ("reasoning", "agent_reasoning", "token_count", "task_started", "task_complete", "turn_aborted")
)


def understands(record: Record) -> bool | None:
    """Return True for a record in a known format, False for a known type in another one, None for an unknown type."""
    kind = text_at(record, "type")
    if kind in _OTHER_TYPES:
        return isinstance(record.get("payload"), dict)
    if kind is None:  # the first releases
        return True if "record_type" in record or {"id", "timestamp"} <= record.keys() else None
    item = table_at(record, "payload") if kind in _ENVELOPES else record
    kind = text_at(item, "type")
    if kind == "message" or (kind == "agent_message" and "content" in item):
        return _is_message(item)
    if kind in _REQUIRED_KEYS:
        return _REQUIRED_KEYS[kind] in item
    return True if kind in _KEYLESS_TYPES else (None if kind is not None else False)


def _is_message(item: Record) -> bool:
    content = item.get("content")
    parts = [content] if isinstance(content, str) else tables(content)[:1]
    is_known = all(isinstance(part, str) or "text" in part or part.get("type") == "input_image" for part in parts)
    return ("role" in item or item.get("type") != "message") and content is not None and is_known
