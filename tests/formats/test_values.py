"""The values page of `formats/`: canonical texts, times and the layout of TOML, against a second implementation."""

from __future__ import annotations

import json as plain
import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from hashlib import sha256
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from regenerate import FORMATS
from strategies import json_tables, json_values, laws

from baton_git.core.codecs import toml
from baton_git.core.merge.decisions import canonical_json, digest, ordered_json
from baton_git.core.records.base import alike
from baton_git.core.times import parse_time

VALUES = FORMATS / "values"


def golden(name: str) -> list[Any]:
    cases: list[Any] = plain.loads((VALUES / name).read_bytes())
    assert len(cases) >= 20
    return cases


@for_each("case", golden("canonical.json"))
def test_a_value_has_the_golden_texts(case: dict[str, Any]) -> None:
    value = case["value"]
    assert (canonical_json(value), ordered_json(value), digest(value, 64)) == (
        case["text"], case["ordered"], case["digest"],
    )  # fmt: skip


@for_each("case", golden("toml.json"))
def test_a_table_is_written_as_the_golden_text(case: dict[str, Any]) -> None:
    assert toml.dumps(case["value"]).decode() == case["toml"]
    assert alike(toml.loads(case["toml"].encode()), case["value"])


@for_each("case", golden("times.json"))
def test_a_text_is_the_golden_time_or_none(case: dict[str, Any]) -> None:
    assert time_or_none(case["text"]) == case["time"] == time_by_the_book(case["text"])


def time_or_none(text: str) -> str | None:
    try:
        return parse_time(text).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except ValueError:
        return None


# --- a second implementation, which follows the page step by step


def text_by_the_book(value: Any, *, is_sorted: bool = True) -> str:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode()) if is_sorted else list(value)
        entries = (f"{quote(name)}: {text_by_the_book(value[name], is_sorted=is_sorted)}" for name in names)
        return "{" + ", ".join(entries) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(text_by_the_book(item, is_sorted=is_sorted) for item in value) + "]"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, float):
        return float_text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def quote(text: str) -> str:
    short = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
    return '"' + "".join(short.get(c, f"\\u{ord(c):04x}" if c < " " else c) for c in text) + '"'


def float_text(x: float) -> str:
    if x == 0:
        return "-0.0" if str(x).startswith("-") else "0.0"
    sign, x = ("-" if x < 0 else ""), abs(x)
    coefficient, _, exponent = shortest(x).partition("e")
    digits, e = coefficient.replace(".", "").rstrip("0"), int(exponent)
    if not -4 <= e < 16:
        return f"{sign}{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e{'-' if e < 0 else '+'}{abs(e):02}"
    if e < 0:
        return f"{sign}0.{'0' * (-e - 1)}{digits}"
    whole, fraction = digits[: e + 1].ljust(e + 1, "0"), digits[e + 1 :]
    return f"{sign}{whole}.{fraction or '0'}"


def shortest(x: float) -> str:
    """Return the shortest decimal that reads back as a positive number, and the closest of these, in scientific
    notation."""
    exact = Decimal(x)
    for digits in range(1, 18):
        ends = (Context(digits, rounding).create_decimal(exact) for rounding in (ROUND_FLOOR, ROUND_CEILING))
        near = [end for end in ends if float(end) == x]
        if near:
            return f"{min(near, key=lambda end: (abs(end - exact), end.as_tuple().digits[-1] % 2)):.{digits - 1}e}"
    raise AssertionError("17 digits are enough for every number")


def toml_by_the_book(data: dict[str, Any]) -> str:
    is_multiline = "\r" not in "".join(texts_in(data))
    written: list[str] = []

    def write_table(table: dict[str, Any], name: str, *, is_item: bool) -> None:
        before = len(written)
        lines: list[tuple[str, Any]] = []
        tables: list[tuple[str, Any, bool]] = []
        for key, value in table.items():
            if isinstance(value, dict):
                tables.append((key, value, False))
            elif is_expanded(value):
                tables += [(key, item, True) for item in value]
            else:
                lines.append((key, value))
        if is_item:
            written.append(f"[[{name}]]\n")
        elif name and (lines or not tables):
            written.append(f"[{name}]\n")
        written.extend(f"{toml_key(key)} = {inline(value, 0)}\n" for key, value in lines)
        for key, value, item in tables:
            if len(written) > before:
                written.append("\n")
            write_table(value, f"{name}.{toml_key(key)}" if name else toml_key(key), is_item=item)

    def is_expanded(value: Any) -> bool:
        if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
            return False
        return not all(fits(item) for item in value)

    def fits(item: dict[str, Any]) -> bool:
        text = inline(item, 0)
        return "\n" not in text and len(text) <= 97

    def inline(value: Any, level: int) -> str:
        if isinstance(value, list):
            items = "".join(f"{'  ' * (level + 1)}{inline(item, level + 1)},\n" for item in value)
            return f"[\n{items}{'  ' * level}]" if value else "[]"
        if isinstance(value, dict):
            entries = ", ".join(f"{toml_key(key)} = {inline(item, 0)}" for key, item in value.items())
            return f"{{ {entries} }}" if value else "{}"
        if isinstance(value, str):
            return toml_text(value, is_multiline=is_multiline)
        return text_by_the_book(value)

    write_table(extend(data), "", is_item=False)
    return "".join(written)


def texts_in(value: Any) -> list[str]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value] if isinstance(value, str) else [text for item in inner for text in texts_in(item)]


def extend(value: Any) -> Any:
    if value is None:
        return {"$null": True}
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return {"$int": str(value)}
    if isinstance(value, dict):
        return {f"${key}" if key.startswith("$") else key: extend(item) for key, item in value.items()}
    return [extend(item) for item in value] if isinstance(value, list) else value


def toml_key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else toml_text(key, is_multiline=False)


def toml_text(text: str, *, is_multiline: bool) -> str:
    short = {"\b": "\\b", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\", "\t": "\t"}
    opening = '"""\n' if is_multiline and "\n" in text else '"'
    if opening != '"':
        short["\n"] = "\n"
    escaped = "".join(short.get(c, f"\\u{ord(c):04x}" if c < " " or c == "\x7f" else c) for c in text)
    return f"{opening}{escaped}{opening.strip()}"


TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[Tt ]"
    r"([0-9]{2})(?:(:?)([0-9]{2})(?:\5([0-9]{2})(?:[.,]([0-9]+))?)?)?"
    r"(?:(Z)|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?"
)


def time_by_the_book(text: str) -> str | None:
    match = TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, _, minute, second, fraction, _, sign, offset_hour, offset_minute = match.groups()
    if any(int(part or 0) > most for part, most in ((offset_hour, 23), (offset_minute, 59))):
        return None
    offset = timedelta(hours=int(offset_hour or 0), minutes=int(offset_minute or 0)) * (-1 if sign == "-" else 1)
    h, m, s, micros = (int(part or 0) for part in (hour, minute, second, (fraction or "").ljust(6, "0")[:6]))
    try:
        moment = datetime(int(year), int(month), int(day), h, m, s, micros, tzinfo=UTC) - offset
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


@laws
@given(json_values)
def test_the_page_describes_the_canonical_text_correctly(value: Any) -> None:
    assert canonical_json(value) == text_by_the_book(value)
    assert ordered_json(value) == text_by_the_book(value, is_sorted=False)
    assert digest(value, 64) == sha256(text_by_the_book(value).encode()).hexdigest()


@laws
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-324, 308).map(lambda e: float(f"1e{e}")))
def test_the_page_describes_the_text_of_floats_correctly(number: float) -> None:
    assert canonical_json(number) == float_text(number)


@laws
@given(json_tables)
def test_the_page_describes_the_toml_layout_correctly(table: dict[str, Any]) -> None:
    assert toml.dumps(table).decode() == toml_by_the_book(table)


@laws
@given(
    st.lists(
        st.sampled_from((
            "2026-11-21", "2024-02-29", "0001-01-01", "9999-12-31", "T", " ", "t", "Z", "z", "+", "-", ":", ".", ",",
            "00", "01", "14", "24", "59", "60", "5", "1234567", "٠٨", "\n",
        )),
        max_size=10,
    ).map("".join)
    | st.datetimes().map(lambda moment: moment.isoformat())
)  # fmt: skip
def test_the_page_describes_the_grammar_of_times_correctly(text: str) -> None:
    assert time_or_none(text) == time_by_the_book(text)
