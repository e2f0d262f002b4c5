"""Recognise the known formats of records in Gemini CLI's transcripts, so that new formats are noticed."""

from __future__ import annotations

from baton_git.agents.fields import Record, tables, text_at

_CONVERSATION = ("user", "gemini")
_OTHER_TYPES = ("info", "error", "warning")
_HEAD = ("$set", "$rewindTo", "projectHash")
_PARTS = frozenset(("text", "thought", "functionCall", "functionResponse", "inlineData", "fileData"))


def understands(record: Record) -> bool | None:
    """Return True for a record in a known format, False for one of a known type in an unknown format, else None."""
    if any(name in record for name in _HEAD):
        return not any(name != "messages" and tables(value) for name, value in record.items())
    kind = text_at(record, "type")
    if kind not in _CONVERSATION:
        return True if kind in _OTHER_TYPES else None
    content = record.get("content")
    if not isinstance(content, list):
        return isinstance(content, str | dict) or "toolCalls" in record
    return all(isinstance(part, dict) and not _PARTS.isdisjoint(part) for part in content[:1])
