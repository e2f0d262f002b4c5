"""Edit, forget and reopen records by the rules of their lifecycle; changing a confirmed record needs a person."""

from __future__ import annotations

from dataclasses import replace

import pytest
from world import NOW, later, stored

from baton_git.core.errors import InvalidArgument, NeedsHuman, NotAllowed, NotFound, Unsettled
from baton_git.core.lifecycle import Confirmed
from baton_git.core.state import Key
from baton_git.namespace.caller import Vouched
from baton_git.verbs.records.editing import edit_record, forget_record, reopen_record
from baton_git.verbs.work_items.decisions import add_decision, supersede_decision
from baton_git.verbs.work_items.followups import add_follow_up, defer_follow_up, finish_follow_up
from baton_git.verbs.work_items.loops import add_loop, settle_loop
from baton_git.verbs.work_items.patterns import dismiss_pattern, graduate_pattern, propose_rule, record_pattern


def as_person(ws):
    return replace(ws, confirmed=Vouched("Ada", "terminal"))


@pytest.fixture
def confirmed(ws):
    """Add the decision DEC-1 and the rule PAT-1, both confirmed by a person."""
    add_decision(as_person(ws), NOW, what="Use X", why="fast", id="DEC-1", tier="human_confirmed")
    record_pattern(ws, NOW, what="Guessed", id="PAT-1")
    propose_rule(ws, NOW, "PAT-1", "Look first")
    graduate_pattern(replace(ws, confirmed=Confirmed("Ada", "terminal", "PAT-1", "Look first")), NOW, "PAT-1")
    return ws


def test_fields_can_be_changed_and_removed(ws):
    add_follow_up(ws, NOW, item="Do it", reason="no time", id="FU-1")
    edit_record(ws, NOW, "fu-1", fields={"priority": "escalated", "reason": None})
    record = stored(ws, "follow_up", "FU-1")
    assert (record.priority, record.reason, record.item) == ("escalated", None, "Do it")
    with pytest.raises(InvalidArgument, match="follow-ups have no field 'status'"):
        edit_record(ws, NOW, "FU-1", fields={"status": "open"})
    with pytest.raises(InvalidArgument, match="is more than"):
        edit_record(ws, NOW, "FU-1", fields={"defer_count": 10**20})
    with pytest.raises(NotAllowed, match="the id of a record never changes"):
        edit_record(ws, NOW, "FU-1", fields={"id": "FU-2"})


def test_a_field_that_changed_since_it_was_seen_is_not_overwritten(ws):
    add_follow_up(ws, NOW, item="Do it", id="FU-1")
    seen = stored(ws, "follow_up", "FU-1").as_data()
    defer_follow_up(ws, NOW, "FU-1")
    edit_record(ws, NOW, "FU-1", fields={"item": "Do it now"}, seen=seen)
    with pytest.raises(Unsettled, match="item of FU-1 changed while you edited"):
        edit_record(ws, NOW, "FU-1", fields={"item": "Never"}, seen=seen)
    assert (stored(ws, "follow_up", "FU-1").item, stored(ws, "follow_up", "FU-1").defer_count) == ("Do it now", 1)


@pytest.mark.parametrize("blank", ["", "  \n"])
def test_a_field_that_add_requires_cannot_be_emptied(ws, blank):
    add_follow_up(ws, NOW, item="x", reason="y", id="FU-1")
    with pytest.raises(InvalidArgument, match="the item is empty"):
        edit_record(ws, NOW, id="FU-1", fields={"item": blank})
    edit_record(ws, NOW, id="FU-1", fields={"reason": blank})
    assert stored(ws, "follow_up", "FU-1").item == "x"


def test_an_edit_cannot_make_changes_that_lifecycle_verbs_reject(ws):
    record_pattern(ws, NOW, what="Guessed", id="PAT-1")
    with pytest.raises(NeedsHuman, match="only through a person"):
        edit_record(ws, NOW, "PAT-1", fields={"status": "graduated"})
    add_decision(ws, NOW, what="Use X", why="fast", id="DEC-1")
    with pytest.raises(NotAllowed, match="no person confirmed it here"):
        edit_record(ws, NOW, "DEC-1", fields={"source_tier": "human_confirmed"})


def test_a_field_that_refers_to_a_record_must_name_an_existing_one(ws):
    add_decision(ws, NOW, what="Use X", why="fast", id="DEC-first", tier="raw_source")
    add_decision(ws, NOW, what="Use Y", why="faster", id="DEC-second")
    add_loop(ws, NOW, action="Sent", expect="reply", id="OL-1")
    add_follow_up(ws, NOW, item="Do it", id="FU-1")
    edit_record(ws, NOW, "OL-1", fields={"decision_ref": "dec-f"})
    assert stored(ws, "open_loop", "OL-1").decision_ref == "DEC-first"
    refused = (
        ("OL-1", {"decision_ref": "DEC-frist"}, NotFound, "did you mean DEC-first"),
        ("DEC-first", {"status": "superseded", "superseded_by": "DEC-secodn"}, NotFound, "did you mean DEC-second"),
        ("DEC-first", {"superseded_by": "DEC-first"}, InvalidArgument, "another record"),
        ("FU-1", {"linked_pattern": "nothing"}, NotFound, "baton list patterns"),
    )
    for id_, fields, error, hint in refused:
        with pytest.raises(error) as caught:
            edit_record(ws, NOW, id_, fields=fields)
        assert hint in caught.value.hint, fields


def test_decisions_cannot_supersede_each_other_in_a_circle(ws):
    for id_ in ("DEC-1", "DEC-2", "DEC-3"):
        add_decision(ws, NOW, what=f"Use {id_}", why="fast", id=id_)
    edit_record(ws, NOW, "DEC-1", fields={"superseded_by": "DEC-2"})
    edit_record(ws, NOW, "DEC-2", fields={"superseded_by": "DEC-3"})
    with pytest.raises(InvalidArgument, match="superseded_by: DEC-1 leads back to DEC-3"):
        edit_record(ws, NOW, "DEC-3", fields={"superseded_by": "DEC-1"})
    edit_record(ws, NOW, "DEC-1", fields={"superseded_by": "DEC-3"})


def test_a_confirmed_record_is_edited_and_forgotten_only_by_a_person(confirmed):
    ws = confirmed
    with pytest.raises(NeedsHuman, match="a person confirmed DEC-1"):
        edit_record(ws, NOW, "DEC-1", fields={"what": "Use Y"})
    edit_record(ws, NOW, "DEC-1", fields={"status": "monitoring"})
    edit_record(as_person(ws), NOW, "DEC-1", fields={"what": "Use Y"})
    assert ws.judgement().is_confirmed(Key("active_decision", "DEC-1"))
    for id_ in ("DEC-1", "PAT-1"):
        with pytest.raises(NeedsHuman, match=f"a person confirmed {id_}"):
            forget_record(ws, NOW, id_, reason="no more")
    forget_record(as_person(ws), NOW, "PAT-1", reason="no more")
    assert stored(ws, "rule", "PAT-1") is None
    assert stored(ws, "rule", "PAT-1", archived=True).reason == "no more"
    reopen_record(ws, NOW, "PAT-1")
    assert (stored(ws, "pattern", "PAT-1").status, stored(ws, "pattern", "PAT-1").graduated_to) == ("observing", None)
    assert not ws.judgement().is_confirmed(Key("pattern", "PAT-1"))


def test_reopened_records_are_open_again(ws):
    add_loop(ws, NOW, action="Sent", expect="reply", id="OL-1", ttl_days=3)
    settle_loop(ws, NOW, "OL-1", "passed")
    reopen_record(ws, later(days=10), "OL-1")
    loop = stored(ws, "open_loop", "OL-1")
    assert (loop.status, loop.last_check, loop.ttl_days) == ("open", None, 13)
    add_follow_up(ws, NOW, item="Do it", id="FU-1")
    finish_follow_up(ws, NOW, "FU-1")
    assert reopen_record(ws, NOW, "FU-1").summary == "FU-1 restored"
    assert stored(ws, "follow_up", "FU-1", archived=True) is None
    record_pattern(ws, NOW, what="Guessed", id="PAT-1")
    dismiss_pattern(ws, NOW, "PAT-1")
    reopen_record(ws, NOW, "PAT-1")
    assert stored(ws, "pattern", "PAT-1").status == "observing"
    for id_ in ("OL-1", "FU-1", "PAT-1"):
        with pytest.raises(NotAllowed, match=f"{id_} is not closed"):
            reopen_record(ws, NOW, id_)


def test_reopening_a_superseded_or_unknown_record_is_rejected_with_a_reason(ws):
    for id_ in ("DEC-1", "DEC-2"):
        add_decision(ws, NOW, what=f"Use {id_}", why="fast", id=id_, tier="raw_source")
    supersede_decision(ws, NOW, "DEC-1", by="DEC-2")
    with pytest.raises(NotAllowed, match="never returns to an earlier status"):
        reopen_record(ws, NOW, "DEC-1")
    with pytest.raises(NotFound, match="no record 'DEC-9'"):
        reopen_record(ws, NOW, "DEC-9")


def test_forgetting_an_archived_record_is_rejected_as_archived(ws):
    add_follow_up(ws, NOW, item="Old", id="FU-1")
    forget_record(ws, NOW, "FU-1", reason="a mistake")
    with pytest.raises(NotFound, match="no live follow-up") as gone:
        forget_record(ws, NOW, "FU-1", reason="again")
    assert gone.value.hint == "it is in the archive: baton show FU-1"


def test_natural_dates_are_parsed_and_invalid_ones_rejected(ws):
    id_ = add_follow_up(ws, NOW, "Write the guide").id
    edit_record(ws, NOW, id=id_, fields={"first_seen": "yesterday"})
    assert stored(ws, "follow_up", id_).first_seen == "2026-11-20"
    with pytest.raises(InvalidArgument, match="not a date or time"):
        edit_record(ws, NOW, id=id_, fields={"first_seen": "soon"})


def test_the_prefix_of_a_kind_names_no_record(ws):
    id_ = add_follow_up(ws, NOW, "Write the guide").id
    for text in ("F", "FU", "fu-"):
        with pytest.raises(NotFound):
            edit_record(ws, NOW, id=text, fields={"item": "x"})
    assert edit_record(ws, NOW, id=id_[:5], fields={"item": "x"}).id == id_
