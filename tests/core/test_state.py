"""The state: an immutable set of records that is queried and changed without being altered."""

from __future__ import annotations

import pytest
from looped_cases import for_each
from memory_folder import MemoryFolder
from strategies import LOOP, decision, item, loop, pattern

from baton_git.core import kinds, layout
from baton_git.core.errors import Ambiguous, Corrupt, NotAllowed, NotFound
from baton_git.core.records.base import Archived
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import FollowUp, Head, OpenLoop, Pattern, Shape
from baton_git.core.state import HEAD, SHAPE, EmptySource, Key, State, Unreadable, key_of

AT = "2026-11-21T08:14:19Z"


def stored(*states: State, **files: bytes) -> State:
    """Return the state as it is read back from its files."""
    made: dict[str, bytes] = {}
    for state in states:
        made |= {path: text for path, text in layout.encode(state.edits).items() if text is not None}
    return layout.state_of(MemoryFolder(made | files))


def damaged() -> State:
    return layout.state_of(MemoryFolder({"open_loops/OL-1.toml": b"no toml", "baton.toml": b"context = 1"}))


def test_a_namespace_that_does_not_exist_is_empty() -> None:
    assert State().records(OpenLoop) == []
    assert State().head == Head()
    assert State().shape == Shape()
    assert list(State().unreadable(kinds.KINDS)) == []
    assert list(EmptySource().differing(EmptySource())) == []


def test_putting_gives_a_new_state_and_leaves_the_old_one() -> None:
    old = State()
    new = old.put(loop())
    assert old.records(OpenLoop) == []
    assert new.records(OpenLoop) == [loop()]


def test_putting_an_equal_record_returns_the_same_state() -> None:
    state = stored(State().put(loop()))
    assert state.put(loop()) is state
    assert state.remove(Key("open_loop", "nobody")) is state


@for_each(("before", "after"), [(1, True), (1, 1.0), (0, False), ([1], [True])])
def test_values_that_python_compares_as_equal_can_still_differ(before: object, after: object) -> None:
    state = stored(State().put(loop(x=before))).put(loop(x=after))
    assert repr(state.get(OpenLoop, "OL-1").as_data()["x"]) == repr(after)


def test_setting_a_field_to_its_default_is_a_change() -> None:
    state = State().put(loop())
    assert state.put(loop(status="open")).get(OpenLoop, "OL-1").as_data()["status"] == "open"


def test_records_come_by_date_then_id() -> None:
    state = State()
    for id_, day in (("b", "2026-11-02"), ("c", "2026-11-01"), ("a", "2026-11-02")):
        state = state.put(loop(id=id_, created_at=day))
    assert [one.id for one in state.records(OpenLoop)] == ["c", "a", "b"]


def test_ids_are_those_stored_and_those_of_edits_without_the_removed() -> None:
    state = stored(State().put(loop(id="a")).put(loop(id="b"))).put(loop(id="c")).remove(Key("open_loop", "a"))
    assert state.ids("open_loop") == {"b", "c"}
    assert state.entry(Key("open_loop", "a")) is None


def test_an_unambiguous_prefix_finds_a_record_regardless_of_case() -> None:
    state = State().put(loop(id="OL-7k3f9q")).put(loop(id="OL-7m"))
    assert state.find(OpenLoop, "ol-7K").id == "OL-7k3f9q"
    assert state.find(OpenLoop, "OL-7m").id == "OL-7m"


def test_a_complete_id_wins_over_a_prefix() -> None:
    state = State().put(loop(id="OL-1")).put(loop(id="OL-10"))
    assert state.find(OpenLoop, "OL-1").id == "OL-1"


def test_an_ambiguous_prefix_of_an_id_lists_the_candidates() -> None:
    state = State().put(loop(id="OL-1a")).put(loop(id="OL-1b"))
    with pytest.raises(Ambiguous) as caught:
        state.find(OpenLoop, "OL-1")
    assert caught.value.data["candidates"] == ["OL-1a", "OL-1b"]
    with pytest.raises(Ambiguous):
        state.find(OpenLoop, "ol-")
    with pytest.raises(NotFound):
        State().put(loop(id="OL-1a")).find(OpenLoop, "OL-")


@pytest.mark.parametrize("text", ["", "x", "OL-12"])
def test_a_text_that_is_no_prefix_of_an_id_is_not_found(text: str) -> None:
    with pytest.raises(NotFound):
        State().put(loop()).find(OpenLoop, text)


def test_an_archived_record_is_not_found_with_a_hint() -> None:
    state = State().put(loop()).archive(loop(), at=AT, reason="done", session=None)
    with pytest.raises(NotFound) as caught:
        state.find(OpenLoop, "OL-1")
    assert caught.value.hint == "it is in the archive: baton show OL-1"


def test_a_damaged_record_does_not_count_as_absent() -> None:
    state = damaged()
    assert state.ids("open_loop") == {"OL-1"}
    assert state.records(OpenLoop) == []
    assert isinstance(state.entry(Key("open_loop", "OL-1")), Unreadable)
    assert [one.path for one in state.unreadable(["open_loop"])] == ["open_loops/OL-1.toml"]
    with pytest.raises(Corrupt, match=r"open_loops/OL-1\.toml: not TOML"):
        state.find(OpenLoop, "OL-1")
    with pytest.raises(Corrupt, match=r"baton\.toml: context"):
        _ = state.head


def test_a_damaged_record_is_not_overwritten() -> None:
    state = damaged()
    for change in (
        lambda: state.put(loop()),
        lambda: state.remove(Key("open_loop", "OL-1")),
        lambda: state.put(Head(context="new"), HEAD),
        lambda: state.archive(loop(), at=AT, reason="", session=None),
    ):
        with pytest.raises(Corrupt) as caught:
            change()
        assert "kept as it is" in caught.value.hint


def test_adding_refuses_the_id_of_a_live_or_archived_record() -> None:
    state = State().add(loop())
    with pytest.raises(NotAllowed, match="open loop OL-1 exists already"):
        state.add(loop(action="another"))
    with pytest.raises(NotAllowed, match="archived open loop OL-1 exists already"):
        state.archive(loop(), at=AT, reason="", session=None).add(loop())
    assert state.add(item(id="OL-1")).ids("follow_up") == {"OL-1"}
    with pytest.raises(NotAllowed, match=r"^follow-up FU-1 exists already"):
        State().add(item(id="FU-1")).add(item(id="FU-1"))


def test_archiving_moves_the_record_with_when_why_and_by_whom() -> None:
    state = State().put(loop()).archive(loop(), at=AT, reason="verified", session="s1")
    assert state.ids("open_loop") == set()
    closed = state.entry(Key("open_loop", "OL-1", archived=True))
    assert isinstance(closed, Archived)
    assert closed.as_data() == {"at": AT, "reason": "verified", "session": "s1", "record": LOOP}


def test_an_id_used_again_and_closed_again_does_not_overwrite_the_older_entry() -> None:
    state = State()
    for number in range(3):
        fresh = loop(action=f"try {number}")
        state = state.put(fresh).archive(fresh, at=AT, reason="", session=None)
    state = stored(state)
    assert state.ids("open_loop", archived=True) == {"OL-1", "OL-1.2", "OL-1.3"}
    entries = [state.entry(Key("open_loop", id_, archived=True)) for id_ in ("OL-1", "OL-1.2", "OL-1.3")]
    found = [(one.record["action"], one.was) for one in entries if isinstance(one, Archived)]
    assert found == [("try 0", None), ("try 1", "OL-1"), ("try 2", "OL-1")]


def test_each_record_knows_its_key() -> None:
    assert key_of(Head()) == HEAD
    assert key_of(Shape()) == SHAPE
    assert key_of(pattern()) == Key("pattern", "PAT-1")
    assert str(key_of(decision())) == "active decision DEC-1"
    assert str(Key("open_loop", "a", archived=True)) == "archived open loop a"
    assert key_of(Conflict(id="C", record_kind="", record_id="", field="", winner="ours")) == Key("conflict", "C")
    with pytest.raises(TypeError):
        key_of(Archived(at="", reason="", record={}))


def test_states_differ_where_their_files_or_edits_do() -> None:
    one = stored(State().put(loop()).put(item()))
    other = stored(State().put(loop(action="else")).put(item()))
    assert one.differing(other) == {Key("open_loop", "OL-1")}
    assert one.put(pattern()).differing(one) == {Key("pattern", "PAT-1")}
    assert State().differing(one) == one.differing(State()) == {Key("open_loop", "OL-1"), Key("follow_up", "FU-1")}
    assert one.differing(one) == set()


def test_get_requires_the_exact_id() -> None:
    state = State().put(item(id="FU-10"))
    assert state.get(FollowUp, "FU-10").id == "FU-10"
    with pytest.raises(NotFound, match="there is no follow-up 'FU-1'") as caught:
        state.get(FollowUp, "FU-1")
    assert caught.value.hint == "to list the records of this kind: baton list follow-ups"
    assert state.records(Pattern) == []


class UnreadArchive(EmptySource):
    """A source with one live record, whose archive must not be read."""

    def ids(self, kind: str, *, archived: bool = False) -> tuple[str, ...]:
        assert not archived
        return ("OL-1",) if kind == "open_loop" else ()

    def differing(self, other: object) -> tuple[Key, ...]:
        raise AssertionError("differing reads the archive")


def test_what_a_new_branch_has_outside_the_archive_is_listed_without_reading_the_archive() -> None:
    assert State().differing_live(State(UnreadArchive())) == {Key("open_loop", "OL-1")}
