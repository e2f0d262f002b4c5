"""Remove the invalid rows of a document, so that the rest can be imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, InvalidDocument
from baton_git.core.layout import MAX_RECORD_BYTES
from baton_git.core.names import RecordId, SessionId
from baton_git.core.records.base import Record, format_path, parse
from baton_git.core.records.work_items import SECTIONS, Head
from baton_git.namespace.import_quarantine import RefusedRow
from baton_git.systems.session_baton.missing_fields import IMPORTED, FilledField

_PARTS = (*SECTIONS, "context")
"""The fields by which an object is recognized as a baton: it has at least one of them."""
_SESSIONS = ("session_id", "parent_session")


class ScreenedDocument(NamedTuple):
    """A document after its invalid rows and fields were removed.

    Attributes:
        data: the document.
        refused: the removed rows and fields.
        filled: the fields that were missing and were filled in.
    """

    data: dict[str, Any]
    refused: tuple[RefusedRow, ...] = ()
    filled: tuple[FilledField, ...] = ()


def screen_document(data: Mapping[str, Any]) -> ScreenedDocument:
    """Remove the invalid records and fields, and fill in a missing session id.

    An object without any field of a baton is returned unchanged.
    """
    if not any(name in data for name in _PARTS):
        return ScreenedDocument(dict(data))
    kept: dict[str, Any] = {}
    refused: list[RefusedRow] = []
    for name, value in data.items():
        if name in SECTIONS and isinstance(value, list):
            kept[name] = list(_screen_rows(name, value, refused))
            continue
        why = "must be a list" if name in SECTIONS else _find_field_fault(name, value)
        if why is None:
            kept[name] = value
        else:
            refused.append(RefusedRow(name, why, value))
    if "session_id" in kept:
        return ScreenedDocument(kept, tuple(refused))
    return ScreenedDocument({**kept, "session_id": IMPORTED}, tuple(refused), (FilledField("session_id", IMPORTED),))


def _screen_rows(section: str, rows: list[Any], refused: list[RefusedRow]) -> Iterator[Any]:
    """Yield the valid rows, and add the others to `refused`."""
    seen: set[str] = set()
    for number, row in enumerate(rows):
        why = _find_row_fault(SECTIONS[section], row)
        if why is None and row["id"] in seen:
            why = f"the id {row['id']!r} occurs twice"
        if why is None:
            seen.add(row["id"])
            yield row
        else:
            refused.append(RefusedRow(format_path((section, number)), why, row))


def _find_row_fault(model: type[Record], row: Any) -> str | None:
    if not isinstance(row, Mapping):
        return "must be a table"
    try:
        json.check(row)
        RecordId(parse(model, row).id)
    except InvalidDocument as error:
        return "; ".join(str(fault) for fault in error.faults)
    except BatonError as error:
        return str(error)
    size = len(json.dumps(row).encode())
    return f"has {size:,} bytes, the limit is {MAX_RECORD_BYTES:,}" if size > MAX_RECORD_BYTES else None


def _find_field_fault(name: str, value: Any) -> str | None:
    try:
        json.check({name: value})
        if name in Head.model_fields:
            parse(Head, {name: value})
        if name in _SESSIONS and value is not None:
            SessionId(value)
    except InvalidDocument as error:
        return "; ".join(fault.message for fault in error.faults)
    except BatonError as error:
        return str(error)
    return None
