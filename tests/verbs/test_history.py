"""List the history, and return to older states by new commits that can be undone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from going_back import rollback_record, rollback_session, rollback_to, undo_revision
from strategies import ITEM, LOOP
from world import NOW, WHO, acting, by_hand, current, document, files, ids, later, stored, workspace

from baton_git.core.errors import Ambiguous, InvalidArgument, NotAllowed, NotFound, Protected
from baton_git.core.lifecycle import Confirmed
from baton_git.core.sessions import find_session
from baton_git.namespace.workspace import Actor, Workspace
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.verbs.revisions.history import Filter, compare, list_operations, read_commit, read_log
from baton_git.verbs.revisions.log import find_sessions, log
from baton_git.verbs.revisions.undo import redo, rollback, undo
from baton_git.verbs.sessions.session_end import end_session
from baton_git.verbs.sessions.session_start import begin_session
from baton_git.verbs.sessions.sessions import init
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up, finish_follow_up
from baton_git.verbs.work_items.loops import add_loop, close_loop, settle_loop
from baton_git.verbs.work_items.patterns import graduate_pattern, propose_rule, record_pattern


def ops(shown):
    return [one.entry.op for one in shown]


def records(ws):
    """Return the files of records, without those of sessions."""
    return {path: text for path, text in files(ws).items() if not path.startswith("sessions/")}


# --- log, show, diff


def test_the_log_of_a_namespace_that_does_not_exist_is_empty(ws):
    assert list(read_log(ws)) == []


def test_the_log_lists_the_newest_commits_first_with_their_changes(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    settle_loop(ws, later(minutes=1), made.id, "failed", note="no")
    newest, first, root = read_log(ws)
    assert (newest.entry.op, first.entry.op, root.entry.op) == ("loop-verify", "loop-add", "root")
    assert ("status", ("open",), ("failed",)) in [(f.field, f.before, f.after) for f in newest.changes[0].fields]
    assert [one.action for one in first.changes] == ["added"]
    assert root.changes == ()


def test_the_log_is_filtered_by_record(ws):
    one = add_loop(ws, NOW, action="a", expect="b").id
    add_loop(ws, NOW, action="c", expect="d")
    close_loop(ws, NOW, one)
    add_follow_up(ws, NOW, item="x")
    assert ops(read_log(ws, Filter(record=one))) == ["loop-close", "loop-add"]


def test_the_log_of_a_record_has_only_its_changes(ws):
    add_follow_up(ws, NOW, item="x", id="FU-1")
    add_follow_up(ws, NOW, item="y", id="FU-2")
    rollback(ws, NOW, revision="0", yes=True)
    changed = [[change.id for change in one.changes] for one in read_log(ws, Filter(record="FU-1"))]
    assert changed == [["FU-1"], ["FU-1"]]


def test_the_log_of_operations_shows_changes_and_their_undos(ws):
    begin_session(ws, NOW)
    add_follow_up(ws, NOW, item="x", id="FU-1")
    add_follow_up(ws, NOW, item="y", id="FU-2")
    undo(ws, NOW)
    redo(ws, NOW)
    undo(ws, NOW)
    by_hand(ws, {"notes.txt": b"n"})
    shown = [(one.entry.op, one.is_undone) for one in read_log(ws, Filter(ops=True))]
    assert shown == [("", False), ("undo", False), ("redo", False), ("undo", True), ("followup-add", True),
                     ("followup-add", False)]  # fmt: skip
    first = log(ws, NOW, ops=True, limit=4)
    rest = log(ws, NOW, ops=True, after=first.next)
    assert [one.undone for one in (*first.commits, *rest.commits)] == [is_undone for _, is_undone in shown]


def test_the_log_is_filtered_by_session_and_agent_and_time(ws):
    for minute, session in enumerate(("a", "b", "a")):
        add_follow_up(acting(ws, session), later(minutes=minute), item=f"i{minute}")
    assert [one.entry.time for one in read_log(ws, Filter(session="a"))] == [later(minutes=2), later()]
    assert len(list(read_log(ws, Filter(agent="claude")))) == 3
    assert list(read_log(ws, Filter(agent="nobody"))) == []
    assert len(list(read_log(ws, Filter(since=later(minutes=1))))) == 2
    assert len(list(read_log(ws, Filter(since=later(minutes=1), until=later(minutes=1))))) == 1


def test_the_log_stops_at_its_limit(ws):
    for number in range(4):
        add_follow_up(ws, NOW, item=f"i{number}")
    assert len(list(read_log(ws, limit=2))) == 2


def test_the_log_shows_commits_made_by_hand(ws):
    init(ws, NOW)
    by_hand(ws, {"follow_ups/FU-1.toml": b'id = "FU-1"\nitem = "i"\nfirst_seen = "x"\n'}, message="mine")
    newest = next(iter(read_log(ws)))
    assert (newest.entry.subject, newest.entry.op, [one.id for one in newest.changes]) == ("mine", "", ["FU-1"])


def test_show_returns_one_commit(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    add_follow_up(ws, NOW, item="x")
    shown = read_commit(ws, "1")
    assert shown.entry.commit == made.written.revision.commit
    assert [one.id for one in shown.changes] == [made.id]


def test_compare_describes_the_changes_in_both_directions(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    close_loop(ws, NOW, made.id, reason="gone")
    (there,), (back,) = compare(ws, "1", "2").changes, compare(ws, "2", "1").changes
    assert (there.action, there.reason, back.action) == ("archived", "gone", "restored")
    assert compare(ws, "2").changes == ()


def test_the_lineage_includes_archived_sessions(ws):
    for number in range(3):
        begin_session(acting(ws, f"s{number}"), later(minutes=number))
        end_session(acting(ws, f"s{number}"), later(minutes=number))
    sessions = find_sessions(ws.branch.read().state)
    assert [(session.id, session.parent) for session in sessions] == [
        ("s0", None),
        ("s1", "s0"),
        ("s2", "s1"),
    ]


# --- rollback


def test_rollback_restores_the_files_byte_for_byte_by_a_new_commit(ws):
    add_loop(ws, NOW, action="a", expect="b")
    by_hand(ws, {"notes/x.txt": b"\xff", "baton.toml": b'# mine\ncontext = "c"\n'})
    then = files(ws)
    by_hand(ws, {"notes/x.txt": None, "new.txt": b"n"})
    close_loop(ws, NOW, ids(ws, "open_loops")[0])
    before = ws.branch.read()
    rollback_to(ws, NOW, "2")
    after = ws.branch.read()
    assert files(ws) == then
    assert after.number == before.number + 1
    assert next(ws.branch.history()).parents == (before.commit,)


def test_rollback_to_a_time_restores_the_newest_revision_not_later(ws):
    add_loop(ws, NOW, action="a", expect="b")
    then = files(ws)
    add_follow_up(ws, later(minutes=5), item="x")
    rollback_to(ws, later(minutes=6), "2026-11-21T08:01:00Z")
    assert files(ws) == then


def test_rollback_to_the_current_revision_writes_nothing(ws):
    add_loop(ws, NOW, action="a", expect="b")
    assert rollback_to(ws, NOW, "1").changes == ()
    assert ws.branch.read().number == 1


def test_a_rollback_is_undone_by_undo(ws):
    add_loop(ws, NOW, action="a", expect="b")
    add_follow_up(ws, NOW, item="x")
    then = files(ws)
    rollback_to(ws, NOW, "1")
    undo_revision(ws, NOW)
    assert files(ws) == then


def test_rollback_of_a_graduation_removes_the_rule(ws):
    made = record_pattern(ws, NOW, what="w", rule="r")
    propose_rule(ws, NOW, made.id, "r")
    graduate_pattern(replace(ws, confirmed=Confirmed("Ada", "terminal", made.id, "r")), NOW, made.id)
    with pytest.raises(Protected, match=f"a person confirmed {made.id}"):
        rollback_to(ws, NOW, "2")
    rollback_to(ws, NOW, "2", "Ada")
    assert stored(ws, "rule", made.id) is None
    assert stored(ws, "pattern", made.id).status == "rule_candidate"


# --- rollback of one record


def test_rolling_back_one_record_keeps_the_others(ws):
    made = add_follow_up(ws, NOW, item="x")
    defer_follow_up(ws, NOW, made.id)
    other = add_follow_up(ws, NOW, item="y")
    rollback_record(ws, NOW, made.id)
    assert stored(ws, "follow_up", made.id).defer_count == 0
    assert stored(ws, "follow_up", other.id) is not None


def test_one_record_can_be_rolled_back_to_a_revision(ws):
    made = add_follow_up(ws, NOW, item="x")
    for _ in range(3):
        defer_follow_up(ws, NOW, made.id)
    rollback_record(ws, NOW, made.id, "2")
    assert stored(ws, "follow_up", made.id).defer_count == 1


def test_rolling_back_a_closed_record_restores_it_from_the_archive(ws):
    made = add_follow_up(ws, NOW, item="x")
    finish_follow_up(ws, NOW, made.id)
    rollback_record(ws, NOW, made.id)
    assert stored(ws, "follow_up", made.id).item == "x"
    assert stored(ws, "follow_up", made.id, archived=True) is None


def test_a_record_whose_file_is_corrupt_is_rolled_back(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    by_hand(ws, {f"open_loops/{made.id}.toml": b"id = [torn"})
    rollback_record(ws, NOW, made.id)
    assert stored(ws, "open_loop", made.id).action == "a"
    written, _ = undo_revision(ws, NOW)
    assert ws.branch.store.folder(ws.branch.read().tree).folder("open_loops").read(f"{made.id}.toml") == b"id = [torn"
    assert [change.id for change in written.changes] == [made.id]


def test_a_record_is_not_rolled_back_to_a_revision_in_which_it_was_corrupt(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    good = ws.branch.store.folder(ws.branch.read().tree).folder("open_loops").read(f"{made.id}.toml")
    by_hand(ws, {f"open_loops/{made.id}.toml": b"torn"})
    by_hand(ws, {f"open_loops/{made.id}.toml": good})
    with pytest.raises(NotAllowed, match="cannot be read at revision 2"):
        rollback_record(ws, NOW, made.id, "2")


def test_a_manually_deleted_record_can_be_restored(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    by_hand(ws, {f"open_loops/{made.id}.toml": None})
    rollback_record(ws, NOW, made.id)
    assert stored(ws, "open_loop", made.id).action == "a"


def test_rolling_back_an_unknown_record_is_not_found(ws):
    add_loop(ws, NOW, action="a", expect="b", id="OL-7")
    with pytest.raises(NotFound) as caught:
        rollback_record(ws, NOW, "OL-77")
    assert "baton log" in caught.value.hint


def test_rolling_back_an_id_that_two_kinds_have_is_rejected(ws):
    write_document(ws, NOW, document(open_loops=[{**LOOP, "id": "X"}], follow_ups=[{**ITEM, "id": "X"}]))
    with pytest.raises(InvalidArgument, match="follow_up"):
        rollback_record(ws, NOW, "X")


# --- rollback of one session


def test_reverting_a_session_does_not_restore_its_own_undone_changes(ws):
    add_follow_up(acting(ws, "good"), NOW, item="kept", id="FU-1")
    add_follow_up(acting(ws, "bad"), NOW, item="undone", id="FU-2")
    undo_revision(acting(ws, "bad"), NOW)
    add_follow_up(acting(ws, "bad"), NOW, item="not undone", id="FU-3")
    rollback_session(acting(ws, "good"), NOW, "bad")
    assert ids(ws, "follow_ups") == ["FU-1"]


def test_reverting_a_session_keeps_the_records_of_other_sessions(ws):
    add_follow_up(acting(ws, "good"), NOW, item="kept", id="FU-1")
    add_follow_up(acting(ws, "bad"), NOW, item="gone", id="FU-2")
    defer_follow_up(acting(ws, "bad"), NOW, "FU-1")
    add_loop(acting(ws, "good"), NOW, action="after", expect="x", id="OL-1")
    rollback_session(ws, NOW, "bad")
    assert (ids(ws, "follow_ups"), ids(ws, "open_loops")) == (["FU-1"], ["OL-1"])
    assert stored(ws, "follow_up", "FU-1").defer_count == 0


def test_reverting_a_session_keeps_values_that_others_changed_since(ws):
    add_follow_up(acting(ws, "good"), NOW, item="i", id="FU-1", reason="first reason")
    defer_follow_up(acting(ws, "bad"), NOW, "FU-1", reason="bad reason")
    defer_follow_up(acting(ws, "good"), later(minutes=1), "FU-1", reason="good reason")
    rollback_session(ws, later(minutes=2), "bad")
    record = stored(ws, "follow_up", "FU-1")
    assert (record.reason, record.defer_count) == ("good reason", 1)


def test_the_rollback_of_a_session_is_undone_by_undo(ws):
    add_follow_up(acting(ws, "good"), NOW, item="i", id="FU-1")
    defer_follow_up(acting(ws, "bad"), NOW, "FU-1")
    then = files(ws)
    rollback_session(ws, NOW, "bad")
    undo_revision(ws, NOW)
    assert files(ws) == then


def test_the_changes_of_a_session_without_a_record_are_taken_back_by_its_short_name(ws):
    """The log shows that name, although only commits name the session."""
    rest = "-1111-4222-8333-444455556666"
    add_follow_up(acting(ws, f"0f1e2d3c{rest}"), NOW, item="i", id="FU-1")
    rollback_session(ws, NOW, "0f1e2d3c")
    assert ids(ws, "follow_ups") == []
    add_follow_up(acting(ws, f"aaaaaaaa{rest}"), NOW, item="i", id="FU-2")
    undo_revision(acting(ws, "aaaaaaaa"), NOW)
    assert ids(ws, "follow_ups") == []
    add_follow_up(acting(ws, "0f1e2d3c-2222-4222-8333-444455556666"), NOW, item="i", id="FU-3")
    with pytest.raises(Ambiguous):
        rollback_session(ws, NOW, "0f1e2d3c")


def test_a_session_that_did_nothing_cannot_be_rolled_back(ws):
    add_follow_up(ws, NOW, item="i")
    with pytest.raises(NotFound, match="session"):
        rollback_session(ws, NOW, "nobody")


def test_undoing_a_merged_document_keeps_the_changes_of_others(ws):
    write_document(ws, NOW, document("s0", follow_ups=[ITEM]))
    add_loop(acting(ws, "other"), NOW, action="a", expect="b", id="OL-9")
    write_document(ws, NOW, document("bad", "s0", follow_ups=[{**ITEM, "item": "changed"}], open_loops=[LOOP]))
    rollback_session(ws, NOW, "bad")
    assert ids(ws, "open_loops") == ["OL-9"]
    assert current(ws)["follow_ups"][0]["item"] == ITEM["item"]


# --- undo


def test_undo_walks_back_step_by_step_and_redo_forward_again(ws):
    add_loop(ws, NOW, action="a", expect="b")
    first = files(ws)
    add_follow_up(ws, NOW, item="x")
    second = files(ws)
    assert undo(ws, NOW).undone.endswith("added: x")
    assert files(ws) == first
    assert undo(ws, NOW).undone.endswith("added: a")
    assert records(ws).keys() == {".gitattributes", "format.toml"}
    with pytest.raises(NotAllowed, match="nothing is left to undo"):
        undo(ws, NOW)
    assert redo(ws, NOW, dry_run=True).changes
    assert redo(ws, NOW).reapplied.endswith("added: a")
    assert files(ws) == first
    redo(ws, NOW)
    assert files(ws) == second
    with pytest.raises(NotAllowed, match="nothing is left to redo"):
        redo(ws, NOW)
    assert [entry.op for entry in ws.branch.history()][:4] == ["redo", "redo", "undo", "undo"]


def test_a_redo_after_a_new_change_is_rejected_with_a_hint(ws):
    add_follow_up(ws, NOW, item="x", id="FU-1")
    undo(ws, NOW)
    add_follow_up(ws, NOW, item="y", id="FU-2")
    with pytest.raises(NotAllowed, match=r"revision 3 \(FU-2 added: y\) was made after the undo in revision 2") as why:
        redo(ws, NOW)
    assert "baton undo 2 undoes that undo" in why.value.hint
    undo(ws, NOW, "2")
    assert ids(ws, "follow_ups") == ["FU-1", "FU-2"]


def test_undo_takes_back_only_changes_of_the_session_and_redo_keeps_those_of_others(ws):
    other = acting(ws, "s2")
    add_follow_up(other, NOW, item="y", id="FU-2")
    add_follow_up(ws, NOW, item="x", id="FU-1")
    undo(ws, NOW)
    assert ids(ws, "follow_ups") == ["FU-2"]
    why = r"no change of session s1 is left to undo: revision 1 \(FU-2 added: y\) was made by session s2 \(claude\)"
    with pytest.raises(NotAllowed, match=why) as refused:
        undo(ws, NOW)
    assert refused.value.hint == "baton undo 1 undoes it all the same"
    defer_follow_up(other, NOW, "FU-2")
    redo(ws, NOW)
    assert ids(ws, "follow_ups") == ["FU-1", "FU-2"]
    assert stored(ws, "follow_up", "FU-2").defer_count == 1


def test_undo_names_whose_change_is_newer_and_needs_the_number_then(ws):
    add_follow_up(ws, NOW, item="x", id="FU-1")
    add_follow_up(acting(ws, "s2"), NOW, item="y", id="FU-2")
    with pytest.raises(NotAllowed, match=r"revision 2 \(FU-2 added: y\), made by session s2") as refused:
        undo(ws, NOW)
    assert "baton undo 1 undoes the newest change of session s1 (FU-1 added: x)" in refused.value.hint
    assert ids(ws, "follow_ups") == ["FU-1", "FU-2"]
    undo(ws, NOW, "1")
    assert ids(ws, "follow_ups") == ["FU-2"]


def _person(ws: Workspace, author: str = WHO, machine: str = "laptop") -> Workspace:
    """Return the workspace of a person outside of any session."""
    return replace(ws, actor=Actor(author, machine=machine))


OTHERS = {
    "an earlier session": lambda ws: add_follow_up(acting(_person(ws), "s0"), NOW, item="other", id="FU-other"),
    "an agent": lambda ws: add_follow_up(acting(ws, None), NOW, item="other", id="FU-other"),
    "another machine": lambda ws: add_follow_up(_person(ws, machine="desktop"), NOW, item="other", id="FU-other"),
    "another user": lambda ws: add_follow_up(_person(ws, "Bob <b@x>"), NOW, item="other", id="FU-other"),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_outside_of_a_session_undo_takes_back_only_changes_that_the_person_made_without_one(ws, other):
    person = _person(ws)
    other(ws)
    add_follow_up(person, NOW, item="mine", id="FU-mine")
    with pytest.raises(NotAllowed, match=r"is newer than any change of session s9|no change of session s9"):
        undo(acting(ws, "s9"), NOW)
    undo(person, NOW)
    assert ids(ws, "follow_ups") == ["FU-other"]
    with pytest.raises(NotAllowed, match="no change of yours is left to undo: revision 1"):
        undo(person, NOW)
    redo(person, NOW)
    undo(person, NOW, "1")
    assert ids(ws, "follow_ups") == ["FU-mine"]


def test_a_change_before_the_session_is_not_undone_by_the_session(ws):
    add_follow_up(_person(ws), NOW, item="X", id="FU-X")
    begin_session(ws, NOW)
    add_follow_up(ws, NOW, item="Y", id="FU-Y")
    later_session = acting(ws, "s2")
    begin_session(later_session, later(minutes=1))
    with pytest.raises(NotAllowed, match=r"no change of session s2 is left to undo: .*FU-Y.* was made by session s1"):
        undo(later_session, later(minutes=1))
    assert sorted(ids(ws, "follow_ups")) == ["FU-X", "FU-Y"]


def test_undo_skips_changes_without_remaining_effect_and_session_starts(ws):
    begin_session(ws, NOW)
    add_follow_up(ws, NOW, item="x", id="FU-1")
    add_loop(acting(ws, "s2"), NOW, action="a", expect="b", id="OL-1")
    settle_loop(acting(ws, "s2"), NOW, "OL-1", "failed", note="no")
    by_hand(ws, {"open_loops/OL-1.toml": None})
    begin_session(ws, later(minutes=2))
    end_session(ws, later(minutes=2))
    undo(_person(ws), NOW)
    assert ids(ws, "open_loops") == ["OL-1"]
    undo(acting(ws, "s2"), NOW)
    undo(acting(ws, "s2"), NOW)
    assert ids(ws, "open_loops") == []
    undo(ws, NOW)
    assert ids(ws, "follow_ups") == []


def test_the_undo_of_a_wrap_leaves_a_session_that_was_wrapped_again_since(ws):
    begin_session(ws, NOW)
    end_session(ws, NOW, context="x", summary="did")
    wrapped = ws.branch.read().number
    end_session(ws, NOW, summary="did more")
    undo(ws, NOW, revision=str(wrapped))
    session = find_session(ws.branch.read().state, ws.session)
    assert session is not None
    assert (session.status, session.summary) == ("ended", "did more")


def test_undo_of_an_older_revision_keeps_later_changes(ws):
    add_follow_up(ws, NOW, item="x", id="FU-1")
    defer_follow_up(ws, NOW, "FU-1")
    add_loop(ws, NOW, action="a", expect="b", id="OL-1")
    _, subject = undo_revision(ws, NOW, "2")
    assert subject == read_commit(ws, "2").entry.subject
    assert stored(ws, "follow_up", "FU-1").defer_count == 0
    assert ids(ws, "open_loops") == ["OL-1"]


def test_undo_of_a_closing_restores_the_record_after_later_changes(ws):
    add_loop(ws, NOW, action="a", expect="b", id="OL-1")
    close_loop(ws, NOW, "OL-1")
    add_follow_up(ws, NOW, item="x")
    undo_revision(ws, NOW, "2")
    assert ids(ws, "open_loops") == ["OL-1"]
    assert stored(ws, "open_loop", "OL-1", archived=True) is None


def test_undo_also_reverts_files_that_are_not_records(ws):
    add_loop(ws, NOW, action="a", expect="b")
    by_hand(ws, {"notes.txt": b"one"})
    with pytest.raises(NotAllowed, match=r"\(by hand\), made by Ada, is newer than any change of session s1"):
        undo_revision(ws, NOW)
    undo_revision(_person(ws), NOW)
    assert "notes.txt" not in files(ws)


@pytest.mark.parametrize("length", [40, 10], ids=["git revert", "git revert --reference"])
def test_a_commit_that_git_reverted_counts_as_undone(ws, length):
    add_loop(ws, NOW, action="a", expect="b")
    added = by_hand(ws, {"notes.txt": b"one"})
    by_hand(ws, {"notes.txt": None}, message=f"Revert\n\nThis reverts commit {added[:length]}.\n")
    with pytest.raises(NotAllowed, match="is undone already"):
        undo_revision(ws, NOW, added)
    *_, operation, _loop = list_operations(ws, ws.branch.history())
    assert (operation.entry.commit, operation.is_undone) == (added, True)


def test_the_first_commit_cannot_be_undone(ws):
    init(ws, NOW)
    with pytest.raises(NotAllowed, match="first commit"):
        undo_revision(ws, NOW, "0")
    with pytest.raises(NotAllowed, match="is left to undo"):
        undo_revision(ws, NOW)


def test_an_empty_namespace_has_nothing_to_undo(ws):
    for name in (
        undo_revision,
        lambda ws, now: rollback_to(ws, now, "1"),
        lambda ws, now: rollback_record(ws, now, "x"),
    ):
        with pytest.raises(NotFound):
            name(ws, NOW)


def test_an_undo_is_computed_on_the_newest_revision(open_workspace):
    ws = open_workspace()
    add_follow_up(ws, NOW, item="x", id="FU-1")
    other = workspace(ws.branch.store, "s2")
    undo_revision(ws, NOW, "1")
    add_loop(other, NOW, action="a", expect="b", id="OL-1")
    undo_revision(ws, NOW, "2")
    assert ids(ws, "follow_ups") == ["FU-1"]
    assert ids(ws, "open_loops") == ["OL-1"]


# --- previews


def test_a_dry_run_shows_the_changes_and_writes_nothing(ws):
    add_follow_up(ws, NOW, item="x", id="FU-1")
    by_hand(ws, {"notes.txt": b"one", "follow_ups/FU-1.toml": None})
    ws = _person(ws)
    before = ws.branch.read().commit
    for dry in (undo(ws, NOW, dry_run=True), rollback(ws, NOW, revision="1", dry_run=True)):
        assert (dry.dry_run, dry.revision, dry.files) == (True, 2, ["notes.txt"])
        assert [(change.id, change.action) for change in dry.changes] == [("FU-1", "added")]
    assert ws.branch.read().commit == before
    done = undo(ws, NOW)
    assert (done.as_data()["changes"], done.dry_run) == (dry.as_data()["changes"], False)


def test_a_preview_names_the_rules_that_need_a_person(ws):
    made = record_pattern(ws, NOW, what="w", rule="r")
    propose_rule(ws, NOW, made.id, "r")
    graduate_pattern(replace(ws, confirmed=Confirmed("Ada", "terminal", made.id, "r")), NOW, made.id)
    undo_revision(ws, NOW, person="Ada")
    dry = rollback(ws, NOW, revision="~1", dry_run=True)
    assert dry.rules == [made.id]
    assert "only a person may do" in dry.notes[0]
