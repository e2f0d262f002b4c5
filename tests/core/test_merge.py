"""Merging three states: the changes of both sides are kept. If no rule can combine two values, both values are kept."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from memory_folder import MemoryFolder
from merge_histories import titles
from strategies import any_small_record, decision, item, laws, loop, pattern

from baton_git.core import layout
from baton_git.core.merge import Decision, apply, decide, merge_fields
from baton_git.core.records.base import Archived, Record, alike
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import SECTIONS, ActiveDecision, FollowUp, Head, OpenLoop, Pattern, Rule
from baton_git.core.state import HEAD, Key, State, Unreadable
from baton_git.systems.paif.record import Identity

AT = "2026-11-21T08:14:19Z"


def merged(base: State, ours: State, theirs: State) -> State:
    return apply(ours, decide(base, ours, theirs))


def stored(state: State) -> State:
    files = {path: text for path, text in layout.encode(state.edits).items() if text is not None}
    return layout.state_of(MemoryFolder(files))


def of(*records: Record) -> State:
    """Return a state of these records."""
    state = State()
    for record in records:
        state = state.put(record)
    return state


def both(base: Record, ours: Record, theirs: Record) -> State:
    """Return the merged state of one record that was edited on both sides."""
    return merged(of(base), of(ours), of(theirs))


def conflicts(state: State) -> dict[str, tuple[Any, Any, str]]:
    """Return, by field, the two values and which of them is in use."""
    return {one.field: (one.ours, one.theirs, one.winner) for one in state.records(Conflict)}


def closed(state: State, kind: str, id_: str) -> Archived:
    entry = state.entry(Key(kind, id_, archived=True))
    assert isinstance(entry, Archived), entry
    return entry


def archived(state: State, record: Record, reason: str = "done") -> State:
    return state.archive(record, at=AT, reason=reason, session=None)


@laws
@given(st.sampled_from(tuple(SECTIONS)).flatmap(lambda name: st.tuples(*[any_small_record] * 3)))
def test_merging_fields_is_symmetric(records: tuple[Record, Record, Record]) -> None:
    model = type(records[0])
    tables = [one.as_data() for one in records if type(one) is model]
    base, ours, theirs = (tables * 3)[:3]
    one, contested = merge_fields(model, base, ours, theirs, prefer="theirs")
    other, mirrored = merge_fields(model, base, theirs, ours, prefer="ours")
    assert alike(one, other)
    assert {value.field for value in contested} == {value.field for value in mirrored}


@laws
@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_counters_add_up(base: int, ours: int, theirs: int) -> None:
    mine, yours = item(defer_count=base + ours, reason="mine"), item(defer_count=base + theirs, linked_pattern="yours")
    result = both(item(defer_count=base), mine, yours)
    assert result.get(FollowUp, "FU-1").defer_count == base + ours + theirs
    assert result.records(Conflict) == []


@for_each(("ours", "theirs", "count"), [(2, 3, 4), (2, 2, 3), (None, 3, 3), (2, None, 2), (5, 5, 9)])
def test_an_absent_counter_continues_from_its_default(ours: int | None, theirs: int | None, count: int) -> None:
    mine, yours = ({} if number is None else {"count": number} for number in (ours, theirs))
    result = both(pattern(), pattern(proposed_rule="mine", **mine), pattern(graduated_to="yours", **yours))
    assert result.get(Pattern, "PAT-1").count == count


def test_a_record_that_both_sides_imported_is_not_counted_twice() -> None:
    result = merged(State(), of(pattern(count=4, proposed_rule="x")), of(pattern(count=4)))
    assert result.get(Pattern, "PAT-1").count == 4


# --- each rule


def test_changes_of_different_fields_are_combined() -> None:
    result = both(item(reason="a"), item(reason="b"), item(reason="a", linked_pattern="P", x=[1]))
    assert result.get(FollowUp, "FU-1").as_data() == item(reason="b", linked_pattern="P", x=[1]).as_data()
    assert result.records(Conflict) == []


def test_the_same_change_on_both_sides_is_one() -> None:
    result = both(item(reason="a"), item(reason="b"), item(reason="b"))
    assert (result.get(FollowUp, "FU-1").reason, result.records(Conflict)) == ("b", [])


def test_a_field_removed_on_one_side_only_is_removed() -> None:
    assert "x" not in both(item(x=1), item(), item(x=1)).get(FollowUp, "FU-1").as_data()
    assert "x" not in both(item(x=1), item(x=1), item()).get(FollowUp, "FU-1").as_data()


def test_a_scalar_changed_on_both_sides_has_a_winner_and_a_conflict() -> None:
    result = both(item(item="old"), item(item="mine"), item(item="yours"))
    assert result.get(FollowUp, "FU-1").item == "yours"
    [conflict] = result.records(Conflict)
    assert (conflict.record_kind, conflict.record_id, conflict.field) == ("follow_up", "FU-1", "item")
    assert (conflict.base, conflict.ours, conflict.theirs, conflict.winner) == ("old", "yours", "mine", "ours")


@pytest.mark.parametrize(("prefer", "kept"), [("ours", "mine"), ("theirs", "yours")])
def test_with_a_preferred_side_the_conflict_names_ours_and_theirs(prefer: Any, kept: str) -> None:
    base, ours, theirs = of(item(item="old")), of(item(item="mine")), of(item(item="yours"))
    result = apply(ours, decide(base, ours, theirs, prefer=prefer))
    assert result.get(FollowUp, "FU-1").item == kept
    assert conflicts(result) == {"item": ("mine", "yours", prefer)}


def test_a_removal_on_the_preferred_side_does_not_win() -> None:
    base, ours, theirs = of(item(x=1)), of(item(x=2)), of(item())
    result = apply(ours, decide(base, ours, theirs, prefer="theirs"))
    assert result.get(FollowUp, "FU-1").as_data()["x"] == 2
    assert conflicts(result) == {"x": (2, None, "ours")}


def test_a_scalar_removed_on_one_side_and_changed_on_the_other_is_a_conflict() -> None:
    for result in (both(item(x=1), item(), item(x=2)), both(item(x=1), item(x=2), item())):
        assert result.get(FollowUp, "FU-1").as_data()["x"] == 2
        assert conflicts(result) == {"x": (2, None, "ours")}


@pytest.mark.parametrize(("ours", "theirs", "kept"), [(True, 1, True), (1.0, True, True), (1, 1.0, 1.0)])
def test_values_that_python_compares_as_equal_are_a_conflict(ours: Any, theirs: Any, kept: Any) -> None:
    for result in (both(item(x=0), item(x=ours), item(x=theirs)), both(item(x=0), item(x=theirs), item(x=ours))):
        assert repr(result.get(FollowUp, "FU-1").as_data()["x"]) == repr(kept)
        [(first, second, winner)] = conflicts(result).values()
        assert (repr(first), winner) == (repr(kept), "ours")
        assert {repr(first), repr(second)} == {repr(ours), repr(theirs)}


def test_a_set_has_the_additions_of_both_sides_without_the_removals() -> None:
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


def test_text_extended_on_both_sides_keeps_both_additions() -> None:
    state = [State().put(Head(context=text), HEAD) for text in ("start\n", "start\nmine\n", "start\nyours\n")]
    result = merged(*state)
    assert result.head.context == "start\nmine\nyours\n"
    assert result.records(Conflict) == []


def test_text_rewritten_on_both_sides_is_a_conflict() -> None:
    state = [State().put(Head(context=text), HEAD) for text in ("start", "mine", "yours")]
    assert conflicts(merged(*state)) == {"context": ("yours", "mine", "ours")}


def test_immutable_fields_keep_the_value_of_the_base() -> None:
    base, other = ({"id": "zero", "immutable": {"purpose": {"statement": text}}} for text in ("old", "new"))
    assert merge_fields(Identity, base, other, base) == merge_fields(Identity, base, base, other) == (base, [])


def test_the_later_last_time_and_the_earlier_first_time_are_kept() -> None:
    one = both(
        item(first_seen="2026-06-05", last_deferred="2026-06-05"),
        item(first_seen="2026-06-03", last_deferred="2026-06-09"),
        item(first_seen="2026-06-04", last_deferred="2026-06-07"),
    ).get(FollowUp, "FU-1")
    assert (one.first_seen, one.last_deferred) == ("2026-06-03", "2026-06-09")


def test_the_last_check_is_taken_as_a_whole_from_the_later_side() -> None:
    mine = {"result": "passed", "at": "2026-06-02", "duration_ms": 1}
    yours = {"result": "failed", "at": "2026-06-03", "why": "500"}
    result = both(loop(), loop(last_check=mine, status="verified"), loop(last_check=yours, status="failed"))
    one = result.get(OpenLoop, "OL-1")
    assert one.as_data()["last_check"] == yours
    assert one.status == "failed"
    assert result.records(Conflict) == []


LADDERS: list[tuple[Any, tuple[str, ...]]] = [
    (loop, ("open", "verified", "escalated", "failed")),
    (pattern, ("observing", "rule_candidate", "graduated", "dismissed")),
    (decision, ("active", "monitoring", "superseded")),
]


@pytest.mark.parametrize(("make", "steps"), LADDERS)
def test_of_two_statuses_the_more_doubtful_is_kept(make: Any, steps: tuple[str, ...]) -> None:
    combined = [one for one in steps[1:] if one != "graduated"]  # the tests of graduations are below
    for ours, theirs in product(combined, combined):
        result = both(make(status=steps[0]), make(status=ours), make(status=theirs))
        record = result.get(type(make()), make().id)
        assert record.status == max(ours, theirs, key=steps.index)
        assert result.records(Conflict) == []


def test_of_two_tiers_the_less_trusted_is_kept() -> None:
    result = both(item(source_tier="raw_source"), item(source_tier="human_confirmed"), item(source_tier="llm_derived"))
    assert result.get(FollowUp, "FU-1").source_tier == "llm_derived"


# --- whole records


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
    assert decided.as_data() == {
        "kind": "follow_up", "id": "FU-1", "action": "rekey",
        "result": item(item="yours", id=decided.to.id).as_data(), "to": {"kind": "follow_up", "id": decided.to.id},
    }  # fmt: skip
    assert [one.item for one in merged(State(), theirs, ours).records(FollowUp)] == ["mine", "yours"]
    assert decide(State(), ours, theirs) == decide(State(), stored(ours), stored(theirs))
    assert result.records(Conflict) == []


def test_the_same_record_added_on_both_sides_is_one() -> None:
    result = merged(State(), of(item(defer_count=2)), of(item(defer_count=3, reason="x")))
    assert [one.id for one in result.records(FollowUp)] == ["FU-1"]
    assert result.get(FollowUp, "FU-1").reason == "x"


def test_a_live_and_an_archived_record_of_one_id_both_survive() -> None:
    result = merged(State(), of(item(item="mine")), archived(of(item(item="yours")), item(item="yours")))
    assert titles(result) == {("follow_up", "mine"), ("follow_up", "yours")}


@pytest.mark.parametrize("closing", ["ours", "theirs"])
def test_archived_on_one_side_and_edited_on_the_other_is_archived_with_the_edit(closing: str) -> None:
    base, edit = of(decision(evidence=["a"])), of(decision(evidence=["a", "b"], why="because"))
    gone = archived(base, decision(evidence=["a"]))
    result = merged(base, gone, edit) if closing == "ours" else merged(base, edit, gone)
    assert result.ids("active_decision") == set()
    found = closed(result, "active_decision", "DEC-1")
    assert found.record == decision(evidence=["a", "b"], why="because").as_data()
    assert (found.reason, found.at) == ("done", AT)
    assert result.records(Conflict) == []


@pytest.mark.parametrize("closing", ["ours", "theirs"])
def test_archived_on_one_side_and_left_alone_on_the_other_is_archived(closing: str) -> None:
    base = of(loop(), item())
    gone = archived(base, loop())
    result = merged(base, gone, base.put(pattern())) if closing == "ours" else merged(base, base.put(pattern()), gone)
    assert result.ids("open_loop") == set()
    assert closed(result, "open_loop", "OL-1").record == loop().as_data()
    assert (result.ids("follow_up"), result.ids("pattern")) == ({"FU-1"}, {"PAT-1"})


def test_archived_on_both_sides_with_edits_is_one_entry_merged_by_the_rules_of_its_kind() -> None:
    base = of(item(defer_count=1))
    mine, yours = item(defer_count=3), item(defer_count=2, reason="x")
    ours = base.archive(mine, at="2026-11-02", reason="done", session="s1")
    theirs = base.archive(yours, at="2026-11-01", reason="stale", session="s2")
    for one, other in ((ours, theirs), (theirs, ours)):
        result = merged(base, one, other)
        entry = closed(result, "follow_up", "FU-1")
        assert entry.record == item(defer_count=4, reason="x").as_data()
        assert (entry.at, entry.reason, entry.session) == ("2026-11-01", "stale", "s2")
        assert result.ids("follow_up", archived=True) == {"FU-1"}


def test_an_edit_that_only_changes_the_type_of_a_number_is_archived_too() -> None:
    base = of(item(x=1))
    ours, theirs = base.archive(item(x=1), at="2026-11-02", reason="done", session=None), of(item(x=True))
    for result in (merged(base, ours, theirs), merged(base, theirs, ours)):
        assert closed(result, "follow_up", "FU-1").record["x"] is True


@pytest.mark.parametrize("removing", ["ours", "theirs"])
def test_removed_on_one_side_and_edited_on_the_other_is_kept_and_a_conflict_recorded(removing: str) -> None:
    base, edit, gone = of(item()), of(item(reason="new")), of(item()).remove(Key("follow_up", "FU-1"))
    result = merged(base, gone, edit) if removing == "ours" else merged(base, edit, gone)
    assert result.get(FollowUp, "FU-1").reason == "new"
    [conflict] = result.records(Conflict)
    assert (conflict.field, conflict.base, conflict.winner) == ("", item().as_data(), "ours")
    assert conflict.ours == item(reason="new").as_data()
    assert "theirs" not in conflict.as_data()


def test_a_record_removed_on_one_side_only_is_removed() -> None:
    base = of(item(), loop())
    gone = base.remove(Key("follow_up", "FU-1"))
    assert merged(base, base.put(pattern()), gone).ids("follow_up") == set()
    assert merged(base, gone, base.put(pattern())).ids("follow_up") == set()


def test_a_reused_id_keeps_the_archived_record_of_that_id() -> None:
    base = archived(of(loop(action="first")), loop(action="first")).put(loop(action="second"))
    ours = base.put(loop(action="second", ttl_days=9))
    theirs = archived(base, loop(action="second"))
    for one, other in ((ours, theirs), (theirs, ours)):
        result = merged(base, one, other)
        assert {("open_loop", "first"), ("open_loop", "second")} <= titles(result)


def test_an_id_reused_on_both_sides_after_archiving_keeps_both_records() -> None:
    base = archived(of(loop(action="first")), loop(action="first"))
    result = merged(base, base.put(loop(action="mine")), base.put(loop(action="yours")))
    assert titles(result) >= {("open_loop", "first"), ("open_loop", "yours")}
    assert "mine" in {one.action for one in result.records(OpenLoop)} | {one.ours for one in result.records(Conflict)}


def test_an_equal_new_record_takes_the_id_of_an_edited_record_that_is_archived() -> None:
    base = of(loop(action="old"))
    ours = of(loop(action="same"))
    theirs = archived(base, loop(action="old")).put(loop(action="same"))
    for one, other in ((ours, theirs), (theirs, ours)):
        result = merged(base, one, other)
        assert result.get(OpenLoop, "OL-1").action == "same"
        assert result.ids("open_loop", archived=True)


def test_rules_extended_on_both_sides_keep_both_additions() -> None:
    result = both(Rule(id="P", text="a\n"), Rule(id="P", text="a\nb\n"), Rule(id="P", text="a\nc\n"))
    assert result.get(Rule, "P").text == "a\nb\nc\n"


# --- unreadable records


def broken(text: bytes = b"broken", path: str = "follow_ups/FU-1.toml") -> State:
    return layout.state_of(MemoryFolder({path: text}))


def raw(state: State, kind: str = "follow_up", id_: str = "FU-1") -> bytes:
    entry = state.entry(Key(kind, id_))
    assert isinstance(entry, Unreadable), entry
    return entry.raw


def test_a_readable_record_wins_over_an_unreadable_file_which_goes_into_the_conflict() -> None:
    base, edit = of(item()), of(item(reason="new"))
    for result in (merged(base, broken(), edit), merged(base, edit, broken())):
        assert result.get(FollowUp, "FU-1").reason == "new"
        [conflict] = result.records(Conflict)
        assert (conflict.field, conflict.ours, conflict.winner) == ("", item(reason="new").as_data(), "ours")
        assert conflict.theirs["text"] == "broken"


def test_bytes_that_are_not_utf8_are_base64_in_the_conflict() -> None:
    [conflict] = merged(of(item()), of(item(reason="new")), broken(b"\xff\xfe")).records(Conflict)
    assert conflict.theirs["base64"] == "//4="


def test_with_a_preferred_side_an_unreadable_file_of_ours_is_kept() -> None:
    theirs = of(item(reason="new"))
    [decided] = decide(of(item()), broken(), theirs, prefer="theirs")
    assert decided.action == "keep"
    result = apply(broken(), [decided])
    assert raw(result) == b"broken"
    [conflict] = result.records(Conflict)
    assert conflict.theirs == item(reason="new").as_data()


def test_a_file_broken_on_one_side_is_kept_byte_for_byte() -> None:
    base = stored(of(item()))
    for result in (merged(base, base.put(loop()), broken()), merged(base, broken(), base.put(loop()))):
        assert raw(result) == b"broken"
        assert result.records(Conflict) == []


def test_of_two_unreadable_files_one_is_kept_and_one_is_in_the_conflict() -> None:
    for result in (merged(State(), broken(b"a"), broken(b"b")), merged(State(), broken(b"b"), broken(b"a"))):
        assert raw(result) == b"b"
        [conflict] = result.records(Conflict)
        assert (conflict.ours["text"], conflict.theirs["text"]) == ("b", "a")


def test_an_unreadable_conflict_file_does_not_stop_a_merge() -> None:
    [conflict] = both(item(item="old"), item(item="mine"), item(item="yours")).records(Conflict)
    ours = State(edits={**of(item(item="mine")).edits,
        Key("conflict", conflict.id): Unreadable(f"conflicts/{conflict.id}.toml", "broken", b"x")})  # fmt: skip
    result = merged(of(item(item="old")), ours, of(item(item="yours")))
    assert raw(result, "conflict", conflict.id) == b"x"
    [other] = result.records(Conflict)
    assert {**other.as_data(), "id": ""} == {**conflict.as_data(), "id": ""}


# --- edits of a record that the other side renamed, archived or replaced


def test_an_edit_follows_a_record_that_got_another_id() -> None:
    ours, theirs = of(item(item="mine")), of(item(item="yours"))
    hub = merged(State(), ours, theirs)
    [renamed] = [one for one in hub.records(FollowUp) if one.id != "FU-1"]
    for result in (
        merged(theirs, hub, of(item(item="yours", reason="edited"))),
        merged(theirs, of(item(item="yours", reason="edited")), hub),
    ):
        assert {one.id: (one.item, one.reason) for one in result.records(FollowUp)} == {
            "FU-1": ("mine", None), renamed.id: ("yours", "edited"),
        }  # fmt: skip
        assert result.records(Conflict) == []


def test_an_edit_follows_a_record_that_was_renamed_and_archived() -> None:
    ours, theirs = of(item(item="mine")), of(item(item="yours"))
    hub = merged(State(), ours, theirs)
    [renamed] = [one for one in hub.records(FollowUp) if one.id != "FU-1"]
    result = merged(theirs, archived(hub, renamed), of(item(item="yours", reason="edited")))
    assert closed(result, "follow_up", renamed.id).record["reason"] == "edited"
    assert [one.item for one in result.records(FollowUp)] == ["mine"]


def test_an_archived_record_of_the_same_id_from_elsewhere_is_a_different_record() -> None:
    base = of(item(item="a"))
    hub = archived(State(), item(item="b")).put(item(item="a"))
    result = merged(base, of(item(item="a", reason="edited")), hub)
    assert result.get(FollowUp, "FU-1").reason == "edited"
    assert closed(result, "follow_up", "FU-1").record["item"] == "b"


def test_a_reused_id_keeps_the_archived_and_the_new_record() -> None:
    base = of(item(item="a"))
    again = archived(base, item(item="a")).put(item(item="b"))
    for result in (merged(base, again, of(item(item="a", reason="edited"))),
                   merged(base, of(item(item="a", reason="edited")), again)):  # fmt: skip
        assert closed(result, "follow_up", "FU-1").record == item(item="a", reason="edited").as_data()
        assert result.get(FollowUp, "FU-1") == item(item="b")


# --- graduations and their rules

GROWN = {"status": "graduated", "source_tier": "human_confirmed", "graduated_to": "rules/PAT-1.md"}


def graduated(rule: str = "look", **more: Any) -> State:
    record = pattern(**{**GROWN, "proposed_rule": rule, **more})
    return of(record, Rule(id="PAT-1", text=f"{rule}\n"))


CANDIDATE = {"status": "rule_candidate", "proposed_rule": "look"}


def test_a_graduation_is_taken_as_a_whole_and_counts_are_still_added() -> None:
    base = of(pattern(**CANDIDATE, count=3))
    result = merged(base, of(pattern(**CANDIDATE, count=4)), graduated(count=3))
    found = result.get(Pattern, "PAT-1")
    assert (found.status, found.source_tier, found.count) == ("graduated", "human_confirmed", 4)
    assert result.get(Rule, "PAT-1").text == "look\n"
    assert result.records(Conflict) == []


@for_each(
    "change",
    [{"proposed_rule": "other"}, {"status": "dismissed"}, {"source_tier": "raw_source"}, {"graduated_to": "x"}],
)
@for_each("prefer", [None, "ours", "theirs"])
def test_a_contested_graduation_and_its_rule_are_not_kept(change: dict[str, Any], prefer: Any) -> None:
    base, other = of(pattern(**CANDIDATE)), of(pattern(**{**CANDIDATE, **change}))
    for ours, theirs in ((graduated(), other), (other, graduated())):
        result = apply(ours, decide(base, ours, theirs, prefer=prefer))
        found = result.get(Pattern, "PAT-1")
        assert found == pattern(**{**CANDIDATE, **change})
        assert result.ids("rule") == set()
        kept = {(one.record_kind, one.field): one for one in result.records(Conflict)}
        assert set(kept) >= {("pattern", "status"), ("rule", "")}
        assert "graduated" in (kept["pattern", "status"].ours, kept["pattern", "status"].theirs)
        assert {"id": "PAT-1", "text": "look\n"} in (kept["rule", ""].ours, kept["rule", ""].theirs)


def test_of_two_graduations_one_is_kept_with_its_own_rule() -> None:
    base = of(pattern(**CANDIDATE))
    for result in (
        merged(base, graduated("look"), graduated("think")), merged(base, graduated("think"), graduated("look"))
    ):  # fmt: skip
        assert result.get(Pattern, "PAT-1").proposed_rule == "think"
        assert result.get(Rule, "PAT-1").text == "think\n"
        assert {one.record_kind: one.theirs for one in result.records(Conflict)} == {
            "pattern": "look", "rule": {"id": "PAT-1", "text": "look\n"},
        }  # fmt: skip


@pytest.mark.parametrize(("trusted", "doubted"), [("look", "think"), ("think", "look")])
def test_of_two_graduations_the_less_trusted_is_kept(trusted: str, doubted: str) -> None:
    result = merged(of(pattern(**CANDIDATE)), graduated(trusted), graduated(doubted, source_tier="llm_derived"))
    found = result.get(Pattern, "PAT-1")
    assert (found.proposed_rule, found.source_tier) == (doubted, "llm_derived")
    assert result.get(Rule, "PAT-1").text == f"{doubted}\n"


def test_a_lower_tier_is_kept_even_if_the_graduation_is_not() -> None:
    dismissed = of(pattern(**{**CANDIDATE, "status": "dismissed"}, source_tier="llm_derived"))
    base = of(pattern(**CANDIDATE, source_tier="llm_derived"))
    found = merged(base, graduated(source_tier="raw_source"), dismissed).get(Pattern, "PAT-1")
    assert (found.status, found.source_tier) == ("dismissed", "raw_source")


def test_editing_does_not_restore_a_withdrawn_rule() -> None:
    back = of(pattern(**CANDIDATE))
    edited_rule = of(pattern(**GROWN, proposed_rule="look"), Rule(id="PAT-1", text="look\ntwice\n"))
    for result in (merged(graduated(), back, edited_rule), merged(graduated(), edited_rule, back)):
        assert result.get(Pattern, "PAT-1").status == "rule_candidate"
        assert result.ids("rule") == set()
        [conflict] = result.records(Conflict)
        assert conflict.theirs == {"id": "PAT-1", "text": "look\ntwice\n"}


def test_independently_written_rules_are_not_concatenated() -> None:
    result = merged(State(), of(Rule(id="P", text="a\n")), of(Rule(id="P", text="b\n")))
    assert result.get(Rule, "P").text == "b\n"
    assert conflicts(result) == {"text": ("b\n", "a\n", "ours")}


# --- last checks, other rules, and unknown fields


def test_the_last_check_comes_from_the_side_whose_status_is_kept() -> None:
    passed = {"result": "passed", "at": "2026-06-09"}
    ours, theirs = loop(last_check=passed, status="verified"), loop(status="failed")
    for result in (both(loop(), ours, theirs), both(loop(), theirs, ours)):
        assert result.get(OpenLoop, "OL-1").as_data() == theirs.as_data()
        assert result.records(Conflict) == []


def test_a_check_without_a_status_change_is_kept_with_the_other_sides_status() -> None:
    unknown = {"result": "unknown", "at": "2026-06-09"}
    result = both(loop(), loop(last_check=unknown), loop(status="escalated"))
    assert (result.get(OpenLoop, "OL-1").status, result.get(OpenLoop, "OL-1").as_data()["last_check"]) == (
        "escalated", unknown,
    )  # fmt: skip


def test_of_two_checks_with_the_same_outcome_the_later_is_kept() -> None:
    early, late = {"result": "passed", "at": "2026-06-02", "duration_ms": 1}, {"result": "passed", "at": "2026-06-03"}
    ours, theirs = loop(last_check=early, status="verified"), loop(last_check=late, status="verified")
    for result in (both(loop(), ours, theirs), both(loop(), theirs, ours)):
        assert result.get(OpenLoop, "OL-1").as_data()["last_check"] == late


def test_a_session_with_documents_on_two_machines_has_no_conflict() -> None:
    sessions = [Session(id="s", started="2026-11-01", wrote_document=number) for number in (1, 9, 10)]
    result = both(*sessions)
    assert result.get(Session, "s").wrote_document == 10
    assert result.records(Conflict) == []


def test_unknown_tables_are_merged_key_by_key_at_any_depth() -> None:
    base, ours, theirs = {"a": {"b": 1, "c": 1}}, {"a": {"b": 2, "c": 1}}, {"a": {"b": 1, "c": 3}, "d": 4}
    result = both(item(x=base), item(x=ours), item(x=theirs))
    assert result.get(FollowUp, "FU-1").as_data()["x"] == {"a": {"b": 2, "c": 3}, "d": 4}
    assert result.records(Conflict) == []


def test_a_conflict_in_one_key_is_a_conflict_of_the_whole_table() -> None:
    result = both(item(x={"a": 1}), item(x={"a": 2, "b": 1}), item(x={"a": 3}))
    assert result.get(FollowUp, "FU-1").as_data()["x"] == {"a": 3}
    assert conflicts(result) == {"x": ({"a": 3}, {"a": 2, "b": 1}, "ours")}


def test_a_corrected_archive_entry_stays_corrected() -> None:
    base = archived(of(item()), item())
    key = Key("follow_up", "FU-1", archived=True)
    frame = closed(base, "follow_up", "FU-1")
    ours = base.put(frame.replace(reason="superseded", at="2026-12-01"), key)
    theirs = base.put(frame.replace(record={**frame.record, "x": 1}), key)
    for result in (merged(base, ours, theirs), merged(base, theirs, ours)):
        found = closed(result, "follow_up", "FU-1")
        assert (found.reason, found.record["x"]) == ("superseded", 1)


def test_decisions_are_data() -> None:
    ours, theirs = of(item(item="mine"), loop()), of(item(item="yours"), loop())
    [decided] = decide(of(item(item="old"), loop()), ours, theirs)
    assert isinstance(decided, Decision)
    assert decided.as_data() == {
        "kind": "follow_up", "id": "FU-1", "action": "merge", "result": item(item="yours").as_data(),
        "contested": [{"field": "item", "base": "old", "ours": "yours", "theirs": "mine", "winner": "ours"}],
    }  # fmt: skip


def test_conflicts_can_be_left_out() -> None:
    ours = of(item(item="mine"))
    decisions = decide(of(item(item="old")), ours, of(item(item="yours")))
    assert apply(ours, decisions, record_conflicts=False).records(Conflict) == []


# --- lists of tables that are identified by a key field


def beliefs(*found: dict[str, Any]) -> dict[str, Any]:
    return {"id": "zero", "mutable": {"beliefs": list(found)}}


def test_items_with_the_same_key_are_merged_by_field() -> None:
    git = {"subject": "git", "confidence": 0.5, "old": 1}
    base = beliefs(git, {"subject": "gone", "confidence": 0.1}, {"subject": "kept", "confidence": 0.2})
    ours = beliefs({**git, "confidence": 0.9}, {"subject": "kept", "confidence": 0.2}, {"subject": "mine"})
    theirs = beliefs({"subject": "git", "confidence": 0.5, "seen": "today"}, {"subject": "kept"}, {"subject": "yours"})
    for one, other in ((ours, theirs), (theirs, ours)):
        result, contested = merge_fields(Identity, base, one, other)
        assert not contested
        assert result["mutable"]["beliefs"] == [
            {"subject": "git", "confidence": 0.9, "seen": "today"}, {"subject": "kept"}, {"subject": "mine"},
            {"subject": "yours"},
        ]  # fmt: skip


def test_of_a_field_of_a_keyed_item_changed_on_both_sides_the_larger_value_is_kept() -> None:
    base, ours, theirs = (beliefs({"subject": "git", "confidence": value}) for value in (0.5, 0.1, 0.9))
    result, contested = merge_fields(Identity, base, ours, theirs)
    assert (result["mutable"]["beliefs"], contested) == ([{"subject": "git", "confidence": 0.9}], [])


def test_duplicate_and_keyless_items_are_identified_by_their_whole_text() -> None:
    twice = ({"subject": "git", "confidence": 0.1}, {"subject": "git", "confidence": 0.2}, {"note": "no key"})
    result, _ = merge_fields(Identity, beliefs(*twice), beliefs(*twice, {"subject": "a"}), beliefs(*twice[1:]))
    assert result["mutable"]["beliefs"] == [*twice[1:], {"subject": "a"}]
