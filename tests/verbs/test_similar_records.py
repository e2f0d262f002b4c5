"""Nearly equal records are reported when they are added, and merged on request."""

from __future__ import annotations

import pytest
from world import NOW, current, later, stored

from baton_git.core.errors import InvalidArgument, NotAllowed
from baton_git.verbs.revisions.undo import undo
from baton_git.verbs.work_items.decisions import add_decision, merge_decision, supersede_decision
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up, merge_follow_up
from baton_git.verbs.work_items.new_records import are_similar
from baton_git.verbs.work_items.patterns import merge_pattern, record_pattern


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Refactor the scoring formula", "refactor the Scoring formulas.", True),
        ("Read compose.yaml before touching a container", "Before touching containers, read compose.yaml", True),
        ("Refactor the scoring formula", "Refactor the parser", False),
        ("Use semicolons in the CSV export", "Do not use semicolons in the CSV export", False),
        ("Close ticket 41 of the export", "Close ticket 42 of the export", False),
        ("配置を読む", "配置を読む。", True),
        ("…", "!", False),
    ],
)
def test_texts_are_similar_if_they_have_the_same_words_in_other_forms(one, other, same):
    assert are_similar(one, other) is are_similar(other, one) is same


def test_a_similar_live_record_is_reported_with_the_command_to_merge_it(baton):
    first = baton("followup", "add", "Refactor the scoring formula").id
    second = baton("followup", "add", "refactor scoring formulas in the", "--json")
    assert second.json["similar"] == [first]
    assert second.json["merge_command"] == f"baton followup merge {second.json['id']} {first}"
    assert second.json["merge_command"] in second.err
    assert "similar" not in baton("followup", "add", "Something else", "--json").json
    baton(*second.json["merge_command"].split()[1:])
    assert "nearly" not in baton("followup", "add", "And that").err


def test_an_existing_follow_up_is_added_again_only_with_its_own_id(baton):
    first = baton("followup", "add", "Refactor the scoring formula").id
    again = baton("followup", "add", "refactor  the scoring formula.", "--reason", "r", "--json")
    assert (again.json["id"], again.json["exists"], again.json["changes"]) == (first, True, [])
    assert f"baton followup defer {first}" in again.err
    assert baton("followup", "add", "Refactor the scoring formula", "--id", "FU-own").id == "FU-own"
    baton("followup", "done", first)
    baton("followup", "done", "FU-own")
    assert baton("followup", "add", "Refactor the scoring formula").id not in (first, "FU-own")


def test_the_merge_of_two_follow_ups_adds_their_counts_and_can_be_undone(ws):
    add_follow_up(ws, NOW, item="a", id="FU-1", reason="r")
    add_follow_up(ws, later(days=1), item="b", id="FU-2", priority="elevated")
    for id_ in ("FU-1", "FU-2"):
        defer_follow_up(ws, later(days=2), id_)
    before = current(ws)["follow_ups"]
    assert merge_follow_up(ws, later(days=3), "FU-2", "FU-1").id == "FU-1"
    kept = stored(ws, "follow_up", "FU-1")
    assert (kept.item, kept.reason, kept.defer_count, kept.priority) == ("a", "r", 2, "elevated")
    assert kept.first_seen.startswith(NOW.date().isoformat())
    assert stored(ws, "follow_up", "FU-2", archived=True).reason == "merged into FU-1"
    undo(ws, later(days=4), yes=True)
    assert current(ws)["follow_ups"] == before


def test_the_merge_of_two_patterns_adds_their_counts_and_can_reach_the_threshold(ws):
    for id_, times in (("PAT-1", 2), ("PAT-2", 2)):
        for time in range(times):
            record_pattern(ws, later(days=time), what=f"went wrong {id_}", context=f"{id_} {time}", id=id_)
    merge_pattern(ws, later(days=5), "PAT-1", "PAT-2")
    kept = stored(ws, "pattern", "PAT-2")
    assert (kept.count, kept.status, len(kept.recent_occurrences)) == (4, "rule_candidate", 4)


def test_a_decision_that_takes_in_a_proposal_to_replace_it_is_not_proposed_to_replace_itself(ws):
    add_decision(ws, NOW, what="Deploy on Fridays", why="x", id="DEC-1")
    add_decision(ws, NOW, what="Deploy on Mondays", why="y", id="DEC-2", replaces="DEC-1")
    merge_decision(ws, NOW, "DEC-2", "DEC-1")
    assert stored(ws, "active_decision", "DEC-1").replaces is None


def test_the_merge_of_two_decisions_combines_their_evidence(ws):
    add_decision(ws, NOW, what="a", why="b", id="DEC-1", evidence=["x", "y"])
    add_decision(ws, NOW, what="a!", why="c", id="DEC-2", evidence=["y", "z"], rejected=["w"])
    merge_decision(ws, NOW, "DEC-2", "DEC-1")
    kept = stored(ws, "active_decision", "DEC-1")
    assert (kept.what, kept.why, kept.evidence, kept.rejected) == ("a", "b", ("x", "y", "z"), ("w",))


def test_a_superseded_record_or_the_record_itself_is_not_merged(ws):
    for id_, tier in (("DEC-1", "llm_derived"), ("DEC-2", "raw_source"), ("DEC-3", "llm_derived")):
        add_decision(ws, NOW, what=id_, why="b", id=id_, tier=tier)
    with pytest.raises(InvalidArgument, match="into itself"):
        merge_decision(ws, NOW, "DEC-1", "DEC-1")
    supersede_decision(ws, NOW, "DEC-1", by="DEC-2")
    with pytest.raises(NotAllowed, match="DEC-1 is superseded"):
        merge_decision(ws, NOW, "DEC-1", "DEC-3")
