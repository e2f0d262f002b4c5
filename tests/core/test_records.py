"""Records are frozen and checked, keep unknown fields, and return only fields that were set."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from looped_cases import for_each
from pydantic import ValidationError
from strategies import (
    DECISION,
    ITEM,
    LOOP,
    NASTY_KEYS,
    PATTERN,
    active_decisions,
    decision,
    follow_ups,
    item,
    json_values,
    laws,
    loop,
    open_loops,
    pattern,
    patterns,
)  # fmt: skip

from baton_git.core.errors import InvalidDocument
from baton_git.core.records.base import CHANGED_SIDE, Archived, Part, alike, format_path, merge_rule, parse
from baton_git.core.records.work_items import SECTIONS, ActiveDecision, Baton, FollowUp, Head, OpenLoop, Pattern


def faults(model: type[Part], data: dict[str, Any], at: str = "") -> list[tuple[str, str]]:
    with pytest.raises(InvalidDocument) as caught:
        parse(model, data, at=at)
    return [(fault.path, fault.message) for fault in caught.value.faults]


@laws
@given(open_loops)
def test_an_open_loop_round_trips(table: dict[str, Any]) -> None:
    assert alike(parse(OpenLoop, table).as_data(), table)


@laws
@given(follow_ups)
def test_a_follow_up_round_trips(table: dict[str, Any]) -> None:
    assert alike(parse(FollowUp, table).as_data(), table)


@laws
@given(patterns)
def test_a_pattern_round_trips(table: dict[str, Any]) -> None:
    assert alike(parse(Pattern, table).as_data(), table)


@laws
@given(active_decisions)
def test_a_decision_round_trips(table: dict[str, Any]) -> None:
    assert alike(parse(ActiveDecision, table).as_data(), table)


@for_each("key", sorted({*NASTY_KEYS} - {"id"}))
def test_an_unknown_field_may_have_any_name(key: str) -> None:
    for model, table in ((OpenLoop, LOOP), (Pattern, PATTERN)):
        record = parse(model, {**table, key: {"any": [None]}})
        assert record.as_data() == {**table, key: {"any": [None]}}
        assert record.kind == model.kind
        assert record.replace(id="other").as_data() == {**table, key: {"any": [None]}, "id": "other"}


@laws
@given(json_values)
def test_unknown_fields_are_returned_as_equal_plain_data(value: Any) -> None:
    given_back = parse(FollowUp, {**ITEM, "x": value}).as_data()["x"]
    assert alike(given_back, value)
    assert "tuple" not in repr(type(given_back))


def test_lists_stay_lists_so_that_stored_and_new_records_are_equal() -> None:
    table = {**DECISION, "evidence": ["a"], "rejected": []}
    assert type(parse(ActiveDecision, table).as_data()["evidence"]) is list
    closed = Archived(at="", reason="", record=parse(ActiveDecision, table).as_data())
    assert closed.as_data()["record"] == table


@for_each(
    ("one", "other"),
    [(1, True), (0, False), (1, 1.0), ({"a": [1]}, {"a": [True]}), ([1], [1, 1]), ({"a": 1}, {}), ("1", 1)],
)
def test_values_that_python_compares_as_equal_differ(one: Any, other: Any) -> None:
    assert not alike(one, other)
    assert alike(one, one)


def test_defaults_are_those_of_session_baton_and_are_not_part_of_the_data() -> None:
    assert (loop().ttl_days, loop().status, loop().source_tier, loop().verify) == (7, "open", "llm_derived", None)
    assert (item().defer_count, item().priority, item().source_tier) == (0, "normal", "llm_derived")
    assert (pattern().count, pattern().threshold, pattern().status) == (1, 3, "observing")
    assert (decision().status, decision().source_tier, decision().evidence) == ("active", "human_confirmed", ())
    assert loop(verify={"method": "manual"}).verify.timeout_seconds == 5  # type: ignore[union-attr]
    assert loop().as_data() == LOOP


def test_records_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        loop().status = "verified"  # type: ignore[misc]  # it cannot be set, and that is tested


def test_replace_validates_returns_the_same_object_without_a_change_and_stores_a_default_that_is_passed() -> None:
    record = loop(status="open")
    assert record.replace(status="open") is record
    assert record.replace(status="failed").status == "failed"
    assert loop().replace(status="open").as_data() == {**LOOP, "status": "open"}
    with pytest.raises(InvalidDocument, match=r"ttl_days: input should be greater"):
        record.replace(ttl_days=-1)


def test_replace_distinguishes_values_that_python_compares_as_equal() -> None:
    for value in (True, 1.0, [True], {"a": 1.0}):
        before = [1] if isinstance(value, list) else {"a": 1} if isinstance(value, dict) else 1
        one = loop(x=before)
        assert one.replace(x=before) is one
        assert repr(one.replace(x=value).as_data()["x"]) == repr(value)


@for_each("section", SECTIONS)
def test_a_missing_required_field_is_reported_by_name(section: str) -> None:
    required = {name for name, field in SECTIONS[section].model_fields.items() if field.is_required()}
    assert {path for path, _ in faults(SECTIONS[section], {})} == required
    assert {message for _, message in faults(SECTIONS[section], {})} == {"is missing"}


@for_each(
    ("model", "data", "path", "message"),
    [
        (OpenLoop, {**LOOP, "status": "done"}, "status", "input should be 'open', 'verified', 'failed' or"),
        (OpenLoop, {**LOOP, "verify": {"method": "bash"}}, "verify.method", "input should be 'http', "),
        (OpenLoop, {**LOOP, "verify": {"method": "command", "argv": ["a", 1]}}, "verify.argv[1]",
            "input should be a valid string, not 1"),
        (OpenLoop, {**LOOP, "ttl_days": True}, "ttl_days", "input should be a valid integer, not True"),
        (OpenLoop, {**LOOP, "ttl_days": "7"}, "ttl_days", "input should be a valid integer, not '7'"),
        (OpenLoop, {**LOOP, "action": None}, "action", "input should be a valid string, not null"),
        (OpenLoop, {**LOOP, "action": "x" * 99, "id": 5}, "id", "input should be a valid string, not 5"),
        (FollowUp, {**ITEM, "defer_count": -1}, "defer_count", "input should be greater than or equal to 0, not -1"),
        (Pattern, {**PATTERN, "recent_occurrences": [{"session": "s"}]}, "recent_occurrences[0].context", "is missing"),
        (Pattern, {**PATTERN, "recent_occurrences": [{"session": "s", "context": ""}] * 6}, "recent_occurrences",
            "tuple should have at most 5"),
        (Pattern, {**PATTERN, "threshold": 0}, "threshold", "input should be greater than or equal to 1, not 0"),
        (ActiveDecision, {**DECISION, "evidence": "a"}, "evidence", "must be a list, not 'a'"),
        (Head, {"schema_version": 0}, "schema_version", "input should be greater than or equal to 1, not 0"),
    ],
)  # fmt: skip
def test_a_fault_names_the_field_and_what_is_wrong(
    model: type[Part], data: dict[str, Any], path: str, message: str
) -> None:
    [(found_path, found_message)] = faults(model, data)
    assert found_path == path
    assert found_message.startswith(message)


def test_a_fault_inside_a_document_has_the_whole_path() -> None:
    broken = {"session_id": "s", "open_loops": [LOOP, {**LOOP, "verify": {}}]}
    assert faults(Baton, broken) == [("open_loops[1].verify.method", "is missing")]
    assert faults(OpenLoop, {**LOOP, "verify": {}}, at="open_loops[1]") == [
        ("open_loops[1].verify.method", "is missing")
    ]


def test_a_long_wrong_value_is_cut_in_the_message() -> None:
    [(_, message)] = faults(OpenLoop, {**LOOP, "status": "x" * 500})
    assert len(message) < 150


def test_paths_are_written_as_people_write_them() -> None:
    assert format_path(("open_loops", 2, "verify", "method")) == "open_loops[2].verify.method"
    assert format_path(()) == ""


def test_fields_declare_their_merge_rules_and_the_others_follow_the_changed_side() -> None:
    assert merge_rule(FollowUp, "defer_count").schema_value() == "counter"
    assert merge_rule(Pattern, "recent_occurrences").schema_value() == {"recent": 5}
    assert merge_rule(ActiveDecision, "evidence").schema_value() == "set"
    assert merge_rule(OpenLoop, "status").schema_value() == {"ladder": ["open", "verified", "escalated", "failed"]}
    assert merge_rule(OpenLoop, "action") is CHANGED_SIDE
    assert merge_rule(OpenLoop, "nobody knows it") is CHANGED_SIDE
