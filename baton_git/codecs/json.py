"""JSON text ↔ plain data, without the liberties of Python's own parser.

Refused, with the place: what is not JSON (`NaN`), what Python would lose (a key given twice, numbers that
overflow to infinity), what cannot be stored as text (half of a surrogate pair), and nesting that no reader survives.
"""

from __future__ import annotations

import json
import math
from typing import Any

from baton_git.errors import Fault, InvalidDocument, LimitExceeded

MAX_DEPTH = 64
"""Levels of nesting that a document may have."""


def loads(text: str | bytes, *, where: str = "") -> Any:
    """The data that JSON `text` says.

    Raises:
        InvalidDocument: it is not JSON, or holds something that would not come back equal.
        LimitExceeded: it is nested deeper than `MAX_DEPTH`.
    """
    try:
        data = json.loads(
            text, object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
        )
    except UnicodeDecodeError as error:
        raise InvalidDocument(
            [Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")], where=where
        ) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidDocument([Fault("", f"not JSON: {error.msg.lower()} at {place}")], where=where) from None
    except RecursionError:
        raise LimitExceeded(_nesting(where), MAX_DEPTH + 1, MAX_DEPTH, "levels") from None
    except ValueError as error:
        raise InvalidDocument([Fault("", f"not JSON: {error}")], where=where) from None
    check(data, where=where)
    return data


def dumps(data: Any, *, indent: int | None = 2) -> str:
    """JSON text of plain data: real characters instead of escapes, keys in their order."""
    return json.dumps(data, ensure_ascii=False, indent=indent, allow_nan=False)


def check(data: Any, *, where: str = "") -> None:
    """Raises InvalidDocument or LimitExceeded when `data` cannot be stored and given back equal."""
    if _is_sound(data, 0):
        return
    faults: list[Fault] = []
    try:
        _check(data, "", 0, faults)
    except LimitExceeded as error:
        raise LimitExceeded(_nesting(where), error.data["actual"], MAX_DEPTH, "levels", hint=error.hint) from None
    if faults:
        raise InvalidDocument(faults, where=where)


def _is_sound(value: Any, depth: int) -> bool:
    """Whether there is surely nothing to say against it; else `_check` looks what there is, and where."""
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
    return value is None or kind is bool or kind is int or (kind is float and math.isfinite(value))


def _nesting(where: str) -> str:
    return f"nesting of {where or 'the document'}"


def _check(value: Any, path: str, depth: int, faults: list[Fault]) -> None:
    if depth > MAX_DEPTH:
        raise LimitExceeded("nesting of the document", depth, MAX_DEPTH, "levels", hint=f"see {path[:80]}")
    if isinstance(value, str):
        if not _is_text(value):
            faults.append(Fault(path, "holds half of a surrogate pair, which is not text"))
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_key(key, path, faults)
            _check(item, f"{path}.{key}".lstrip("."), depth + 1, faults)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _check(item, f"{path}[{number}]", depth + 1, faults)
    elif isinstance(value, float) and not math.isfinite(value):
        faults.append(Fault(path, "is not a number that JSON can hold"))
    elif not isinstance(value, int | float | None):
        faults.append(Fault(path, f"is of the type {type(value).__name__}, which JSON does not have"))


def _check_key(key: Any, path: str, faults: list[Fault]) -> None:
    if not isinstance(key, str):
        faults.append(Fault(path, f"has the key {key!r}, which is no text"))
    elif not _is_text(key):
        faults.append(Fault(path, "holds half of a surrogate pair, which is not text"))


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} is given twice")
    return table


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the number {text[:40]}… has too many digits") from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:40]} is too large")
    return number
