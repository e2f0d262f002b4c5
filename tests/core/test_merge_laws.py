"""Properties of merging, tested on diverged states like those of sessions, including odd ones."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from memory_folder import MemoryFolder
from merge_histories import (
    CANDIDATE,
    GATED,
    MODELS,
    OPS,
    History,
    about_field,
    conflict_titles,
    entries,
    grown,
    histories,
    merged,
    record_of,
    steps,
    stored,
    titles,
    tree,
)
from strategies import examples, laws

from baton_git.core import layout
from baton_git.core.merge import decide
from baton_git.core.merge.decisions import canonical_json, entry_values, record_data
from baton_git.core.merge.fields import GRADUATION
from baton_git.core.merge.lineages import compare_side, compare_side_at
from baton_git.core.records.base import TIERS, Archived, Part, Record, alike, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import FollowUp, Head, Pattern, Rule
from baton_git.core.state import HEAD, Key, State, Unreadable
from baton_git.systems.paif.record import Identity

SYSTEM_OPS = ("checkpoint", "identity", "handover", "snapshot")
system_histories = histories(without=[op for op in OPS if op not in SYSTEM_OPS])
"""Histories with operations on the records of the other systems only."""

some = settings(laws, max_examples=examples(20))
REPLACING_OPS = ("remove", "break", "title", "restore", "archive", "edit_closed", "settle")
"""Operations that move a record, or put another one in its place; laws that follow a record by its key exclude them."""


# --- swapped sides, and repeated merges


@some
@given(system_histories | histories())
def test_merging_is_symmetric(history: History) -> None:
    assert tree(history.merged()) == tree(history.mirrored())


@some
@given(histories())
def test_unchanged_sides_merge_without_changes(history: History) -> None:
    base, ours, _ = history
    assert decide(base, ours, base) == []
    assert decide(base, ours, ours) == []
    assert merged(base, ours, ours) is ours


@some
@given(histories())
def test_an_unchanged_side_takes_the_other_side_unchanged(history: History) -> None:
    base, _, theirs = history
    assert tree(merged(base, base, theirs)) == tree(theirs)


@some
@given(system_histories | histories())
def test_merging_the_same_again_changes_nothing_more(history: History) -> None:
    result = history.merged()
    for side in (history.ours, history.theirs):
        assert merged(side, result, side) is result
        assert tree(merged(side, side, result)) == tree(result)


@some
@given(histories(), steps("later"))
def test_work_after_a_merge_goes_on_from_it_on_both_sides(history: History, more: list[Any]) -> None:
    result = history.merged()
    later = grown(result, more)
    assert tree(merged(result, later, result)) == tree(later)
    assert tree(merged(history.ours, history.ours, later)) == tree(later)


@some
@given(histories())
def test_stored_and_unstored_states_merge_the_same_way(history: History) -> None:
    assert tree(history.merged()) == tree(merged(*(stored(one) for one in history)))


@some
@given(system_histories | histories())
def test_a_stored_merge_reads_back_equal(history: History) -> None:
    result = entries(history.merged())
    again = entries(stored(history.merged()))
    assert result.keys() == again.keys()
    for key, entry in result.items():
        assert isinstance(again[key], Unreadable) == isinstance(entry, Unreadable), again[key]
        assert alike(record_of(again[key]), record_of(entry))


def reversed_fields(state: State) -> State:
    """Return the same state with the fields of each record in reversed order."""
    files = {}
    for key, entry in entries(state).items():
        data = reverse_keys(entry.as_data()) if isinstance(entry, Part) else {}
        files[key] = parse(type(entry), data) if isinstance(entry, Part) else entry
    return State(edits=files)


def reverse_keys(value: Any) -> Any:
    """Return the same JSON value with the keys of each object in reversed order."""
    if isinstance(value, dict):
        return {name: reverse_keys(inner) for name, inner in reversed(value.items())}
    return [reverse_keys(one) for one in value] if isinstance(value, list) else value


@some
@given(histories())
def test_the_order_of_fields_does_not_affect_a_merge(history: History) -> None:
    other = [reversed_fields(one) for one in history]
    original, reversed_ = (sorted(canonical_json(one.as_data()) for one in decide(*side)) for side in (history, other))
    assert original == reversed_


# --- nothing is lost


@some
@given(histories())
def test_no_record_that_a_side_added_or_renamed_is_lost(history: History) -> None:
    result = history.merged()
    kept = titles(result) | conflict_titles(result)
    for side in (history.ours, history.theirs):
        assert titles(side) - titles(history.base) <= kept


def keys_of_unique_titles(state: State) -> dict[tuple[str, str], Key]:
    """Return, by kind and title, the key of each record whose title is unique."""
    found: dict[tuple[str, str], list[Key]] = {}
    for key, entry in entries(state).items():
        title = record_of(entry).get(about_field(key.kind))
        if isinstance(title, str):
            found.setdefault((key.kind, title), []).append(key)
    return {name: keys[0] for name, keys in found.items() if len(keys) == 1}


@some
@given(histories())
def test_no_record_that_neither_side_removed_is_lost(history: History) -> None:
    base, ours, theirs = (keys_of_unique_titles(one) for one in history)
    result = history.merged()
    kept = titles(result) | conflict_titles(result)
    assert {name for name in base if name in ours and name in theirs} <= kept


@some
@given(histories())
def test_no_file_that_cannot_be_read_is_lost_unless_the_other_side_replaced_or_removed_it(history: History) -> None:
    result = history.merged()
    kept = {one.raw for one in entries(result).values() if isinstance(one, Unreadable)}
    in_conflicts = {canonical_json(side) for one in result.records(Conflict) for side in (one.ours, one.theirs)}
    for side in (history.ours, history.theirs):
        for key, entry in entries(side).items():
            if isinstance(entry, Unreadable) and history.base.entry(key) != entry:
                is_conflict = key.kind == Conflict.kind  # a conflict file is not recorded in another conflict
                assert is_conflict or entry.raw in kept or canonical_json(entry_values(entry)[0]) in in_conflicts


@some
@given(histories(without=REPLACING_OPS))
def test_values_changed_on_one_side_only_are_taken_from_it(history: History) -> None:
    result = history.merged()
    for key, was in entries(history.base).items():
        sides = [state.entry(key) for state in (history.ours, history.theirs)]
        if key.kind not in MODELS or key.archived or not all(isinstance(one, Part) for one in (was, *sides)):
            continue
        b, o, t = (record_of(one) for one in (was, *sides))
        for name in {*b, *o, *t} - {*GRADUATION, "last_check"}:
            mine, other, base = (canonical_field(side, name) for side in (o, t, b))
            if mine == base or other == base:
                expected = other if mine == base else mine
                assert canonical_field(record_of(result.entry(key)), name) == expected, name


def canonical_field(data: Any, name: str) -> str:
    return canonical_json(data[name]) if name in data else ""


@some
@given(system_histories | histories())
def test_each_conflict_names_a_record_that_has_the_winning_value(history: History) -> None:
    known = {one.id for side in history for one in side.records(Conflict)}
    result = history.merged()
    for one in result.records(Conflict):
        assert one.record_kind not in ("conflict", "shape")
        if one.id in known or not one.field:
            continue
        assert one.winner == "ours"
        places = [Key(one.record_kind, id_, old) for id_, old in _places(result, one)]
        found = [value_of(record_of(result.entry(key)), one.field) for key in places]
        assert any(alike(value, one.as_data().get("ours")) for value in found), (one, found)


def value_of(data: Any, field: str) -> Any:
    """Return the value of a field, dotted where it is nested."""
    name, _, rest = field.partition(".")
    return data.get(field) if field in data or not rest else value_of(data.get(name, {}), rest)


def _places(state: State, conflict: Conflict) -> list[tuple[str, bool]]:
    if conflict.record_kind == "head":
        return [("", False)]
    return [(id_, old) for old in (False, True) for id_ in state.ids(conflict.record_kind, archived=old)]


# --- counters


@some
@given(histories(without=REPLACING_OPS))
def test_counters_add_up(history: History) -> None:
    result = history.merged()
    for kind, name, start in (("follow_up", "defer_count", 0), ("pattern", "count", 1)):
        for id_ in history.base.ids(kind):
            found = [record_of(state.entry(Key(kind, id_))) for state in (*history, result)]
            base, ours, theirs, all_ = (one.get(name, start) for one in found)
            assert all_ == (ours if alike(found[1], found[2]) else ours + theirs - base)


@some
@given(st.lists(st.integers(0, 9), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_counters_add_up_over_any_number_of_sides(added: list[int], random: Any) -> None:
    base = State().put(FollowUp(id="F", item="x", first_seen="2026-11-01", defer_count=2))
    sides = [
        base.put(base.get(FollowUp, "F").replace(defer_count=2 + one, **{f"by {n}": 1})) for n, one in enumerate(added)
    ]
    while len(sides) > 1:
        one = sides.pop(random.randrange(len(sides)))
        other = sides.pop(random.randrange(len(sides)))
        sides.append(merged(base, one, other))
    assert sides[0].get(FollowUp, "F").defer_count == 2 + sum(added)


def follow_up(when: str, deferred: list[str]) -> State:
    """Return a follow-up with these times of creation and deferral."""
    more: dict[str, Any] = {"defer_count": len(deferred), "last_deferred": deferred[-1]} if deferred else {}
    return State().put(FollowUp(id="F", item="x", first_seen=when, **more))


def seen(state: State | None, sessions: list[str], begun: str = "2026-11-01T08:00:00Z") -> State:
    """Return a pattern that these sessions recorded, one after the other."""
    found = state.get(Pattern, "P") if state is not None else None
    for number, session in enumerate(sessions, found.count if found else 0):
        now = f"2026-11-02T08:{number:02}:00Z"
        entry = {"session": session, "context": ""}
        data = {"id": "P", "what": "x", "first_seen": begun, "last_seen": now, "count": 1}
        old = [one.as_data() for one in found.recent_occurrences] if found else []
        count = found.count + 1 if found else 1
        begin = found.first_seen if found else begun
        data |= {"recent_occurrences": [*old, entry][-5:], "count": count, "first_seen": begin}
        found = Pattern.model_validate(data)
    assert found is not None
    return State().put(found)


def both_ways(ours: State, theirs: State, base: State | None = None) -> State:
    result = merged(base or State(), ours, theirs)
    assert tree(result) == tree(merged(base or State(), theirs, ours))
    return result


@some
@given(st.integers(0, 6), st.integers(0, 6))
def test_equal_counters_of_independent_records_add_up(mine: int, yours: int) -> None:
    times = [f"2026-11-02T08:0{number}:00Z" for number in range(7)]
    sides = follow_up("2026-11-01T08:00:00.001Z", times[:mine]), follow_up("2026-11-01T08:00:00.002Z", times[:yours])
    assert both_ways(*sides).get(FollowUp, "F").defer_count == mine + yours


@some
@given(st.integers(1, 8), st.integers(1, 8), st.booleans())
def test_patterns_recorded_independently_in_one_second_add_up(mine: int, yours: int, same_time: bool) -> None:
    other = "2026-11-01T08:00:00Z" if same_time else "2026-11-01T09:00:00Z"
    names = ("ada", "bob") if same_time else ("none", "none")
    sides = seen(None, [names[0]] * mine), seen(None, [names[1]] * yours, other)
    assert both_ways(*sides).get(Pattern, "P").count == mine + yours


@some
@given(st.integers(1, 4), st.lists(st.just("ada"), max_size=2), st.lists(st.just("bob"), max_size=2))
def test_a_record_imported_on_two_machines_is_counted_once(imported: int, mine: list[str], yours: list[str]) -> None:
    document = seen(None, ["s"] * imported, "2026-11-01")
    result = both_ways(seen(document, mine), seen(document, yours)).get(Pattern, "P")
    assert result.count == imported + len(mine) + len(yours) or imported + max(len(mine), len(yours)) > 5
    assert imported + max(len(mine), len(yours)) <= result.count <= imported + len(mine) + len(yours)


@some
@given(st.integers(0, 5), st.integers(0, 3), st.integers(0, 1))
def test_deferrals_in_a_document_are_never_counted_twice(imported: int, mine: int, yours: int) -> None:
    times = [f"2026-11-02T08:0{number}:00Z" for number in range(9)]
    old = ["2026-11-01"] * imported
    sides = follow_up("2026-10-01", [*old, *times[:mine]]), follow_up("2026-10-01", [*old, *times[8 : 8 + yours]])
    count = both_ways(*sides).get(FollowUp, "F").defer_count
    assert imported + max(mine, yours) <= count <= imported + mine + yours
    if not (mine and yours) or mine == yours == 1:
        assert count == imported + mine + yours


@some
@given(histories())
def test_a_state_merged_with_itself_without_a_base_stays_as_it_is(history: History) -> None:
    assert tree(merged(State(), history.ours, history.ours)) == tree(history.ours)


# --- texts that are only extended

words = st.text(st.sampled_from("ab .\n"), max_size=4)


@some
@given(st.text(st.sampled_from("xy .\n"), max_size=4), words, words, words, words)
def test_text_that_was_only_extended_never_conflicts(
    base: str, before: str, after: str, other_before: str, other_after: str
) -> None:
    """Each side adds text before and after the base, on lines of its own; the base does not occur in the additions."""
    assume(not base or not any(base in word for word in (before, after, other_before, other_after)))
    # nor does it begin in an addition and end with the line break after it, as `.\n` does in `..\n.\n`
    assume(not base or not any(f"{word}\n{base}".find(base) < len(word) for word in (before, other_before)))
    texts = [f"{one}\n{base}\n{two}" for one, two in ((before, after), (other_before, other_after))]
    before_both, ours, theirs = (State().put(Head(context=one), HEAD) for one in (base, *texts))
    result = both_ways(ours, theirs, before_both)
    assert not result.records(Conflict)
    for text in (base, before, after, other_before, other_after):
        assert text.strip("\n") in result.head.context


# --- records that are created once, fields that are set once, and records that are merged as a whole


@some
@given(system_histories)
def test_no_checkpoint_is_lost(history: History) -> None:
    result = summaries(history.merged())
    assert summaries(history.ours) | summaries(history.theirs) <= result


def summaries(state: State) -> set[tuple[str, str]]:
    """Return checkpoints by day and text; two with one id are two checkpoints."""
    found = {key: record_of(one) for key, one in entries(state).items() if key.kind == "checkpoint"}
    return {(key.id.partition("t1")[0], data["context"]["conversation_summary"]) for key, data in found.items() if data}


@some
@given(system_histories)
def test_two_changes_of_an_immutable_field_are_both_ignored(history: History) -> None:
    key = Key("identity", "zero")
    base, ours, theirs, result = (record_of(one.entry(key)) for one in (*history, history.merged()))
    if "immutable" in base and not any(alike(*pair) for pair in ((base, ours), (base, theirs), (ours, theirs))):
        assert alike(base["immutable"], result["immutable"])


@some
@given(
    st.lists(st.sampled_from((1, 2, 3)), min_size=1, max_size=4), st.lists(st.integers(1, 3), min_size=1, max_size=4)
)
def test_counts_inside_a_table_add_up(mine: list[int], yours: list[int]) -> None:
    def counted(numbers: list[int], when: str = "2026-11-01") -> State:
        state = State().put(parse(Identity, {"id": "zero", "mutable": {"state": {"drift_checks": {"passed": 1}}}}))
        for number in numbers:
            old = state.get(Identity, "zero").mutable.state
            counts = {"passed": old.drift_checks.passed + number}
            data = {
                "accumulated_experience": old.accumulated_experience + number,
                "drift_checks": counts,
                "last_session_at": when,
            }
            state = state.put(parse(Identity, {"id": "zero", "mutable": {"state": data}}))
        return state

    found = (
        merged(counted([]), counted(mine, "2026-11-02"), counted(yours, "2026-11-03"))
        .get(Identity, "zero")
        .mutable.state
    )
    same = sum(mine) + sum(yours)
    assert (found.accumulated_experience, found.drift_checks.passed) == (same, same + 1)


@some
@given(system_histories)
def test_a_merged_step_or_snapshot_comes_from_one_side(history: History) -> None:
    result = history.merged()
    for kind, field in (("handover", "step"), ("snapshot", "snapshot")):
        had = [record_of(one).get(field) for side in history for key, one in entries(side).items() if key.kind == kind]
        for key, one in entries(result).items():
            if key.kind == kind:
                assert any(alike(record_of(one).get(field), value) for value in had)


# --- graduations and tiers

graduations = histories(without=[op for op in OPS if op not in GATED], start=CANDIDATE)


def graduation(state: State, key: Key) -> dict[str, Any]:
    data = record_of(state.entry(key))
    return {name: data[name] for name in GRADUATION if name in data}


@some
@given(graduations | histories())
def test_a_graduation_is_exactly_one_that_a_side_had(history: History) -> None:
    had = [graduation(side, key) for side in history for key in entries(side) if key.kind == Pattern.kind]
    result = history.merged()
    for key in entries(result):
        if key.kind == Pattern.kind and record_of(result.entry(key)).get("status") == "graduated":
            assert any(alike(graduation(result, key), one) for one in had)


@some
@given(graduations)
def test_a_contested_graduation_is_never_kept(history: History) -> None:
    result = history.merged()
    for key in (Key(Pattern.kind, id_) for id_ in history.base.ids(Pattern.kind)):
        base, ours, theirs, now = (graduation(one, key) for one in (*history, result))
        if now.get("status") != "graduated" or alike(now, base):
            continue
        for side in (ours, theirs):
            assert side.get("status") == "graduated" or alike(side, base)


@some
@given(graduations)
def test_a_rejected_graduation_does_not_raise_the_tier(history: History) -> None:
    result = history.merged()
    for id_ in history.base.ids(Pattern.kind):
        base, ours, theirs, now = (one.get(Pattern, id_) for one in (*history, result))
        graduated = [one.status == "graduated" for one in (ours, theirs)]
        if base.status != "graduated" and now.status != "graduated" and any(graduated):
            assert tier_of(now) <= tier_of(theirs if graduated[0] else ours)


@some
@given(graduations | histories(without=REPLACING_OPS))
def test_a_rule_is_kept_only_with_its_own_graduation(history: History) -> None:
    result = history.merged()
    for rule in result.records(Rule):
        owners = [one for one in result.records(Pattern) if one.graduated_to == f"rules/{rule.id}.md"]
        graduated = [one for one in owners if one.status == "graduated"]
        assert any(rule.text.startswith(f"{one.proposed_rule}\nby ") for one in graduated)


@some
@given(histories())
def test_no_tier_is_higher_than_the_higher_tier_of_the_two_sides(history: History) -> None:
    result = history.merged()
    for key, entry in entries(result).items():
        if key.kind not in MODELS or not isinstance(entry, Part):
            continue
        record = MODELS[key.kind].model_validate(record_data(entry))
        tiers = [tier_of(one) for side in history[1:] for one in _with_same_title(side, record)]
        if tiers:
            assert tier_of(record) <= max(tiers)


def _with_same_title(state: State, record: Record) -> list[Record]:
    """Return the records of a state that have the title of `record`; their ids may differ."""
    name = about_field(record.kind)
    found = [entry for key, entry in entries(state).items() if key.kind == record.kind and isinstance(entry, Part)]
    return [
        type(record).model_validate(record_data(one))
        for one in found
        if record_data(one).get(name) == getattr(record, name)
    ]


def tier_of(record: Record) -> int:
    return TIERS.index(record.source_tier)  # type: ignore[attr-defined]


@some
@given(histories(without=REPLACING_OPS))
def test_of_two_changed_tiers_the_lower_is_kept(history: History) -> None:
    result = history.merged()
    for key in (Key(kind, id_) for kind in MODELS for id_ in history.base.ids(kind)):
        base, ours, theirs, now = (record_of(one.entry(key)).get("source_tier") for one in (*history, result))
        if ours != base and theirs != base and ours is not None and theirs is not None:
            assert TIERS.index(now) == min(TIERS.index(ours), TIERS.index(theirs))


# --- size


def test_storable_sides_have_a_storable_merge() -> None:
    text = "x" * (layout.MAX_RECORD_BYTES - 300)
    base = State().put(FollowUp(id="F", item="x", first_seen="2026-11-01", reason="a"))
    ours, theirs = (base.put(base.get(FollowUp, "F").replace(reason=text + end)) for end in "ab")
    files = layout.encode(merged(base, ours, theirs).edits, limited=False)
    again = layout.state_of(MemoryFolder({path: one for path, one in files.items() if one is not None}))
    assert [one.field for one in again.records(Conflict)] == ["reason"]


def grown_too_large(**more: Any) -> list[State]:
    """Return a base and two sides whose combined texts are too large for a record."""
    base = State().put(Pattern(id="P", what="x", first_seen="2026-11-01", last_seen="2026-11-01", proposed_rule="r"))
    texts = [f"r\n{one}" + one * (layout.MAX_RECORD_BYTES - 1000) for one in "ab"]
    return [base, *(base.put(base.get(Pattern, "P").replace(proposed_rule=one, **more)) for one in texts)]


def test_a_merged_record_over_the_size_limit_becomes_a_conflict() -> None:
    base, ours, theirs = grown_too_large()
    result = both_ways(ours, theirs, base)
    [conflict] = result.records(Conflict)
    assert (conflict.record_id, conflict.field) == ("P", "")
    assert result.get(Pattern, "P").proposed_rule == "r\nb" + "b" * (layout.MAX_RECORD_BYTES - 1000)
    assert conflict.ours == result.get(Pattern, "P").as_data()
    assert conflict.theirs in (ours.get(Pattern, "P").as_data(), theirs.get(Pattern, "P").as_data())
    layout.encode(result.edits)  # raises where a file is too large
    layout.encode(result.put(result.get(Pattern, "P").replace(count=2)).edits)


def test_a_record_within_the_size_limit_wins_over_an_oversized_one() -> None:
    base = State().put(FollowUp(id="F", item="x", first_seen="2026-11-01", reason="a"))
    ours, theirs = (
        base.put(base.get(FollowUp, "F").replace(**one)) for one in ({"item": "y"}, {"reason": "z" * 300_000})
    )
    result = both_ways(ours, theirs, base)
    assert result.get(FollowUp, "F").item == "y"
    assert len(result.records(Conflict)[0].theirs["reason"]) == 300_000


# --- the order of keys


@some
@given(histories(), st.booleans())
def test_another_order_of_keys_is_not_a_change(history: History, mirrored: bool) -> None:
    """If one side wrote the base again in another order, the result equals the other side."""
    rewritten = reversed_fields(history.base)
    result = merged(history.base, *((rewritten, history.ours) if mirrored else (history.ours, rewritten)))
    was, now = entries(history.ours), entries(result)
    assert was.keys() == now.keys()
    assert all(alike(entry_values(was[key]), entry_values(now[key])) for key in was)


def test_reordering_the_keys_of_an_archived_record_is_not_a_change() -> None:
    def closed(record: dict[str, Any]) -> State:
        data = {"at": "2026-11-02", "reason": "done", "record": record}
        return State().put(parse(Archived, data), Key("follow_up", "F", archived=True))

    record = {"id": "F", "item": "x", "first_seen": "2026-11-01", "more": {"a": 1, "b": 2}}
    base, reordered = closed(record), closed(reverse_keys(record))
    assert not merged(base, State(), reordered).ids("follow_up", archived=True)
    assert not merged(base, reordered, State()).records(Conflict)
    assert tree(both_ways(reordered, closed({**record, "more": {"b": 2, "a": 1}}), base)) in (
        tree(reordered),
        tree(closed({**record, "more": {"b": 2, "a": 1}})),
    )


# --- the moves that a merge depends on


@some
@given(system_histories | histories())
def test_the_moves_at_the_changed_keys_are_those_of_the_whole_comparison(history: History) -> None:
    base, ours, theirs = history
    changed = base.differing(theirs)
    whole, part = compare_side(base, ours), compare_side_at(base, ours, changed)
    differing = base.differing(ours)
    assert {key: key in differing for key in changed} == {key: part.is_changed(key) for key in changed}
    for side in (whole, part):
        relevant = {key: new for key, new in side.moves.items() if key in changed or new in changed}
        assert relevant == {key: new for key, new in whole.moves.items() if key in changed or new in changed}


@some
@given(histories())
def test_stored_states_have_the_same_moves_as_states_in_memory(history: History) -> None:
    base, ours, theirs = (stored(state) for state in history)
    changed = base.differing(theirs)
    whole, part = compare_side(base, ours), compare_side_at(base, ours, changed)
    relevant = {key: new for key, new in whole.moves.items() if key in changed or new in changed}
    assert relevant == {key: new for key, new in part.moves.items() if key in changed or new in changed}
    assert part.moves.items() <= whole.moves.items()
