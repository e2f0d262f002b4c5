"""JSON: values that would not come back equal are refused, with their path."""

from __future__ import annotations

import json as plain
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from strategies import json_values, laws

from baton_git.core.codecs import json
from baton_git.core.codecs.limits import NestedTooDeep, count_levels
from baton_git.core.errors import BatonError, InvalidDocument, LimitExceeded
from baton_git.core.records.base import alike


@laws
@given(json_values)
def test_written_values_are_read_back_equal(value: Any) -> None:
    assert alike(json.loads(json.dumps(value)), value)
    assert alike(json.loads(json.dumps(value, indent=None).encode()), value)
    assert alike(plain.loads(json.dumps(value)), value)


@laws
@given(st.binary(max_size=40) | st.text(st.sampled_from('ab":,[]{}\\u01dENaN-.e \n'), max_size=30))
def test_any_bytes_are_either_data_or_refused(text: str | bytes) -> None:
    try:
        value = json.loads(text)
    except BatonError:
        return
    assert alike(json.loads(json.dumps(value)), value)


def test_characters_are_not_escaped_and_keys_keep_their_order() -> None:
    assert json.dumps({"b": "é🚀", "a": None}, indent=None) == '{"b": "é🚀", "a": null}'


@for_each(
    ("text", "message"),
    [
        ("NaN", "not JSON: NaN is not JSON"),
        ('{"a": [-Infinity]}', "not JSON: -Infinity is not JSON"),
        ("1e400", "not JSON: the number 1e400 is too large"),
        ("-1e400", "not JSON: the number -1e400 is too large"),
        ('{"a": 1, "b": 2, "a": 1}', "not JSON: the key 'a' is given twice at line 1, column 18"),
        ('[{"x": {"a": 1, "a": 1}}]', "not JSON: the key 'a' is given twice at line 1, column 17"),
        ('[{"{": "}"},\n {"\\u0062": {"b": 1}, "b": 1}]', "not JSON: the key 'b' is given twice at line 2, column 23"),
        (b'{"a": "\\\\", "\\"": [], "\\"" : 2}', "not JSON: the key '\"' is given twice at line 1, column 23"),
        ('"\\ud800"', "holds half of a surrogate pair"),
        ('{"a": ["x", "\\udc00"]}', "a[1]: holds half of a surrogate pair"),
        ('{"a": {"\\ud800b": 1}}', "a: holds half of a surrogate pair"),
        ("", "not JSON: expecting value at line 1, column 1"),
        ("[1,\n 2", "not JSON: expecting ',' delimiter at line 2, column 3"),
        ("[1,]", "not JSON: "),
        ("'a'", "not JSON: "),
        ('"a\nb"', "not JSON: invalid control character at"),
        ("1" * 4301, "not JSON: "),
        (b'"\xff"', "not UTF-8 text: invalid start byte at byte 1"),
    ],
)
def test_values_that_would_not_round_trip_are_rejected_with_their_path(text: str | bytes, message: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        json.loads(text, where="b.json")
    assert str(caught.value).startswith(f"b.json: {message}")


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(InvalidDocument) as caught:
        json.loads('{"a": "\\ud800", "b": ["\\ud801"]}')
    assert [fault.path for fault in caught.value.faults] == ["a", "b[0]"]


@for_each("levels", [65, 1000, 100_000])
@for_each(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_more_than_64_levels_are_refused(levels: int, opening: str, closing: str) -> None:
    with pytest.raises(LimitExceeded) as caught:
        json.loads(opening * levels + "1" + closing * levels)
    assert (caught.value.data["actual"], caught.value.data["limit"]) == (65, 64)


@laws
@given(json_values, st.booleans())
def test_levels_are_counted_in_the_text_and_not_in_its_strings(value: Any, escaped: bool) -> None:
    assert count_levels(plain.dumps(value, ensure_ascii=escaped)) == levels(value)
    assert count_levels(plain.dumps([plain.dumps(value), '\\"[{'], ensure_ascii=escaped)) == 1


def levels(value: Any) -> int:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if children is None else 1 + max(map(levels, children), default=0)


@pytest.mark.parametrize("source", ["[" * 201, '{"a":[' * 101, "[1," * 50 + '"x"' + "[" * 151])
def test_documents_nested_too_deep_are_rejected_before_parsing(source: str) -> None:
    with pytest.raises(NestedTooDeep, match="nested deeper than 200 levels"):
        json.parse(source.encode())
    assert len(json.parse("[" * 200 + "]" * 200 + " " * 1000)) == 1


def test_64_levels_are_read() -> None:
    value = json.loads("[" * 64 + "1" + "]" * 64)
    for _ in range(64):
        [value] = value
    assert value == 1


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": {"b": "\ud800"}}])
def test_data_from_programs_is_checked_like_json(value: Any) -> None:
    with pytest.raises(InvalidDocument):
        json.check(value)


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert json.loads('"\\ud83d\\ude80"') == "🚀"


@pytest.mark.timeout(20)
def test_a_repeated_key_among_very_many_is_found_at_once() -> None:
    keys = ",".join(f'"{number}":0' for number in range(100_000))
    with pytest.raises(InvalidDocument, match="the key '99999' is given twice at line 1, column 988892"):
        json.loads(f'{{{keys},"99999":0}}')


@pytest.mark.timeout(20)
def test_faults_below_a_long_key_are_found_quickly_and_limited_in_number() -> None:
    with pytest.raises(InvalidDocument) as caught:
        json.check({"k" * 1_000_000: [math.nan] * 100_000})
    assert 0 < len(caught.value.faults) <= 50
