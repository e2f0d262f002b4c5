"""List records of any kind, and show one by its id: filters, orders, unique prefixes, a short history."""

from __future__ import annotations

from dataclasses import replace

import pytest
from world import NOW, acting, by_hand, later

from baton_git.core.errors import Ambiguous, InvalidArgument
from baton_git.core.kinds import find_kind
from baton_git.core.records.work_items import Rule
from baton_git.verbs.records.details import show_record
from baton_git.verbs.records.listing import list_records
from baton_git.verbs.work_items.decisions import add_decision
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up, finish_follow_up
from baton_git.verbs.work_items.loops import add_loop, settle_loop
from baton_git.verbs.work_items.patterns import record_pattern


@pytest.fixture
def work(ws):
    """Return a namespace in which two sessions wrote records of three kinds; one follow-up is done."""
    add_loop(ws, NOW, action="Deployed", expect="it answers", id="OL-1")
    add_loop(ws, later(minutes=1), action="Sent", expect="they reply", id="OL-2")
    settle_loop(ws, later(minutes=2), "OL-1", "failed", note="no answer")
    second = replace(ws, actor=replace(acting(ws, "s2").actor, agent="codex"))
    add_follow_up(second, later(days=1), item="Tidy src/export.py", id="FU-1")
    defer_follow_up(second, later(days=2), "FU-1")
    add_follow_up(second, later(days=1), item="Done soon", id="FU-2")
    finish_follow_up(second, later(days=2), "FU-2", note="done")
    add_decision(second, later(days=1), what="Use X", why="fast", id="DEC-1")
    return ws


def ids(ws, **filters):
    return [record.id for record in list_records(ws, later(days=3), **filters).records]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["OL-1", "OL-2", "FU-1", "DEC-1"]),
        ({"kind": "Open loops"}, ["OL-1", "OL-2"]),
        ({"status": "failed"}, ["OL-1"]),
        ({"status": "normal"}, ["FU-1"]),
        ({"by_session": "s2"}, ["FU-1", "DEC-1"]),
        ({"by_agent": "claude", "kind": "loop"}, ["OL-1", "OL-2"]),
        ({"by_session": "s2", "archived": True}, ["FU-2"]),
        ({"since": "2026-11-22"}, ["FU-1", "DEC-1"]),
        ({"about": "EXPORT"}, ["FU-1"]),
        ({"about": "status"}, []),
        ({"sort": "newest"}, ["FU-1", "DEC-1", "OL-1", "OL-2"]),
        ({"sort": "oldest", "limit": 2}, ["OL-2", "OL-1"]),
        ({"sort": "urgent"}, ["OL-1", "OL-2", "FU-1", "DEC-1"]),
    ],
)
def test_records_are_filtered_and_sorted(work, filters, expected):
    assert ids(work, **filters) == expected


@pytest.mark.parametrize("sort", ["id", "newest"])
def test_a_list_is_read_page_by_page(work, sort):
    everything, after, seen = ids(work, sort=sort), None, []
    while True:
        page = list_records(work, NOW, sort=sort, limit=3, after=after)
        seen += [record.id for record in page.records]
        after = page.next
        if after is None:
            break
    assert seen == everything


def test_an_unknown_kind_or_status_is_rejected(work):
    with pytest.raises(InvalidArgument, match="open loops have no status 'opne'") as refused:
        list_records(work, NOW, kind="loops", status="opne")
    assert refused.value.hint == "the statuses are open, verified, failed, escalated"
    with pytest.raises(InvalidArgument, match="no kind of record 'loup'"):
        list_records(work, NOW, kind="loup")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("loop", "open_loop"), ("loops", "open_loop"), ("open-loops", "open_loop"), ("followup", "follow_up"),
     ("Decisions", "active_decision"), ("identities", "identity"), ("turns", "turns"), ("thing", None)],
)  # fmt: skip
def test_a_kind_is_found_by_its_singular_its_plural_and_short_names(name, kind):
    assert find_kind(name) == kind


def test_a_record_is_shown_by_its_id_with_its_provenance_and_history(work):
    shown = show_record(work, NOW, "ol-1")
    assert (shown.kind, shown.title, shown.status, shown.archived) == ("open_loop", "Deployed", "failed", False)
    assert (shown.began.revision, shown.began.session, shown.began.agent) == (1, "s1", "claude")
    assert [event.text for event in shown.history] == ["OL-1 failed", "OL-1 added: Deployed"]
    closed = show_record(work, NOW, "FU-2")
    assert (closed.archived, closed.closed.reason, closed.history[0].op) == (True, "done: done", "followup-done")
    for number in range(12):
        defer_follow_up(work, later(days=number), "FU-1")
    long = show_record(work, NOW, "FU-1")
    assert (len(long.history), long.earlier, long.began.op) == (10, 4, "followup-add")


def test_records_of_two_kinds_with_the_same_id_are_distinguished_by_kind(work):
    record_pattern(work, NOW, what="Guessed", id="OL-1")
    with pytest.raises(Ambiguous, match="open_loop/OL-1, pattern/OL-1"):
        show_record(work, NOW, "OL-1")
    assert show_record(work, NOW, "patterns/OL-1").title == "Guessed"
    with pytest.raises(Ambiguous, match="open_loop/OL-1, open_loop/OL-2, pattern/OL-1"):
        show_record(work, NOW, "OL-")
    work.update("test", NOW, lambda tip: tip.state.put(Rule(id="PAT-1", text="# Look first")))
    assert show_record(work, NOW, "PAT-1").kind == "rule"
    record_pattern(work, NOW, what="Hurried", id="PAT-1")
    assert show_record(work, NOW, "PAT-1").kind == "pattern"


def test_a_record_that_cannot_be_read_is_listed_and_shown_with_the_reason(work):
    by_hand(work, {"open_loops/OL-1.toml": b"= no TOML"})
    listed = {record.id: record for record in list_records(work, NOW).records}
    assert listed["OL-1"].unreadable.path == "open_loops/OL-1.toml"
    shown = show_record(work, NOW, "OL-1")
    assert (shown.record, shown.history[0].op, shown.began.op) == (None, "", "loop-add")


@pytest.mark.parametrize("about", ["", " "])
def test_an_empty_text_to_search_for_is_refused(baton, top, about):
    baton("followup", "add", "x.y")
    (top / "sub").mkdir()
    for folder in (top, top / "sub"):
        assert "is empty" in baton("list", "--about", about, code=2, cwd=folder).err
