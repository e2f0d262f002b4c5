"""Read and write plain data as TOML, including values that TOML does not have.

Such values are written with keys that begin with `$`:

    {"$null" = true}          JSON null
    {"$int" = "1180…"}        an integer beyond 64 bits
    $$key                     the key `$key` of the data

Unquoted dates are read as strings in ISO 8601.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Any

from baton_git.core.codecs.limits import MAX_DIGITS, TOO_LONG, is_writable
from baton_git.core.errors import Fault, InvalidDocument

_NULL = "$null"
_INT = "$int"
_INT64 = range(-(2**63), 2**63)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(9), *range(10, 32), 127)}
_ESCAPES |= {ord(char): f"\\{letter}" for char, letter in zip('\b\n\f\r"\\', 'bnfr"\\', strict=True)}
_MAX_LINE = 97
"""Maximum length of a table that is an item of a list in one line; a line has 100 characters, as tomli-w writes it."""
_UNESCAPED = re.compile(r'[^"\\\x00-\x08\x0a-\x1f\x7f]*+')
_DIGITS = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_TEXT = r'[^"\\\x00-\x08\x0a-\x1f\x7f]*'
_LINE = re.compile(
    rf'''\n*(?:([A-Za-z0-9_-]+)[ ]=[ ](?:"({_TEXT})"|(\[\n(?:[ ]{{2,4}}"{_TEXT}",\n)*\]|\[\])|(true|false)'''
    rf'''|(-?[0-9]{{1,18}})|"""\n((?:{_TEXT}\n)*{_TEXT})""")|\[([A-Za-z0-9_.-]+)\])\n'''
)
"""A line of a file as `dumps` usually writes it: a bare key with a value without escapes, or the header of a table."""
_MAX_SIMPLE_DEPTH = 8
"""Maximum levels of nested tables in a simple file; few records have three."""
_ITEM = re.compile(rf'"({_TEXT})",\n')

MAX_DEPTH = 128
"""Maximum levels of nesting of a file: those of a document, and those that the archive and conflicts add."""
MAX_CHARACTERS = 8 << 20
"""Maximum length of a file that is parsed, in characters."""

_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_ENDLESS_KEY = re.compile(rf"(?<![A-Za-z0-9_-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MAX_DEPTH},}}+[ \t]*+")
"""A dotted key with more parts than `MAX_DEPTH`: time and memory to parse it grow with the square of its length."""
_MAX_DOTS_IN_TEXT = 10_000
"""Dotted words with more dots than this count as a key at the beginning of a line or after `[`, `{` or `,`, even if no
`=` follows them. With fewer dots, they may be a line of a multi-line string."""


class _CarriageReturn(Exception):
    """A text has a carriage return, which no multi-line string keeps."""


def dumps(data: Mapping[str, Any]) -> bytes:
    """Return a table as TOML in UTF-8 with LF: first the values of a table, then the tables in it.

    Strings with newlines are written as multi-line strings, unless some text of the table has a carriage return.

    Raises:
        InvalidDocument: a string contains half of a surrogate pair, or an integer has too many digits.
    """
    try:
        try:
            text = _write_table(_items(data) or [], "", True)
        except _CarriageReturn:
            text = _write_table(_items(data) or [], "", False)
        return text.encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        raise InvalidDocument(
            [Fault("", f"{half!r} is a byte that is not UTF-8, or half of a surrogate pair")]
        ) from None


def _items(value: Any) -> list[tuple[str, Any]] | None:
    """Return the written keys and the values of what is written as a table; None for a list and for a scalar."""
    if isinstance(value, list | tuple):
        return None
    if value is None:
        return [(f'"{_NULL}"', True)]
    if isinstance(value, Mapping):
        return [(_write_key(key), item) for key, item in value.items()]
    return [(f'"{_INT}"', _write_digits(value))] if isinstance(value, int) and value not in _INT64 else None


def _write_table(items: list[tuple[str, Any]], name: str, multiline: bool, header: str = "") -> str:
    """Write a table. It has the `header` of an item in a list of tables, or one of its own if it has values."""
    values, tables = [], []
    for key, value in items:
        below = f"{name}.{key}" if name else key
        if (text := _write_scalar(value, multiline)) is not None:
            values.append(f"{key} = {text}\n")
        elif (table := _items(value)) is not None:
            tables.append((table, below, ""))
        elif rows := _rows_too_long_for_a_line(value, multiline):
            tables += [(row, below, f"[[{below}]]\n") for row in rows]
        else:
            values.append(f"{key} = {_write_value(value, multiline)}\n")
    if name and not header and (values or not tables):
        header = f"[{name}]\n"
    own = header + "".join(values)
    return "\n".join([own] * bool(own) + [_write_table(table, below, multiline, head) for table, below, head in tables])


def _rows_too_long_for_a_line(value: Any, multiline: bool) -> list[list[tuple[str, Any]]]:
    """Return the tables of a list of tables; nothing if each fits in a line of the list, or if it is another list."""
    rows = []
    for item in value:
        if (row := _items(item)) is None:
            return []
        rows.append(row)
    lines = (_write_inline(row, multiline) for row in rows)
    return [] if all(len(line) <= _MAX_LINE and "\n" not in line for line in lines) else rows


def _write_value(value: Any, multiline: bool, indent: str = "") -> str:
    if (text := _write_scalar(value, multiline)) is not None:
        return text
    if (table := _items(value)) is not None:
        return _write_inline(table, multiline)
    within = indent + "  "
    lines = "".join([f"{within}{_write_value(item, multiline, within)},\n" for item in value])
    return f"[\n{lines}{indent}]" if lines else "[]"


def _write_scalar(value: Any, multiline: bool) -> str | None:
    """Return the text of a string, a number of 64 bits or a boolean; None for other values."""
    if isinstance(value, str):
        return _write_string(value, multiline)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, float) or (isinstance(value, int) and value in _INT64) else None


def _write_inline(table: list[tuple[str, Any]], multiline: bool) -> str:
    items = ", ".join(f"{key} = {_write_value(value, multiline)}" for key, value in table)
    return f"{{ {items} }}" if items else "{}"


def _write_key(key: str) -> str:
    if _BARE.fullmatch(key):
        return key
    return _write_string(f"${key}" if key.startswith("$") else key, False)


def _write_string(value: str, multiline: bool) -> str:
    if _UNESCAPED.fullmatch(value):
        return '"' + value + '"'
    if multiline and "\r" in value:
        raise _CarriageReturn
    if multiline and "\n" in value:
        return '"""\n' + "\n".join([line.translate(_ESCAPES) for line in value.split("\n")]) + '"""'
    return '"' + value.translate(_ESCAPES) + '"'


def _write_digits(value: int) -> str:
    if not is_writable(value):
        raise InvalidDocument([Fault("", f"a value {TOO_LONG}")])
    return str(value)


def loads(text: bytes, *, where: str = "") -> dict[str, Any]:
    """Parse TOML in UTF-8, with LF or CRLF.

    Args:
        text: the content of the file.
        where: the name of the file, for error messages.

    Raises:
        InvalidDocument: the text is not TOML or not UTF-8, is longer than `MAX_CHARACTERS`, misuses a key that begins
            with `$`, or has a value that JSON cannot represent (`nan`, `inf`, an integer of too many digits, more than
            `MAX_DEPTH` levels).
    """
    try:
        decoded = text.decode()
        simple = _load_simple(decoded) if len(decoded) <= MAX_CHARACTERS else None
        if simple is not None:
            return simple
        table = tomllib.loads(_check_bounds(decoded, where), parse_float=_parse_finite)
    except UnicodeDecodeError as error:
        raise InvalidDocument(
            [Fault("", f"not UTF-8 text: {error.reason} at byte {error.start}")], where=where
        ) from None
    except RecursionError:
        raise InvalidDocument([Fault("", f"nested deeper than {MAX_DEPTH} levels")], where=where) from None
    except ValueError as error:
        raise InvalidDocument([Fault("", f"not TOML: {error}")], where=where) from None
    return {_plain_key(key, key, where): _decode(value, key, where, 1) for key, value in table.items()}


def _load_simple(text: str) -> dict[str, Any] | None:
    """Return the same as parsing the text as TOML, six times faster, or None if some line of it is not a `_LINE`.

    A start beside 10,000 live records spent half of its time in the parser.
    """
    table: dict[str, Any] = {}
    current, at, end = table, 0, len(text)
    while at < end:
        match = _LINE.match(text, at)
        if match is None:
            return None
        at = match.end()
        key, string, items, flag, digits, lines, header = match.groups()
        if header is not None:
            created = _create_table(table, header)
            if created is None:
                return None
            current = created
        elif key in current:  # an error, which the parser describes
            return None
        elif string is not None:
            current[key] = string
        elif items is not None:
            current[key] = _ITEM.findall(items)
        elif lines is not None:
            current[key] = lines
        else:
            number = _parse_simple_number(digits) if digits is not None else flag == "true"
            if number is None:
                return None
            current[key] = number
    return table


def _create_table(table: dict[str, Any], header: str) -> dict[str, Any] | None:
    """Create the table of a header in the table above it, which must exist, and return it; None if it cannot be."""
    *above, name = header.split(".", _MAX_SIMPLE_DEPTH)
    for part in above:
        below = table.get(part)
        if type(below) is not dict:
            return None
        table = below
    return table.setdefault(name, {}) if name and "." not in name and name not in table else None


def _parse_simple_number(digits: str) -> int | None:
    """Return the number; None for a number with leading zeros, which TOML does not allow."""
    return int(digits) if digits == "0" or digits.lstrip("-")[0] != "0" else None


def _check_bounds(text: str, where: str) -> str:
    """Return the text. Raises InvalidDocument if parsing it would take too long."""
    if len(text) > MAX_CHARACTERS:
        raise InvalidDocument([Fault("", f"{len(text):,} characters, the limit is {MAX_CHARACTERS:,}")], where=where)
    if any(_is_key(text, match) for match in _ENDLESS_KEY.finditer(text)):
        raise InvalidDocument([Fault("", f"nested deeper than {MAX_DEPTH} levels: a key has more parts")], where=where)
    return text


def _is_key(text: str, match: re.Match[str]) -> bool:
    """Whether matched dotted words are a key, not part of a string."""
    if text[match.end() : match.end() + 1] in ("=", "]"):
        return True
    before = text[max(0, match.start() - 200) : match.start()].rstrip(" \t")
    return match[0].count(".") > _MAX_DOTS_IN_TEXT and before[-1:] in ("", "\n", "[", "{", ",")


def _decode(value: Any, path: str, where: str, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise InvalidDocument([Fault(path[:80], f"is nested deeper than {MAX_DEPTH} levels")], where=where)
    if isinstance(value, dict):
        return _decode_table(value, path, where, depth)
    if isinstance(value, list):
        return [_decode(item, f"{path}[{number}]", where, depth + 1) for number, item in enumerate(value)]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, int) and not is_writable(value):
        raise InvalidDocument([Fault(path[:80], TOO_LONG)], where=where)
    return value


def _decode_table(table: dict[str, Any], path: str, where: str, depth: int) -> Any:
    if len(table) == 1:
        [(key, value)] = table.items()
        if key == _NULL and value is True:
            return None
        if key == _INT and isinstance(value, str):
            return _parse_big(value, path, where)
    return {
        _plain_key(key, path, where): _decode(item, f"{path}.{key}", where, depth + 1) for key, item in table.items()
    }


def _parse_big(digits: str, path: str, where: str) -> int:
    if not _DIGITS.fullmatch(digits):
        raise InvalidDocument([Fault(path, f"{digits[:40]!r} is not an integer")], where=where)
    return int(digits)


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not a number that JSON can hold")
    return number


def _plain_key(key: str, path: str, where: str) -> str:
    if key.startswith("$$"):
        return key[1:]
    if key.startswith("$"):
        raise InvalidDocument(
            [Fault(path, f"{key!r} means nothing here; a key of that name is written ${key}")], where=where
        )
    return key
