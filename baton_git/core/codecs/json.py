"""Read and write JSON, more strictly than Python's own parser.

Text that is not JSON (`NaN`) is rejected, and so are values that Python would lose (duplicate keys, numbers that
overflow to infinity), strings that cannot be encoded (half of a surrogate pair), and deep nesting. Errors name the
position or the value where it is known.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from baton_git.core.codecs.limits import TOO_LONG, NestedTooDeep, check_nesting, is_writable
from baton_git.core.errors import Fault, InvalidDocument, LimitExceeded

MAX_DEPTH = 64
"""Maximum levels of nesting of a document."""
_MAX_FAULTS = 50
"""Maximum number of reported faults: a document may have millions, each with a path of megabytes."""


class RepeatedKey(ValueError):
    """An object has a duplicate key; the message has the key and its position."""


def parse(text: str | bytes) -> Any:
    """Parse JSON like `json.loads`, but reject duplicate keys and deep nesting.

    Takes linear time, including the search for the position of a duplicate key.

    Raises:
        RepeatedKey: an object has a duplicate key.
        NestedTooDeep: the text has more than `limits.MAX_LEVELS` levels.
        ValueError: the text is not JSON (`json.JSONDecodeError`) or cannot be decoded (`UnicodeDecodeError`).
    """
    return _decode(_PLAIN, text)


def _decode(decoder: json.JSONDecoder, text: str | bytes) -> Any:
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    check_nesting(text)
    if text.startswith("\ufeff"):  # as in `json.loads`
        raise json.JSONDecodeError("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0)
    try:
        return decoder.decode(text)
    except RepeatedKey:
        raise RepeatedKey(_describe_repeated_key(text)) from None


def loads(text: str | bytes, *, where: str = "") -> Any:
    """Parse JSON.

    Args:
        text: the JSON text.
        where: the name of the document, for error messages.

    Raises:
        InvalidDocument: the text is not JSON, or has a value that would not survive a round trip.
        LimitExceeded: the text is nested deeper than `MAX_DEPTH`.
    """
    try:
        data = _decode(_STRICT, text)
    except UnicodeDecodeError as error:
        raise InvalidDocument(
            [Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")], where=where
        ) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidDocument([Fault("", f"not JSON: {error.msg.lower()} at {place}")], where=where) from None
    except NestedTooDeep:
        raise LimitExceeded(_nesting(where), MAX_DEPTH + 1, MAX_DEPTH, "levels") from None
    except ValueError as error:
        raise InvalidDocument([Fault("", f"not JSON: {error}")], where=where) from None
    check(data, where=where)
    return data


def dumps(data: Any, *, indent: int | None = 2) -> str:
    """Return plain data as JSON, with non-ASCII characters unescaped and keys in their order."""
    return json.dumps(data, ensure_ascii=False, indent=indent, allow_nan=False)


def check(data: Any, *, where: str = "") -> None:
    """Check that `data` survives a round trip through storage.

    Raises:
        InvalidDocument: a value cannot be stored exactly.
        LimitExceeded: the data is nested deeper than `MAX_DEPTH`.
    """
    if _is_sound(data, 0):
        return
    faults: list[Fault] = []
    try:
        _check(data, None, 0, faults)
    except LimitExceeded as error:
        raise LimitExceeded(_nesting(where), error.data["actual"], MAX_DEPTH, "levels", hint=error.hint) from None
    if faults:
        raise InvalidDocument(faults, where=where)


def _is_sound(value: Any, depth: int) -> bool:
    """Whether a value is certainly valid. A fast first pass; `_check` finds the faults and their paths."""
    kind = type(value)
    if kind is str:
        return value.isascii() or _is_text(value)
    if depth > MAX_DEPTH:
        return False
    if kind is dict:
        return all(
            type(key) is str and (key.isascii() or _is_text(key)) and _is_sound(item, depth + 1)
            for key, item in value.items()
        )
    if kind is list:
        return all(_is_sound(item, depth + 1) for item in value)
    if kind is int:
        return is_writable(value)
    return value is None or kind is bool or (kind is float and math.isfinite(value))


def _nesting(where: str) -> str:
    return f"nesting of {where or 'the document'}"


_Path = tuple[Any, str | int] | None
"""The parent's path and the last step. Converted to text only for a fault, because a step can be megabytes long."""


def _write_path(path: _Path) -> str:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step[:200]}")
    return "".join(reversed(steps)).lstrip(".")


def _check(value: Any, path: _Path, depth: int, faults: list[Fault]) -> None:
    if depth > MAX_DEPTH:
        hint = f"see {_write_path(path)[:80]}"
        raise LimitExceeded("nesting of the document", depth, MAX_DEPTH, "levels", hint=hint)
    if len(faults) >= _MAX_FAULTS:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            _check_key(key, path, faults)
            _check(item, (path, str(key)), depth + 1, faults)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _check(item, (path, number), depth + 1, faults)
    elif message := _describe_fault(value):
        faults.append(Fault(_write_path(path), message))


def _describe_fault(value: Any) -> str:
    """Return the fault of a scalar value; empty if it is valid."""
    if isinstance(value, str):
        return "" if _is_text(value) else "holds half of a surrogate pair, which is not text"
    if isinstance(value, float) and not math.isfinite(value):
        return "is not a number that JSON can hold"
    if isinstance(value, int) and not is_writable(value):
        return TOO_LONG
    if isinstance(value, int | float | None):
        return ""
    return f"is of the type {type(value).__name__}, which JSON does not have"


def _check_key(key: Any, path: _Path, faults: list[Fault]) -> None:
    if not isinstance(key, str):
        faults.append(Fault(_write_path(path), f"has the key {key!r}, which is not text"))
    elif not _is_text(key):
        faults.append(Fault(_write_path(path), "holds half of a surrogate pair, which is not text"))


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise RepeatedKey
    return table


_STRING_OR_BRACE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"(?P<colon>\s*+:)?|[{}]', re.DOTALL)


def _describe_repeated_key(text: str) -> str:
    """Return a message with the first duplicate key and its position, in JSON text that is valid up to there."""
    objects: list[set[str]] = []
    for match in _STRING_OR_BRACE.finditer(text):
        if match[0] == "{":
            objects.append(set())
        elif match[0] == "}":
            objects.pop()
        elif match["colon"]:
            key = json.loads(match[0].rstrip(": \t\r\n"))
            if key in objects[-1]:
                line, column = text.count("\n", 0, match.start()), match.start() - text.rfind("\n", 0, match.start())
                return f"the key {key[:80]!r} is given twice at line {line + 1}, column {column}"
            objects[-1].add(key)
    raise AssertionError("the parser found a repeated key")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _parse_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the number {text[:40]}… has too many digits") from None


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number


# `json.loads` would make a decoder for each text, which takes longer than to parse a short one
_PLAIN = json.JSONDecoder(object_pairs_hook=_unique_keys)
_STRICT = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_parse_finite, parse_int=_parse_int
)
