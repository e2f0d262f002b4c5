"""The verbs of single records: each makes one commit, and follows the rules of the record's lifecycle."""

from __future__ import annotations

from dataclasses import replace

import pytest
from world import NOW, acting, current, later, stored

from baton_git.core.errors import (
    Ambiguous,
    InvalidArgument,
    InvalidDocument,
    InvalidName,
    NeedsHuman,
    NotAllowed,
    NotFound,
)
from baton_git.core.lifecycle import Confirmed
from baton_git.namespace.caller import Vouched
from baton_git.verbs.records.details import find_record
from baton_git.verbs.records.editing import edit_record
from baton_git.verbs.work_items.decisions import add_decision, monitor_decision, supersede_decision
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up, finish_follow_up
from baton_git.verbs.work_items.loops import add_loop, close_loop, settle_loop
from baton_git.verbs.work_items.patterns import dismiss_pattern, graduate_pattern, propose_rule, record_pattern


def confirmed_by_ada(made, rule):
    """Return Ada's confirmation of the rule that she was shown."""
    return Confirmed("Ada", "terminal", made.id, rule)


def test_a_new_record_gets_a_short_id_that_an_unambiguous_prefix_finds(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    assert len(made.id) == 9
    assert made.id.startswith("OL-")
    assert settle_loop(ws, NOW, made.id[:6].lower(), "passed").id == made.id


def test_a_new_record_refers_only_to_existing_records(ws):
    for add in (
        lambda: add_loop(ws, NOW, action="a", expect="b", decision="DEC-nope"),
        lambda: add_follow_up(ws, NOW, item="a", pattern="PAT-nope"),
    ):
        with pytest.raises(NotFound, match="-nope"):
            add()
    add_decision(ws, NOW, what="a", why="b", id="DEC-whole")
    made = add_loop(ws, NOW, action="a", expect="b", decision="dec-who")
    assert stored(ws, "open_loop", made.id).decision_ref == "DEC-whole"


@pytest.mark.parametrize("id_", ["hello world", "-x", "", "a\nb"])
def test_a_new_id_is_one_word(ws, id_):
    with pytest.raises(InvalidArgument, match="id"):
        add_decision(ws, NOW, what="a", why="b", id=id_)


def test_the_time_limit_of_a_loop_is_at_least_a_day(ws):
    with pytest.raises(InvalidArgument, match="ttl_days"):
        add_loop(ws, NOW, action="a", expect="b", ttl_days=0)
    made = add_loop(ws, NOW, action="a", expect="b")
    with pytest.raises(InvalidArgument, match="ttl_days"):
        edit_record(ws, NOW, made.id, fields={"ttl_days": 0})


@pytest.mark.parametrize("text", ["OL-", "ol-", "open_loop/OL-"])
def test_the_prefix_of_a_kind_names_the_candidates(ws, text):
    for id_ in ("OL-1", "OL-2"):
        add_loop(ws, NOW, action=f"a {id_}", expect="b", id=id_)
    with pytest.raises(Ambiguous, match=r"OL-1.*OL-2"):
        find_record(ws.branch.read().state, text)


def test_an_ambiguous_prefix_of_ids_is_an_error(ws):
    for id_ in ("OL-11", "OL-12"):
        add_loop(ws, NOW, action="a", expect="b", id=id_)
    with pytest.raises(Ambiguous, match="OL-11, OL-12"):
        close_loop(ws, NOW, "OL-1")


def test_an_id_that_is_live_or_archived_is_rejected(ws):
    add_loop(ws, NOW, action="a", expect="b", id="OL-1")
    with pytest.raises(NotAllowed, match="exists already") as taken:
        add_loop(ws, NOW, action="c", expect="d", id="OL-1")
    assert taken.value.hint == "leave out id to get a new one"
    close_loop(ws, NOW, "OL-1")
    with pytest.raises(NotAllowed, match="archived open loop OL-1 exists already"):
        add_loop(ws, NOW, action="c", expect="d", id="OL-1")


@pytest.mark.parametrize("id_", ["x" * 300, "\ud800"])
def test_an_id_that_cannot_be_a_file_name_is_rejected(ws, id_):
    with pytest.raises((InvalidName, InvalidDocument, InvalidArgument)):
        add_loop(ws, NOW, action="a", expect="b", id=id_)
    assert ws.branch.read().commit is None


@pytest.mark.parametrize(
    "call",
    [
        lambda ws: add_loop(ws, NOW, action=" ", expect="b"),
        lambda ws: add_loop(ws, NOW, action="a", expect=""),
        lambda ws: add_follow_up(ws, NOW, item="\n"),
        lambda ws: record_pattern(ws, NOW, what=""),
        lambda ws: add_decision(ws, NOW, what="a", why=" "),
    ],
)
def test_a_record_without_content_is_rejected(ws, call):
    with pytest.raises(InvalidArgument, match="is empty"):
        call(ws)
    assert ws.branch.read().commit is None


def test_changing_an_archived_record_is_rejected_with_a_hint(ws):
    made = add_follow_up(ws, NOW, item="x")
    finish_follow_up(ws, NOW, made.id, note="in 4f2")
    assert stored(ws, "follow_up", made.id, archived=True).reason == "done: in 4f2"
    with pytest.raises(NotFound) as caught:
        defer_follow_up(ws, NOW, made.id)
    assert "archive" in caught.value.hint


def test_a_persons_finding_is_stored_as_evidence(ws):
    made = add_loop(ws, NOW, action="a", expect="b")
    settle_loop(ws, NOW, made.id, "failed", note="no answer")
    found = stored(ws, "open_loop", made.id)
    assert (found.status, found.last_check.why, found.last_check.by) == ("failed", "no answer", "claude")


def test_a_deferral_counts_and_raises_the_priority_at_three_and_five(ws):
    made = add_follow_up(ws, NOW, item="x")
    seen = []
    for number in range(6):
        defer_follow_up(ws, later(days=number), made.id)
        seen.append(stored(ws, "follow_up", made.id).priority)
    assert seen == ["normal", "normal", "elevated", "elevated", "escalated", "escalated"]
    assert stored(ws, "follow_up", made.id).last_deferred == "2026-11-26T08:00:00Z"


def test_a_pattern_with_a_secret_is_recognised_again(ws):
    words = "committed the key AKIA" + "IOSFODNN7EXAMPLA again"
    assert len({record_pattern(ws, NOW, what=words).id for _ in range(2)}) == 1


def test_a_pattern_is_recognised_by_its_text_and_is_a_rule_candidate_at_three(ws):
    ids = [record_pattern(ws, NOW, what=what, context=f"c{n}").id for n, what in enumerate(["It  Broke", "it broke."])]
    assert len(set(ids)) == 1
    assert stored(ws, "pattern", ids[0]).status == "observing"
    record_pattern(acting(ws, "s2"), NOW, what=ids[0], context="again")
    pattern = stored(ws, "pattern", ids[0])
    assert (pattern.count, pattern.status) == (3, "rule_candidate")
    assert pattern.recent_occurrences[-1].session == "s2"


def test_only_the_newest_five_occurrences_are_kept_and_all_are_counted(ws):
    for number in range(7):
        made = record_pattern(ws, NOW, what="w", context=f"c{number}")
    pattern = stored(ws, "pattern", made.id)
    assert pattern.count == 7
    assert [one.context for one in pattern.recent_occurrences] == ["c2", "c3", "c4", "c5", "c6"]


def test_a_pattern_graduates_only_if_a_person_confirms_it(ws):
    made = record_pattern(ws, NOW, what="w")
    with pytest.raises(NotAllowed, match="not a rule candidate"):
        graduate_pattern(replace(ws, confirmed=confirmed_by_ada(made, "Look first")), NOW, made.id)
    propose_rule(ws, NOW, made.id, "Look first")
    with pytest.raises(NeedsHuman):
        graduate_pattern(ws, NOW, made.id)
    assert stored(ws, "rule", made.id) is None
    graduate_pattern(replace(ws, confirmed=confirmed_by_ada(made, "Look first")), NOW, made.id)
    rule = stored(ws, "rule", made.id)
    assert "Look first" in rule.text
    assert "Confirmed by Ada (terminal) on 2026-11-21" in rule.text
    pattern = stored(ws, "pattern", made.id)
    assert (pattern.status, pattern.source_tier) == ("graduated", "human_confirmed")
    assert pattern.graduated_to == f"rules/{made.id}.md"


def test_a_dismissed_pattern_is_still_counted_and_never_becomes_a_rule(ws):
    made = record_pattern(ws, NOW, what="w")
    dismiss_pattern(ws, NOW, made.id)
    for _ in range(4):
        record_pattern(ws, NOW, what="w")
    assert (stored(ws, "pattern", made.id).status, stored(ws, "pattern", made.id).count) == ("dismissed", 5)
    with pytest.raises(NotAllowed):
        propose_rule(ws, NOW, made.id, "r")
    with pytest.raises(NotAllowed):
        graduate_pattern(replace(ws, confirmed=confirmed_by_ada(made, "r")), NOW, made.id)


def test_a_rule_cannot_be_dismissed(ws):
    made = record_pattern(ws, NOW, what="w")
    propose_rule(ws, NOW, made.id, "r")
    graduate_pattern(replace(ws, confirmed=confirmed_by_ada(made, "r")), NOW, made.id)
    with pytest.raises(NotAllowed, match="graduated"):
        dismiss_pattern(ws, NOW, made.id)


TIERS = ("raw_source", "llm_derived", "human_confirmed")
BY_ADA = Vouched("Ada", "terminal")


@pytest.mark.parametrize("old", TIERS)
@pytest.mark.parametrize("new", TIERS)
def test_only_a_decision_derived_by_a_model_cannot_supersede_another_of_that_tier(ws, old, new):
    one = add_decision(replace(ws, confirmed=BY_ADA), NOW, what="a", why="b", tier=old).id
    two = add_decision(replace(ws, confirmed=BY_ADA), NOW, what="c", why="d", tier=new).id
    if old == new == "llm_derived":
        assert supersede_decision(ws, NOW, one, two).proposed == two
        assert stored(ws, "active_decision", one).status == "active"
    else:
        supersede_decision(replace(ws, confirmed=BY_ADA), NOW, one, two)
        assert stored(ws, "active_decision", one).superseded_by == two


def test_a_superseded_decision_cannot_be_changed_or_supersede_another(ws):
    one = add_decision(ws, NOW, what="a", why="b", tier="raw_source").id
    two = add_decision(ws, NOW, what="c", why="d").id
    monitor_decision(ws, NOW, one)
    assert stored(ws, "active_decision", one).status == "monitoring"
    with pytest.raises(InvalidArgument, match="itself"):
        supersede_decision(ws, NOW, one, one)
    supersede_decision(ws, NOW, one, two)
    for call in (lambda: monitor_decision(ws, NOW, one), lambda: supersede_decision(ws, NOW, one, two)):
        with pytest.raises(NotAllowed, match="superseded"):
            call()
    with pytest.raises(NotAllowed):
        supersede_decision(ws, NOW, two, one)


def test_a_decision_without_a_tier_is_derived_by_a_model(ws):
    add_decision(ws, NOW, what="a", why="b", evidence=["e"], rejected=["r"], id="DEC-7")
    (decision,) = current(ws)["active_decisions"]
    assert (decision["source_tier"], decision["evidence"], decision["rejected"]) == ("llm_derived", ["e"], ["r"])
