"""Make the rows of another program's document valid: fill in fields that are missing, and leave out invalid rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, InvalidDocument
from baton_git.core.layout import MAX_RECORD_BYTES
from baton_git.core.names import RecordId, SessionId
from baton_git.core.records.base import Record, format_path, parse
from baton_git.core.records.work_items import OCCURRENCES, SECTIONS, Head
from baton_git.core.state import Key, State
from baton_git.core.times import iso, parse_time_or_none
from baton_git.namespace.import_quarantine import RefusedRow

# --- missing fields: those that baton requires and session-baton's server does not
# For instance, the example in session-baton's README ("Baton Schema") has no dates and no expected outcome.


Table = Mapping[str, Any]

NOT_STATED = "not stated"
"""The expected outcome of an action, if nothing describes it."""
IMPORTED = "imported"
"""The session of an imported document that has none."""
_NEEDED = {
    "open_loops": ("created_at", "expected_outcome"),
    "follow_ups": ("first_seen",),
    "patterns": ("first_seen", "last_seen"),
    "active_decisions": ("created_at",),
}
_DAY = len("2026-06-17")


class FilledField(NamedTuple):
    """A field that a document left out, and its new value."""

    path: str
    value: Any


class FilledDocument(NamedTuple):
    """A document whose missing fields are filled in, and the list of these fields."""

    data: Any
    filled: tuple[FilledField, ...] = ()


def fill_document(data: Any, now: datetime, known: Callable[[], State]) -> FilledDocument:
    """Fill in missing fields from the record of the same id in `known`, else with a default.

    A date becomes the day of the document's session according to its id, else the day of its `updated_at`, else
    today; `last_seen` becomes the `first_seen`, if the pattern has one. If a pattern has more recent occurrences than
    it may keep, the newest ones stay; an occurrence that is a plain text becomes a table. Other faults are not changed,
    because parsing the document reports them.
    """
    if not isinstance(data, Mapping):
        return FilledDocument(data)
    filler = _Filler(_find_day(data, now), str(data.get("session_id") or IMPORTED), known)
    lists = {
        name: [filler.fill(name, number, row) for number, row in enumerate(data[name])]
        for name in SECTIONS
        if isinstance(data.get(name), Sequence) and not isinstance(data[name], str)
    }
    return FilledDocument({**data, **lists}, tuple(filler.filled)) if filler.filled else FilledDocument(data)


def _find_day(data: Table, now: datetime) -> str:
    texts = (str(data.get(name) or "")[:_DAY] for name in ("session_id", "updated_at"))
    days = (text for text in texts if len(text) == _DAY and parse_time_or_none(text) is not None)
    return next(days, iso(now)[:_DAY])


class _Filler:
    """Fills in rows, and collects what was filled in."""

    def __init__(self, day: str, session: str, known: Callable[[], State]) -> None:
        self._day, self._session, self._known = day, session, known
        self.filled: list[FilledField] = []

    def fill(self, section: str, number: int, row: Any) -> Any:
        if not isinstance(row, Mapping):
            return row
        added = self._find_defaults(section, row)
        if section == "patterns" and isinstance(row.get("recent_occurrences"), list):
            added |= self._mend_occurrences(row["recent_occurrences"])
        self.filled += [FilledField(format_path((section, number, name)), value) for name, value in added.items()]
        return {**row, **added} if added else row

    def _find_defaults(self, section: str, row: Table) -> dict[str, Any]:
        """Return the values for the required fields that a row may leave out."""
        missing = [name for name in _NEEDED[section] if row.get(name) is None]
        if not missing:
            return {}
        defaults: dict[str, Any] = dict.fromkeys(missing, self._day)
        if "last_seen" in defaults and isinstance(row.get("first_seen"), str):
            defaults["last_seen"] = row["first_seen"]
        if "expected_outcome" in defaults:
            defaults["expected_outcome"] = _describe_outcome(row.get("verify"))
        record = self._find_known(section, row.get("id"))
        return {name: getattr(record, name, default) for name, default in defaults.items()}

    def _find_known(self, section: str, id_: Any) -> Record | None:
        if not isinstance(id_, str):
            return None
        entry = self._known().entry(Key(SECTIONS[section].kind, id_))
        return entry if isinstance(entry, Record) else None

    def _mend_occurrences(self, occurrences: list[Any]) -> dict[str, Any]:
        """Keep the newest occurrences; an occurrence that is a plain text becomes its context."""
        mended = [
            {"session": self._session, "context": occurrence} if isinstance(occurrence, str) else occurrence
            for occurrence in occurrences[-OCCURRENCES:]
        ]
        return {"recent_occurrences": mended} if mended != occurrences else {}


def _describe_outcome(check: Any) -> str:
    """Describe the outcome that a check expects."""
    wanted = check if isinstance(check, Mapping) else {}
    url, path, process = (wanted.get(name) for name in ("url", "path", "process_name"))
    if url:
        return f"{url} answers {wanted.get('expected_status') or 200}"
    if path:
        return f"{path} exists"
    return f"{process} runs" if process else NOT_STATED


# --- invalid rows


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
