"""Read fields of untrusted records: a value of an unexpected type counts as missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]


def text_at(record: Record, key: str) -> str | None:
    """Return the text under `key`; None when there is none."""
    value = record.get(key)
    return value if isinstance(value, str) else None


def table_at(record: Record, key: str) -> Record:
    """Return the object under `key`; an empty one when there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def tables(value: Any) -> list[Record]:
    """Return the objects in a list; an empty list when the value is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(content: Any, *kinds: str) -> list[str]:
    """Return the texts in a message's content, a string or parts; with `kinds`, only those of parts of these types."""
    if isinstance(content, str):
        return [content]
    parts = tables([content] if isinstance(content, dict) else content)
    values = (text_at(part, "text") for part in parts if not kinds or part.get("type") in kinds)
    return [text for text in values if text is not None]
