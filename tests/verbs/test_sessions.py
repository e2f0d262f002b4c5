"""Start and end of a session: nothing blocks them, nothing is lost, and faults are named."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from strategies import LOOP, PATTERN
from world import NOW, acting, by_hand, current, document, later, stored, workspace

from baton_git.core.errors import InvalidName, Stale
from baton_git.core.lifecycle import MOST_CLOSED
from baton_git.core.policy import Policy
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop
from baton_git.core.sessions import record_session
from baton_git.core.state import Key
from baton_git.core.times import iso
from baton_git.git.store import Repository, Store
from baton_git.namespace.caller import Vouched
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.verbs.sessions.session_end import end_session
from baton_git.verbs.sessions.session_start import StartOptions, begin_session, compose_brief, make_session_id
from baton_git.verbs.sessions.sessions import init
from baton_git.verbs.upkeep.namespace_status import read_status
from baton_git.verbs.work_items.decisions import add_decision, supersede_decision
from baton_git.verbs.work_items.followups import add_follow_up
from baton_git.verbs.work_items.loops import add_loop, settle_loop


def sessions(ws):
    return {one.id: one for one in ws.branch.read().state.records(Session)}


# --- boot


def test_the_frame_of_a_brief_has_an_unpredictable_mark(ws):
    first, second = compose_brief(ws, NOW).text, compose_brief(ws, NOW).text
    mark = first.splitlines()[0].removesuffix(" ===").rpartition(" ")[2]
    assert first.splitlines()[-2] == f"=== end of brief {mark} ==="
    assert mark not in second
    assert begin_session(ws, NOW, StartOptions(mark="m-1")).brief.text.splitlines()[-2] == "=== end of brief m-1 ==="


def test_the_first_boot_creates_the_namespace_and_the_session(ws):
    begun = begin_session(ws, NOW)
    assert (begun.session, begun.parent, begun.revision.number, begun.problems) == ("s1", None, 1, ())
    assert sessions(ws)["s1"].status == "active"
    assert "Nothing has been recorded yet" in begun.brief.text


def test_a_boot_without_a_session_generates_a_session_name(ws):
    begun = begin_session(acting(ws, None), NOW)
    assert begun.session.startswith("2026-11-21-")
    assert begun.session in sessions(ws)
    assert make_session_id(NOW) != make_session_id(NOW)


def test_a_new_session_follows_the_previous_session(ws):
    begin_session(ws, NOW)
    end_session(ws, later(minutes=1))
    begun = begin_session(acting(ws, "s2"), later(minutes=2))
    assert begun.parent == "s1"
    assert sessions(ws)["s2"].parent == "s1"


def test_a_session_that_boots_twice_is_the_same_session(ws):
    begin_session(ws, NOW)
    begin_session(acting(ws, "s2"), later(minutes=1))
    again = begin_session(ws, later(minutes=2))
    assert again.parent is None
    assert len(sessions(ws)) == 2


def test_an_ended_session_is_active_again_after_another_boot(ws):
    begin_session(ws, NOW)
    end_session(ws, later(minutes=1))
    begin_session(ws, later(minutes=2))
    assert sessions(ws)["s1"].status == "active"


@pytest.mark.parametrize("name", ["a\nb", " ", "x" * 129])
def test_an_invalid_session_name_cannot_boot(ws, name):
    with pytest.raises(InvalidName):
        begin_session(acting(ws, name), NOW)
    assert ws.branch.read().commit is None


def test_a_loop_past_its_days_is_escalated(ws):
    made = add_loop(ws, NOW, action="a", expect="b", ttl_days=2)
    begin_session(ws, later(days=1.9))
    assert stored(ws, "open_loop", made.id).status == "open"
    begun = begin_session(ws, later(days=2))
    assert stored(ws, "open_loop", made.id).status == "escalated"
    assert f"{made.id} [agent] ESCALATED" in begun.brief.text


def test_checks_run_and_their_evidence_is_kept(ws, tmp_path):
    (tmp_path / "there").touch()
    here = replace(ws, folder=tmp_path)
    good = add_loop(here, NOW, action="a", expect="b", verify={"method": "file_exists", "path": "there"}).id
    bad = add_loop(here, NOW, action="c", expect="d", verify={"method": "file_exists", "path": "not"}).id
    begun = begin_session(here, later(days=1))
    assert {id_: one.result for id_, one in begun.checks.items()} == {good: "passed", bad: "failed"}
    assert stored(ws, "open_loop", good).status == "verified"
    found = stored(ws, "open_loop", bad)
    assert (found.status, found.last_check.result, found.last_check.at) == ("failed", "failed", "2026-11-22T08:00:00Z")
    assert f"{good} [agent] VERIFIED" in begun.brief.text


def test_a_check_without_remaining_time_does_not_run(ws, tmp_path):
    add_loop(replace(ws, folder=tmp_path), NOW, action="a", expect="b", verify={"method": "file_exists", "path": "x"})
    assert begin_session(ws, NOW, StartOptions(check_seconds=0)).checks == {}


def test_an_unapproved_command_is_unknown_and_changes_no_status(ws, tmp_path):
    mark = tmp_path / "ran"
    made = add_loop(ws, NOW, action="a", expect="b", verify={"method": "command", "argv": ["touch", str(mark)]})
    begun = begin_session(replace(ws, folder=tmp_path), NOW)
    assert begun.checks[made.id].result == "unknown"
    assert stored(ws, "open_loop", made.id).status == "open"
    assert not mark.exists()


def test_a_verified_loop_is_shown_once_and_then_archived(ws):
    made = add_loop(ws, NOW, action="Deployed it", expect="b")
    settle_loop(ws, NOW, made.id, "passed")
    begun = begin_session(acting(ws, "s2"), later(days=1))
    assert begun.closed == (made.id,)
    assert f"## Verified by earlier sessions, archived now\n- {made.id} [agent] Deployed it" in begun.brief.text
    archived = stored(ws, "open_loop", made.id, archived=True)
    assert (archived.reason, archived.session) == ("verified", "s2")
    again = begin_session(acting(ws, "s3"), later(days=2))
    assert again.closed == ()
    assert "Deployed it" not in again.brief.text


def test_of_many_verified_loops_a_boot_tells_and_archives_the_same_ones(ws):
    loops = [OpenLoop(**LOOP | {"id": f"OL-{number}", "status": "verified"}) for number in range(MOST_CLOSED + 5)]
    edits = {Key(OpenLoop.kind, loop.id): loop for loop in loops}
    ws.update("import", NOW, lambda tip: replace(tip.state, edits={**tip.state.edits, **edits}))
    begun = begin_session(acting(ws, "s2"), later(days=1))
    assert len(begun.closed) == MOST_CLOSED
    assert {*begun.closed} == begun.revision.state.ids("open_loop", archived=True)
    begun = begin_session(acting(ws, "s3"), later(days=1))
    assert len(begun.closed) == 5
    assert not begun.revision.state.ids("open_loop")


def test_a_loop_that_this_boot_verifies_is_still_shown_and_archived_by_the_next(ws, tmp_path):
    here = replace(ws, folder=tmp_path)
    made = add_loop(here, NOW, action="a", expect="b", verify={"method": "file_exists", "path": "."})
    assert begin_session(here, NOW).closed == ()
    assert stored(ws, "open_loop", made.id).status == "verified"
    assert begin_session(acting(here, "s2"), later(days=1)).closed == (made.id,)


def test_superseded_decisions_go_to_the_archive(ws):
    old = add_decision(ws, NOW, what="a", why="b").id
    new = add_decision(
        replace(ws, confirmed=Vouched("Ada", "terminal")), NOW, what="c", why="d", tier="human_confirmed"
    ).id
    supersede_decision(ws, NOW, old, new)
    begin_session(ws, NOW)
    assert [one.id for one in ws.branch.read().state.records(ActiveDecision)] == [new]
    assert stored(ws, "active_decision", old, archived=True).reason == f"superseded by {new}"


def test_sessions_beyond_the_newest_go_to_the_archive(ws):
    few = replace(ws, policy=Policy(sessions_kept=3))
    for number in range(6):
        begin_session(acting(few, f"s{number}"), later(minutes=number))
    assert set(sessions(ws)) == {"s3", "s4", "s5"}
    assert stored(ws, "session", "s0", archived=True) is not None


def test_sessions_that_start_at_the_same_time_archive_different_old_sessions(ws):
    """Each archives at most two of a large surplus: all would otherwise write the same files."""
    few = replace(ws, policy=Policy(sessions_kept=10))
    for number in range(40):
        begin_session(acting(ws, f"s{number}"), later(minutes=number))
    state, archived = ws.branch.read().state, []
    for number in range(15):
        new = Session(id=f"t{number}", started=iso(later(minutes=60)))
        after = record_session(state, new, later(minutes=60), few.policy)
        archived.append({key.id for key in after.edits if key.archived and after.entry(key) is not None})
    assert {len(ids) for ids in archived} == {2}
    assert len(set.union(*archived)) >= 15  # of 31; the same two each time would be two
    assert set.union(*archived) <= {f"s{number}" for number in range(31)}


def test_the_brief_keeps_to_its_budget_and_counts_what_it_leaves_out(ws):
    for number in range(40):
        add_loop(ws, NOW, action=f"action {number} " + "word " * 30, expect="b")
    begun = begin_session(ws, NOW, StartOptions(budget=2000))
    assert len(begun.brief.text.encode()) <= 2000
    shown = begun.brief.text.count("expected:")
    assert begun.brief.left_out["open loops"] == 40 - shown
    assert f"… and {40 - shown} more open loops" in begun.brief.text


def test_a_corrupt_record_is_named_and_the_rest_is_shown(ws):
    init(ws, NOW)
    add_follow_up(ws, NOW, item="i", id="FU-1")
    by_hand(ws, {"open_loops/OL-9.toml": b"id = ["})
    begun = begin_session(ws, NOW)
    assert any("open_loops/OL-9.toml" in one for one in begun.problems)
    assert "open_loops/OL-9.toml" in begun.brief.text
    assert "FU-1 [agent] i" in begun.brief.text
    assert "s1" in sessions(ws)
    assert ws.branch.store.folder(ws.branch.read().tree).folder("open_loops").read("OL-9.toml") == b"id = ["


def test_a_corrupt_head_is_named_and_not_overwritten(ws):
    add_loop(ws, NOW, action="Deployed it", expect="b")
    by_hand(ws, {"baton.toml": b"\xff"})
    begun = begin_session(ws, NOW)
    assert any("baton.toml" in one for one in begun.problems)
    assert ws.branch.store.folder(ws.branch.read().tree).read("baton.toml") == b"\xff"


def test_a_corrupt_head_does_not_hide_the_open_loops(ws):
    add_loop(ws, NOW, action="Deployed it", expect="b")
    by_hand(ws, {"baton.toml": b"\xff"})
    assert "Deployed it" in begin_session(ws, NOW).brief.text


def test_a_corrupt_session_record_is_named(ws):
    begin_session(ws, NOW)
    by_hand(ws, {"sessions/s1.toml": b"x"})
    begun = begin_session(ws, NOW)
    assert any("sessions/s1.toml" in one for one in begun.problems)


def test_a_broken_ref_is_named(ws):
    add_loop(ws, NOW, action="a", expect="b")
    (ws.branch.store.repository.common_dir / ws.branch.ref).write_text("")
    begun = begin_session(ws, NOW)
    assert begun.problems
    assert "Problems" in begun.brief.text


@pytest.mark.slow
def test_a_start_names_a_held_lock_and_shows_the_state(ws):
    add_loop(ws, NOW, action="Deployed it", expect="b")
    ws.branch.store.locks.wait = 0.1
    (ws.branch.store.repository.common_dir / f"{ws.branch.ref}.lock").touch()
    begun = begin_session(ws, NOW)
    assert any("this start was not recorded" in one for one in begun.problems)
    assert "Deployed it" in begun.brief.text


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting the repository read-only needs root")
def test_a_read_only_repository_is_named_and_the_state_is_shown(ws, tmp_path):
    add_loop(ws, NOW, action="Deployed it", expect="b")
    mount_point = tmp_path / "ro"
    mount_point.mkdir()
    mounted = subprocess.run(
        ["mount", "--bind", "-o", "ro", str(tmp_path / "state.git"), str(mount_point)], check=False
    )
    if mounted.returncode:
        pytest.skip("this machine does not allow mounts")
    try:
        with Store(Repository.open(mount_point)) as store:
            begun = begin_session(workspace(store), NOW)
    finally:
        subprocess.run(["umount", str(mount_point)], check=True)
    assert any("this start was not recorded" in one for one in begun.problems)
    assert "Deployed it" in begun.brief.text


def test_a_missing_object_is_named(ws):
    add_loop(ws, NOW, action="a", expect="b")
    for pack in Path(ws.branch.store.repository.common_dir / "objects/pack").glob("*.pack"):
        pack.unlink()
    with Store(ws.branch.store.repository) as store:
        assert begin_session(workspace(store), NOW).problems


# --- wrap


def test_wrap_writes_the_context_and_ends_the_session(ws):
    begin_session(ws, NOW)
    end_session(ws, later(minutes=5), context="It runs.", summary="deployed")
    assert current(ws)["context"] == "It runs."
    ended = sessions(ws)["s1"]
    assert (ended.status, ended.ended, ended.summary) == ("ended", "2026-11-21T08:05:00Z", "deployed")


def test_wrap_replaces_the_context_that_the_session_started_with(ws):
    begin_session(ws, NOW)
    end_session(ws, NOW, context="old")
    begin_session(acting(ws, "s2"), later(minutes=1))
    end_session(acting(ws, "s2"), later(minutes=2), context="new")
    assert current(ws)["context"] == "new"


def test_a_session_that_wraps_twice_replaces_its_own_context(ws):
    begin_session(ws, NOW)
    end_session(ws, later(minutes=1), context="one")
    end_session(ws, later(minutes=2), context="two")
    assert current(ws)["context"] == "two"


def test_wrap_with_the_newest_revision_replaces_the_context_of_another_session(ws):
    begin_session(acting(ws, "a"), NOW)
    end_session(acting(ws, "b"), NOW, context="of b")
    revision = ws.branch.read().number
    end_session(acting(ws, "a"), NOW, context="of a", expected_revision=revision)
    assert current(ws)["context"] == "of a"
    with pytest.raises(Stale):
        end_session(acting(ws, "b"), NOW, context="too late", expected_revision=revision)


def test_wrap_without_a_session_ends_no_session(ws):
    end_session(acting(ws, None), NOW, context="x")
    assert current(ws)["context"] == "x"
    assert sessions(ws) == {}


def test_wrap_without_a_context_only_ends_the_session(ws):
    begin_session(ws, NOW)
    end_session(ws, NOW, context="kept")
    begin_session(acting(ws, "s2"), NOW)
    end_session(acting(ws, "s2"), NOW)
    assert current(ws)["context"] == "kept"
    assert sessions(ws)["s2"].status == "ended"


# --- status


def test_status_counts_the_records_and_names_the_unreadable_files(ws):
    write_document(ws, NOW, document(open_loops=[LOOP, {**LOOP, "id": "OL-2", "status": "failed"}], patterns=[PATTERN]))
    add_follow_up(ws, NOW, item="x")
    by_hand(ws, {"open_loops/OL-3.toml": b"?", "open_loops/notes": b"hi"})
    found = read_status(ws, NOW)
    assert found.counts["open_loops"] == {"open": 1, "failed": 1}
    assert found.counts["follow_ups"] == {"normal": 1}
    assert found.counts["patterns"] == {"observing": 1}
    assert found.counts["turns"] == {}
    assert [one.path for one in found.damaged] == ["open_loops/OL-3.toml", "open_loops/notes"]
    assert [one.id for one in found.sessions] == ["s1"]


def test_adding_a_loop_stores_one_loop_and_no_follow_up(ws):
    add_loop(ws, NOW, action="a", expect="b")
    state = ws.branch.read().state
    assert (len(state.records(OpenLoop)), len(state.records(FollowUp))) == (1, 0)
