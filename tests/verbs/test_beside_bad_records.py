"""An unreadable record of every kind in one namespace: every verb works with the others, and names it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bad_records import HUGE, VALUES, fields_of, places, text_of
from world import NOW, by_hand, stored

from baton_git.core import layout
from baton_git.core.kinds import KINDS
from baton_git.core.output import json_text
from baton_git.core.records.work_items import FollowUp
from baton_git.core.state import Unreadable
from baton_git.systems.session_baton import document_writing, documents
from baton_git.verbs.revisions import history
from baton_git.verbs.sessions.session_start import StartOptions, begin_session, compose_brief
from baton_git.verbs.sessions.sessions import init
from baton_git.verbs.upkeep.namespace_status import read_status
from baton_git.verbs.upkeep.validation import validate_branch
from baton_git.verbs.work_items.followups import add_follow_up

SHARE = 6
"""Each place gets every sixth bad value, because all values at all places would take a second."""


def plant(ws: Any) -> set[str]:
    """Commit a record of each kind for each bad value; return the paths of those that cannot be read."""
    init(ws, NOW)
    found = {}
    for turn, place in enumerate(places()):
        for number, value in enumerate(VALUES[turn % SHARE :: SHARE]):
            id_ = place.id.removesuffix("1") + str(number) if place.kind in KINDS else ""
            key = place._replace(id=id_)
            names = list(fields_of(key.kind))
            found[layout.path_of(key)] = text_of(key, {"x": value, names[number % len(names)]: value})
    by_hand(ws, found, minutes=-30)
    state = ws.branch.read().state
    entries = (state.entry(layout.key_at(path)) for path in found)
    return {one.path for one in entries if isinstance(one, Unreadable)}


def test_every_verb_works_although_records_of_every_kind_are_unreadable(ws: Any) -> None:
    bad = plant(ws)
    live = {path for path in bad if not path.startswith("archive/")}
    made = add_follow_up(ws, NOW, item="Fine", id="FU-fine")
    found = documents.read_document(ws)
    json_text(found.baton)
    assert "FU-fine" in [one["id"] for one in found.baton["follow_ups"]]
    exported = ("baton.toml", "document.toml", "open_loops/", "follow_ups/", "patterns/", "active_decisions/")
    assert {one.path for one in found.unreadable} == {path for path in live if path.startswith(exported)}
    assert {one.path for one in read_status(ws, NOW).damaged} == live
    begun = begin_session(ws, NOW + timedelta(minutes=5), StartOptions(sync_seconds=0, check_seconds=0, budget=100_000))
    assert "FU-fine" in begun.brief.text
    assert all(any(one.startswith(path) for one in begun.problems) for path in live if path.startswith(exported))
    assert "FU-fine" in compose_brief(ws, NOW).text
    shown = list(history.read_log(ws))
    json_text([change.as_data() for one in shown for change in one.changes])
    assert history.compare(ws, "0", "~0").changes
    assert {one.path for one in validate_branch(ws) if one.faults} >= bad
    assert isinstance(stored(ws, "follow_up", made.id), FollowUp)


def test_a_record_with_a_too_long_integer_is_reported_and_not_overwritten(ws: Any) -> None:
    init(ws, NOW)
    text = f'id = "FU-1"\nitem = "x"\nfirst_seen = "2026-11-21"\nx = {HUGE}\n'.encode()
    by_hand(ws, {"follow_ups/FU-1.toml": text})
    (unreadable,) = documents.read_document(ws).unreadable
    assert (unreadable.path, unreadable.why) == ("follow_ups/FU-1.toml", "x: is an integer of more than 4,300 digits")
    assert [one.path for one in validate_branch(ws) if one.faults] == ["follow_ups/FU-1.toml"]
    begin_session(ws, NOW, StartOptions(sync_seconds=0))
    assert stored(ws, "follow_up", "FU-1").raw == text


def test_a_record_nested_deeper_than_a_document_may_be_is_left_out_and_named(ws: Any) -> None:
    init(ws, NOW)
    head = 'id = "FU-1"\nitem = "x"\nfirst_seen = "2026-11-20T12:00:00Z"\n'
    files = {f"follow_ups/FU-{one}.toml": head.replace("FU-1", f"FU-{one}") + f"x = {'[' * levels}{']' * levels}\n"
             for one, levels in ((1, 60), (2, 63))}  # fmt: skip
    by_hand(ws, {path: text.encode() for path, text in files.items()}, minutes=-30)
    found = documents.read_document(ws)
    assert [one["id"] for one in found.baton["follow_ups"]] == ["FU-1"]
    assert [one.path for one in found.unreadable] == ["follow_ups/FU-2.toml"]
    document_writing.write_document(ws, NOW, found.baton)
