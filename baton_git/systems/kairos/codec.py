"""Convert KAIROS' session handover to plain data and back: one `KEY: value` per line.

    SESSION_ID: kairos-mcp-challenge-abc123
    current_challenge: resolve_participants
    chain_uri: kairos://mem/step1-uuid-...
    step_index: 1
    participants: {"Adam": "adam.smith@company.com", "Candy": null}
    updated_at: 2025-11-25T14:30:00Z

A line is split at its first `: `. A value that is strict JSON is parsed as JSON; any other value is a text. A text is
written without quotes if it is parsed to the same text, else as a JSON string. The page formats/handover has the
grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidDocument, InvalidName, LimitExceeded
from baton_git.core.names import RecordId
from baton_git.core.output import is_safe, safe_json, terminal_line

SESSION = "SESSION_ID"
UPDATED = "updated_at"
INDEX = "step_index"
STEP = ("current_challenge", "chain_uri", INDEX)
RESERVED = frozenset((SESSION, *STEP, UPDATED))
"""The keys that KAIROS defines; all other keys are partial state."""

_TEXTS = RESERVED - {INDEX}
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters, and characters that some readers treat as line breaks."""
_ESCAPED = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029)}
_BLANKS = " \t"


def dumps(data: Mapping[str, Any]) -> bytes:
    """Encode a record's plain data as UTF-8 text with LF line ends.

    The keys are in the record's `order`, or in the default order if it has none; `updated_at` is last.

    Raises:
        InvalidDocument: a key cannot be written on one line, or a value cannot be written as text.
        LimitExceeded: a value is nested too deeply to be read again.
    """
    _check_writable(data)
    step, state = (data.get(name) or {} for name in ("step", "state"))
    lines = {SESSION: data["id"], **step, **state, UPDATED: data.get(UPDATED)}
    return b"".join(_encode_line(key, lines[key]) for key in list_keys(data))


def dump_for_terminal(data: Mapping[str, Any]) -> str:
    """Return the same text as `dumps`, but safe to print on a terminal.

    A value with unsafe characters is written as JSON with escapes, which `loads` parses to the same value. Unsafe
    characters in a key are escaped too, but `loads` does not undo this.

    Raises:
        InvalidDocument, LimitExceeded: as for `dumps`.
    """
    lines = (line.partition(": ") for line in dumps(data).decode().split("\n"))
    return "\n".join(f"{terminal_line(key)}{colon}{_format_for_terminal(key, value)}" for key, colon, value in lines)


def _format_for_terminal(key: str, text: str) -> str:
    if is_safe(text):
        return text
    value = _parse_text(text) if key in _TEXTS else parse_value(text)
    return safe_json(_encode_json(value))


def loads(text: bytes, *, where: str = "") -> dict[str, Any]:
    """Parse a handover file into a record's plain data. Blank lines and a BOM are ignored, and lines may end with CRLF.

    Raises:
        InvalidDocument: the text is not UTF-8, a line has no valid key, a key is given twice, a value is nested too
            deeply, `SESSION_ID` is missing or not a valid id, or `step_index` is not a whole number from 1. Each fault
            names its line.
    """
    try:
        values, faults = _parse_lines(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise InvalidDocument([Fault(f"line {line}", f"not UTF-8 text: {error.reason}")], where=where) from None
    if faults:
        raise InvalidDocument(faults, where=where)
    return _build_record_data(values)


def list_keys(data: Mapping[str, Any]) -> list[str]:
    """Return the keys of a record's plain data in the order of their lines."""
    step, state = (data.get(name) or {} for name in ("step", "state"))
    usual = dict.fromkeys([SESSION, *(name for name in STEP if name in step), *state])
    first = [key for key in data.get("order") or () if key in usual]
    return [*dict.fromkeys([*first, *usual]), *([UPDATED] if UPDATED in data else [])]


def parse_value(text: str) -> Any:
    """Parse a value of the partial state: as JSON if it is strict JSON, else as a text.

    Raises:
        LimitExceeded: the JSON is nested deeper than a document may be.
    """
    try:
        return json.loads(text)
    except InvalidDocument:
        return text


def format_value(value: Any) -> str:
    """Return a value of the partial state as text on one line, which `parse_value` parses to an equal value."""
    return value if isinstance(value, str) and _is_plain(value, parse_value) else _encode_json(value)


def find_key_fault(key: str) -> str | None:
    """Return why `key` is not a valid key of the partial state, or None if it is valid."""
    if not key or key != key.strip(_BLANKS):
        return "is empty, or has blanks around it"
    if ": " in key or _BREAKS.search(key) or key.startswith("\ufeff"):
        return "holds a colon and a blank, or a character that is not allowed on a line"
    return "is a key that the handover format reserves" if key in RESERVED else None


# --- reading


def _parse_lines(text: str) -> tuple[dict[str, Any], list[Fault]]:
    """Return the values by key, in the order of the lines, and the faults with their lines."""
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    faults: list[Fault] = []
    number = 1
    for number, line in _iterate_lines(text):
        key, value = _split_line(line)
        fault = _find_line_fault(key, value, lines)
        if fault is None:
            fault, values[key] = _parse_field(key, value)
        if fault is not None:
            faults.append(Fault(f"line {number}, {_show_text(key)}" if key else f"line {number}", fault))
        lines.setdefault(key, number)
    if SESSION not in lines:
        faults.append(Fault(SESSION, f"is missing: the file ends at line {number} without it"))
    return values, faults


def _iterate_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the stripped text of each line that is not blank."""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip(_BLANKS + "\r")
        if stripped:
            yield number, stripped


def _split_line(line: str) -> tuple[str, str | None]:
    """Return the key and the value of a line `KEY: value` or `KEY:`; an empty key and None for any other line."""
    key, colon, value = line.partition(": ")
    if colon:
        return key.rstrip(_BLANKS), value.strip(_BLANKS)
    return (line[:-1].rstrip(_BLANKS), "") if line.endswith(":") else ("", None)


def _find_line_fault(key: str, value: str | None, lines: Mapping[str, int]) -> str | None:
    if value is None:
        return "is no `KEY: value`"
    if not key:
        return "has no key before the colon"
    if key in lines:
        return f"is given twice, first in line {lines[key]}"
    return None if key in RESERVED else find_key_fault(key)


def _parse_field(key: str, text: str | None) -> tuple[str | None, Any]:
    """Return the fault of a value, or None, and the parsed value."""
    assert text is not None
    try:
        value = _parse_text(text) if key in _TEXTS else parse_value(text)
    except LimitExceeded as error:
        return str(error), None
    if key == INDEX and value is not None and (type(value) is not int or value < 1):
        return f"is {_show_text(text)!r}, not a whole number from 1", None
    return (_find_session_fault(value) if key == SESSION else None), value


def _parse_text(text: str) -> str | None:
    """Parse a value that must be a text; `42` is the text "42"."""
    if text == "null":
        return None
    value = parse_value(text) if text.startswith('"') else text
    return value if isinstance(value, str) else text


def _find_session_fault(value: str | None) -> str | None:
    try:
        return None if RecordId(value or "") else "is empty"
    except InvalidName as error:
        return str(error.data["why"])


def _build_record_data(values: dict[str, Any]) -> dict[str, Any]:
    """Return the record's plain data for the values by key."""
    step = {key: values[key] for key in STEP if key in values}
    state = {key: value for key, value in values.items() if key not in RESERVED}
    data: dict[str, Any] = {"id": values[SESSION]}
    data |= {name: table for name, table in (("step", step), ("state", state)) if table}
    order = [key for key in values if key != UPDATED]
    if order != [SESSION, *step, *state]:
        data["order"] = order
    return data | ({UPDATED: values[UPDATED]} if UPDATED in values else {})


# --- writing


def _check_writable(data: Mapping[str, Any]) -> None:
    """Raise InvalidDocument or LimitExceeded if the written text could not be read back."""
    state, step = (data.get(name) or {} for name in ("state", "step"))
    faults_by_key = ((key, find_key_fault(key)) for key in state)
    faults = [Fault(f"state.{_show_text(key)}", fault) for key, fault in faults_by_key if fault]
    unknown = [key for key in data if key not in ("id", "step", "state", "order", UPDATED)]
    unknown += [f"step.{key}" for key in step if key not in STEP]
    faults += [Fault(_show_text(key), "is not a field of a handover") for key in unknown]
    if faults:
        raise InvalidDocument(faults)
    for key, value in state.items():
        json.check(value, where=f"state.{_show_text(key)}")


def _encode_line(key: str, value: Any) -> bytes:
    try:
        return f"{key}: {_write_value(key, value)}\n".encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        where = _show_text(key) if key in RESERVED else f"state.{_show_text(key)}"
        fault = Fault(where, f"holds {half!r}, half of a surrogate pair, which is not text")
        raise InvalidDocument([fault]) from None


def _write_value(key: str, value: Any) -> str:
    if key not in _TEXTS or not isinstance(value, str):
        return format_value(value)
    return value if _is_plain(value, _parse_text) else _encode_json(value)


def _is_plain(text: str, parse: Callable[[str], Any]) -> bool:
    """Return whether a text that is written without quotes is parsed as the same text."""
    if not text or text != text.strip(_BLANKS) or _BREAKS.search(text):
        return False
    try:
        return bool(parse(text) == text)
    except LimitExceeded:
        return False


def _encode_json(value: Any) -> str:
    return json.dumps(value, indent=None).translate(_ESCAPED)


def _show_text(text: str) -> str:
    """Return a key or value for a message: shortened, without terminal control characters."""
    return terminal_line(text if len(text) <= 60 else text[:59] + "…")
