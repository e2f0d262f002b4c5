"""Any file is either read as a record that can be written again, or is unreadable."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from bad_records import HUGE, KEYS, VALUES, fields_of, files, places, text_of
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import AGENTS
from looped_cases import for_each
from memory_folder import MemoryFolder
from strategies import examples, item, laws, loop

from baton_git.core import layout
from baton_git.core.brief_sections import SECTIONS
from baton_git.core.codecs import json as strict_json
from baton_git.core.codecs import toml, yaml
from baton_git.core.diff import commit_subject, diff
from baton_git.core.errors import InvalidDocument
from baton_git.core.lifecycle import settle_state
from baton_git.core.merge import apply, decide
from baton_git.core.merge.decisions import canonical_json, entry_values
from baton_git.core.policy import Policy
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import FollowUp, OpenLoop
from baton_git.core.state import Key, State, Unreadable, same_fields
from baton_git.systems.session_baton.document import to_document

NOW = datetime(2026, 11, 21, tzinfo=UTC)
PLACES = places()


@st.composite
def changed(draw: st.DrawFn, keys: list[Key] = PLACES) -> tuple[Key, dict[str, str]]:
    """Draw a key, and odd values for some fields of its record."""
    key = draw(st.sampled_from(keys))
    names = st.sampled_from((*fields_of(key.kind), *KEYS))
    return key, draw(st.dictionaries(names, st.sampled_from(VALUES), max_size=3))


def read(changes: list[tuple[Key, dict[str, str]]]) -> State:
    found = dict(changes)
    return layout.state_of(MemoryFolder(files(list(found), list(found.values()))))


def read_back(state: State) -> dict[Key, str]:
    """Return the data of every record of a state, as it is read back after its files and edits were written."""
    source = state.source
    assert isinstance(source, layout.TreeSource)
    before = {path: source.root.read(path) for path in layout.paths_below(source.root)}
    files = {**before, **layout.encode(state.edits, limited=False)}
    found = {path: text for path, text in files.items() if text is not None}
    keys = {path: key for path in found if (key := layout.key_at(path)) is not None}
    return {key: canonical_json(entry_values(layout.decode(key, path, found[path]))) for path, key in keys.items()}


@laws
@given(changed())
def test_readable_files_round_trip_and_unreadable_ones_are_kept(drawn: tuple[Key, dict[str, str]]) -> None:
    key, changes = drawn
    text = text_of(key, changes)
    path = layout.path_of(key)
    entry = layout.decode(key, path, text)
    if isinstance(entry, Unreadable):
        assert (entry.path, entry.raw) == (path, text)
        assert entry.why
        return
    again = layout.encode({key: entry}, limited=False)[path]
    assert again is not None
    assert same_fields(layout.decode(key, path, again), entry)
    strict_json.loads(strict_json.dumps(entry.as_data()))


@settings(laws, max_examples=examples(10))
@given(*[st.lists(changed(), max_size=4).map(read)] * 3)
def test_no_record_stops_a_document_a_brief_a_diff_or_a_merge(base: State, ours: State, theirs: State) -> None:
    strict_json.dumps(to_document(ours))
    assert all(make(ours, NOW, Policy(), AGENTS) for make in SECTIONS)
    settle_state(ours, NOW, Policy())
    assert commit_subject(diff(base, ours))
    one, other = apply(ours, decide(base, ours, theirs)), apply(theirs, decide(base, theirs, ours))
    assert read_back(one) == read_back(other)


@for_each("text", [f"x = {HUGE}", f"x = [{{y = {HUGE}}}]", f"x = -{'9' * 4301}", f"x = 0b1{'0' * 15_000}"])
def test_an_integer_over_the_limit_is_not_read(text: str) -> None:
    with pytest.raises(InvalidDocument, match=r"4,?300"):
        toml.loads(text.encode())


def test_yaml_and_json_have_the_same_limit() -> None:
    with pytest.raises(InvalidDocument, match="x: is an integer of more than 4,300 digits"):
        yaml.loads(f"x: {HUGE}")
    with pytest.raises(InvalidDocument, match="x: is an integer of more than 4,300 digits"):
        strict_json.check({"x": int(HUGE, 16)})


def test_a_number_that_no_file_can_hold_is_refused_with_the_name_of_its_record() -> None:
    with pytest.raises(InvalidDocument, match=r"follow-up FU-1: a value is an integer of more than 4,300 digits"):
        layout.encode({Key("follow_up", "FU-1"): item(defer_count=10**4300)})
    with pytest.raises(InvalidDocument, match=r"open loop OL-1: .*half of a surrogate pair"):
        layout.encode({Key("open_loop", "OL-1"): loop(x="\ud800")})


def test_two_counters_of_4300_digits_merge_into_a_conflict_that_is_the_same_on_both_sides() -> None:
    most = 10**4300 - 1
    base, ours, theirs = (
        State().put(item(defer_count=count, reason=reason))
        for count, reason in ((0, "a"), (most, "a"), (most - 1, "a"))
    )
    one, other = apply(ours, decide(base, ours, theirs)), apply(theirs, decide(base, theirs, ours))
    assert [found.field for found in one.records(Conflict)] == ["defer_count"]
    assert one.get(FollowUp, "FU-1").defer_count == other.get(FollowUp, "FU-1").defer_count == most
    assert not one.records(OpenLoop)
