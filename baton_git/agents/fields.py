"""Fields of records that nobody vouches for: a value of another type is as good as none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Record = Mapping[str, Any]


def text_at(record: Record, key: str) -> str | None:
    """The text under `key`; None when there is none."""
    value = record.get(key)
    return value if isinstance(value, str) else None


def table_at(record: Record, key: str) -> Record:
    """The object under `key`; an empty one when there is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def tables(value: Any) -> list[Record]:
    """The objects of a list; none when it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def texts(content: Any, *kinds: str) -> list[str]:
    """The texts of a message's content, which is a string, or parts; with `kinds` only of parts of these types."""
    if isinstance(content, str):
        return [content]
    parts = tables([content] if isinstance(content, dict) else content)
    values = (text_at(part, "text") for part in parts if not kinds or part.get("type") in kinds)
    return [text for text in values if text is not None]
