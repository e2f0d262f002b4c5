"""TOML: any JSON value comes back equal; anything else is refused with its path."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import tomli_w
from hypothesis import example, given
from hypothesis import strategies as st
from looped_cases import for_each
from strategies import json_tables, laws

from baton_git.core.codecs import json, toml
from baton_git.core.errors import InvalidDocument
from baton_git.core.records.base import alike


def refused(text: str | bytes) -> str:
    with pytest.raises(InvalidDocument) as caught:
        toml.loads(text if isinstance(text, bytes) else text.encode(), where="a.toml")
    assert str(caught.value).startswith("a.toml: ")
    return str(caught.value).removeprefix("a.toml: ")


@laws
@given(json_tables)
def test_json_through_toml_is_the_same_json(table: dict[str, Any]) -> None:
    assert alike(toml.loads(toml.dumps(table)), table)
    assert alike(json.loads(json.dumps(toml.loads(toml.dumps(table)))), table)


@laws
@given(json_tables)
def test_parsed_text_is_written_unchanged(table: dict[str, Any]) -> None:
    text = toml.dumps(table)
    assert toml.dumps(toml.loads(text)) == text


@laws
@given(json_tables)
def test_written_files_are_plain_toml_for_other_readers(table: dict[str, Any]) -> None:
    text = toml.dumps(table)
    assert b"\r" not in text
    assert isinstance(tomllib.loads(text.decode()), dict)


@pytest.mark.parametrize("text", ["a = {b = 1,\n  c = 2}\n", 'a = "\\e"\n', 'a = "\\x41"\n', "a = 12:30\n"])
def test_files_that_only_toml_1_1_allows_are_refused(text: str) -> None:
    """Every machine must read the same. tomli reads such files since 2.4.0, tomllib of Python 3.11 to 3.14 does not
    (findings/tomli-and-tomllib-accept-different-files.sh; toml.io, changes of 1.1.0)."""
    refused(text)


_LINES = st.sampled_from(
    ["a = \"x\"", "a = \"\\u00e9\"", "b = 7", "b = 07", "b = -0", "c = true", "d = []",
     "d = [\n  \"x\",\n]", "e = \"\"\"\nx\ny\"\"\"",
     "[t]", "[t.u]", "[t.u.v]", "[a]", "[[t]]", "$b = 1", "", "# note", "f = 1.5", "g = 2026-01-01", "a.b = 1", "[t.]",
     "h = \"\"\"x\"\"\"", "i = 'x'", "j = \"x\" # note", "k = { l = 1 }", "\r", "e = \"\"\"\n\"\"\""]
)  # fmt: skip


@laws
@given(st.lists(_LINES, max_size=8))
@example(["[t]", "[t]"])
@example(["[t]", "[t.u]", 'a = "x"', "[t.u]"])
def test_simple_files_are_read_as_any_parser_reads_them(lines: list[str]) -> None:
    text = "\n".join([*lines, ""]).encode()
    unusual = b"# a comment, which no simple file has\n" + text
    try:
        expected = toml.loads(unusual)
    except InvalidDocument:
        with pytest.raises(InvalidDocument):
            toml.loads(text)
    else:
        assert alike(toml.loads(text), expected)


@laws
@given(json_tables)
@example({"a": [{"b": ["c"]}, {"d": "e" * 200}], "f": [[{"g": "h"}], {}], "i": {}, "j": {"k": {"l": [{}, {}]}}})
@example({"a": [{"b": "c" * 87}, {"b": ""}], "d": [{"b": "c" * 88}]})
@example({"a": "x\ry", "b": "x\ny"})
def test_tables_are_written_as_tomli_w_writes_them(table: dict[str, Any]) -> None:
    """The text of files does not change, so that an older baton beside this one writes the same blobs (tomli-w 1.2)."""

    def as_toml(value: Any) -> Any:
        if isinstance(value, dict):
            return {f"${key}" if key.startswith("$") else key: as_toml(item) for key, item in value.items()}
        if isinstance(value, list):
            return [as_toml(item) for item in value]
        if value is None:
            return {"$null": True}
        return value if type(value) is not int or -(2**63) <= value < 2**63 else {"$int": str(value)}

    def has_return(value: Any) -> bool:
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        return "\r" in value if isinstance(value, str) else any(has_return(item) for item in items)

    expected = tomli_w.dumps(as_toml(table), multiline_strings=not has_return(table), indent=2)
    assert toml.dumps(table).decode() == expected


@laws
@given(json_tables)
def test_a_checkout_with_crlf_decodes_to_the_same_record(table: dict[str, Any]) -> None:
    assert alike(toml.loads(toml.dumps(table).replace(b"\n", b"\r\n")), table)


@laws
@given(st.binary(max_size=60) | st.text(st.sampled_from("ab=\"[]{}$.\n\\'#1,-"), max_size=40).map(str.encode))
def test_any_bytes_are_either_a_table_or_refused(text: bytes) -> None:
    try:
        table = toml.loads(text)
    except InvalidDocument:
        return
    assert alike(toml.loads(toml.dumps(table)), table)


@for_each(
    ("data", "text"),
    [
        ({"a": None}, '[a]\n"$null" = true\n'),
        ({"a": 2**70}, '[a]\n"$int" = "1180591620717411303424"\n'),
        ({"a": 2**63 - 1}, "a = 9223372036854775807\n"),
        ({"$a": 1}, '"$$a" = 1\n'),
        ({"$$a": 1}, '"$$$a" = 1\n'),
        ({"a": {"$null": True}}, '[a]\n"$$null" = true\n'),
        ({"a": "one\ntwo\n"}, 'a = """\none\ntwo\n"""\n'),
        ({"a": "one\r\ntwo"}, 'a = "one\\r\\ntwo"\n'),
        ({"名": "é"}, '"名" = "é"\n'),
    ],
)
def test_values_that_toml_cannot_hold_are_escaped(data: dict[str, Any], text: str) -> None:
    assert toml.dumps(data).decode() == text
    assert alike(toml.loads(text.encode()), data)


@for_each(
    ("text", "value"),
    [
        ('{"$null" = true}', None), ('{"$int" = "7"}', 7), ('{"$int" = "-0"}', 0), ("2026-11-21", "2026-11-21"),
        ("2026-11-21T08:14:19Z", "2026-11-21T08:14:19+00:00"), ("2026-11-21 08:14:19", "2026-11-21T08:14:19"),
        ("08:14:19", "08:14:19"), ("0x10", 16), ("1_000", 1000), ("[2026-11-21, {}]", ["2026-11-21", {}]),
        ('"""\r\na\r\nb"""', "a\nb"), ("18446744073709551616", 2**64), ("-0.0", -0.0), ("1e3", 1000.0),
    ],
)  # fmt: skip
def test_hand_written_files_are_parsed(text: str, value: Any) -> None:
    assert alike(toml.loads(f"a = {text}\n".encode()), {"a": value})


@for_each(
    ("text", "message"),
    [
        ('a = {"$float" = 1}', "a: '$float' means nothing here; a key of that name is written $$float"),
        ('"$ref" = 1', "$ref: '$ref' means nothing here"),
        ('a = {"$null" = false}', "a: '$null' means nothing here"),
        ('a = {"$null" = 1}', "a: '$null' means nothing here"),
        ('a = {"$null" = true, b = 1}', "a: '$null' means nothing here"),
        ('a = [{b = {"$int" = 1}}]', "a[0].b: '$int' means nothing here"),
        ('a = {"$int" = "ten"}', "a: 'ten' is not an integer"),
        ('a = {"$int" = "1_0"}', "a: '1_0' is not an integer"),
        ('a = {"$int" = " 1"}', "a: ' 1' is not an integer"),
        ('a = {"$int" = "٣"}', "a: '٣' is not an integer"),
        ('a = {"$int" = ""}', "a: '' is not an integer"),
        ("a = nan", "not TOML: nan is not a number that JSON can hold"),
        ("a = -inf", "not TOML: -inf is not a number that JSON can hold"),
        ("a = 1e999", "not TOML: 1e999 is not a number that JSON can hold"),
        ("a = ", "not TOML: Invalid value (at "),
        ("a = 1\na = 2\n", "not TOML: Cannot overwrite a value (at line 2, column 6)"),
        (b"a = '\xff'", "not UTF-8 text: invalid start byte at byte 5"),
        ("a = " + "1" * 5000, "not TOML: "),
        ("a = '\\ud800'\nb = \"\\ud800\"", "not TOML: "),
    ],
)
def test_invalid_toml_and_unknown_escapes_are_rejected_with_their_path(text: str | bytes, message: str) -> None:
    assert refused(text).startswith(message)


@pytest.mark.parametrize("text", [".".join("a" * 200) + " = 1", f"a = {'[' * 200}{']' * 200}", f"a = {'[' * 20000}"])
def test_excessive_nesting_is_rejected(text: str) -> None:
    assert "nested deeper than 128 levels" in refused(text) or "not TOML: " in refused(text)


def test_128_levels_of_nesting_are_read() -> None:
    deep: Any = 1
    for _ in range(toml.MAX_DEPTH - 1):
        deep = [deep]
    assert toml.loads(toml.dumps({"a": deep})) == {"a": deep}
    with pytest.raises(InvalidDocument):
        toml.loads(toml.dumps({"a": [deep]}))


@for_each(
    ("first", "part", "last"), [("a", ".a", " = 1"), ("a", ".a", ""), ("[a", ".a", "]"), ("x = {a", ' . "b"', " = 1}")]
)
def test_a_key_of_many_parts_is_refused_before_it_is_read(first: str, part: str, last: str) -> None:
    assert refused(first + part * 99_999 + last) == "nested deeper than 128 levels: a key has more parts"


def test_many_dotted_words_in_a_text_are_fine() -> None:
    data = {"x": ".".join(["a"] * 500), "y": "line\n" + ".".join(["a"] * 500) + "!"}
    assert toml.loads(toml.dumps(data)) == data
