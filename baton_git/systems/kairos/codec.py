"""Convert KAIROS' session handover to plain data and back: one `KEY: value` per line.

    SESSION_ID: kairos-mcp-challenge-abc123
    current_challenge: resolve_participants
    chain_uri: kairos://mem/step1-uuid-...
    step_index: 1
    participants: {"Adam": "adam.smith@company.com", "Candy": null}
    updated_at: 2025-11-25T14:30:00Z

A line is split at its first `: `. A value that is strict JSON is parsed as JSON, any other value is a text. A text is
written unquoted if it parses to the same text, else as a JSON string. The page formats/handover has the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
    """Return a record's plain data as UTF-8 text with LF: keys in the record's or the default order, `updated_at` last.

    Raises:
        InvalidDocument: a key cannot be written on one line, or a value that must be a text is not.
        LimitExceeded: a value is nested too deeply to be read again.
    """
    _check(data)
    step, state = (data.get(name) or {} for name in ("step", "state"))
    lines = {SESSION: data["id"], **step, **state, UPDATED: data.get(UPDATED)}
    return b"".join(_line(key, lines[key]) for key in keys_of(data))


def shown(data: Mapping[str, Any]) -> str:
    """Return the same text as `dumps`, safe to print on a terminal.

    A value with unsafe characters is written as JSON with escapes, which `loads` parses to the same value. Unsafe
    characters in a key are escaped too, but `loads` does not undo this.

    Raises:
        InvalidDocument, LimitExceeded: as for `dumps`.
    """
    lines = (line.partition(": ") for line in dumps(data).decode().split("\n"))
    return "\n".join(f"{terminal_line(key)}{colon}{_shown_value(key, value)}" for key, colon, value in lines)


def _shown_value(key: str, text: str) -> str:
    if is_safe(text):
        return text
    value = _plain_text(text) if key in _TEXTS else value_of(text)
    return safe_json(_as_json(value))


def loads(text: bytes, *, where: str = "") -> dict[str, Any]:
    """Parse a handover file to a record's plain data. Blank lines, CRLF and a BOM are ignored.

    Raises:
        InvalidDocument: the text is not UTF-8, a line has no key, a key is given twice, `SESSION_ID` is missing or not
            a valid id, or `step_index` is not a whole number from 1. Each fault names its line.
    """
    try:
        found, faults = _read(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise InvalidDocument([Fault(f"line {line}", f"not UTF-8 text: {error.reason}")], where=where) from None
    if faults:
        raise InvalidDocument(faults, where=where)
    return _data(found)


def keys_of(data: Mapping[str, Any]) -> list[str]:
    """Return the keys of a record's plain data in the order of their lines."""
    step, state = (data.get(name) or {} for name in ("step", "state"))
    usual = dict.fromkeys([SESSION, *(name for name in STEP if name in step), *state])
    first = [key for key in data.get("order") or () if key in usual]
    return [*dict.fromkeys([*first, *usual]), *([UPDATED] if UPDATED in data else [])]


def value_of(text: str) -> Any:
    """Parse a value of the partial state: as JSON if it is strict JSON, else as a text.

    Raises:
        LimitExceeded: the JSON is nested deeper than a document may be.
    """
    try:
        return json.loads(text)
    except InvalidDocument:
        return text


def text_of(value: Any) -> str:
    """Return a value of the partial state on one line, which `value_of` parses to an equal value."""
    return value if isinstance(value, str) and _is_plain(value, value_of) else _as_json(value)


def key_fault(key: str) -> str | None:
    """Return why `key` is not a valid key of the partial state, or None if it is valid."""
    if not key or key != key.strip(_BLANKS):
        return "is empty, or has blanks around it"
    if ": " in key or _BREAKS.search(key) or key.startswith("\ufeff"):
        return "holds a colon and a blank, or a character that is not allowed on a line"
    return "is a key that the handover format reserves" if key in RESERVED else None


# --- reading


def _read(text: str) -> tuple[dict[str, Any], list[Fault]]:
    """Return the values by key, in the order of the lines, and the faults with their lines."""
    found: dict[str, Any] = {}
    lines: dict[str, int] = {}
    faults: list[Fault] = []
    number = 1
    for number, line in _lines(text):
        key, value = _split(line)
        fault = _line_fault(key, value, lines)
        if fault is None:
            fault, found[key] = _parse_value(key, value)
        if fault is not None:
            faults.append(Fault(f"line {number}, {_show_text(key)}" if key else f"line {number}", fault))
        lines.setdefault(key, number)
    if SESSION not in lines:
        faults.append(Fault(SESSION, f"is missing: the file ends at line {number} without it"))
    return found, faults


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the stripped text of each line that is not blank."""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip(_BLANKS + "\r")
        if stripped:
            yield number, stripped


def _split(line: str) -> tuple[str, str | None]:
    """Return the key and the value of a line; the value is None if no colon separates them."""
    key, colon, value = line.partition(": ")
    if colon:
        return key.rstrip(_BLANKS), value.strip(_BLANKS)
    return (line[:-1].rstrip(_BLANKS), "") if line.endswith(":") else ("", None)


def _line_fault(key: str, value: str | None, lines: Mapping[str, int]) -> str | None:
    if value is None:
        return "is no `KEY: value`"
    if not key:
        return "has no key before the colon"
    if key in lines:
        return f"is given twice, first in line {lines[key]}"
    return None if key in RESERVED else key_fault(key)


def _parse_value(key: str, text: str | None) -> tuple[str | None, Any]:
    """Return the fault of a value, or None, and the parsed value."""
    assert text is not None
    try:
        value = _plain_text(text) if key in _TEXTS else value_of(text)
    except LimitExceeded as error:
        return str(error), None
    if key == INDEX and value is not None and (type(value) is not int or value < 1):
        return f"is {_show_text(text)!r}, not a whole number from 1", None
    return (_session_fault(value) if key == SESSION else None), value


def _plain_text(text: str) -> str | None:
    """Parse a value that must be a text; `42` is the text "42"."""
    if text == "null":
        return None
    value = value_of(text) if text.startswith('"') else text
    return value if isinstance(value, str) else text


def _session_fault(value: str | None) -> str | None:
    try:
        return None if RecordId(value or "") else "is empty"
    except InvalidName as error:
        return str(error.data["why"])


def _data(found: dict[str, Any]) -> dict[str, Any]:
    step = {key: found[key] for key in STEP if key in found}
    state = {key: value for key, value in found.items() if key not in RESERVED}
    data: dict[str, Any] = {"id": found[SESSION]}
    data |= {name: table for name, table in (("step", step), ("state", state)) if table}
    order = [key for key in found if key != UPDATED]
    if order != [SESSION, *step, *state]:
        data["order"] = order
    return data | ({UPDATED: found[UPDATED]} if UPDATED in found else {})


# --- writing


def _check(data: Mapping[str, Any]) -> None:
    """Raise InvalidDocument or LimitExceeded if the written text could not be read back."""
    state, step = (data.get(name) or {} for name in ("state", "step"))
    bad = ((key, key_fault(key)) for key in state)
    faults = [Fault(f"state.{_show_text(key)}", fault) for key, fault in bad if fault]
    unknown = [key for key in data if key not in ("id", "step", "state", "order", UPDATED)]
    unknown += [f"step.{key}" for key in step if key not in STEP]
    faults += [Fault(_show_text(key), "is not a field of a handover") for key in unknown]
    if faults:
        raise InvalidDocument(faults)
    for key, value in state.items():
        json.check(value, where=f"state.{_show_text(key)}")


def _line(key: str, value: Any) -> bytes:
    try:
        return f"{key}: {_write_value(key, value)}\n".encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        where = _show_text(key) if key in RESERVED else f"state.{_show_text(key)}"
        fault = Fault(where, f"holds {half!r}, half of a surrogate pair, which is not text")
        raise InvalidDocument([fault]) from None


def _write_value(key: str, value: Any) -> str:
    if key not in _TEXTS or not isinstance(value, str):
        return text_of(value)
    return value if _is_plain(value, _plain_text) else _as_json(value)


def _is_plain(text: str, read: Any) -> bool:
    """Return whether a text, written unquoted, is parsed as the same text."""
    if not text or text != text.strip(_BLANKS) or _BREAKS.search(text):
        return False
    try:
        return bool(read(text) == text)
    except LimitExceeded:
        return False


def _as_json(value: Any) -> str:
    return json.dumps(value, indent=None).translate(_ESCAPED)


def _show_text(text: str) -> str:
    """Return a key or value for a message: shortened, without terminal control characters."""
    return terminal_line(text if len(text) <= 60 else text[:59] + "…")
