"""The whole document: three-way writes without loss, and reads that return what was written."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from strategies import DECISION, ITEM, LOOP, PATTERN, documents
from world import NOW, acting, current, document, ids, later, objects, stored, workspace

from baton_git.core.errors import InvalidDocument, LimitExceeded, Stale
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.lifecycle import Confirmed
from baton_git.core.names import Namespace
from baton_git.core.records.base import alike
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import SECTIONS, FollowUp
from baton_git.core.sessions import list_contexts
from baton_git.core.state import Key
from baton_git.git.store import Repository, Store
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.systems.session_baton.documents import from_foreign_checks, read_document
from baton_git.verbs.sessions.session_end import end_session
from baton_git.verbs.sessions.session_start import begin_session
from baton_git.verbs.work_items.decisions import add_decision
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up
from baton_git.verbs.work_items.loops import add_loop, close_loop
from baton_git.verbs.work_items.patterns import graduate_pattern


def conflicts(ws):
    return ws.branch.read().state.records(Conflict)


# --- round trips


def test_a_namespace_that_does_not_exist_has_no_document(ws):
    assert read_document(ws).baton is None


def test_read_returns_what_write_accepted(ws):
    data = document(
        open_loops=[{**LOOP, "note": {"deep": [None, {"a": None}], "big": 2**70, "π": "\x00\u2028"}}],
        follow_ups=[], active_decisions=[DECISION], context="two\nlines\n", extra=None,
    )  # fmt: skip
    write_document(ws, NOW, data)
    assert alike(current(ws), data)


@pytest.mark.parametrize("op", ["write", "import"])
def test_the_document_of_a_namespace_without_sessions_starts_none_when_it_is_written_back(ws, op):
    add_follow_up(ws, NOW, "Refactor")
    data = current(ws)
    for context in ("", "edited by hand", "edited again"):
        write_document(ws, NOW, {**data, "context": context}, op=op, where="x")
        assert current(ws)["context"] == context
    assert not ws.branch.read().state.records(Session)


@pytest.mark.parametrize("value", [1, 1.0, True, "1", [1], {"a": 1}, None])
def test_a_row_that_differs_only_in_a_type_from_that_of_an_earlier_document_is_another_row(ws, value):
    write_document(ws, NOW, document(follow_ups=[{**ITEM, "rank": 1}]))
    data = document(follow_ups=[{**ITEM, "rank": value}])
    write_document(ws, later(minutes=1), data)
    assert alike(current(ws), data)


def test_a_fault_beside_rows_of_an_earlier_document_has_its_place_in_the_document_that_was_sent(ws):
    known = [{**ITEM, "id": f"FU-{number}"} for number in range(3)]
    write_document(ws, NOW, document(follow_ups=known))
    with pytest.raises(InvalidDocument) as caught:
        write_document(ws, later(minutes=1), document(follow_ups=[*known, {**ITEM, "id": "x", "rank": float("nan")}]))
    assert [fault.path for fault in caught.value.faults] == ["follow_ups[3].rank"]


def test_a_row_in_which_fields_are_filled_in_is_filled_in_each_time(ws):
    row = {name: value for name, value in ITEM.items() if name != "first_seen"}
    for number in range(2):
        done = write_document(ws, later(minutes=number), document(follow_ups=[row], context=f"at {number}"))
        assert [field.path for field in done.filled] == ["follow_ups[0].first_seen"]


def test_rows_of_an_earlier_document_are_the_records_of_the_state(ws):
    write_document(ws, NOW, document(follow_ups=[ITEM, {**ITEM, "id": "FU-2"}]))
    stored_once = {record.id: record for record in ws.branch.read().state.records(FollowUp)}
    write_document(ws, later(minutes=1), document(follow_ups=[ITEM, {**ITEM, "id": "FU-2", "reason": "changed"}]))
    again = {record.id: record for record in ws.branch.read().state.records(FollowUp)}
    assert again[ITEM["id"]] is stored_once[ITEM["id"]]
    assert (again["FU-2"].reason, stored_once["FU-2"].reason) == ("changed", ITEM.get("reason"))


@settings(max_examples=25, deadline=None)
@given(documents)
def test_any_document_round_trips_through_a_real_repository(data):
    folder = Path(tempfile.mkdtemp())
    try:
        with Store(Repository.create_bare(folder / "s.git")) as store:
            ws = workspace(store, "s1")
            try:
                done = write_document(ws, NOW, data)
            except (InvalidDocument, LimitExceeded):
                assume(False)
            assume(not done.written.redactions)
            held = {one.id for one in done.held}
        with Store(Repository.open(folder / "s.git")) as store:
            _assert_same(current(workspace(store)), from_foreign_checks(data), held)
    finally:
        shutil.rmtree(folder)


def _assert_same(found, data, held):
    """Check that the documents are equal, except for records with a held claim."""
    sections = [name for name, value in data.items() if isinstance(value, list)]
    assert alike(
        {name: value for name, value in found.items() if name not in sections},
        {name: value for name, value in data.items() if name not in sections},
    )
    for name in sections:
        known = name in ("open_loops", "follow_ups", "patterns", "active_decisions")
        skip = held if known else set()
        kept = [[one for one in side[name] if not known or one["id"] not in skip] for side in (found, data)]
        assert alike(*kept)


def test_writing_the_same_document_again_changes_no_record(ws):
    write_document(ws, NOW, document(open_loops=[LOOP]))
    again = write_document(ws, later(minutes=1), document(open_loops=[LOOP]))
    assert [one for one in again.written.changes if one.kind != "session"] == []


def test_a_document_with_faults_is_refused_with_their_paths(ws):
    bad = document(open_loops=[LOOP, {**LOOP, "id": "OL-2", "verify": {"method": "bash"}}], follow_ups=[{"id": "x"}])
    with pytest.raises(InvalidDocument) as caught:
        write_document(ws, NOW, bad)
    paths = [fault.path for fault in caught.value.faults]
    assert paths == ["open_loops[1].verify.method", "follow_ups[0].item"]
    assert ws.branch.read().commit is None


@pytest.mark.parametrize(
    "data", [None, [], "text", 1, {}, {"session_id": ""}, {"session_id": 1}, {"session_id": "a\nb"}]
)
def test_invalid_documents_are_rejected(ws, data):
    with pytest.raises(InvalidDocument):
        write_document(ws, NOW, data)
    assert objects(ws) == 0


def test_a_duplicate_id_in_a_document_is_rejected(ws):
    with pytest.raises(InvalidDocument, match="'OL-1' is the id of"):
        write_document(ws, NOW, document(open_loops=[LOOP, LOOP]))


def test_a_record_that_is_too_large_is_refused_with_the_limit(ws):
    with pytest.raises(LimitExceeded, match="limit is 262,144 bytes"):
        write_document(ws, NOW, document(open_loops=[{**LOOP, "action": "x" * 300_000}]))
    assert ws.branch.read().commit is None


def test_too_many_records_are_refused_with_the_limit(ws):
    many = [{**ITEM, "id": f"FU-{n}"} for n in range(5001)]
    with pytest.raises(LimitExceeded, match="5,001, the limit is 5,000"):
        write_document(ws, NOW, document(follow_ups=many))


def test_an_older_document_is_read_by_its_revision(ws):
    write_document(ws, NOW, document(open_loops=[LOOP]))
    write_document(ws, later(minutes=1), document(context="later", open_loops=[]))
    assert [one["id"] for one in read_document(ws, "1").baton["open_loops"]] == ["OL-1"]
    assert ids(ws, "open_loops") == []


# --- the base of a document


def test_a_stale_expected_revision_is_refused_and_nothing_is_written(ws):
    write_document(ws, NOW, document(open_loops=[LOOP]))
    add_follow_up(ws, NOW, item="x")
    with pytest.raises(Stale):
        write_document(ws, NOW, document(open_loops=[]), expected_revision=1)
    assert ids(ws, "open_loops") == ["OL-1"]


def test_with_the_expected_revision_the_document_replaces_all(ws):
    write_document(ws, NOW, document("s1", open_loops=[LOOP]))
    made = add_follow_up(acting(ws, "s2"), NOW, item="x")
    write_document(ws, NOW, document("s3", open_loops=[LOOP]), expected_revision=2)
    assert ids(ws, "follow_ups") == []
    assert stored(ws, "follow_up", made.id, archived=True).reason == "not in the document of session s3"


def test_a_second_document_of_a_session_starts_from_its_first(ws):
    write_document(ws, NOW, document("s1", open_loops=[LOOP]))
    made = add_follow_up(acting(ws, "s2"), NOW, item="of another")
    write_document(ws, NOW, document("s1", open_loops=[{**LOOP, "action": "Deployed Y"}]))
    assert ids(ws, "follow_ups") == [made.id]
    assert current(ws)["open_loops"][0]["action"] == "Deployed Y"


def test_a_first_document_starts_from_what_its_parent_session_left(ws):
    begin_session(acting(ws, "p"), NOW)
    kept = add_loop(acting(ws, "p"), NOW, action="a", expect="b").id
    gone = add_loop(acting(ws, "p"), NOW, action="c", expect="d").id
    end_session(acting(ws, "p"), NOW, context="done")
    newer = add_follow_up(acting(ws, "other"), NOW, item="meanwhile").id
    known = next(one for one in current(ws)["open_loops"] if one["id"] == kept)
    write_document(ws, NOW, document("child", "p", open_loops=[known]))
    assert ids(ws, "open_loops") == [kept]
    assert stored(ws, "open_loop", gone, archived=True).reason == "not in the document of session child"
    assert ids(ws, "follow_ups") == [newer]


def test_a_document_of_an_unknown_session_is_based_on_the_newest_state(ws):
    made = add_loop(acting(ws, "s1"), NOW, action="a", expect="b")
    write_document(ws, NOW, document("stranger", open_loops=[LOOP]))
    assert ids(ws, "open_loops") == ["OL-1"]
    archived = stored(ws, "open_loop", made.id, archived=True)
    assert (archived.reason, archived.session) == ("not in the document of session stranger", "stranger")
    assert archived.record["action"] == "a"


def test_edits_of_both_sides_in_different_fields_both_survive(ws):
    write_document(ws, NOW, document("s1", follow_ups=[ITEM]))
    defer_follow_up(acting(ws, "s2"), NOW, "FU-1")
    done = write_document(ws, NOW, document("s1", follow_ups=[{**ITEM, "reason": "because"}]))
    record = current(ws)["follow_ups"][0]
    assert (record["reason"], record["defer_count"], done.conflicts) == ("because", 1, [])


def test_counts_of_both_sides_add_up(ws):
    write_document(ws, NOW, document("s1", follow_ups=[{**ITEM, "defer_count": 1}]))
    defer_follow_up(acting(ws, "s2"), NOW, "FU-1")
    write_document(ws, NOW, document("s1", follow_ups=[{**ITEM, "defer_count": 3}]))
    assert current(ws)["follow_ups"][0]["defer_count"] == 4


def test_two_records_under_one_id_both_survive(ws):
    write_document(ws, NOW, document("s0"))
    write_document(ws, NOW, document("a", "s0", open_loops=[LOOP]))
    done = write_document(ws, NOW, document("b", "s0", open_loops=[{**LOOP, "action": "Something else"}]))
    found = {one["id"]: one["action"] for one in current(ws)["open_loops"]}
    other = done.rekeyed["OL-1"]
    assert found == {"OL-1": "Deployed X", other: "Something else"}


def test_the_new_id_of_a_second_record_is_the_same_everywhere(open_workspace):
    renamed = []
    for name in ("one.git", "two.git"):
        ws = open_workspace(name=name)
        write_document(ws, NOW, document("s0"))
        write_document(ws, NOW, document("a", "s0", open_loops=[LOOP]))
        renamed.append(write_document(ws, NOW, document("b", "s0", open_loops=[{**LOOP, "action": "Other"}])).rekeyed)
    assert renamed[0] == renamed[1]


def test_two_sessions_that_change_the_context_each_keep_their_own(ws):
    write_document(ws, NOW, document("s0", context="start"))
    write_document(ws, NOW, document("a", "s0", context="of a"))
    done = write_document(ws, NOW, document("b", "s0", context="of b"))
    assert (done.conflicts, conflicts(ws)) == ([], [])
    assert current(ws)["context"] == "of b"
    assert [context.text for context in list_contexts(ws.branch.read().state)] == ["of b", "of a"]


def test_each_document_is_given_back_as_it_was_written(ws):
    for number, context in enumerate(({"context": "one"}, {"context": "two"}, {"context": "two"}, {}, {"context": ""},
                                      {"context": "three"}, {"context": ""}, {"context": "four"}, {})):  # fmt: skip
        written = document(f"s{number}", schema_version=1, updated_at="2020-01-01", open_loops=[], **context)
        write_document(ws, NOW, written)
        assert current(ws) == written
    assert [context.text for context in list_contexts(ws.branch.read().state)] == [None]


def test_a_document_with_an_unchanged_context_leaves_the_newest_one(ws):
    begin_session(acting(ws, "a"), NOW)
    end_session(acting(ws, "a"), NOW, context="of a")
    read = {**current(ws), "session_id": "c"}
    write_document(ws, later(minutes=1), read)
    assert current(ws) == read
    begin_session(acting(ws, "b"), later(minutes=2))
    end_session(acting(ws, "b"), later(minutes=3), context="of b")
    write_document(ws, later(minutes=4), read)
    assert current(ws)["context"] == "of b"
    assert [context.session for context in list_contexts(ws.branch.read().state)] == ["b"]


def test_a_context_with_a_secret_that_is_sent_again_is_no_change(ws):
    written = document("s0", context='password = "hunter2hunter2"')
    write_document(ws, NOW, written)
    write_document(ws, NOW, document("s1", context="of s1 password = hunter2hunter2"))
    write_document(ws, NOW, document("s1", context="of s1 password = hunter2hunter2"))
    [context] = list_contexts(ws.branch.read().state)
    assert (context.session, context.text) == ("s1", "of s1 password = [redacted: spoken secret]")


def test_a_record_archived_meanwhile_is_not_brought_back_by_a_document_that_did_not_touch_it(ws):
    write_document(ws, NOW, document("s1", open_loops=[LOOP]))
    close_loop(acting(ws, "s2"), NOW, "OL-1", reason="gone")
    write_document(ws, NOW, document("s1", open_loops=[LOOP], context="x"))
    assert ids(ws, "open_loops") == []
    assert stored(ws, "open_loop", "OL-1", archived=True).reason == "gone"


def test_a_record_archived_meanwhile_and_edited_is_archived_with_the_edit(ws):
    write_document(ws, NOW, document("s1", open_loops=[LOOP]))
    close_loop(acting(ws, "s2"), NOW, "OL-1", reason="gone")
    write_document(ws, NOW, document("s1", open_loops=[{**LOOP, "expected_outcome": "new"}]))
    assert ids(ws, "open_loops") == []
    assert stored(ws, "open_loop", "OL-1", archived=True).record["expected_outcome"] == "new"


def test_a_merged_write_is_a_commit_with_two_parents(ws):
    write_document(ws, NOW, document("s1", open_loops=[LOOP]))
    add_follow_up(acting(ws, "s2"), NOW, item="x")
    write_document(ws, NOW, document("s1", open_loops=[{**LOOP, "status": "failed"}]))
    assert len(next(ws.branch.history()).parents) == 2


# --- claims that need a person


CLAIM = {**PATTERN, "status": "graduated", "source_tier": "human_confirmed", "graduated_to": "rules/PAT-1.md"}


def test_the_side_of_a_merged_write_is_remembered_as_it_is_read(ws):
    """It is the base of the next document of its session."""
    items = [{**ITEM, "id": f"FU-{number}"} for number in range(4)]
    write_document(ws, NOW, document(session_id="a", follow_ups=items, open_loops=[LOOP], context="first"))
    write_document(ws, later(minutes=1), document(session_id="b", follow_ups=items, active_decisions=[DECISION]))
    changed = [items[0], {**items[1], "reason": "password = hunter2-hunter2"}, items[3], {**ITEM, "id": "FU-9"}]
    write_document(ws, later(minutes=2), document(session_id="a", follow_ups=changed, context="second"))
    tip = ws.branch.tip()
    _, side = ws.branch.store.commit(tip).parents
    remembered = ws.branch.store.memory.get(("revision", ws.branch.namespace, side))
    read = workspace(Store(ws.branch.store.repository)).branch.revision_at(side)
    assert remembered._replace(state=read.state) == read
    assert remembered.state.differing(read.state) == set()
    for kind in ALL_KINDS:
        for archived in (False, True):
            assert remembered.state.ids(kind, archived=archived) == read.state.ids(kind, archived=archived)
            keys = [Key(kind, id_, archived) for id_ in read.state.ids(kind, archived=archived)]
            assert [remembered.state.entry(key) for key in keys] == [read.state.entry(key) for key in keys]
    for model in SECTIONS.values():
        assert {*remembered.state.outlines(model)} == {*read.state.outlines(model)}


def test_a_claimed_graduation_stays_a_candidate_and_is_reported(ws):
    done = write_document(ws, NOW, document(patterns=[CLAIM], follow_ups=[ITEM]))
    (pattern,) = current(ws)["patterns"]
    assert (pattern["status"], pattern["source_tier"]) == ("rule_candidate", "llm_derived")
    assert "graduated_to" not in pattern
    assert {(one.id, one.field) for one in done.held} == {
        ("PAT-1", "status"), ("PAT-1", "source_tier"), ("PAT-1", "graduated_to"),
    }  # fmt: skip
    assert ids(ws, "follow_ups") == ["FU-1"]


def test_a_document_cannot_undo_a_confirmed_graduation(ws):
    write_document(ws, NOW, document(patterns=[{**PATTERN, "status": "rule_candidate", "proposed_rule": "Do X"}]))
    graduate_pattern(replace(ws, confirmed=Confirmed("Ada", "terminal", "PAT-1", "Do X")), NOW, "PAT-1")
    done = write_document(ws, NOW, document(**{k: v for k, v in current(ws).items() if k == "patterns"}))
    assert done.held == ()
    assert current(ws)["patterns"][0]["status"] == "graduated"
    done = write_document(ws, NOW, document(patterns=[PATTERN]))
    assert current(ws)["patterns"][0]["status"] == "graduated"
    assert {one.field for one in done.held} >= {"status"}


@pytest.mark.parametrize(
    ("before", "claim", "field", "kept"),
    [
        ({"source_tier": "llm_derived"}, {"source_tier": "human_confirmed"}, "source_tier", "llm_derived"),
        ({"source_tier": "human_confirmed"}, {"source_tier": "raw_source"}, "source_tier", "human_confirmed"),
        ({"status": "monitoring"}, {"status": "active"}, "status", "monitoring"),
        ({"status": "superseded"}, {"status": "monitoring"}, "status", "superseded"),
    ],
)
def test_changes_of_a_decision_that_need_a_person_are_held_back(ws, before, claim, field, kept):
    write_document(ws, NOW, document(active_decisions=[{**DECISION, "source_tier": "llm_derived", **before}]))
    done = write_document(
        ws, NOW, document(active_decisions=[{**DECISION, "source_tier": "llm_derived", **before, **claim}])
    )
    assert current(ws)["active_decisions"][0][field] == kept
    assert [(one.id, one.field, one.kept) for one in done.held] == [("DEC-1", field, kept)]


def test_a_supersession_between_decisions_of_a_model_is_held(ws):
    one, two = ({**DECISION, "id": id_, "source_tier": "llm_derived"} for id_ in ("DEC-1", "DEC-2"))
    write_document(ws, NOW, document(active_decisions=[one, two]))
    done = write_document(
        ws, NOW, document(active_decisions=[{**one, "status": "superseded", "superseded_by": "DEC-2"}, two])
    )  # fmt: skip
    assert {held.field for held in done.held} == {"status", "superseded_by"}
    assert current(ws)["active_decisions"][0]["status"] == "active"


def test_a_merge_does_not_accept_a_claimed_graduation(ws):
    write_document(ws, NOW, document("s0", patterns=[PATTERN]))
    add_follow_up(acting(ws, "s2"), NOW, item="x")
    done = write_document(ws, NOW, document("s1", "s0", patterns=[CLAIM]))
    assert done.held
    assert current(ws)["patterns"][0]["status"] != "graduated"
    assert stored(ws, "rule", "PAT-1") is None


# --- imports


def test_importing_twice_changes_nothing(ws):
    data = document("imp", open_loops=[LOOP], patterns=[CLAIM])
    write_document(ws, NOW, data, op="import")
    before = ws.branch.read().commit
    done = write_document(ws, later(days=1), data, op="import")
    assert done.written.changes == ()
    assert ws.branch.read().commit == before


def test_an_import_keeps_existing_records(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    add_decision(ws, NOW, what="w", why="y", id="DEC-1")
    write_document(ws, NOW, document("imp", open_loops=[LOOP]), op="import")
    assert set(ids(ws, "open_loops")) == {made.id, "OL-1"}
    assert ids(ws, "active_decisions") == ["DEC-1"]


def test_records_missing_from_the_next_import_are_archived(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    write_document(ws, NOW, document("imp", open_loops=[LOOP], follow_ups=[ITEM]), op="import")
    write_document(ws, later(days=1), document("imp2", open_loops=[LOOP]), op="import")
    assert ids(ws, "follow_ups") == []
    assert set(ids(ws, "open_loops")) == {made.id, "OL-1"}
    assert stored(ws, "follow_up", "FU-1", archived=True) is not None


def test_namespaces_do_not_see_each_other(ws):
    write_document(ws, NOW, document(open_loops=[LOOP]))
    other = workspace(ws.branch.store, namespace="y")
    assert read_document(other).baton is None
    assert other.branch.namespace == Namespace("y")


# --- what a write costs


def count_calls(action: Callable[[], object]) -> int:
    """Return how many Python functions `action` calls, which is the same on every machine."""
    count = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("make_id", [lambda number: f"FU-{number}", lambda _: "FU-1"], ids=["archive", "conflicts"])
def test_a_write_of_a_session_that_never_reads_costs_the_same_after_many_writes(ws, make_id):
    """The base of its merge lacks everything that the other session wrote, which is up to 130 records here."""
    ws.branch.store.housekeeping.enough = 10_000  # each merge of packs would belong to many writes
    calls = []
    for number in range(150):
        item = {"id": make_id(number), "item": f"Item {number}", "reason": "later", "first_seen": "s0"}
        data = document(f"s{number % 2}", follow_ups=[item])
        calls.append(count_calls(partial(write_document, ws, NOW, data)))
    state = ws.branch.read().state
    assert len(state.ids("follow_up", archived=True)) + len(state.ids("conflict")) > 100
    assert min(calls[-20:]) <= 1.3 * min(calls[20:40])
