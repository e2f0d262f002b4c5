"""Sessions working on one namespace do not lose, repeat or undo each other's work."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from going_back import rollback_record, rollback_session, rollback_to, undo_revision
from world import NOW, acting, by_hand, current, document, ids, later, stored

from baton_git.core.errors import NeedsHuman, NotAllowed, NotFound
from baton_git.core.lifecycle import Confirmed
from baton_git.core.policy import Policy
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import FollowUp, Pattern
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.verbs.revisions.undo import redo
from baton_git.verbs.sessions.session_end import end_session
from baton_git.verbs.sessions.session_start import StartOptions, begin_session
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up, finish_follow_up
from baton_git.verbs.work_items.loops import add_loop, close_loop
from baton_git.verbs.work_items.patterns import graduate_pattern, propose_rule, record_pattern

LOOP = {"id": "OL-001", "action": "Deploy", "expected_outcome": "200", "created_at": "2026-06-17"}
ITEM = {"id": "FU-1", "item": "Refactor", "first_seen": "2026-06-17"}


def test_a_session_that_booted_does_not_archive_records_that_others_added_since(ws):
    begin_session(acting(ws, "A"), NOW)
    mine = current(ws)
    add_loop(acting(ws, "B"), later(minutes=1), action="B deployed", expect="ok", id="OL-B")
    end_session(acting(ws, "B"), later(minutes=2), context="B's words")
    write_document(ws, later(minutes=3), {**mine, "session_id": "A"})
    assert ids(ws, "open_loops") == ["OL-B"]
    assert current(ws)["context"] == "B's words"


def test_changes_made_by_verbs_are_not_counted_again_in_the_sessions_document(ws):
    write_document(ws, NOW, document("P", follow_ups=[{**ITEM, "defer_count": 1}]))
    mine = acting(ws, "S")
    begin_session(mine, later(minutes=1))
    add_loop(acting(ws, "O"), later(minutes=2), action="x", expect="y", id="OL-O")
    defer_follow_up(mine, later(minutes=3), "FU-1")
    write_document(ws, later(minutes=4), document("S", "P", follow_ups=[{**ITEM, "defer_count": 3}]))
    assert stored(ws, "follow_up", "FU-1").defer_count == 3
    assert ids(ws, "open_loops") == ["OL-O"]


def test_a_start_ends_only_the_abandoned_session_of_its_work_tree(baton, top):
    def active():
        return [session["id"] for session in baton("status", "--json").json["active_sessions"]]

    named = baton("boot", "--session", "mine", "--json").json["session"]
    left = baton("boot", "--json").json["session"]
    follower = baton("boot", "--json").json["session"]
    assert sorted(active()) == sorted([named, follower])
    record = baton("record", "session", left, "--json").json["record"]
    assert (record["status"], record["summary"]) == ("ended", "left without an end")
    [current_file] = (top / ".git/baton/sessions").iterdir()
    current_file.write_text(f"{follower}\n{os.getpid()}\n")  # as if a running server had begun this session
    assert baton("boot", "--json").json["session"] in active()
    assert follower in active()


def test_a_session_whose_record_was_archived_is_still_known(open_workspace):
    ws = open_workspace(None, policy=Policy(sessions_kept=3))
    write_document(ws, NOW, document("S", open_loops=[LOOP]))
    for number in range(5):
        other = acting(ws, f"o{number}")
        begin_session(other, later(minutes=number + 1))
        add_loop(other, later(minutes=number + 1), action="x", expect="y", id=f"OL-{number}")
    write_document(ws, later(minutes=9), document("S", open_loops=[LOOP]))
    assert set(ids(ws, "open_loops")) == {"OL-001", *(f"OL-{number}" for number in range(5))}


def test_a_repeated_command_does_not_change_another_record(ws):
    for id_ in ("FU-1", "FU-10"):
        add_follow_up(ws, NOW, item=id_, id=id_)
    finish_follow_up(ws, NOW, "FU-1")
    with pytest.raises(NotFound, match="live follow-up"):
        finish_follow_up(ws, NOW, "FU-1")
    assert ids(ws, "follow_ups") == ["FU-10"]


def test_a_reused_id_keeps_two_archived_records_apart(ws):
    add_loop(ws, NOW, action="OLD", expect="x", id="OL-001")
    close_loop(ws, NOW, "OL-001")
    write_document(ws, NOW, document("A", open_loops=[{**LOOP, "action": "NEW"}]))
    write_document(ws, NOW, document("B", "A", open_loops=[{**LOOP, "action": "NEW", "status": "failed"}]))
    write_document(ws, NOW, document("A"))
    archived = ws.branch.read().state
    found = {id_: archived.entry(key).record for id_ in archived.ids("open_loop", archived=True)
             if (key := _closed(id_))}  # fmt: skip
    assert sorted((one["action"], one["status"]) for one in found.values()) == [("NEW", "failed"), ("OLD", "open")]


def _closed(id_):
    from baton_git.core.state import Key

    return Key("open_loop", id_, archived=True)


def test_different_values_from_two_sessions_become_a_conflict(ws):
    write_document(ws, NOW, document("P"))
    write_document(ws, NOW, document("A", "P", open_loops=[{**LOOP, "status": "failed"}]))
    done = write_document(
        ws, NOW, document("B", "P", open_loops=[{**LOOP, "expected_outcome": "204", "status": "open"}])
    )
    assert current(ws)["open_loops"][0]["status"] == "failed"
    assert done.conflicts == ["OL-001"]
    assert [one.theirs for one in ws.branch.read().state.records(Conflict)] == ["204"]


def test_a_stale_document_that_was_redacted_before_does_not_come_back_as_a_change(ws):
    text = 'password = "hunter2hunter2"'
    write_document(ws, NOW, document("S", context=text))
    write_document(ws, NOW, document("O", "S", context="O's words"))
    write_document(ws, NOW, document("S", context=text))
    assert current(ws)["context"] == "O's words"


def test_reverting_a_session_restores_the_value_of_another_session(ws):
    write_document(ws, NOW, document("P", follow_ups=[ITEM]))
    write_document(ws, NOW, document("A", "P", follow_ups=[{**ITEM, "item": "Refactor", "reason": "A"}]))
    write_document(ws, NOW, document("S", "P", follow_ups=[{**ITEM, "item": "Refactor", "reason": "S"}]))
    assert stored(ws, "follow_up", "FU-1").reason == "S"
    rollback_session(acting(ws, "X"), later(minutes=1), "S")
    assert stored(ws, "follow_up", "FU-1").reason == "A"


def test_an_undone_change_is_not_undone_twice(ws):
    add_follow_up(ws, NOW, item="x", id="FU-1")
    for _ in range(3):
        revision = defer_follow_up(ws, NOW, "FU-1").written.revision.number
    undo_revision(ws, NOW, str(revision - 1))
    with pytest.raises(NotAllowed, match="undone already"):
        undo_revision(ws, NOW, str(revision - 1))
    assert stored(ws, "follow_up", "FU-1").defer_count == 2
    redo(ws, NOW)
    undo_revision(ws, NOW, str(revision - 1))
    assert stored(ws, "follow_up", "FU-1").defer_count == 2


def test_a_rollback_keeps_the_active_sessions(ws):
    add_follow_up(ws, NOW, item="x")
    mine = acting(ws, "S2")
    begin_session(mine, NOW)
    rollback_to(mine, NOW, "1")
    assert stored(ws, "session", "S2").status == "active"


def test_another_import_does_not_archive_records_of_the_first(ws):
    write_document(ws, NOW, document("i1", open_loops=[LOOP]), op="import", where="/a.json")
    write_document(ws, NOW, document("i2", follow_ups=[ITEM]), op="import", where="/b.json")
    assert (ids(ws, "open_loops"), ids(ws, "follow_ups")) == (["OL-001"], ["FU-1"])


def test_a_record_of_almost_the_maximum_size_can_still_be_closed(ws):
    big = "x" * (256 * 1024 - 300)
    add_loop(ws, NOW, action="a", expect=big, id="OL-1")
    close_loop(ws, NOW, "OL-1")
    assert stored(ws, "open_loop", "OL-1", archived=True) is not None


def test_removing_and_adding_a_decision_again_does_not_bypass_the_checks_of_its_claims(ws):
    decision = {"id": "DEC-1", "what": "w", "why": "y", "created_at": "2026-06-17", "source_tier": "llm_derived"}
    write_document(ws, NOW, document("A", active_decisions=[{**decision, "status": "monitoring"}]))
    write_document(ws, NOW, document("A"))
    done = write_document(ws, NOW, document("A", active_decisions=[{**decision, "source_tier": "human_confirmed"}]))
    assert {one.field for one in done.held} == {"source_tier", "status"}


def test_only_a_person_can_restore_an_undone_graduation(ws):
    record_pattern(ws, NOW, what="p", id="PAT-1")
    propose_rule(ws, NOW, "PAT-1", "Do X")
    done = graduate_pattern(replace(ws, confirmed=Confirmed("Ada", "terminal", "PAT-1", "Do X")), NOW, "PAT-1")
    graduated = str(done.written.revision.number)
    undo_revision(ws, NOW, person="Ada")
    for back in (lambda: rollback_to(ws, NOW, graduated), lambda: rollback_record(ws, NOW, "PAT-1", graduated),
                 lambda: redo(ws, NOW)):  # fmt: skip
        with pytest.raises(NeedsHuman):
            back()
    rollback_record(ws, NOW, "PAT-1", graduated, "Ada")
    assert ws.branch.read().state.get(Pattern, "PAT-1").status == "graduated"
    assert stored(ws, "rule", "PAT-1") is not None


def test_a_foreign_branch_is_not_written_to(ws):
    by_hand(ws, {"code.py": b"print()\n"})
    by_hand(ws, {"format.toml": None})
    with pytest.raises(NotAllowed, match=r"has no format\.toml"):
        add_follow_up(ws, NOW, item="x")
    begun = begin_session(ws, NOW)
    assert any("has no format.toml" in one for one in begun.problems)


def test_the_brief_keeps_to_small_budgets(ws):
    write_document(ws, NOW, document("A", open_loops=[LOOP], follow_ups=[ITEM], context="c\n" * 50))
    for budget in (600, 700, 800, 1000):
        brief = begin_session(ws, NOW, StartOptions(budget=budget)).brief
        assert len(brief.text.encode()) <= budget
        for title, what in (("Loops that failed or are overdue", "failed loops"), ("Follow-ups", "follow-ups")):
            assert f"## {title}" in brief.text or what in brief.left_out


def test_a_count_raised_by_a_client_is_added_once(ws):
    write_document(ws, NOW, document("P", follow_ups=[ITEM]))
    add_follow_up(acting(ws, "O"), NOW, item="later", id="FU-9")
    defer_follow_up(acting(ws, "O"), NOW, "FU-9")
    read_back = current(ws)
    for one in read_back["follow_ups"]:
        if one["id"] == "FU-9":
            one["defer_count"] = 2
    write_document(ws, NOW, {**read_back, "session_id": "S", "parent_session": "P"})
    assert ws.branch.read().state.get(FollowUp, "FU-9").defer_count == 2


def test_rollback_accepts_the_prefix_of_an_id(ws):
    add_follow_up(ws, NOW, item="x", id="FU-abc")
    defer_follow_up(ws, NOW, "FU-abc")
    rollback_record(ws, NOW, "FU-a")
    assert stored(ws, "follow_up", "FU-abc").defer_count == 0


@pytest.mark.parametrize("boots", [True, False])
def test_a_reader_of_the_document_is_given_the_writer_with_its_own_parent(baton, boots):
    if boots:  # a session that has read no document does not take over its head
        baton("write", "--file", "-", given='{"session_id": "B", "parent_session": "A", "context": "x"}')
    for session in ("C", "D"):
        if boots:
            baton("boot", "--session", session)
        baton("wrap", "--session", session, "--context", "c")
    read = baton("read").json["baton"]
    assert (read["session_id"], read["parent_session"]) == ("D", "C")
