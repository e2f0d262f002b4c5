"""Checks of loops, and the approvals that commands need."""

from __future__ import annotations

import json
import stat
import sys
from dataclasses import replace

import pytest
from world import NOW, by_hand, later, stored

from baton_git.checks.approvals import Approvals, make_identity, read_identity
from baton_git.core.errors import Corrupt, InvalidArgument, NotFound
from baton_git.core.records.work_items import OpenLoop
from baton_git.verbs.sessions import session_start
from baton_git.verbs.verification.check_results import apply_results, list_due_loops
from baton_git.verbs.verification.checks import verify
from baton_git.verbs.verification.consent import approve_check, find_loop_with_check, list_waiting_checks
from baton_git.verbs.verification.trust import distrust, trust
from baton_git.verbs.work_items.loops import add_loop, settle_loop


@pytest.fixture
def here(ws, tmp_path):
    """Return a workspace with a folder, and with approvals stored outside of it."""
    folder = tmp_path / "folder"
    folder.mkdir()
    approvals = Approvals(tmp_path / "data" / "approved.json", ws.branch.store.repository.common_dir)
    return replace(ws, folder=folder, approvals=approvals)


def command(ws, *argv):
    """Add a loop whose check runs a command; return its id."""
    return add_loop(ws, NOW, action="a", expect="b", verify={"method": "command", "argv": list(argv)}).id


def command_that_creates(path):
    return (sys.executable, "-c", f"open({str(path)!r}, 'w')")


def test_all_loops_with_a_check_are_checked_in_one_commit(here):
    (here.folder / "x").touch()
    names = [
        add_loop(here, NOW, action="a", expect="b", verify={"method": "file_exists", "path": path}).id
        for path in ("x", "y")
    ]
    manual = add_loop(here, NOW, action="a", expect="b", verify={"method": "manual", "note": "look"}).id
    before = here.branch.read().number
    found = verify(here, NOW).evidence
    assert {id_: one.result for id_, one in found.items()} == dict(zip(names, ("passed", "failed"), strict=True))
    assert here.branch.read().number == before + 1
    assert stored(here, "open_loop", manual).last_check is None


@pytest.mark.parametrize(
    ("check", "hint"),
    [
        ({"method": "http", "url": "localhost:8080"}, "http://localhost:8080"),
        ({"method": "http", "url": "ftp://x"}, "http://"),
        ({"method": "http", "url": "notaurl"}, "http://"),
        ({"method": "http", "url": "http://"}, "http://"),
        ({"method": "http", "url": "http://x:port/"}, "http://"),
        ({"method": "http", "url": "http://a b"}, "http://"),
        ({"method": "http"}, ""),
        ({"method": "command", "argv": ["pytest -q", "x"]}, "--verify-command -- pytest -q x"),
        ({"method": "command", "argv": []}, ""),
    ],
)
def test_a_check_that_can_never_run_is_rejected_when_it_is_added(here, check, hint):
    with pytest.raises(InvalidArgument) as refused:
        add_loop(here, NOW, action="a", expect="b", verify=check)
    assert hint in refused.value.hint
    assert here.branch.read().commit is None


def test_a_program_whose_name_has_a_space_can_be_checked(here):
    (here.folder / "my program").touch()
    assert add_loop(here, NOW, action="a", expect="b", verify={"method": "command", "argv": ["./my program"]}).id


def test_an_unchanged_result_makes_no_commit(here):
    slow = [sys.executable, "-c", "import time; print(f'1 failed in {time.time():.6f}s'); exit(1)"]
    made = command(here, *slow)
    trust(here, NOW, tuple(slow))
    verify(here, NOW)
    before, known = here.branch.read().number, stored(here, "open_loop", made)
    assert verify(here, later(days=1)).evidence[made].at == "2026-11-22T08:00:00Z"
    assert here.branch.read().number == before
    begun = session_start.begin_session(here, later(days=1))
    assert stored(here, "open_loop", made) == known
    assert "just now" in next(line for line in begun.brief.text.splitlines() if made in line)
    settle_loop(here, NOW, made, "failed", note="seen")
    before = here.branch.read().number
    settle_loop(here, later(days=2), made, "failed", note="seen")
    assert here.branch.read().number == before


def test_evidence_has_the_result_the_time_the_duration_and_the_actor(here):
    made = add_loop(here, NOW, action="a", expect="b", verify={"method": "file_exists", "path": "x"}).id
    verify(here, NOW)
    check = stored(here, "open_loop", made).last_check
    assert (check.result, check.at, check.by) == ("failed", "2026-11-21T08:00:00Z", "probe")
    assert check.duration_ms is not None
    assert check.why


def test_a_named_loop_without_a_check_is_an_error_with_a_hint(here):
    made = add_loop(here, NOW, action="a", expect="b").id
    with pytest.raises(InvalidArgument, match="has no check") as caught:
        verify(here, NOW, [made])
    assert caught.value.hint == f"to record what you observed: baton loop verify {made} --passed, or --failed"
    with pytest.raises(NotFound):
        verify(here, NOW, ["OL-nope"])


def test_verify_without_checks_writes_nothing(here):
    add_loop(here, NOW, action="a", expect="b")
    before = here.branch.read().commit
    assert verify(here, NOW).evidence == {}
    assert here.branch.read().commit == before


def test_an_unchanged_result_is_printed_and_not_written_again(here):
    made = add_loop(here, NOW, action="a", expect="b", verify={"method": "file_exists", "path": "x"}).id
    verify(here, NOW)
    before = here.branch.read().commit
    assert verify(here, NOW).evidence[made].result == "failed"
    assert here.branch.read().commit == before


def test_a_check_without_approval_is_reported_and_not_written(here):
    made = command(here, "true")
    before = here.branch.read().commit
    found = verify(here, NOW).evidence[made]
    assert (found.result, found.why) == ("unknown", f"not approved on this machine; run: baton trust {made}")
    assert here.branch.read().commit == before
    session_start.begin_session(here, NOW)
    assert stored(here, "open_loop", made).last_check is None


def test_a_start_runs_the_most_urgent_checks_and_reports_the_number_of_others(here, monkeypatch):
    monkeypatch.setattr(session_start, "MOST_AT_START", 2)
    for name in ("a", "b", "c", "d"):
        add_loop(here, NOW, action="a", expect="b", verify={"method": "file_exists", "path": "x"}, id=name)
    settle_loop(here, NOW, "d", "failed")
    begun = session_start.begin_session(here, NOW)
    assert set(begun.checks) == {"a", "d"}
    assert any("only the 2 most urgent checks ran, 2 more did not" in one for one in begun.problems)


def test_a_failed_loop_is_checked_again_and_a_verified_one_is_not(here):
    made = add_loop(here, NOW, action="a", expect="b", verify={"method": "file_exists", "path": "x"}).id
    verify(here, NOW)
    (here.folder / "x").touch()
    verify(here, NOW)
    assert stored(here, "open_loop", made).status == "verified"
    assert list_due_loops(here.branch.read().state) == []


def test_the_result_of_a_check_that_was_changed_meanwhile_is_discarded(here):
    id_ = add_loop(here, NOW, action="a", expect="b", verify={"method": "file_exists", "path": "x"}).id
    checked = stored(here, "open_loop", id_)
    evidence = verify(here, NOW).evidence
    other = checked.replace(verify=checked.verify.replace(path="y"))
    state = here.branch.read().state.put(other)
    assert apply_results(state, [checked], evidence).get(OpenLoop, id_) == other
    assert apply_results(state, [other], evidence).get(OpenLoop, id_).last_check == evidence[id_]


def test_verify_skips_a_loop_without_a_check(here):
    made = add_loop(here, NOW, action="a", expect="b", verify=None, id="OL-1")
    settle_loop(here, NOW, made.id, "failed")
    assert verify(here, NOW).evidence == {}


def test_a_command_runs_only_if_exactly_this_command_was_approved(here, tmp_path):
    mark = tmp_path / "ran"
    made = command(here, *command_that_creates(mark))
    trust(here, NOW, (*command_that_creates(mark), "more"))
    assert verify(here, NOW).evidence[made].result == "unknown"
    assert not mark.exists()
    assert trust(here, NOW, command_that_creates(mark)) is True
    assert verify(here, NOW).evidence[made].result == "passed"
    assert mark.exists()


def test_a_script_changed_after_its_approval_needs_a_new_approval(here):
    script = here.folder / "check.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    made = command(here, "./check.sh")
    trust(here, NOW, ("./check.sh",))
    assert verify(here, NOW).evidence[made].result == "passed"
    script.write_text("#!/bin/sh\ntouch ran; false\n")
    other = command(here, "./check.sh")
    found = verify(here, NOW).evidence[other]
    assert found.result == "unknown"
    assert found.why == f"changed since it was approved on this machine: check.sh; run: baton trust {other}"
    assert not (here.folder / "ran").exists()
    assert set(list_waiting_checks(here)) == {made, other}
    trust(here, NOW, ("./check.sh",))
    assert verify(here, NOW).evidence[other].result == "failed"


def test_an_approval_holds_for_its_repository_only(here, tmp_path):
    mark = tmp_path / "ran"
    made = command(here, *command_that_creates(mark))
    trust(
        replace(here, approvals=here.approvals._replace(repository=tmp_path / "other")), NOW, command_that_creates(mark)
    )
    assert verify(here, NOW).evidence[made].result == "unknown"
    assert not mark.exists()


def test_an_approval_can_be_revoked(here, tmp_path):
    made = command(here, *command_that_creates(tmp_path / "ran"))
    trust(here, NOW, command_that_creates(tmp_path / "ran"))
    assert trust(here, NOW, command_that_creates(tmp_path / "ran")) is False
    assert list_waiting_checks(here) == {}
    assert distrust(here, command_that_creates(tmp_path / "ran")) is True
    assert distrust(here, command_that_creates(tmp_path / "ran")) is False
    assert set(list_waiting_checks(here)) == {made}
    assert verify(here, NOW).evidence[made].result == "unknown"


def test_files_on_the_branch_or_in_the_work_tree_cannot_approve(here, tmp_path):
    mark = tmp_path / "ran"
    made = command(here, *command_that_creates(mark))
    entry = [{"argv": list(command_that_creates(mark)), "at": "now"}]
    common = here.branch.store.repository.common_dir
    make_identity(common)
    claim = {str(common): entry, "repositories": {read_identity(common): {"path": str(common), "commands": entry}}}
    text = json.dumps(claim).encode()
    by_hand(here, {"approved.json": text, "baton/approved.json": text, ".baton/approved.json": text})
    for name in ("approved.json", ".baton.toml"):
        (here.folder / name).write_bytes(text)
    with (common / "config").open("a") as file:
        file.write("[baton]\n\tapproved = true\n")
    assert verify(here, NOW).evidence[made].result == "unknown"
    assert not mark.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"repositories": {"%s": {"commands": [{"x": 1}]}}}'])
def test_unreadable_approvals_approve_nothing(here, tmp_path, text):
    mark = tmp_path / "ran"
    made = command(here, *command_that_creates(mark))
    trust(here, NOW, command_that_creates(mark))
    here.approvals.path.write_text(text.replace("%s", read_identity(here.approvals.repository)))
    with pytest.raises(Corrupt):
        here.approvals.holds(command_that_creates(mark))
    assert verify(here, NOW).evidence[made].result == "unknown"
    assert not mark.exists()
    assert stored(here, "open_loop", made).status == "open"


def test_only_the_user_can_read_the_file_of_approvals(here):
    trust(here, NOW, ("true",))
    assert stat.S_IMODE(here.approvals.path.stat().st_mode) == 0o600


def test_only_checks_that_need_approval_can_be_approved(here):
    made = add_loop(here, NOW, action="a", expect="b")
    with pytest.raises(InvalidArgument, match="has no check"):
        find_loop_with_check(here, made.id)
    with pytest.raises(InvalidArgument):
        trust(here, NOW, ())
    local = add_loop(here, NOW, action="a", expect="b", verify={"method": "file_exists", "path": "x"})
    with pytest.raises(InvalidArgument, match="needs no approval"):
        approve_check(here, NOW, local.id, find_loop_with_check(here, local.id)[1])
    assert list_waiting_checks(here) == {}
