"""What needs attention has one answer: `ready`, which the status, the brief, the board and the inbox quote."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from world import NOW, by_hand, files, later

from baton_git.core.records.conflict import Conflict
from baton_git.interfaces.context.settings import Settings
from baton_git.namespace.import_quarantine import ImportQuarantine, RefusedRow
from baton_git.verbs.records.ready import list_ready
from baton_git.verbs.sessions.session_start import compose_brief
from baton_git.verbs.upkeep.namespace_status import status
from baton_git.verbs.work_items.decisions import add_decision
from baton_git.verbs.work_items.followups import add_follow_up
from baton_git.verbs.work_items.loops import add_loop, settle_loop
from baton_git.verbs.work_items.patterns import propose_rule, record_pattern

WEEKS_LATER = later(days=20)


def leave_a_loop_overdue(ws: Any) -> None:
    add_loop(ws, NOW, action="Sent", expect="x", id="OL-late")


def let_a_loop_fail(ws: Any) -> None:
    add_loop(ws, NOW, action="Deployed", expect="x", id="OL-bad")
    settle_loop(ws, NOW, "OL-bad", "failed")


def take_a_change_back(ws: Any) -> None:
    before = files(ws)
    add_follow_up(ws, NOW, item="Do it", id="FU-lost")
    after = files(ws)
    by_hand(ws, {path: before.get(path) for path in after | before if before.get(path) != after.get(path)})


def keep_a_row_in_quarantine(ws: Any) -> None:
    quarantine = ImportQuarantine(ws.branch.store.repository.common_dir, ws.branch.namespace)
    quarantine.replace("a file", [RefusedRow("open_loops[3]", "is no table")], "2026-06-17T12:30:00Z")


def damage_the_quarantine(ws: Any) -> None:
    keep_a_row_in_quarantine(ws)
    folder = ws.branch.store.repository.common_dir / "baton" / "quarantine"
    (folder / f"{ws.branch.namespace.component}.json").write_bytes(b"{")


def damage_a_record(ws: Any) -> None:
    by_hand(ws, {"open_loops/OL-2.toml": b"= no TOML"})


def elevate_a_follow_up(ws: Any) -> None:
    add_follow_up(ws, NOW, item="Do it", id="FU-1", priority="elevated")


def propose_a_rule(ws: Any) -> None:
    record_pattern(ws, NOW, what="Guessed", id="PAT-1")
    propose_rule(ws, NOW, "PAT-1", "Look first")


def propose_a_decision(ws: Any) -> None:
    add_decision(ws, NOW, what="Half to even", why="books", id="DEC-1")
    add_decision(ws, NOW, what="Half up", why="habit", id="DEC-2", replaces="DEC-1")


def leave_a_conflict(ws: Any) -> None:
    conflict = {"id": "C-1", "record_kind": "open_loop", "record_id": "OL-9", "field": "action", "winner": "ours"}
    ws.update("test", NOW, lambda tip: tip.state.put(Conflict.model_validate(conflict | {"ours": "a", "theirs": "b"})))


@pytest.mark.parametrize(
    ("happens", "need", "sign", "told"),
    [
        (let_a_loop_fail, "failed", "1 loop failed", "Loops that failed or are overdue\n- OL-bad"),
        (leave_a_loop_overdue, "overdue", "1 loop overdue", "Loops that failed or are overdue\n- OL-late"),
        (damage_a_record, "unreadable", "1 file cannot be read", "open_loops/OL-2.toml: "),
        (damage_the_quarantine, "unreadable", "1 file cannot be read", "imported rows set aside: "),
        (take_a_change_back, "reverted", "1 change taken back by hand", "was made by hand and restores"),
        (elevate_a_follow_up, "follow_up", "1 follow-up put off too often", "FU-1"),
        (leave_a_conflict, "conflict", "1 conflict", "C-1"),
        (keep_a_row_in_quarantine, "import", "1 import to correct", "1 imported row set aside: did not fit"),
        (propose_a_rule, "rule", "1 rule to decide on", "PAT-1"),
        (propose_a_decision, "proposal", "1 decision to confirm", "DEC-2, proposed to replace DEC-1"),
    ],
)
def test_what_ready_lists_is_told_by_status_brief_board_and_inbox(
    serve: Any, monkeypatch: pytest.MonkeyPatch, happens: Any, need: str, sign: str, told: str
) -> None:
    monkeypatch.setattr(Settings, "now", staticmethod(lambda: WEEKS_LATER))
    served = serve()
    with served.site.work() as ws:
        happens(ws)
        assert list_ready(ws, WEEKS_LATER).counts == {need: 1}
        assert status(ws, WEEKS_LATER).needs == {need: 1}
        assert told in compose_brief(ws, WEEKS_LATER).text
    for page in ("board", "/"):
        chips = re.findall(r'<a class="chip (?:bad|warn)" href="([^"]+)">([^<]+)</a>', served.get(page).text)
        assert [text for _, text in chips] == [sign], page
        address, _, anchor = unescape(chips[0][0]).partition("#")
        assert f'id="{anchor}"' in served.get(address or "board").text or not anchor
    inbox = served.get("/").text
    assert len(re.findall(r'<p class="mark"><span class="chip (?:bad|warn)">', inbox)) == 1
    assert "DEC-2" not in inbox or '>Decide<span class="visually-hidden"> DEC-2</span></a>' in inbox
