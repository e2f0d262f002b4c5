"""`ready` lists every need, the most urgent first, with the command that resolves it."""

from __future__ import annotations

from world import NOW, by_hand, later

from baton_git.core.lifecycle import WAITS
from baton_git.core.records.conflict import Conflict
from baton_git.core.sessions import SessionNames
from baton_git.core.view import Reader
from baton_git.namespace.import_quarantine import ImportQuarantine, RefusedRow
from baton_git.verbs.records.ready import NEEDS, list_ready
from baton_git.verbs.upkeep.namespace_status import status
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up
from baton_git.verbs.work_items.loops import add_loop, settle_loop
from baton_git.verbs.work_items.patterns import propose_rule, record_pattern


def needs(ws, at=NOW):
    return {(item.need, item.id): item for item in list_ready(ws, at).items}


def test_each_need_is_listed_with_its_command_most_urgent_first(ws):
    add_loop(ws, NOW, action="Looked", expect="x", id="OL-new", ttl_days=30)
    add_loop(ws, NOW, action="Sent", expect="x", id="OL-late")
    add_loop(ws, NOW, action="Deployed", expect="x", id="OL-bad", verify={"method": "file_exists", "path": "nope"})
    add_loop(ws, NOW, action="Done", expect="x", id="OL-good")
    settle_loop(ws, NOW, "OL-bad", "failed", note="status\n500")
    settle_loop(ws, NOW, "OL-good", "passed")
    for id_ in ("FU-1", "FU-2", "FU-3"):
        add_follow_up(ws, NOW, item=f"Do {id_}", id=id_, priority="elevated" if id_ == "FU-1" else None)
    for _ in range(5):
        defer_follow_up(ws, NOW, "FU-2")
    record_pattern(ws, NOW, what="Guessed", id="PAT-1")
    propose_rule(ws, NOW, "PAT-1", "Look first")
    contested = Conflict(
        id="C-1", record_kind="open_loop", record_id="OL-new", field="action", ours="a", theirs="b", winner="theirs"
    )
    ws.update("test", NOW, lambda tip: tip.state.put(contested))
    quarantine = ImportQuarantine(ws.branch.store.repository.common_dir, ws.branch.namespace)
    quarantine.replace("a file", [RefusedRow("open_loops[3]", "is no table")], "2026-06-17T12:30:00Z")
    by_hand(ws, {"open_loops/x/OL-1.toml": b"= no TOML", "open_loops/OL-2.toml": b"x"})

    ready = list_ready(ws, later(days=8))
    assert [(item.need, item.id, item.command) for item in ready.items] == [
        ("failed", "OL-bad", "baton verify OL-bad"),
        ("overdue", "OL-late", "baton loop verify OL-late --passed"),
        ("unreadable", "OL-2", "baton rollback --record OL-2"),
        ("unreadable", "open_loops/x", "baton validate"),
        ("follow_up", "FU-2", "baton followup done FU-2"),
        ("follow_up", "FU-1", "baton followup done FU-1"),
        ("conflict", "C-1", "baton conflicts"),
        ("import", str(ws.branch.namespace), "baton import quarantine"),
        ("rule", "PAT-1", "baton pattern graduate PAT-1"),
        ("unverified", "OL-new", "baton loop verify OL-new --passed"),
    ]
    assert ready.items[0].why == "failed: status 500"
    shown = ready.show(Reader(NOW, SessionNames())).text.splitlines()
    assert [line.count("open_loops/x") for line in shown if "unreadable" in line] == [0, 1]
    assert list(ready.counts) == [need for need in NEEDS if need in ready.counts]
    assert list_ready(ws, later(days=8), limit=2).total == ready.total == 10
    assert status(ws, NOW).quarantined == 1
    file = ws.branch.store.repository.common_dir / "baton" / "quarantine" / f"{ws.branch.namespace.component}.json"
    file.write_bytes(b"{")
    assert status(ws, NOW).quarantined is None
    assert ("unreadable", "baton doctor") in [(item.need, item.command) for item in list_ready(ws, NOW).items]


def test_an_id_is_quoted_in_the_command(ws):
    add_loop(ws, NOW, action="a", expect="b", id="OL;rm")
    assert needs(ws)["unverified", "OL;rm"].command == "baton loop verify 'OL;rm' --passed"


def test_a_loop_whose_check_waits_for_an_approval_says_so_in_its_own_line(baton):
    waiting = baton("loop", "add", "Built", "--expect", "ok", "--verify-command", "true", "--id", "OL-1").id
    other = baton("loop", "add", "Looked", "--expect", "ok", "--id", "OL-2").id
    for shown in (baton("boot").out, baton("loop", "list").out, baton("ready").out):
        lines = [line for line in shown.splitlines() if WAITS in line]
        assert len(lines) == 1
        assert waiting in lines[0] or waiting in shown.splitlines()[shown.splitlines().index(lines[0]) - 1]
    assert f"{WAITS}: baton trust {waiting}" in baton("boot").out
    records = {one["id"]: one.get("waits") for one in baton("list", "loops", "--json").json["records"]}
    assert records == {waiting: "not approved on this machine", other: None}


def test_the_reason_why_a_loop_is_overdue_or_failed_includes_a_check_that_waits(ws):
    for id_ in ("OL-late", "OL-bad"):
        add_loop(ws, NOW, action="Built", expect="ok", id=id_, verify={"method": "command", "argv": ["true"]})
    settle_loop(ws, NOW, "OL-bad", "failed")
    found = needs(ws, later(days=8))
    assert found["failed", "OL-bad"].why == f"failed; now {WAITS}"
    assert found["overdue", "OL-late"].why == f"overdue: {WAITS}"
