"""An agent that changes its mind proposes to replace a decision, and a person settles that."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from world import NOW, acting, by_hand, document, later, stored

from baton_git.core.brief_sections import SECTIONS
from baton_git.core.errors import InvalidArgument, NeedsHuman, NotAllowed, Protected
from baton_git.core.policy import Policy
from baton_git.core.proposals import find_proposals
from baton_git.core.records.work_items import ActiveDecision
from baton_git.core.state import Key
from baton_git.namespace.caller import Vouched
from baton_git.namespace.workspace import Workspace
from baton_git.recall.recalling import Question, find_answer
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.verbs.records.details import show_record
from baton_git.verbs.records.editing import edit_record, forget_record
from baton_git.verbs.records.listing import list_records
from baton_git.verbs.records.ready import list_ready
from baton_git.verbs.revisions.undo import redo, undo
from baton_git.verbs.sessions.session_start import begin_session
from baton_git.verbs.work_items.confirming import confirm_records
from baton_git.verbs.work_items.decisions import add_decision, supersede_decision
from baton_git.verbs.work_items.followups import add_follow_up
from baton_git.verbs.work_items.loops import add_loop
from baton_git.verbs.work_items.patterns import record_pattern

PERSON = Vouched("Ada", "typed")


def as_person(ws: Workspace) -> Workspace:
    return replace(acting(ws, "ada"), confirmed=PERSON)


def decide(ws: Workspace, number: int, **more: Any) -> str:
    return add_decision(ws, NOW, what=f"Deploy way {number}", why=f"reason {number}", id=f"DEC-{number}", **more).id


def told(ws: Workspace) -> list[str]:
    """Return the lines of the brief about decisions."""
    tip = ws.branch.read()
    judge = ws.judgement(tip)
    sections = [make(tip.state, NOW, Policy(), judge) for make in SECTIONS]
    return [line for section in sections for line in section.lines if "DEC-" in line]


def pairs(ws: Workspace) -> list[str]:
    """Return of each line the decision in force, and what is proposed to replace it, if anything is."""
    lines = [(line.split(" [")[0], re.search(r" · ([^·]+, proposed to replace \S+): ", line)) for line in told(ws)]
    return [f"{id_}: {pair[1]}" if pair else id_ for id_, pair in lines]


def kind_of(ws: Workspace, id_: str, kind: str = "active_decision") -> str:
    return ws.judgement().label(Key(kind, id_)).kind


@pytest.fixture
def proposed(ws: Workspace) -> Workspace:
    """Return an agent's workspace in which DEC-2 is proposed to replace DEC-1, among other records."""
    add_follow_up(ws, NOW, item="something else", id="FU-0")
    decide(ws, 1)
    decide(ws, 2)
    assert supersede_decision(ws, NOW, "DEC-1", "DEC-2").proposed == "DEC-2"
    return ws


def test_a_model_proposes_and_the_pair_is_told_as_one_line(proposed: Workspace) -> None:
    assert stored(proposed, "active_decision", "DEC-1").status == "active"
    assert stored(proposed, "active_decision", "DEC-2").replaces == "DEC-1"
    [line] = told(proposed)
    assert line == (
        "- DEC-1 [agent; DEC-2: agent] Deploy way 1 · because reason 1"
        " · DEC-2, proposed to replace DEC-1: Deploy way 2 · because reason 2"
    )


def test_list_show_and_recall_never_tell_both_as_in_force(proposed: Workspace) -> None:
    records = list_records(proposed, NOW, kind="decisions").records
    listed = {one.id: (one.status, one.proposal, one.counterpart) for one in records}
    pair = "DEC-2, proposed to replace DEC-1"
    assert listed == {"DEC-1": ("active", pair, "Deploy way 2"), "DEC-2": ("proposed", pair, "Deploy way 1")}
    assert show_record(proposed, NOW, "DEC-1").proposal == show_record(proposed, NOW, "DEC-2").proposal == pair
    answer = find_answer(proposed, Question("which way do we deploy", 4000))
    marks = {excerpt.passage.record: excerpt.standing.mark for excerpt in answer.excerpts}
    assert marks["DEC-2"] == "proposed to replace DEC-1"


def test_an_agent_proposes_to_replace_what_a_person_confirmed(ws: Workspace) -> None:
    decide(as_person(ws), 1)
    decide(ws, 2, tier="raw_source")
    assert supersede_decision(ws, NOW, "DEC-1", "DEC-2").proposed == "DEC-2"
    assert stored(ws, "active_decision", "DEC-1").status == "active"
    assert decide(ws, 3, replaces="DEC-1") == "DEC-3"
    assert told(ws)[0].startswith("- DEC-1 [confirmed; DEC-2 and DEC-3: agent] Deploy way 1 ")
    assert "DEC-2 and DEC-3, proposed to replace DEC-1: Deploy way 2" in told(ws)[0]
    assert len(told(ws)) == 1
    for change in ({"status": "superseded", "superseded_by": "DEC-2"}, {"what": "x"}):
        with pytest.raises(Protected):
            edit_record(ws, NOW, "DEC-1", fields=change)


def test_a_person_replaces_at_once(ws: Workspace) -> None:
    decide(ws, 1)
    decide(ws, 2)
    assert supersede_decision(as_person(ws), NOW, "DEC-1", "DEC-2").proposed is None
    assert stored(ws, "active_decision", "DEC-1").superseded_by == "DEC-2"
    decide(as_person(ws), 3, replaces="DEC-2")
    assert pairs(ws) == ["- DEC-3"]
    with pytest.raises(Protected):
        undo(ws, NOW, str(ws.branch.read().number))


def test_a_person_settles_one_proposal(proposed: Workspace) -> None:
    for call in (proposed, acting(proposed, None)):
        with pytest.raises(NeedsHuman, match="only a person can confirm"):
            confirm_records(call, NOW, ["DEC-2"])
    done = confirm_records(as_person(proposed), NOW, ["DEC-2"])
    assert (done.confirmed, done.replaced) == (["DEC-2"], ["DEC-1"])
    old, new = (stored(proposed, "active_decision", id_) for id_ in ("DEC-1", "DEC-2"))
    assert (old.status, old.superseded_by, new.source_tier, new.replaces) == (
        "superseded", "DEC-2", "human_confirmed", None,
    )  # fmt: skip
    assert kind_of(proposed, "DEC-2") == "confirmed"
    assert told(proposed) == ["- DEC-2 [confirmed] Deploy way 2 · because reason 2"]
    with pytest.raises(Protected):
        undo(proposed, NOW, str(proposed.branch.read().number))
    begin_session(acting(proposed, "s2"), later(minutes=1))
    assert stored(proposed, "active_decision", "DEC-1", archived=True).reason == "superseded by DEC-2"


def test_a_person_settles_all_that_wait_in_one_step(ws: Workspace) -> None:
    for number in range(1, 6):
        decide(ws, number)
    for old, new in ((1, 2), (2, 3), (4, 5)):
        supersede_decision(ws, NOW, f"DEC-{old}", f"DEC-{new}")
    assert pairs(ws) == [
        "- DEC-4: DEC-5, proposed to replace DEC-4", "- DEC-1: DEC-2 and DEC-3, proposed to replace DEC-1",
    ]  # fmt: skip
    done = confirm_records(as_person(ws), NOW, all=True)
    assert sorted(done.confirmed) == ["DEC-2", "DEC-3", "DEC-5"]
    assert pairs(ws) == ["- DEC-5", "- DEC-3"]
    with pytest.raises(NotAllowed, match="no proposal waits"):
        confirm_records(as_person(ws), NOW, all=True)


def test_of_two_proposals_the_other_waits_to_replace_the_confirmed_one(ws: Workspace) -> None:
    for number in (1, 2, 3):
        decide(ws, number)
    for new in (2, 3):
        supersede_decision(ws, NOW, "DEC-1", f"DEC-{new}")
    confirm_records(as_person(ws), NOW, ["DEC-3"])
    assert pairs(ws) == ["- DEC-3: DEC-2, proposed to replace DEC-3"]
    forget_record(ws, NOW, "DEC-2", reason="turned down")
    assert pairs(ws) == ["- DEC-3"]


def test_a_person_settles_a_chain_by_its_newest_proposal(ws: Workspace) -> None:
    for number in (1, 2, 3):
        decide(ws, number)
    for old, new in ((1, 2), (2, 3)):
        supersede_decision(ws, NOW, f"DEC-{old}", f"DEC-{new}")
    assert confirm_records(as_person(ws), NOW, ["DEC-3"]).replaced == ["DEC-2", "DEC-1"]
    assert pairs(ws) == ["- DEC-3"]


def test_every_kind_that_can_be_confirmed_is_confirmed_as_it_is(ws: Workspace) -> None:
    add_loop(ws, NOW, action="a", expect="b", id="OL-1")
    add_follow_up(ws, NOW, item="c", id="FU-1")
    record_pattern(ws, NOW, what="d", id="PAT-1")
    decide(ws, 1)
    confirm_records(as_person(ws), NOW, ["OL-1", "FU-1", "PAT-1", "DEC-1"])
    for kind, id_ in (("open_loop", "OL-1"), ("follow_up", "FU-1"), ("pattern", "PAT-1"), ("active_decision", "DEC-1")):
        assert kind_of(ws, id_, kind) == "confirmed"
        assert stored(ws, kind, id_).source_tier == "human_confirmed"
        with pytest.raises(Protected):
            forget_record(ws, NOW, id_, kind=kind, reason="r")
    begin_session(acting(ws, "s2"), NOW)
    with pytest.raises(NotAllowed, match="cannot be confirmed"):
        confirm_records(as_person(ws), NOW, ["s2"])
    with pytest.raises(InvalidArgument, match="name a record"):
        confirm_records(as_person(ws), NOW, [])


def test_a_confirmation_that_changes_no_field_is_a_commit(ws: Workspace) -> None:
    decide(ws, 1)
    text = b'id = "DEC-9"\nwhat = "by hand"\nwhy = "w"\ncreated_at = "2026-11-21"\nsource_tier = "human_confirmed"\n'
    by_hand(ws, {"active_decisions/DEC-9.toml": text})
    assert kind_of(ws, "DEC-9") == "hand"
    done = confirm_records(as_person(ws), NOW, ["DEC-9"])
    assert (done.written.revision.number, done.summary) == (3, "no record changed")
    assert (kind_of(ws, "DEC-9"), kind_of(ws, "DEC-1")) == ("confirmed", "agent")


def test_what_is_confirmed_already_is_said_to_be_and_makes_no_revision(proposed: Workspace) -> None:
    first = confirm_records(as_person(proposed), NOW, ["DEC-1"])
    again = confirm_records(as_person(proposed), NOW, ["DEC-1"])
    assert again.written.revision.number == first.written.revision.number
    assert (again.confirmed, again.already, again.summary) == ([], ["DEC-1"], "nothing changed")
    assert again.notes == ("confirmed already: DEC-1",)
    both = confirm_records(as_person(proposed), NOW, ["DEC-1", "DEC-2"])
    assert both.notes == ("confirmed: DEC-2; replaced: DEC-1; confirmed already: DEC-1",)


def test_proposals_in_a_circle_replace_nothing(ws: Workspace) -> None:
    for number in (1, 2, 3):
        decide(ws, number)
    for old, new in (("DEC-1", "DEC-2"), ("DEC-2", "DEC-1"), ("DEC-2", "DEC-3")):
        supersede_decision(ws, NOW, old, new)
    proposals = find_proposals(ws.branch.read().state, ws.judgement())
    assert proposals.targets == {}
    assert len(told(ws)) == 3


def test_a_document_of_a_client_keeps_the_proposal(proposed: Workspace) -> None:
    lists = [
        {"id": f"DEC-{n}", "what": f"Deploy way {n}", "why": f"reason {n}", "created_at": "2026-11-21"} for n in (1, 2)
    ]
    write_document(proposed, NOW, document("s1", active_decisions=lists))
    assert stored(proposed, "active_decision", "DEC-2").replaces == "DEC-1"
    assert len(told(proposed)) == 1


def test_a_supersession_that_a_document_claims_is_kept_as_a_proposal(ws: Workspace) -> None:
    decide(ws, 1)
    new = {"id": "DEC-2", "what": "Deploy way 2", "why": "w", "created_at": "2026-11-21", "source_tier": "llm_derived"}
    old = stored(ws, "active_decision", "DEC-1").as_data() | {"status": "superseded", "superseded_by": "DEC-2"}
    for _ in range(2):
        held = write_document(ws, NOW, document("s1", active_decisions=[old, new])).held
        assert {claim.field for claim in held} == {"status", "superseded_by"}
        assert pairs(ws) == ["- DEC-1: DEC-2, proposed to replace DEC-1"]


def test_a_proposal_needs_attention(proposed: Workspace) -> None:
    [item] = list_ready(proposed, NOW).items
    assert (item.need, item.id, item.command) == ("proposal", "DEC-2", "baton decision confirm DEC-2")
    confirm_records(as_person(proposed), NOW, ["DEC-2"])
    assert list_ready(proposed, NOW).items == []


def test_undoing_a_proposal_puts_both_apart_again(proposed: Workspace) -> None:
    undo(proposed, NOW)
    assert len(told(proposed)) == 2
    redo(proposed, NOW)
    assert len(told(proposed)) == 1


def test_a_record_that_is_gone_or_replaced_is_no_target(proposed: Workspace) -> None:
    forget_record(proposed, NOW, "DEC-1", reason="gone")
    assert find_proposals(proposed.branch.read().state, proposed.judgement()).targets == {}
    assert isinstance(stored(proposed, "active_decision", "DEC-2"), ActiveDecision)
