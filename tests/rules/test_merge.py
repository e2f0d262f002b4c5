"""Three states into one: both sides' work survives, and what no rule can combine is kept twice."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_folder import MemoryFolder
from strategies import any_small_record, decision, item, laws, loop, pattern, states

from baton_git import layout
from baton_git.diff import TITLES, diff
from baton_git.merge import Decision, apply, decide, merge_fields
from baton_git.records.archive import Archived
from baton_git.records.base import Part, Record, alike
from baton_git.records.baton import SECTIONS, ActiveDecision, FollowUp, Head, OpenLoop, Pattern
from baton_git.records.conflict import Conflict
from baton_git.records.rule import Rule
from baton_git.state import HEAD, Key, State

AT = "2026-11-21T08:14:19Z"


def merged(base: State, ours: State, theirs: State) -> State:
    return apply(ours, decide(base, ours, theirs))


def stored(state: State) -> State:
    files = {path: text for path, text in layout.encode(state.edits).items() if text is not None}
    return layout.state_of(MemoryFolder(files))


def of(*records: Record) -> State:
    state = State()
    for record in records:
        state = state.put(record)
    return state


def both(base: Record, ours: Record, theirs: Record) -> State:
    """One record, edited on both sides."""
    return merged(of(base), of(ours), of(theirs))


def conflicts(state: State) -> dict[str, tuple[Any, Any, str]]:
    """By field: ours, theirs and who stands for now."""
    return {one.field: (one.ours, one.theirs, one.winner) for one in state.records(Conflict)}


def closed(state: State, kind: str, id_: str) -> Archived:
    entry = state.entry(Key(kind, id_, archived=True))
    assert isinstance(entry, Archived), entry
    return entry


def archived(state: State, record: Record, reason: str = "done") -> State:
    return state.archive(record, at=AT, reason=reason, session=None)


# --- edits of a state, for the laws

edits = st.lists(st.tuples(st.sampled_from(("put", "put", "merge", "archive", "remove")), any_small_record), max_size=4)


def edited(state: State, steps: list[tuple[str, Record]]) -> State:
    for step, record in steps:
        key = Key(record.kind, record.id)
        now = state.entry(key)
        if step == "put":
            state = state.put(record)
        elif isinstance(now, Record) and step == "archive":
            state = archived(state, now, record.id)
        elif isinstance(now, Record) and step == "merge":
            state = state.put(type(now).model_validate({**now.given(), **record.given()}))
        elif step == "remove":
            state = state.remove(key)
    return state


histories = st.tuples(states, edits, edits, edits).map(
    lambda drawn: (base := edited(drawn[0], drawn[1]), edited(base, drawn[2]), edited(base, drawn[3]))
)
"""A base and two sides that grew from it."""


def everything(state: State) -> dict[Key, Any]:
    """What stands in a state, without the conflicts."""
    keys = {Key(model.kind, id_, old) for model in SECTIONS.values() for old in (False, True)
            for id_ in state.ids(model.kind, archived=old)}  # fmt: skip
    found = {key: state.entry(key) for key in keys}
    return {key: entry.given() for key, entry in found.items() if isinstance(entry, Part)}


def titles(state: State) -> set[tuple[str, str]]:
    """Kind and title of each record, live or closed."""
    found = set()
    for key, data in everything(state).items():
        record = data["record"] if key.archived else data
        found.add((key.kind, record[TITLES[key.kind]]))
    return found


@laws
@given(histories)
def test_merging_what_did_not_move_changes_nothing(history: tuple[State, State, State]) -> None:
    base, ours, _ = history
    assert decide(base, ours, base) == []
    assert decide(base, ours, ours) == []
    assert merged(base, ours, ours) is ours


@laws
@given(histories)
def test_a_side_that_did_not_move_takes_the_other_as_it_is(history: tuple[State, State, State]) -> None:
    base, _, theirs = history
    result = merged(base, base, theirs)
    assert alike(everything(result), everything(theirs))
    assert result.records(Conflict) == []


@laws
@given(histories)
def test_states_merge_alike_whether_they_are_stored_or_in_memory(history: tuple[State, State, State]) -> None:
    fresh = merged(*history)
    base, ours, theirs = (stored(one) for one in history)
    again = merged(base, ours, theirs)
    assert alike(everything(fresh), everything(again))
    assert diff(stored(fresh), again) == []


@laws
@given(histories)
def test_no_record_that_a_side_has_is_lost_unless_the_other_removed_it(history: tuple[State, State, State]) -> None:
    base, ours, theirs = history
    result = merged(base, ours, theirs)
    kept = titles(result) | {
        (one.record_kind, side.get(TITLES[one.record_kind], "")) if isinstance(side, dict) else (one.record_kind, side)
        for one in result.records(Conflict)
        for side in (one.ours, one.theirs)
    }
    for side in (ours, theirs):
        assert titles(side) - titles(base) <= kept


@laws
@given(histories)
def test_the_result_is_made_of_whole_valid_records_in_their_places(history: tuple[State, State, State]) -> None:
    result = merged(*history)
    again = stored(result)
    for key, data in everything(result).items():
        entry = again.entry(key)
        assert isinstance(entry, Part), entry
        assert alike(entry.given(), data)


@laws
@given(histories)
def test_merging_the_same_again_changes_nothing_more(history: tuple[State, State, State]) -> None:
    _, _, theirs = history
    result = merged(*history)
    assert merged(theirs, result, theirs) is result


@laws
@given(st.sampled_from(tuple(SECTIONS)).flatmap(lambda name: st.tuples(*[any_small_record] * 3)))
def test_the_fields_of_a_record_merge_alike_from_both_sides(records: tuple[Record, Record, Record]) -> None:
    model = type(records[0])
    tables = [one.given() for one in records if type(one) is model]
    base, ours, theirs = (tables * 3)[:3]
    one, contested = merge_fields(model, base, ours, theirs, prefer="theirs")
    other, mirrored = merge_fields(model, base, theirs, ours, prefer="ours")
    assert alike(one, other)
    assert {value.field for value in contested} == {value.field for value in mirrored}


@laws
@given(histories)
def test_nothing_becomes_human_confirmed_or_graduated_by_merging_alone(history: tuple[State, State, State]) -> None:
    sides = [data for state in history for data in _records(state)]
    for data in _records(merged(*history)):
        same = [one for one in sides if one[0] == data[0]]
        if data[1].get("status") == "graduated":
            assert any(one[1].get("status") == "graduated" for one in same)
        if data[1].get("source_tier") == "human_confirmed":
            assert any(one[1].get("source_tier") == "human_confirmed" for one in same)


def _records(state: State) -> list[tuple[str, dict[str, Any]]]:
    return [(key.kind, data["record"] if key.archived else data) for key, data in everything(state).items()]


@laws
@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_counters_add_up(base: int, ours: int, theirs: int) -> None:
    mine, yours = item(defer_count=base + ours, reason="mine"), item(defer_count=base + theirs, linked_pattern="yours")
    result = both(item(defer_count=base), mine, yours)
    assert result.get(FollowUp, "FU-1").defer_count == base + ours + theirs
    assert result.records(Conflict) == []


@pytest.mark.parametrize(("ours", "theirs", "count"), [(2, 3, 4), (2, 2, 3), (None, 3, 3), (2, None, 2), (5, 5, 9)])
def test_a_count_that_was_left_out_counts_on_from_its_default(ours: int | None, theirs: int | None, count: int) -> None:
    mine, yours = ({} if number is None else {"count": number} for number in (ours, theirs))
    result = both(pattern(), pattern(proposed_rule="mine", **mine), pattern(graduated_to="yours", **yours))
    assert result.get(Pattern, "PAT-1").count == count


def test_a_record_that_both_sides_took_over_from_elsewhere_is_not_counted_twice() -> None:
    result = merged(State(), of(pattern(count=4, proposed_rule="x")), of(pattern(count=4)))
    assert result.get(Pattern, "PAT-1").count == 4


# --- one rule after the other


def test_changes_of_different_fields_go_together() -> None:
    result = both(item(reason="a"), item(reason="b"), item(reason="a", linked_pattern="P", x=[1]))
    assert result.get(FollowUp, "FU-1").given() == item(reason="b", linked_pattern="P", x=[1]).given()
    assert result.records(Conflict) == []


def test_the_same_change_on_both_sides_is_one() -> None:
    result = both(item(reason="a"), item(reason="b"), item(reason="b"))
    assert (result.get(FollowUp, "FU-1").reason, result.records(Conflict)) == ("b", [])


def test_a_field_that_one_side_took_away_and_the_other_left_alone_goes() -> None:
    assert "x" not in both(item(x=1), item(), item(x=1)).get(FollowUp, "FU-1").given()
    assert "x" not in both(item(x=1), item(x=1), item()).get(FollowUp, "FU-1").given()


def test_a_scalar_that_both_changed_has_a_winner_and_keeps_both_values() -> None:
    result = both(item(item="old"), item(item="mine"), item(item="yours"))
    assert result.get(FollowUp, "FU-1").item == "yours"
    [conflict] = result.records(Conflict)
    assert (conflict.record_kind, conflict.record_id, conflict.field) == ("follow_up", "FU-1", "item")
    assert (conflict.base, conflict.ours, conflict.theirs, conflict.winner) == ("old", "mine", "yours", "theirs")


def test_ours_can_be_preferred() -> None:
    base, ours, theirs = of(item(item="old")), of(item(item="mine")), of(item(item="yours"))
    result = apply(ours, decide(base, ours, theirs, prefer="ours"))
    assert result.get(FollowUp, "FU-1").item == "mine"
    assert conflicts(result) == {"item": ("mine", "yours", "ours")}


def test_a_scalar_that_one_side_took_away_and_the_other_changed_is_contested() -> None:
    result = both(item(x=1), item(), item(x=2))
    assert result.get(FollowUp, "FU-1").given()["x"] == 2
    assert conflicts(result) == {"x": (None, 2, "theirs")}
    result = both(item(x=1), item(x=2), item())
    assert result.get(FollowUp, "FU-1").given()["x"] == 2
    assert conflicts(result) == {"x": (2, None, "ours")}


@pytest.mark.parametrize(("ours", "theirs"), [(True, 1), (1.0, True)])
def test_values_that_python_confuses_are_contested(ours: Any, theirs: Any) -> None:
    result = both(item(x=0), item(x=ours), item(x=theirs))
    assert repr(result.get(FollowUp, "FU-1").given()["x"]) == repr(theirs)
    assert "x" in conflicts(result)


def test_a_set_keeps_what_either_side_added_less_what_either_removed() -> None:
    result = both(
        decision(evidence=["a", "b", "c"]), decision(evidence=["b", "c", "new"]), decision(evidence=["a", "b", "own"])
    )
    assert result.get(ActiveDecision, "DEC-1").evidence == ("b", "new", "own")
    assert result.records(Conflict) == []


def seen(*names: str) -> list[dict[str, str]]:
    return [{"session": name, "context": ""} for name in names]


def test_the_newest_five_occurrences_of_both_sides_are_kept_and_the_count_goes_on() -> None:
    base = pattern(count=5, recent_occurrences=seen("1", "2", "3", "4", "5"))
    ours = pattern(count=6, recent_occurrences=seen("2", "3", "4", "5", "mine"))
    theirs = pattern(count=7, recent_occurrences=seen("3", "4", "5", "yours", "yours too"))
    one = both(base, ours, theirs).get(Pattern, "PAT-1")
    assert one.count == 8
    assert [o.session for o in one.recent_occurrences] == ["4", "5", "mine", "yours", "yours too"]


def test_text_that_grew_on_both_sides_keeps_both() -> None:
    state = [State().put(Head(context=text), HEAD) for text in ("start\n", "start\nmine\n", "start\nyours\n")]
    result = merged(*state)
    assert result.head.context == "start\nmine\nyours\n"
    assert result.records(Conflict) == []


def test_text_that_was_rewritten_on_both_sides_is_contested() -> None:
    state = [State().put(Head(context=text), HEAD) for text in ("start", "mine", "yours")]
    assert conflicts(merged(*state)) == {"context": ("mine", "yours", "theirs")}


def test_the_later_of_two_times_and_the_earlier_beginning_stand() -> None:
    one = both(
        item(first_seen="2026-06-05", last_deferred="2026-06-05"),
        item(first_seen="2026-06-03", last_deferred="2026-06-09"),
        item(first_seen="2026-06-04", last_deferred="2026-06-07"),
    ).get(FollowUp, "FU-1")
    assert (one.first_seen, one.last_deferred) == ("2026-06-03", "2026-06-09")


def test_a_check_is_taken_whole_from_the_side_that_checked_later() -> None:
    mine = {"result": "passed", "at": "2026-06-02", "duration_ms": 1}
    yours = {"result": "failed", "at": "2026-06-03", "why": "500"}
    result = both(loop(), loop(last_check=mine, status="verified"), loop(last_check=yours, status="failed"))
    one = result.get(OpenLoop, "OL-1")
    assert one.given()["last_check"] == yours
    assert one.status == "failed"
    assert result.records(Conflict) == []


LADDERS: list[tuple[Any, tuple[str, ...]]] = [
    (loop, ("open", "verified", "escalated", "failed")),
    (pattern, ("observing", "rule_candidate", "graduated", "dismissed")),
    (decision, ("active", "monitoring", "superseded")),
]


@pytest.mark.parametrize(("make", "steps"), LADDERS)
def test_of_two_statuses_the_one_that_doubts_more_stands(make: Any, steps: tuple[str, ...]) -> None:
    for ours, theirs in product(steps[1:], steps[1:]):
        result = both(make(status=steps[0]), make(status=ours), make(status=theirs))
        record = result.get(type(make()), make().id)
        assert record.status == max(ours, theirs, key=steps.index)
        assert result.records(Conflict) == []


def test_of_two_tiers_the_less_trusted_stands() -> None:
    result = both(item(source_tier="raw_source"), item(source_tier="human_confirmed"), item(source_tier="llm_derived"))
    assert result.get(FollowUp, "FU-1").source_tier == "llm_derived"


# --- records as wholes


def test_additions_of_both_sides_survive() -> None:
    result = merged(State(), of(loop()), of(item(), pattern()))
    assert (result.ids("open_loop"), result.ids("follow_up"), result.ids("pattern")) == ({"OL-1"}, {"FU-1"}, {"PAT-1"})
    assert result.records(Conflict) == []


def test_two_different_records_under_one_id_both_survive_and_the_renaming_is_the_same_everywhere() -> None:
    ours, theirs = of(item(item="mine")), of(item(item="yours"))
    result = merged(State(), ours, theirs)
    assert [one.item for one in result.records(FollowUp)] == ["mine", "yours"]
    [decided] = decide(State(), ours, theirs)
    assert (decided.action, decided.key.id) == ("rekey", "FU-1")
    assert decided.to is not None
    assert decided.to.id.startswith("FU-1.")
    assert decided.as_data() == {"kind": "follow_up", "id": "FU-1", "action": "rekey", "to": decided.to.id}
    assert decide(State(), ours, theirs) == decide(State(), stored(ours), stored(theirs))
    assert result.records(Conflict) == []


def test_the_same_record_added_on_both_sides_is_one() -> None:
    result = merged(State(), of(item(defer_count=2)), of(item(defer_count=3, reason="x")))
    assert [one.id for one in result.records(FollowUp)] == ["FU-1"]
    assert result.get(FollowUp, "FU-1").reason == "x"


def test_two_records_of_which_one_is_closed_already_both_survive() -> None:
    result = merged(State(), of(item(item="mine")), archived(of(item(item="yours")), item(item="yours")))
    assert titles(result) == {("follow_up", "mine"), ("follow_up", "yours")}


@pytest.mark.parametrize("closing", ["ours", "theirs"])
def test_archived_on_one_side_and_edited_on_the_other_is_archived_with_the_edit(closing: str) -> None:
    base, edit = of(decision(evidence=["a"])), of(decision(evidence=["a", "b"], why="because"))
    gone = archived(base, decision(evidence=["a"]))
    result = merged(base, gone, edit) if closing == "ours" else merged(base, edit, gone)
    assert result.ids("active_decision") == set()
    found = closed(result, "active_decision", "DEC-1")
    assert found.record == decision(evidence=["a", "b"], why="because").given()
    assert (found.reason, found.at) == ("done", AT)
    assert result.records(Conflict) == []


@pytest.mark.parametrize("closing", ["ours", "theirs"])
def test_archived_on_one_side_and_left_alone_on_the_other_is_archived(closing: str) -> None:
    base = of(loop(), item())
    gone = archived(base, loop())
    result = merged(base, gone, base.put(pattern())) if closing == "ours" else merged(base, base.put(pattern()), gone)
    assert result.ids("open_loop") == set()
    assert closed(result, "open_loop", "OL-1").record == loop().given()
    assert (result.ids("follow_up"), result.ids("pattern")) == ({"FU-1"}, {"PAT-1"})


def test_archived_on_both_sides_with_edits_is_one_entry_merged_by_the_rules_of_its_kind() -> None:
    base = of(item(defer_count=1))
    mine, yours = item(defer_count=3), item(defer_count=2, reason="x")
    ours = base.archive(mine, at="2026-11-02", reason="done", session="s1")
    theirs = base.archive(yours, at="2026-11-01", reason="stale", session="s2")
    for one, other in ((ours, theirs), (theirs, ours)):
        result = merged(base, one, other)
        entry = closed(result, "follow_up", "FU-1")
        assert entry.record == item(defer_count=4, reason="x").given()
        assert (entry.at, entry.reason, entry.session) == ("2026-11-01", "stale", "s2")
        assert result.ids("follow_up", archived=True) == {"FU-1"}


@pytest.mark.parametrize("removing", ["ours", "theirs"])
def test_removed_on_one_side_and_edited_on_the_other_is_kept_and_a_conflict_recorded(removing: str) -> None:
    base, edit, gone = of(item()), of(item(reason="new")), of(item()).remove(Key("follow_up", "FU-1"))
    result = merged(base, gone, edit) if removing == "ours" else merged(base, edit, gone)
    assert result.get(FollowUp, "FU-1").reason == "new"
    [conflict] = result.records(Conflict)
    assert (conflict.field, conflict.base, conflict.winner) == (
        "",
        item().given(),
        "theirs" if removing == "ours" else "ours",
    )
    assert item(reason="new").given() in (conflict.ours, conflict.theirs)


def test_removed_on_one_side_and_left_alone_on_the_other_goes() -> None:
    base = of(item(), loop())
    gone = base.remove(Key("follow_up", "FU-1"))
    assert merged(base, base.put(pattern()), gone).ids("follow_up") == set()
    assert merged(base, gone, base.put(pattern())).ids("follow_up") == set()


def test_an_id_used_again_keeps_the_closed_record_of_that_id_whatever_the_other_side_does() -> None:
    base = archived(of(loop(action="first")), loop(action="first")).put(loop(action="second"))
    ours = base.put(loop(action="second", ttl_days=9))
    theirs = archived(base, loop(action="second"))
    for one, other in ((ours, theirs), (theirs, ours)):
        result = merged(base, one, other)
        assert {("open_loop", "first"), ("open_loop", "second")} <= titles(result)


def test_an_id_taken_out_of_the_archive_and_used_on_both_sides_loses_neither() -> None:
    base = archived(of(loop(action="first")), loop(action="first"))
    result = merged(base, base.put(loop(action="mine")), base.put(loop(action="yours")))
    assert titles(result) >= {("open_loop", "first"), ("open_loop", "yours")}
    assert "mine" in {one.action for one in result.records(OpenLoop)} | {one.ours for one in result.records(Conflict)}


def test_rules_that_grew_on_both_sides_keep_both_growths() -> None:
    result = both(Rule(id="P", text="a\n"), Rule(id="P", text="a\nb\n"), Rule(id="P", text="a\nc\n"))
    assert result.get(Rule, "P").text == "a\nb\nc\n"


# --- what cannot be read


def test_a_file_that_cannot_be_read_is_kept_on_our_side_and_the_other_side_is_in_the_conflict() -> None:
    base = stored(of(item()))
    broken = layout.state_of(MemoryFolder({"follow_ups/FU-1.toml": b"broken"}))
    theirs = base.put(item(reason="new"))
    [decided] = decide(base, broken, theirs)
    assert decided.action == "keep"
    result = apply(broken, [decided])
    assert set(layout.encode(result.edits)) == {f"conflicts/{one.id}.toml" for one in result.records(Conflict)}
    [conflict] = result.records(Conflict)
    assert conflict.theirs == item(reason="new").given()


def test_decisions_are_data() -> None:
    ours, theirs = of(item(item="mine"), loop()), of(item(item="yours"), loop())
    [decided] = decide(of(item(item="old"), loop()), ours, theirs)
    assert isinstance(decided, Decision)
    assert decided.as_data() == {"kind": "follow_up", "id": "FU-1", "action": "merge", "contested": ["item"]}


def test_conflicts_can_be_left_out() -> None:
    ours = of(item(item="mine"))
    decisions = decide(of(item(item="old")), ours, of(item(item="yours")))
    assert apply(ours, decisions, record_conflicts=False).records(Conflict) == []
