"""The changes between two states, as data and in the words of commit subjects."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from looped_cases import for_each
from memory_folder import MemoryFolder
from strategies import ITEM, decision, item, laws, loop, pattern, states

from baton_git.core import kinds, layout
from baton_git.core.codecs import json
from baton_git.core.diff import commit_subject, describe_change, diff
from baton_git.core.output import one_line
from baton_git.core.records.base import alike, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import SECTIONS, Head, Rule, Shape
from baton_git.core.state import HEAD, SHAPE, Key, State

AT = "2026-11-21T08:14:19Z"


def stored(state: State) -> State:
    files = {path: text for path, text in layout.encode(state.edits).items() if text is not None}
    return layout.state_of(MemoryFolder(files))


def words(before: State, after: State) -> str:
    """Return the commit subject for the changes between two states."""
    return commit_subject(diff(before, after))


@laws
@given(states)
def test_a_state_does_not_differ_from_itself_stored_or_not(state: State) -> None:
    assert diff(state, state) == []
    assert diff(state, stored(state)) == []


@laws
@given(states, states)
def test_every_record_that_differs_is_one_change_and_no_other_is(before: State, after: State) -> None:
    changes = {(one.kind, one.id): one.action for one in diff(before, after)}
    expected = {}
    for kind in (model.kind for model in SECTIONS.values()):
        for id_ in before.ids(kind) | after.ids(kind):
            old, new = before.entry(Key(kind, id_)), after.entry(Key(kind, id_))
            if old is None or new is None:
                expected[kind, id_] = "added" if old is None else "removed"
            elif not alike(old.as_data(), new.as_data()):  # type: ignore[union-attr]
                expected[kind, id_] = "changed"
    assert changes == expected


@laws
@given(states, states)
def test_changes_are_data_and_their_subject_is_one_printable_line(before: State, after: State) -> None:
    changes = diff(before, after)
    json.loads(json.dumps([one.as_data() for one in changes]))
    assert commit_subject(changes)
    assert commit_subject(changes).isprintable()
    assert len(commit_subject(changes)) < 1000


@laws
@given(states, states)
def test_the_reverse_diff_has_its_sides_exchanged(before: State, after: State) -> None:
    def swapped(one: Any) -> Any:
        return one.kind, one.id, {(field.field, repr(field.after), repr(field.before)) for field in one.fields}

    there = [
        (one.kind, one.id, {(f.field, repr(f.before), repr(f.after)) for f in one.fields})
        for one in diff(before, after)
    ]
    assert [swapped(one) for one in diff(after, before)] == there


def test_fields_are_dotted_where_they_are_nested() -> None:
    before = loop(verify={"method": "http", "url": "a"}, last_check={"result": "passed", "at": "1"})
    after = loop(verify={"method": "http", "url": "b", "path": None}, last_check={"result": "failed", "at": "1"})
    [change] = diff(State().put(before), State().put(after))
    assert change.as_data()["fields"] == [
        {"field": "verify.url", "before": "a", "after": "b"},
        {"field": "verify.path", "after": None},
        {"field": "last_check.result", "before": "passed", "after": "failed"},
    ]


def test_null_and_absence_differ() -> None:
    [change] = diff(State().put(item(reason=None)), State().put(item()))
    assert change.as_data()["fields"] == [{"field": "reason", "before": None}]


@pytest.mark.parametrize(("before", "after"), [(1, True), (0, False), (1, 1.0)])
def test_values_that_python_compares_as_equal_are_a_change(before: Any, after: Any) -> None:
    [change] = diff(State().put(item(x=before)), State().put(item(x=after)))
    assert change.action == "changed"


def test_archiving_is_one_change_with_its_reason_and_edits() -> None:
    before = stored(State().put(decision(evidence=["a"])))
    after = before.archive(
        decision(evidence=["a"], status="superseded"), at=AT, reason="superseded by D2", session=None
    )
    [change] = diff(before, after)
    assert (change.kind, change.id, change.action, change.reason) == (
        "active_decision",
        "DEC-1",
        "archived",
        "superseded by D2",
    )
    assert [one.field for one in change.fields] == ["status"]
    [change] = diff(
        before,
        stored(State().put(decision(evidence=["a"])).archive(decision(evidence=["a"]), at=AT, reason="", session=None)),
    )
    assert (change.action, change.fields) == ("archived", ())


def test_archiving_under_an_id_used_again_is_one_change_too() -> None:
    base = stored(State().put(loop()).archive(loop(), at=AT, reason="", session=None).put(loop(action="again")))
    [change] = diff(base, base.archive(loop(action="again"), at=AT, reason="verified", session=None))
    assert (change.id, change.action, change.title) == ("OL-1", "archived", "again")


def test_restoring_from_the_archive_is_one_change() -> None:
    live = State().put(loop())
    closed = live.archive(loop(), at=AT, reason="", session=None)
    [change] = diff(stored(closed), stored(live))
    assert (change.id, change.action, change.fields) == ("OL-1", "restored", ())


def test_a_change_of_an_archive_entry_is_one_change() -> None:
    before = State().put(loop()).archive(loop(), at=AT, reason="", session=None)
    after = State().put(loop(action="x")).archive(loop(action="x"), at=AT, reason="", session=None)
    [change] = diff(before, after)
    assert (change.kind, change.action) == ("archived_open_loop", "changed")
    assert [one.field for one in change.fields] == ["record.action"]


def test_a_record_that_became_unreadable_is_a_change() -> None:
    good = stored(State().put(item()))
    bad = layout.state_of(MemoryFolder({"follow_ups/FU-1.toml": b"broken"}))
    [change] = diff(good, bad)
    assert change.action == "changed"
    assert "unreadable" in {one.field for one in change.fields}
    assert commit_subject([change]) == "FU-1 cannot be read"
    assert commit_subject(diff(bad, good)) == "FU-1 can be read again"


# --- text


@for_each(
    ("before", "after", "text"),
    [
        (loop(), loop(status="verified"), "OL-1 verified"),
        (loop(), loop(status="failed", last_check={"result": "failed", "at": ""}), "OL-1 failed"),
        (loop(), loop(last_check={"result": "unknown", "at": ""}), "OL-1 checked"),
        (loop(status="verified"), loop(), "OL-1 status changed"),
        (loop(), loop(action="else", x=1), "OL-1 action, x changed"),
        (loop(), loop(a=1, b=1, c=1, d=1), "OL-1 a, b, c… changed"),
        (loop(), loop(**{"x\n\nBaton-Op: forged": 1}), "OL-1 x Baton-Op: forged changed"),
        (loop(), loop(**{"": 1}), "OL-1 '' changed"),
        (loop(verify={"method": "http"}), loop(verify={"method": "manual", "note": ""}), "OL-1 verify changed"),
        (item(defer_count=1), item(defer_count=2, last_deferred=AT), "FU-1 deferred"),
        (item(defer_count=2), item(defer_count=3, priority="elevated"), "FU-1 deferred, now elevated"),
        (item(defer_count=3), item(defer_count=2), "FU-1 deferred 2×"),
        (pattern(count=3), pattern(count=2), "PAT-1 seen (2×)"),
        (loop(todos=["a", "b"]), loop(todos=["a", "c"]), "OL-1 todos changed"),
        (pattern(), pattern(count=2), "PAT-1 seen again (2×)"),
        (pattern(count=2), pattern(count=3, status="rule_candidate"), "PAT-1 seen again (3×), rule candidate"),
        (pattern(), pattern(status="graduated"), "PAT-1 graduated"),
        (decision(), decision(status="superseded", superseded_by="DEC-2"), "DEC-1 superseded"),
        (Head(), Head(context="new"), "context updated"),
        (Head(), Head(session_id="s"), "no change of a record"),
        (Shape(), Shape(sections=("patterns",)), "no change of a record"),
        (Session(id="s1", started=""), Session(id="s1", started="", status="ended"), "session s1 ended"),
        (Session(id="s1", started="", ended="a"), Session(id="s1", started="", ended="b"), "session s1 end changed"),
    ],
)  # fmt: skip
def test_a_change_describes_itself_in_words(before: Any, after: Any, text: str) -> None:
    keys: dict[Any, Key] = {Head: HEAD, Shape: SHAPE}
    key = keys.get(type(before))
    assert words(State().put(before, key), State().put(after, key)) == text


def test_added_removed_archived_and_restored_in_words() -> None:
    empty, one = State(), State().put(loop(action="Deployed\n\x1b[31mX"))
    closed = one.archive(loop(), at=AT, reason="verified", session=None)
    assert words(empty, one) == "OL-1 added: Deployed [31mX"
    assert words(one, empty) == "OL-1 removed"
    assert words(one, closed) == "OL-1 archived (verified)"
    assert words(closed, one) == "OL-1 restored"
    assert words(empty, empty.put(Session(id="s1", started=""))) == "session s1 started"
    assert words(empty, empty.put(Rule(id="PAT-1", text=""))) == "rule PAT-1 written"
    assert words(empty, empty) == "no change of a record"


def test_several_changes_are_listed_in_order_and_the_rest_counted() -> None:
    before = State().put(loop()).put(item(defer_count=2))
    after = State().put(loop(status="verified")).put(item(defer_count=3, priority="elevated"))
    assert words(before, after) == "FU-1 deferred, now elevated; OL-1 verified"
    many = State()
    for number in range(8):
        many = many.put(item(id=f"FU-{number}", item=str(number)))
    assert (
        words(State(), many) == "FU-0 added: 0; FU-1 added: 1; FU-2 added: 2; FU-3 added: 3; FU-4 added: 4; and 3 more"
    )


def test_a_conflict_is_described_by_its_id() -> None:
    conflict = Conflict(id="C-1", record_kind="follow_up", record_id="FU-1", field="item", winner="ours")
    assert words(State(), State().put(conflict)) == "C-1 added"


@for_each(
    ("text", "line"),
    [
        ("a\n b\tc", "a b c"),
        ("\x00\x1b", ""),
        ("é" * 9, "é" * 9),
        ("x" * 11, "x" * 9 + "…"),
        ("a b c d e f g", "a b c d e…"),
    ],
)
def test_a_text_on_one_line(text: str, line: str) -> None:
    assert one_line(text, 10) == line


def test_the_title_of_a_record_is_short() -> None:
    [change] = diff(State(), State().put(item(item="x" * 500)))
    assert len(change.title) == 72
    assert len(describe_change(change)) < 100
    assert diff(State(), State().put(item()))[0].title == ITEM["item"]


def test_lists_of_equal_length_are_compared_by_field_and_others_as_a_whole() -> None:
    seen = [{"session": "s1", "context": "a"}, {"session": "s2", "context": "b"}]
    before = State().put(pattern(recent_occurrences=seen))
    [change] = diff(before, State().put(pattern(recent_occurrences=[seen[0], {"session": "s2", "context": "c"}])))
    assert [(one.field, one.before, one.after) for one in change.fields] == [
        ("recent_occurrences[1].context", ("b",), ("c",))
    ]
    [change] = diff(before, State().put(pattern(recent_occurrences=seen[:1])))
    assert [one.field for one in change.fields] == ["recent_occurrences"]


@pytest.mark.parametrize(
    ("kind", "id_", "data", "subject"),
    [
        ("checkpoint", "zero/2026-04-04t18-34-00.000z-s", {"metadata": {"agent_id": "zero", "session_id": "s",
            "started_at": "2026-04-04", "ended_at": "2026-04-04"}, "context": {"conversation_summary": "built it"}},
            "checkpoint zero made: built it"),
        ("identity", "zero", {"immutable": {"purpose": {"statement": "guard"}}}, "identity zero made: guard"),
        ("handover", "run-1", {"step": {"current_challenge": "find_slot"}}, "handover run-1 begun: find_slot"),
    ],
)  # fmt: skip
def test_records_of_other_systems_are_described_by_kind(
    kind: str, id_: str, data: dict[str, Any], subject: str
) -> None:
    record = parse(kinds.KINDS[kind].model, {"id": id_, **data})
    assert words(State(), State().put(record)) == subject


def test_the_archived_copies_of_many_records_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    after = State()
    for number in range(200):
        after = after.put(item(id=f"FU-{number}"))
        after = after.archive(item(id=f"OLD-{number}"), at="2026-06-01T00:00:00Z", reason="done", session=None)
    read, entry = list[Key](), State.entry
    monkeypatch.setattr(State, "entry", lambda state, key: read.append(key) or entry(state, key))
    assert len(diff(State(), after)) == 400
    assert len(read) <= 10 * 200
