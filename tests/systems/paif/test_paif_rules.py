"""The rules of checkpoints and identities: forms of a document, ids, order, updates of the identity."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from strategies import json_tables, json_values, keys, laws, texts

from baton_git.core import layout
from baton_git.core.errors import InvalidDocument, InvalidName, NotAllowed
from baton_git.core.records.base import Part, alike, parse
from baton_git.core.state import Key, State
from baton_git.core.times import parse_time
from baton_git.systems.paif import checkpoint_store, documents, restore_text
from baton_git.systems.paif.identity import (
    add_drift_counts,
    apply_checkpoint,
    make_empty_identity,
    make_identity,
    record_check,
    record_restore,
)
from baton_git.systems.paif.record import Checkpoint, Identity

GOLDEN = Path(__file__).parents[3] / "formats" / "checkpoint" / "valid" / "zero"
NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
AT = "2026-11-21T08:00:00.000Z"


def document(agent="zero", session="s", at=AT, **sections):
    return {"metadata": {"agent_id": agent, "session_id": session, "started_at": at, "ended_at": at}, **sections}


def record(agent="zero", session="s", at=AT, **sections):
    return documents.parse_checkpoint(document(agent, session, at, **sections), agent)


def complete(body, **more):
    """Return the checkpoint that a body of the agent zero becomes."""
    began = more.pop("began", lambda _: None)
    origin = documents.CheckpointOrigin(
        **{"agent": "zero", "session": "s1", "fallback_session": "fresh", "now": NOW, **more}
    )
    return documents.complete_checkpoint(documents.nest_sections(body), origin, began)


# --- the forms of a document

FLAT = {
    "started_at": "2026-11-21T07:00:00.000Z", "duration_seconds": 5, "current_focus": "f", "active_project_ids": ["p"],
    "conversation_summary": "s", "pending_items": ["a"], "memory_ids": ["m"], "last_recall_query": "q",
    "new_beliefs": [{"subject": "x", "confidence": 1}], "new_skills": [{"name": "y", "level": 2}],
    "new_relationships": [{"entity": "z", "type": "t"}], "drift_checks": {"passed": 1, "failed": 2},
    "scratchpad": "x = 1\n", "open_files": ["a.py"], "context_stack": ["c"],
}  # fmt: skip
NESTED = {
    "metadata": {"started_at": "2026-11-21T07:00:00.000Z", "duration_seconds": 5},
    "context": {"current_focus": "f", "active_project_ids": ["p"], "conversation_summary": "s", "pending_items": ["a"]},
    "recent_memories": {"memory_ids": ["m"], "last_recall_query": "q"},
    "identity_updates": {
        "new_beliefs": [{"subject": "x", "confidence": 1}], "new_skills": [{"name": "y", "level": 2}],
        "new_relationships": [{"entity": "z", "type": "t"}], "drift_checks": {"passed": 1, "failed": 2},
    },
    "working_memory": {"scratchpad": "x = 1\n", "open_files": ["a.py"], "context_stack": ["c"]},
}  # fmt: skip


def test_flat_nested_and_wrapped_bodies_are_equivalent():
    assert (
        documents.nest_sections(FLAT)
        == documents.nest_sections(NESTED)
        == documents.nest_sections({"session_checkpoint": NESTED})
    )


def test_every_documented_field_of_a_body_is_stored():
    made = complete(FLAT).as_data()
    for name, section in NESTED.items():
        assert {**made[name], **section} == made[name]
    assert made["metadata"]["checkpoint_version"] == "1.0"


def test_a_new_checkpoint_has_every_documented_field():
    made = documents.to_paif_document(complete({"conversation_summary": "x"}))
    assert {name: set(made[name]) for name in documents.SECTIONS} == {
        name: set(model.model_fields) for name, model in documents.SECTIONS.items()
    }


def test_null_in_a_flat_body_means_the_default_as_it_does_for_the_server():
    assert complete(dict.fromkeys(FLAT)).as_data() == complete({}).as_data()


@for_each("section", documents.SECTIONS)
def test_a_section_that_is_not_a_table_is_rejected_by_name(section):
    with pytest.raises(InvalidDocument, match=f"F: {section}: must be a table"):
        documents.nest_sections({section: ["x"]}, where="F")


@pytest.mark.parametrize("body", [FLAT | {"agent_id": "claude"}, NESTED | {"metadata": {"agent_id": "claude"}}])
def test_the_body_of_another_agent_is_refused(body):
    with pytest.raises(InvalidDocument, match=r"metadata\.agent_id: is 'claude', but this is a checkpoint of 'zero'"):
        complete(body)


def test_times_and_sessions_are_filled_in():
    began = {"s1": "2026-11-21T06:00:00Z"}.get
    metadata = complete({"conversation_summary": "x"}, began=began).metadata
    assert (metadata.session_id, metadata.started_at, metadata.ended_at) == ("s1", "2026-11-21T06:00:00Z", AT)
    assert metadata.duration_seconds == 7200
    assert complete({}, session=None).metadata.session_id == "fresh"
    assert complete({"session_id": "given"}, session=None).metadata.session_id == "given"
    assert complete({"session_id": "given"}).metadata.session_id == "s1"
    assert complete({"started_at": "2026-11-21T07:59:00Z"}).metadata.duration_seconds == 60
    body = {"started_at": "2026-11-21T07:59:00Z"}
    assert complete(body, began={"s1": "2026-11-21T06:00:00Z"}.get).metadata.duration_seconds == 60
    assert complete({}, began={"s1": "2026-11-21T09:00:00Z"}.get).metadata.started_at == AT
    assert complete({"duration_seconds": 0, "started_at": "2026-11-21T07:00:00Z"}).metadata.duration_seconds == 0


def test_the_focus_defaults_to_that_of_the_identity():
    assert complete({}, focus="parser").context.current_focus == "parser"
    assert complete({"current_focus": "x"}, focus="parser").context.current_focus == "x"
    assert complete({"current_focus": None}, focus="parser").context.current_focus == "parser"


@for_each(
    ("body", "says"),
    [({}, False), ({"metadata": {"session_id": "s"}}, False), ({"drift_checks": {"passed": 0, "failed": 0}}, False),
     ({"pending_items": []}, False), ({"pending_items": ["a"]}, True), ({"drift_checks": {"failed": 1}}, True),
     ({"unknown": 1}, True), ({"scratchpad": " "}, True)],
)  # fmt: skip
def test_empty_bodies_are_recognised(body, says):
    assert documents.has_content(documents.nest_sections(body)) is says


@laws
@given(json_tables, st.booleans(), st.none() | st.just("checkpoint-x.json"))
def test_a_document_round_trips_through_the_stored_file(extra, wrapped, file):
    names = {*documents.SECTIONS, documents.WRAPPER}
    whole = {**{name: value for name, value in extra.items() if name not in names}, **document()}
    given_document = {"session_checkpoint": whole} if wrapped else whole
    made = documents.parse_checkpoint(given_document, "zero", file=file)
    state, id_ = checkpoint_store.place_checkpoint(State(), made)
    key = Key("checkpoint", id_)
    [(path, text)] = layout.encode(state.edits).items()
    assert text is not None
    stored = layout.decode(key, path, text)
    assert isinstance(stored, Checkpoint), stored
    assert alike(documents.to_paif_document(stored), given_document)


@laws
@given(st.dictionaries(st.sampled_from(list(FLAT)) | keys, json_values, max_size=6))
def test_any_body_is_accepted_or_rejected_with_the_field(body):
    try:
        made = complete(body)
    except InvalidDocument:
        return
    assert made.metadata.agent_id == "zero"


# --- ids and order


@for_each(
    ("at", "stamp"),
    [("2026-04-04T18:34:00.123Z", "2026-04-04t18-34-00.123z"),
     ("2026-04-04T20:34:00+02:00", "2026-04-04t18-34-00.000z"),
     ("2026-04-04T18:34:00.123999", "2026-04-04t18-34-00.123z"), ("2026-04-04", "2026-04-04t00-00-00.000z"),
     ("0999-01-01T00:00:00Z", "0999-01-01t00-00-00.000z")],
)  # fmt: skip
def test_the_time_in_a_checkpoint_id_is_utc(at, stamp):
    assert checkpoint_store.format_stamp(parse_time(at)) == stamp
    assert checkpoint_store.place_checkpoint(State(), record(at=at))[1] == f"zero/{stamp}-s"


@for_each(
    "text",
    [
        "",
        "yesterday",
        "2026",
        "20260404",
        "2026-W14-1",
        "0001-01-01T00:00+05:00",
        "x" * 99,
        "2026-04",
        "2026-04-04x18:34:00Z",
    ],
)
def test_invalid_times_are_rejected(text):
    with pytest.raises(InvalidDocument, match=r"metadata.ended_at: is no ISO 8601 point in time"):
        record(at="2026-04-04").replace(metadata={**document()["metadata"], "ended_at": text})


@laws
@given(texts.filter(bool), st.sampled_from(("zero", "Zero", "z" * 128, "a:b")))
def test_any_session_name_gives_a_valid_checkpoint_file(session, agent):
    made = record(agent, session)
    state, id_ = checkpoint_store.place_checkpoint(State(), made)
    entry = state.get(Checkpoint, id_)
    closed = state.archive(entry, at=AT, reason="r", session=None)
    for where in (state, closed):
        for path in layout.encode(where.edits):
            assert layout.key_at(path) is not None
            assert checkpoint_store.list_all(where, agent) == [entry]


@for_each("agent", ["", "a/b", "..", "../x", ".x", "-x", "a b", "a\n", "A" * 128, "x" * 129, "名前"])
def test_an_agent_that_can_have_no_folder_is_refused(agent):
    with pytest.raises(InvalidName, match="agent ") as caught:
        checkpoint_store.parse_agent(agent)
    if len(agent) < 100:
        assert "and begin with a letter or digit" in str(caught.value)


@for_each("path", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem[-20:])
def test_checkpoints_get_the_ids_of_the_golden_files(path):
    golden = parse(Checkpoint, json.loads(path.read_text()))
    assert len(list(GOLDEN.glob("*.json"))) >= 4
    state, id_ = checkpoint_store.place_checkpoint(State(), golden)
    if golden.id == f"{id_}.2":
        state, id_ = checkpoint_store.place_checkpoint(state, golden.replace(other=1))
    assert id_ == golden.id


def test_two_checkpoints_of_one_time_are_both_kept_and_equal_ones_once():
    state, first = checkpoint_store.place_checkpoint(State(), record(extra=1))
    again, same = checkpoint_store.place_checkpoint(state, record(extra=1))
    assert again is state
    assert same == first
    state, second = checkpoint_store.place_checkpoint(state, record(extra=2))
    state, third = checkpoint_store.place_checkpoint(state, record(extra=3))
    assert (second, third) == (f"{first}.2", f"{first}.3")
    assert checkpoint_store.place_checkpoint(state, record(extra=2))[0] is state


def test_an_archived_checkpoint_keeps_its_id():
    state, first = checkpoint_store.place_checkpoint(State(), record(extra=1))
    state = state.archive(state.get(Checkpoint, first), at=AT, reason="r", session=None)
    assert checkpoint_store.place_checkpoint(state, record(extra=1))[0] is state
    assert checkpoint_store.place_checkpoint(state, record(extra=2))[1] == f"{first}.2"


def test_the_newest_checkpoint_has_the_latest_point_in_time_then_the_greatest_id():
    state = State()
    for session, at in (
        ("a", "2026-04-04T18:00:00Z"),
        ("b", "2026-04-04T20:30:00+02:00"),
        ("c", "2026-04-04T18:30:00Z"),
    ):
        state, _ = checkpoint_store.place_checkpoint(state, record(session=session, at=at))
    assert [one.metadata.session_id for one in checkpoint_store.list_all(state, "zero")] == ["c", "b", "a"]
    assert checkpoint_store.find_newest(State(), "zero", NOW) is None


def test_a_checkpoint_from_the_future_is_the_newest_only_if_it_is_the_only_one():
    state, future = checkpoint_store.place_checkpoint(State(), record(session="f", at="2999-01-01T00:00:00Z"))
    assert checkpoint_store.find_newest(state, "zero", NOW).id == future
    state, ahead = checkpoint_store.place_checkpoint(state, record(at=(NOW + timedelta(minutes=5)).isoformat()))
    state, too_far = checkpoint_store.place_checkpoint(
        state, record(at=(NOW + timedelta(minutes=5, seconds=1)).isoformat())
    )
    assert checkpoint_store.find_newest(state, "zero", NOW).id == ahead
    assert checkpoint_store.find_newest(state, "zero", NOW + timedelta(seconds=1)).id == too_far
    assert checkpoint_store.find_newest(state, "zero", NOW, "f").id == future
    assert checkpoint_store.find_newest(state, "zero", NOW, "of nobody") is None
    closed = state.archive(state.get(Checkpoint, ahead), at=AT, reason="r", session=None)
    assert checkpoint_store.find_newest(closed, "zero", NOW).id == ahead


def test_checkpoints_from_the_future_are_archived_first(monkeypatch):
    monkeypatch.setattr(checkpoint_store, "KEPT", 1)
    state, _ = checkpoint_store.place_checkpoint(State(), record(at="2999-01-01T00:00:00Z"))
    state, mine = checkpoint_store.place_checkpoint(state, record())
    state = checkpoint_store.trim_checkpoints(state, "zero", NOW, session=None)
    assert state.ids("checkpoint") == {mine}


def test_agents_whose_names_begin_alike_are_separate():
    state = State()
    for agent in ("zero", "zero2", "Zero", "zero-x"):
        state, _ = checkpoint_store.place_checkpoint(state, record(agent))
    assert checkpoint_store.list_agents(state) == ["Zero", "zero", "zero-x", "zero2"]
    assert [one.metadata.agent_id for one in checkpoint_store.list_all(state, "zero")] == ["zero"]


def test_only_the_newest_fifty_stay_live_and_all_are_found():
    state = State()
    times = [NOW + timedelta(seconds=number) for number in range(checkpoint_store.KEPT + 3)]
    for at in times:
        state, _ = checkpoint_store.place_checkpoint(state, record(at=at.isoformat()))
    state, _ = checkpoint_store.place_checkpoint(state, record("claude"))
    state = checkpoint_store.trim_checkpoints(state, "zero", times[-1], session="s")
    assert len(checkpoint_store.list_live(state, "zero")) == checkpoint_store.KEPT
    assert [one.ended for one in checkpoint_store.list_all(state, "zero")] == times[::-1]
    assert len(state.ids("checkpoint", archived=True)) == 3
    assert checkpoint_store.trim_checkpoints(state, "zero", times[-1], session="s") is state


# --- updates of the identity


def test_updates_of_checkpoints_are_merged_into_the_identity():
    zero = make_empty_identity("zero")
    first = record(identity_updates={
        "new_beliefs": [{"subject": "git", "confidence": 0.5}], "new_skills": [{"name": "py", "level": 1}],
        "new_relationships": [{"entity": "ada", "type": "owner"}],
    })  # fmt: skip
    second = record(identity_updates={
        "new_beliefs": [{"subject": "git", "confidence": 1}, {"subject": "x", "confidence": 0}],
        "new_skills": [{"name": "py", "level": 2}],
    })  # fmt: skip
    mutable = apply_checkpoint(apply_checkpoint(zero, first), second).mutable
    assert mutable.beliefs == (
        {"subject": "git", "confidence": 1, "formed_at": AT}, {"subject": "x", "confidence": 0, "formed_at": AT}
    )  # fmt: skip
    assert mutable.skills == ({"name": "py", "level": 2},)
    assert mutable.relationships == ({"entity": "ada", "type": "owner"},)


def test_drift_checks_move_into_the_checkpoint():
    zero = record_check(record_check(make_empty_identity("zero"), failed=False), failed=True)
    made = record(identity_updates={"drift_checks": {"passed": 2, "failed": 0, "by": "hand"}})
    assert add_drift_counts(made, zero).identity_updates.drift_checks.as_data() == {
        "passed": 3,
        "failed": 1,
        "by": "hand",
    }
    assert apply_checkpoint(zero, made).mutable.state.drift_checks.as_data() == {
        "passed": 0,
        "failed": 0,
    }


def test_a_checkpoint_without_updates_leaves_the_identity_unchanged():
    zero = make_empty_identity("zero")
    assert apply_checkpoint(zero, record()) is zero


def test_an_identity_can_be_made_only_once():
    born = make_identity(None, "zero", {"purpose": {"statement": "p"}}, NOW)
    assert born.immutable is not None
    assert born.immutable.origin.created_at == AT
    assert set(born.immutable.voice.taboo_categories) == {"Subservience", "Over-apology", "Fake enthusiasm", "Hedging"}
    with pytest.raises(NotAllowed, match="agent zero already has an identity"):
        make_identity(born, "zero", {"purpose": {"statement": "q"}}, NOW)


def test_the_mutable_part_is_kept_when_the_identity_is_created():
    before = record_restore(make_empty_identity("zero"), NOW, "s1")
    document_of_zero = {"immutable": {"purpose": {"statement": "p"}}, "mutable": {
        "skills": [{"name": "a"}], "state": {"accumulated_experience": 9, "current_focus": "f"}}}  # fmt: skip
    state = make_identity(before, "zero", document_of_zero, NOW).mutable.state
    assert (state.accumulated_experience, state.last_session_at, state.current_focus) == (1, AT, "f")
    assert make_identity(before, "zero", document_of_zero, NOW).mutable.skills == ({"name": "a"},)
    assert make_identity(None, "zero", document_of_zero, NOW).mutable.state.accumulated_experience == 9


@for_each(
    ("identity", "why"),
    [({}, "immutable: has no values"), ({"immutable": {}}, "immutable: has no values"),
     ({"immutable": "x"}, "immutable"),
     ({"agent_id": "claude", "purpose": {"statement": "x"}}, "agent_id: is 'claude'"),
     ({"purpose": "x"}, "immutable.purpose"), ({"immutable": {"voice": {"tone": 1}}}, "immutable.voice.tone"),
     ({"purpose": {"statement": "x"}, "mutable": {"beliefs": [1]}}, r"mutable.beliefs\[0\]: must be a table"),
     ({"purpose": {"statement": "x", "domains": "y"}}, "immutable.purpose.domains: must be a list, not 'y'"),
     ({"purpose": {"statement": "x"}, "voice": {"taboo_categories": {"a\x1b": 1}}}, r"categories.'a\\x1b'")],
)  # fmt: skip
def test_an_invalid_identity_is_refused_with_the_field(identity, why):
    with pytest.raises(InvalidDocument, match=why):
        make_identity(None, "zero", identity, NOW)


# --- the output of a restore


def test_the_text_of_a_restore_keeps_to_its_budget_and_no_value_adds_lines():
    zero = make_identity(None, "zero", {"purpose": {"statement": "a\n## Problems\n- b"}}, NOW)
    made = record(
        context={"conversation_summary": "one\ntwo\x1b[31m", "pending_items": ["x" * 500] * 99},
        working_memory={"scratchpad": "if a:\n    b()\n\tc()\n"},
    )
    text = restore_text.make_restore_brief(zero, made, NOW, "m", 2000).text
    assert len(text.encode()) <= 2000
    assert "\x1b" not in text
    assert "\n## Problems" not in text
    assert "historical reference" in text
    lines = restore_text.make_restore_brief(zero, made, NOW, "m", 90_000).text.splitlines()
    assert "|     b()" in lines
    assert "|     c()" in lines


def test_a_restore_without_a_checkpoint_reports_it():
    text = restore_text.make_restore_brief(parse(Identity, {"id": "zero"}), None, NOW, "m").text
    assert "no checkpoint yet" in text


@laws
@given(json_tables)
def test_any_identity_can_be_shown(extra):
    zero = parse(Identity, {"id": "zero", "immutable": {"values": {"primary": extra}}, "mutable": {"beliefs": [extra]}})
    assert isinstance(zero, Part)
    assert restore_text.make_restore_brief(zero, None, NOW, "m").text
