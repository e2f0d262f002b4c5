"""The whole document of session-baton: conversion to a state and back without loss."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from looped_cases import for_each
from memory_folder import MemoryFolder
from strategies import DECISION, ITEM, LOOP, PATTERN, decision, documents, item, json_values, laws, loop, pattern

from baton_git.core import layout
from baton_git.core.codecs import json
from baton_git.core.errors import InvalidDocument
from baton_git.core.lifecycle import DECLARED
from baton_git.core.records.base import Archived, alike
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import Key, State
from baton_git.systems.session_baton.document import apply_document, hold_back_claims, parse_document, to_document

AT = "2026-11-21T08:14:19Z"


def stored(state: State) -> State:
    """Return the state read back from its files."""
    files = {path: text for path, text in layout.encode(state.edits).items() if text is not None}
    return layout.state_of(MemoryFolder(files))


def faults(data: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidDocument) as caught:
        parse_document(data)
    return [(fault.path, fault.message) for fault in caught.value.faults]


@laws
@given(documents)
def test_a_document_round_trips_through_its_files(data: dict[str, Any]) -> None:
    text = json.dumps(data)
    state = stored(apply_document(State(), parse_document(json.loads(text)), at=AT))
    assert alike(to_document(state), data)


@laws
@given(documents, documents)
def test_a_document_that_replaces_another_round_trips(before: dict[str, Any], after: dict[str, Any]) -> None:
    first = stored(apply_document(State(), parse_document(before), at=AT))
    second = apply_document(first, parse_document(after), at=AT)
    assert alike(to_document(second), after)


@laws
@given(documents)
def test_writing_the_same_document_again_changes_nothing(data: dict[str, Any]) -> None:
    state = stored(apply_document(State(), parse_document(data), at=AT))
    assert apply_document(state, parse_document(to_document(state)), at="later") is state


@laws
@given(documents, documents)
def test_no_record_of_the_previous_document_is_lost(before: dict[str, Any], after: dict[str, Any]) -> None:
    first = apply_document(State(), parse_document(before), at=AT)
    second = apply_document(first, parse_document(after), at=AT)
    for record in parse_document(before).records:
        live = second.entry(Key(record.kind, record.id))
        closed = second.entry(Key(record.kind, record.id, archived=True))
        if isinstance(closed, Archived):
            assert alike(closed.record, record.as_data())
            assert live is None
        else:
            assert live is not None


@laws
@given(json_values)
def test_anything_but_a_document_is_refused_with_faults(data: Any) -> None:
    if not isinstance(data, dict) or "session_id" not in data:
        assert faults(data)


def test_only_set_fields_are_returned_in_the_order_of_the_document() -> None:
    data = {"session_id": "s", "open_loops": [LOOP], "follow_ups": [], "context": "x"}
    state = apply_document(State(), parse_document(data), at=AT)
    assert to_document(state) == data
    assert list(to_document(state)) == ["session_id", "context", "open_loops", "follow_ups"]


def test_an_empty_list_and_a_missing_list_are_distinguished() -> None:
    empty = apply_document(State(), parse_document({"session_id": "s", "patterns": []}), at=AT)
    assert to_document(stored(empty)) == {"session_id": "s", "patterns": []}
    absent = apply_document(State(), parse_document({"session_id": "s"}), at=AT)
    assert to_document(stored(absent)) == {"session_id": "s"}


def test_the_order_of_records_is_kept_and_later_ones_follow_by_date() -> None:
    data = {"session_id": "s", "follow_ups": [{**ITEM, "id": id_} for id_ in ("c", "a", "b")]}
    state = stored(apply_document(State(), parse_document(data), at=AT))
    state = state.put(item(id="e", first_seen="2026-12-02")).put(item(id="d", first_seen="2026-12-01"))
    assert [one["id"] for one in to_document(state)["follow_ups"]] == ["c", "a", "b", "d", "e"]


def test_records_without_a_document_are_given_in_all_lists_with_the_newest_session() -> None:
    state = State().put(loop()).put(Session(id="s1", started="1")).put(Session(id="s2", started="2"))
    data = to_document(state)
    assert data == {
        "schema_version": 1, "session_id": "s2", "parent_session": None, "context": "", "open_loops": [LOOP],
        "follow_ups": [], "patterns": [], "active_decisions": [],
    }  # fmt: skip
    assert to_document(State())["session_id"] == "none"
    parse_document(to_document(State()))


def test_records_missing_from_a_document_are_archived_with_a_reason() -> None:
    base = State().put(loop()).put(item()).put(pattern())
    state = apply_document(base, parse_document({"session_id": "s2", "follow_ups": [ITEM]}), at=AT)
    assert (state.ids("open_loop"), state.ids("follow_up"), state.ids("pattern")) == (set(), {"FU-1"}, set())
    closed = state.entry(Key("open_loop", "OL-1", archived=True))
    assert isinstance(closed, Archived)
    assert (closed.at, closed.reason, closed.session) == (AT, "not in the document of session s2", "s2")


def test_unreadable_records_are_neither_archived_nor_lost() -> None:
    base = layout.state_of(MemoryFolder({"open_loops/OL-9.toml": b"broken"}))
    state = apply_document(base, parse_document({"session_id": "s"}), at=AT)
    assert state.ids("open_loop") == {"OL-9"}
    assert set(layout.encode(state.edits)) == {"baton.toml", "document.toml"}


def test_equal_ids_in_two_lists_are_two_records() -> None:
    data = {"session_id": "s", "open_loops": [{**LOOP, "id": "x"}], "follow_ups": [{**ITEM, "id": "x"}]}
    assert to_document(stored(apply_document(State(), parse_document(data), at=AT))) == data


@for_each(
    ("data", "path", "message"),
    [
        ([], "", "a baton is an object"), (None, "", "a baton is an object"), ("x", "", "a baton is an object"),
        ({}, "session_id", "is missing"), ({"session_id": ""}, "session_id", "must be 1 to 128"),
        ({"session_id": "a\nb"}, "session_id", "must be 1 to 128"), ({"session_id": 1}, "session_id",
            "input should be a valid string"),
        ({"session_id": "s", "parent_session": ""}, "parent_session", "must be 1 to 128"),
        ({"session_id": "s", "open_loops": {}}, "open_loops", "must be a list"),
        ({"session_id": "s", "open_loops": None}, "open_loops", "must be a list"),
        ({"session_id": "s", "follow_ups": [ITEM, {**ITEM, "item": "x"}]}, "follow_ups[1].id",
            "'FU-1' is the id of follow_ups[0] already"),
        ({"session_id": "s", "follow_ups": [{**ITEM, "id": "x" * 201}]}, "follow_ups[0].id",
            "is too long for a file name"),
        ({"session_id": "s", "patterns": [{**PATTERN, "status": "x"}]}, "patterns[0].status", "input should be"),
    ],
)  # fmt: skip
def test_an_invalid_document_is_rejected_with_the_path(data: Any, path: str, message: str) -> None:
    [(found_path, found_message)] = faults(data)
    assert found_path == path
    assert found_message.startswith(message)


def test_all_faults_are_reported_together() -> None:
    data = {"session_id": 1, "context": None, "open_loops": [{**LOOP, "ttl_days": -1}], "follow_ups": [{}]}
    paths = {path for path, _ in faults(data)}
    assert paths == {
        "session_id", "context", "open_loops[0].ttl_days", "follow_ups[0].id", "follow_ups[0].item",
        "follow_ups[0].first_seen",
    }  # fmt: skip


# --- claims


def parse_lists(**lists: Any) -> Any:
    return parse_document({"session_id": "s", **lists})


def test_a_document_without_claims_is_unchanged() -> None:
    document = parse_lists(patterns=[PATTERN], open_loops=[LOOP], active_decisions=[DECISION])
    assert hold_back_claims(State(), document, DECLARED) == (document, [])


def test_a_graduation_that_nobody_confirmed_is_held_back_and_reported() -> None:
    document = parse_lists(patterns=[{**PATTERN, "status": "graduated", "source_tier": "human_confirmed"}])
    kept, held = hold_back_claims(State().put(pattern(status="rule_candidate")), document, DECLARED)
    assert kept.records[0].as_data()["status"] == "rule_candidate"
    assert {(one.id, one.field) for one in held} == {("PAT-1", "status"), ("PAT-1", "source_tier")}


MODEL_MADE = {**DECISION, "source_tier": "llm_derived"}
REPLACED = {**MODEL_MADE, "status": "superseded", "superseded_by": "DEC-2"}


@pytest.mark.parametrize("tier", ["llm_derived", "human_confirmed"])
def test_a_model_made_decision_is_not_superseded_by_one_whose_trust_is_only_claimed(tier: str) -> None:
    base = State().put(decision(source_tier="llm_derived")).put(decision(id="DEC-2", source_tier="llm_derived"))
    document = parse_lists(active_decisions=[REPLACED, {**MODEL_MADE, "id": "DEC-2", "source_tier": tier}])
    kept, held = hold_back_claims(base, document, DECLARED)
    assert [one.as_data()["status"] for one in kept.records if one.id == "DEC-1"] == ["active"]
    assert all(one.as_data()["source_tier"] == "llm_derived" for one in kept.records)
    assert ("DEC-1", "status") in {(one.id, one.field) for one in held}


def test_a_superseding_decision_may_be_missing_from_the_document() -> None:
    base = State().put(decision(source_tier="llm_derived")).put(decision(id="DEC-2", source_tier="llm_derived"))
    kept, held = hold_back_claims(base, parse_lists(active_decisions=[REPLACED]), DECLARED)
    assert (kept.records[0].as_data().get("status"), len(held)) == ("active", 2)


def test_follow_ups_are_typed_records() -> None:
    [record] = parse_lists(follow_ups=[ITEM]).records
    assert isinstance(record, FollowUp)
