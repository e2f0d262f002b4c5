"""KAIROS' handover file: the documented examples round-trip byte for byte, other files without loss of data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from strategies import NASTY_TEXTS, dates, ids, json_values, laws, optional, texts

from baton_git.core.codecs import json
from baton_git.core.errors import InvalidDocument, LimitExceeded
from baton_git.core.records.base import alike, parse
from baton_git.systems.kairos import codec as kairos
from baton_git.systems.kairos.record import Handover

DOCUMENT = b"""\
SESSION_ID: kairos-mcp-challenge-abc123
current_challenge: resolve_participants
chain_uri: kairos://mem/step1-uuid-...
step_index: 1
participants: {"Adam": "adam.smith@company.com", "Candy": null}
updated_at: 2025-11-25T14:30:00Z
"""

KEYS = ("participants", "proposed_slot", "a b", "a:b", "a:", "#", "session_id", "é", "$null", "$$x", "{", '"q"', "=")
keys = (st.sampled_from(KEYS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)).filter(
    lambda key: kairos.find_key_fault(key) is None
)
lines = st.lists(
    st.sampled_from(
        ["SESSION_ID: s", "step_index: 2", "a: 1", 'a: "1"', "b:", "b: ", " c :  x ", "\ufeff", "\r", "", "x", ": y",
         "d:: e", "updated_at: now", "chain_uri: null", 'current_challenge: "a', "t: [1, 2", "u: NaN",
         "v: {\"a\": 1, \"a\": 2}", "w: \u2028", "y: a\x0bb", "z: \x85"]
    ) | st.text(st.sampled_from("ab: \"'{}[]\n\r\t1,é\u2028\x85\ufeff"), max_size=12), max_size=8
)  # fmt: skip


@st.composite
def handovers(draw: st.DrawFn) -> dict[str, Any]:
    """Draw plain data of records, whose order of keys may not match their keys."""
    step = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "current_challenge": optional(texts), "chain_uri": optional(texts),
                "step_index": optional(st.integers(1, 2**70)),
            },
        )
    )  # fmt: skip
    state = draw(st.dictionaries(keys, json_values, max_size=5))
    data: dict[str, Any] = {"id": draw(ids), "step": step, "state": state}
    if draw(st.booleans()):
        data["order"] = draw(st.permutations(["SESSION_ID", *step, *state, "gone"]))
    if draw(st.booleans()):
        data["updated_at"] = draw(optional(dates | texts))
    return data


def without_order(data: dict[str, Any]) -> dict[str, Any]:
    """Return a record's data without the order of its lines and without empty tables."""
    return {name: value for name, value in data.items() if name != "order" and value != {}}


def get_fault(text: str | bytes) -> str:
    """Return the message with which a file is refused, without its name."""
    with pytest.raises(InvalidDocument) as caught:
        kairos.loads(text if isinstance(text, bytes) else text.encode(), where="h.txt")
    message = str(caught.value)
    assert message.startswith("h.txt: ")
    assert "\n" not in message
    return message.removeprefix("h.txt: ")


def test_the_example_of_the_document_round_trips_byte_for_byte() -> None:
    data = kairos.loads(DOCUMENT)
    assert data == {
        "id": "kairos-mcp-challenge-abc123",
        "step": {
            "current_challenge": "resolve_participants", "chain_uri": "kairos://mem/step1-uuid-...", "step_index": 1,
        },
        "state": {"participants": {"Adam": "adam.smith@company.com", "Candy": None}},
        "updated_at": "2025-11-25T14:30:00Z",
    }  # fmt: skip
    assert kairos.dumps(data) == DOCUMENT
    assert kairos.dumps(parse(Handover, data).as_data()) == DOCUMENT


@laws
@given(handovers())
def test_every_record_round_trips_through_its_text(data: dict[str, Any]) -> None:
    text = kairos.dumps(data)
    again = kairos.loads(text)
    assert alike(without_order(again), without_order(data))
    assert parse(Handover, again).id == data["id"]
    assert kairos.dumps(again) == text
    assert alike(kairos.loads(kairos.dumps(again)), again)


@laws
@given(handovers())
def test_each_key_has_one_line_in_its_order_and_updated_at_is_last(data: dict[str, Any]) -> None:
    found = kairos.dumps(data).decode()
    assert len(found.splitlines()) == found.count("\n") == len(kairos.list_keys(data))
    assert "\r" not in found
    written = [line.partition(": ")[0] for line in found.splitlines()]
    assert written == kairos.list_keys(data)
    if "updated_at" in data:
        assert written[-1] == "updated_at"
    wanted = [key for key in data.get("order", ()) if key in written]
    assert [key for key in written if key in wanted] == wanted


@laws
@given(lines.map("\n".join) | st.binary(max_size=60).map(lambda raw: raw.decode("latin-1")))
def test_every_text_is_rejected_or_round_trips(text: str) -> None:
    raw = text.encode()
    try:
        data = kairos.loads(raw)
    except InvalidDocument:
        assert "line " in get_fault(raw)
        return
    again = kairos.loads(kairos.dumps(data))
    assert alike(again, data)
    assert list(again.get("state", {})) == list(data.get("state", {}))


@laws
@given(handovers())
def test_windows_line_ends_a_bom_and_blank_lines_are_ignored(data: dict[str, Any]) -> None:
    text = kairos.dumps(data)
    other = b"\xef\xbb\xbf\r\n" + text.replace(b"\n", b"\r\n\r\n  ")
    assert alike(kairos.loads(other), kairos.loads(text))


@laws
@given(json_values)
def test_every_value_round_trips_through_its_text(value: Any) -> None:
    text = kairos.format_value(value)
    assert len(text.splitlines()) == 1
    assert text == text.strip(" \t")
    assert alike(kairos.parse_value(text), value)


@for_each("text", [*NASTY_TEXTS, "[" * 70, "\\ud800", '"a', "NaN", "1e999", "-0", "１", "null ", "a: b"])
def test_texts_that_look_like_other_values_stay_texts(text: str) -> None:
    data = {"id": "s", "step": {"current_challenge": text, "chain_uri": text}, "state": {"k": text}, "updated_at": text}
    assert kairos.loads(kairos.dumps(data)) == data


@for_each(
    ("value", "written"),
    [
        ("find_slot", "find_slot"), ("kairos://x?a=b: c", "kairos://x?a=b: c"), ("30", '"30"'), (30, "30"),
        ("", '""'), (" a", '" a"'), ("a\nb", r'"a\nb"'), ('say "hi"', 'say "hi"'), ('"hi"', r'"\"hi\""'),
        (None, "null"), ("null", '"null"'), ({"a": "é", "b": None}, '{"a": "é", "b": null}'),
        (["\u2028"], r'["\u2028"]'), ("a\x9bb", r'"a\u009bb"'), ({"\x80": "\x9f"}, r'{"\u0080": "\u009f"}'),
        ("\u202eb", "\u202eb"), ("\xa0", "\xa0"), ("{half", "{half"), (1.0, "1.0"),
    ],
)  # fmt: skip
def test_a_value_is_quoted_only_if_necessary(value: Any, written: str) -> None:
    assert kairos.format_value(value) == written


def test_unknown_keys_are_kept_in_their_order_and_new_ones_come_before_updated_at() -> None:
    text = b"chain_uri: u\nz: 1\nSESSION_ID: s\na: 2\nupdated_at: t\n"
    data = kairos.loads(text)
    assert data["order"] == ["chain_uri", "z", "SESSION_ID", "a"]
    assert kairos.dumps(data) == text
    data["state"]["new"] = 3
    assert kairos.dumps(data) == b"chain_uri: u\nz: 1\nSESSION_ID: s\na: 2\nnew: 3\nupdated_at: t\n"


@for_each(
    ("text", "message"),
    [
        ("a: 1\nb: 2\n", "SESSION_ID: is missing: the file ends at line 2 without it"),
        ("SESSION_ID: s\r\n\r\nnothing\r\n", "line 3: is no `KEY: value`"),
        ("SESSION_ID: s\na: 1\n\na: 1", "line 4, a: is given twice, first in line 2"),
        ("SESSION_ID: s\nstep_index: second", "line 2, step_index: is 'second', not a whole number from 1"),
        ("SESSION_ID: s\nstep_index: -1", "line 2, step_index: is '-1', not a whole number from 1"),
        ("SESSION_ID:", "line 1, SESSION_ID: is empty"),
        (b"a: 1\nSESSION_ID: \xff\n", "line 2: not UTF-8 text: invalid start byte"),
        ("SESSION_ID: s\n\x1b[31m: 1",
         "line 2, \\x1b[31m: holds a colon and a blank, or a character that is not allowed on a line"),
    ],
)  # fmt: skip
def test_faults_are_reported_on_one_line_with_field_and_line_number(text: str | bytes, message: str) -> None:
    assert get_fault(text) == message


def test_all_problems_are_reported_together() -> None:
    assert get_fault("step_index: 0\nx\n") == (
        "line 1, step_index: is '0', not a whole number from 1; line 2: is no `KEY: value`; "
        "SESSION_ID: is missing: the file ends at line 2 without it"
    )


@for_each("key", ["", " a", "a ", "a: b", "a\nb", "\ufeffa", "SESSION_ID", "step_index", "updated_at"])
def test_a_key_that_cannot_be_read_back_is_rejected(key: str) -> None:
    with pytest.raises(InvalidDocument):
        kairos.dumps({"id": "s", "state": {key: 1}})


@pytest.mark.parametrize(
    "data", [{"id": "s", "more": 1}, {"id": "s", "step": {"more": 1}}, {"id": "s", "state": {"a": "\ud800"}}]
)
def test_fields_without_a_place_in_the_text_are_rejected(data: dict[str, Any]) -> None:
    with pytest.raises(InvalidDocument):
        kairos.dumps(data)


@for_each(
    ("data", "message"),
    [
        ({"state": {"a": "\ud800"}}, "state.a: holds half of a surrogate pair, which is not text"),
        ({"state": {"a": ["\ud800"]}}, "state.a: [0]: holds half of a surrogate pair, which is not text"),
        ({"state": {"\udcff": 1}}, r"state.\udcff: holds '\udcff', half of a surrogate pair, which is not text"),
        ({"step": {"chain_uri": "\udcff"}}, r"chain_uri: holds '\udcff', half of a surrogate pair, which is not text"),
    ],
)
def test_a_value_that_is_not_text_is_rejected_with_its_field(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        kairos.dumps({"id": "s", **data})
    assert str(caught.value) == message


def test_a_control_character_is_accepted_in_a_value_and_refused_in_a_key() -> None:
    assert kairos.loads("SESSION_ID: s\na: \x9b\x1b\n".encode())["state"] == {"a": "\x9b\x1b"}
    assert "a character that is not allowed on a line" in get_fault("SESSION_ID: s\na\x9b: 1\n")


def test_a_value_that_could_not_be_read_back_is_not_written() -> None:
    value: Any = 1
    for _ in range(json.MAX_DEPTH + 1):
        value = [value]
    with pytest.raises(LimitExceeded):
        kairos.dumps({"id": "s", "state": {"a": value}})
    assert "nesting" in get_fault("SESSION_ID: s\na: " + "[" * 100_000)
