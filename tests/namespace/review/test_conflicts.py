"""Conflicts are listed, resolved with either side or another value, and the resolution is synced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from going_back import undo_revision
from machines import Machine, sync_until_equal

from baton_git.core.errors import (
    Ambiguous,
    BatonError,
    InvalidArgument,
    InvalidDocument,
    NeedsHuman,
    NotAllowed,
    NotFound,
)
from baton_git.git.store import Repository, Store
from baton_git.verbs.sharing.conflict_resolution import Side, find_current_value, resolve
from baton_git.verbs.sharing.conflicts import find_writers
from baton_git.verbs.work_items.loops import close_loop
from baton_git.verbs.work_items.patterns import dismiss_pattern

Pair = tuple[Machine, Machine]


def settle(one: Machine, id_: str, side: Any = None, value: Any = None) -> None:
    resolve(one.ws, one.clock(), id_, side, value)


@pytest.fixture
def contested(pair: Pair) -> Pair:
    """Return two machines that both changed the action of `OL-1`, and both have the conflict."""
    ada, bob = pair
    ada.change("open_loop", "OL-1", action="here")
    bob.change("open_loop", "OL-1", action="there")
    sync_until_equal(ada, bob)
    return ada, bob


def losing_value(one: Machine) -> str:
    """Return the value of the only conflict that is not in use."""
    [conflict] = one.conflicts()
    return str(conflict.theirs if conflict.winner == "ours" else conflict.ours)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_resolution_is_synced_to_the_other_machine(contested: Pair, side: Any) -> None:
    ada, bob = contested
    [conflict] = ada.conflicts()
    settle(ada, conflict.id, side)
    assert ada.get("open_loop", "OL-1").action == getattr(conflict, side)
    bob.loop("OL-2")
    sync_until_equal(ada, bob)
    assert bob.conflicts() == []
    assert bob.get("open_loop", "OL-1").action == getattr(conflict, side)


def test_an_empty_id_names_no_conflict(pair: Pair) -> None:
    def write_head(one: Machine, text: str) -> None:
        one.ws.update("write", one.clock(), lambda tip: tip.state.put(tip.state.head.replace(context=text)))

    write_head(pair[0], "at first")
    sync_until_equal(*pair)
    for one in pair:
        write_head(one, f"where {one.ws.actor.machine} stands")
    sync_until_equal(*pair)
    [conflict] = pair[0].conflicts()
    assert (conflict.record_kind, conflict.record_id) == ("head", "")
    with pytest.raises(NotFound):
        settle(pair[0], "", "ours")
    settle(pair[0], "head", "ours")


def test_a_conflict_names_the_authors_of_both_sides(contested: Pair) -> None:
    ada, bob = contested
    written = {"here": ada.ws.actor.machine, "there": bob.ws.actor.machine}
    for one in (ada, bob):
        [conflict] = one.conflicts()
        told = find_writers(one.ws, [conflict])[conflict.id]
        by_value = {getattr(conflict, side): entry.machine for side, entry in told.items()}
        assert by_value == written
        assert {len(entry.parents) for entry in told.values()} == {1}
        one.loop(f"OL-later-{one.ws.actor.machine}")
        assert find_writers(one.ws, [conflict]) == {conflict.id: told}
        for side in ("ours", "theirs"):
            settle(one, conflict.id, side)
            undo_revision(one.ws, one.clock())
            assert find_writers(one.ws, [conflict]) == {conflict.id: told}


def test_a_conflict_of_unknown_origin_names_no_author(contested: Pair) -> None:
    ada, _ = contested
    [conflict] = ada.conflicts()
    strange = conflict.replace(record_kind="nothing_known", ours="neither")
    assert find_writers(ada.ws, [strange]) == {conflict.id: {}}
    assert find_writers(ada.ws, [conflict.replace(id="C-gone")]) == {"C-gone": {}}
    assert find_writers(ada.ws, [conflict.replace(record_id="x" * 300)]) == {conflict.id: {}}


@pytest.mark.parametrize(("record_id", "why"), [("", "is empty"), ("x" * 300, "is too long for a file name")])
def test_a_conflict_about_an_invalid_id_has_no_current_value_and_can_be_kept(
    contested: Pair, record_id: str, why: str
) -> None:
    """Another program may have written it; the conflicts page once answered such an id with an error."""
    ada, _ = contested
    [conflict] = ada.conflicts()
    planted = conflict.replace(id="C-strange", record_id=record_id)
    ada.ws.update("plant", ada.clock(), lambda tip: tip.state.put(planted))
    assert find_current_value(ada.ws.branch.read().state, planted) is None
    other: Side = "theirs" if planted.winner == "ours" else "ours"
    with pytest.raises(InvalidArgument, match=why) as raised:
        resolve(ada.ws, ada.clock(), planted.id, other)
    assert raised.value.hint == f"to keep the current value: resolve C-strange with {planted.winner}"
    resolve(ada.ws, ada.clock(), planted.id, planted.winner)
    assert ada.conflicts() == [conflict]


def test_the_author_of_a_side_is_who_set_the_field_and_not_the_last_writer(pair: Pair) -> None:
    ada, bob = pair
    ada.change("open_loop", "OL-1", action="here")
    first = ada.tip
    ada.change("open_loop", "OL-1", expected_outcome="something else")
    ada.loop("OL-9")
    bob.change("open_loop", "OL-1", action="there")
    other = bob.tip
    bob.change("open_loop", "OL-1", evidence="seen")
    sync_until_equal(ada, bob)
    [conflict] = ada.conflicts()
    told = find_writers(ada.ws, [conflict])[conflict.id]
    assert {getattr(conflict, side): entry.commit for side, entry in told.items()} == {"here": first, "there": other}


def test_a_value_that_won_an_earlier_merge_keeps_its_author(pair: Pair, make: Any) -> None:
    """The value came through a merge in which it won, although the other value may be newer."""
    ada, bob = pair
    eve = make("eve")
    sync_until_equal(ada, bob, eve)
    wrote = {}
    for one, value in ((bob, "there"), (ada, "here"), (eve, "third")):
        one.change("open_loop", "OL-1", action=value)
        wrote[value] = one.tip
    sync_until_equal(ada, bob)
    sync_until_equal(ada, bob, eve)
    found = ada.conflicts()
    told = find_writers(ada.ws, found)
    assert len(found) == 2
    for conflict in found:
        assert {getattr(conflict, side): entry.commit for side, entry in told[conflict.id].items()} == {
            value: wrote[value] for value in (conflict.ours, conflict.theirs)
        }


def test_a_shallow_clone_names_no_author_beyond_its_boundary(contested: Pair, tmp_path: Path) -> None:
    ada, _ = contested
    for number in range(3):
        ada.loop(f"OL-more-{number}")
    ada.git("clone", "-q", "--bare", "--depth=4", f"file://{ada.top}", str(tmp_path / "shallow"))
    with Store(Repository.open(tmp_path / "shallow")) as store:
        [conflict] = ada.conflicts()
        ws = replace(ada.ws, branch=replace(ada.ws.branch, store=store))
        assert find_writers(ws, [conflict]) == {conflict.id: {}}


def test_a_conflict_is_resolved_with_a_value_of_neither_side(contested: Pair) -> None:
    ada, bob = contested
    settle(ada, "OL-1", value="both")
    sync_until_equal(ada, bob)
    assert bob.get("open_loop", "OL-1").action == "both"
    assert bob.conflicts() == []


def test_an_unambiguous_prefix_of_an_id_is_enough(contested: Pair) -> None:
    ada, _ = contested
    [conflict] = ada.conflicts()
    settle(ada, conflict.id[:6], "ours")
    assert ada.conflicts() == []
    with pytest.raises(NotFound):
        settle(ada, conflict.id, "ours")


def test_two_conflicts_of_one_record_need_their_ids(pair: Pair) -> None:
    ada, bob = pair
    ada.change("open_loop", "OL-1", action="here", expected_outcome="here")
    bob.change("open_loop", "OL-1", action="there", expected_outcome="there")
    sync_until_equal(ada, bob)
    with pytest.raises(Ambiguous):
        settle(ada, "OL-1", "ours")
    for one in ada.conflicts():
        settle(ada, one.id, "theirs")
    sync_until_equal(ada, bob)
    assert bob.conflicts() == []


@pytest.mark.parametrize("value", [7, ["a"], None, {"a": 1}])
def test_a_value_of_the_wrong_type_is_rejected_with_a_message_of_one_line(contested: Pair, value: Any) -> None:
    ada, _ = contested
    tip = ada.tip
    with pytest.raises(InvalidDocument) as error:
        settle(ada, "OL-1", value=value)
    assert "action" in str(error.value)
    assert "\n" not in str(error.value)
    assert ada.tip == tip


def test_a_conflict_in_an_archived_record_is_resolved_in_the_archive(contested: Pair) -> None:
    ada, bob = contested
    close_loop(ada.ws, ada.clock(), "OL-1", reason="done")
    wanted = losing_value(ada)
    settle(ada, "OL-1", "theirs")
    assert ada.get("open_loop", "OL-1", archived=True).record["action"] == wanted
    assert ada.get("open_loop", "OL-1") is None
    sync_until_equal(ada, bob)


def test_different_resolutions_conflict_again(contested: Pair) -> None:
    ada, bob = contested
    settle(ada, "OL-1", value="one")
    settle(bob, "OL-1", value="two")
    sync_until_equal(ada, bob)
    assert ada.list_conflicting_fields() == [("OL-1", "action")]


def test_equal_resolutions_on_both_sides_stay_resolved(contested: Pair) -> None:
    ada, bob = contested
    settle(ada, "OL-1", "theirs")
    settle(bob, "OL-1", "theirs")
    sync_until_equal(ada, bob)
    assert ada.conflicts() == []


# --- whole records


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_record_removed_on_one_side_and_edited_on_the_other_is_a_conflict_of_the_whole_record(
    pair: Pair, side: Any
) -> None:
    ada, bob = pair
    ada.by_hand({"open_loops/OL-1.toml": None, "notes": b"cleaned up\n"})
    bob.change("open_loop", "OL-1", action="edited")
    sync_until_equal(ada, bob)
    [conflict] = ada.conflicts()
    assert (conflict.record_id, conflict.field) == ("OL-1", "")
    assert ada.get("open_loop", "OL-1").action == "edited"
    settle(ada, conflict.id, side)
    assert ada.conflicts() == []
    kept = ada.get("open_loop", "OL-1") or ada.get("open_loop", "OL-1", archived=True)
    assert kept is not None
    sync_until_equal(ada, bob)


def test_a_conflict_with_an_unreadable_side_is_resolved_only_with_the_readable_one(pair: Pair) -> None:
    ada, bob = pair
    ada.by_hand({"open_loops/OL-1.toml": b"broken ["})
    bob.change("open_loop", "OL-1", action="edited")
    sync_until_equal(ada, bob)
    [conflict] = ada.conflicts()
    loser = "theirs" if conflict.winner == "ours" else "ours"
    with pytest.raises(InvalidArgument):
        settle(ada, conflict.id, loser)
    settle(ada, conflict.id, conflict.winner)
    assert ada.get("open_loop", "OL-1").action == "edited"


# --- files


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_conflict_of_two_files_with_one_name_is_resolved_with_either_side(pair: Pair, side: Any) -> None:
    ada, bob = pair
    ada.by_hand({"notes": b"here\n"})
    bob.by_hand({"notes": b"there\n"})
    sync_until_equal(ada, bob)
    [conflict] = ada.conflicts()
    wanted = ada.store.read(getattr(conflict, side)["blob"])
    settle(ada, conflict.id, side)
    files = {path: text for path, text in ada.files().items() if path.startswith("notes")}
    assert files == {"notes": wanted}
    sync_until_equal(ada, bob)
    assert bob.conflicts() == []


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_conflict_about_a_file_that_one_side_removed_is_resolved_with_either_side(pair: Pair, side: Any) -> None:
    ada, bob = pair
    ada.by_hand({"notes": b"first\n"})
    sync_until_equal(ada, bob)
    ada.by_hand({"notes": None, "other": b"x\n"})
    bob.by_hand({"notes": b"second\n"})
    sync_until_equal(ada, bob)
    [conflict] = ada.conflicts()
    settle(ada, conflict.id, side)
    assert ada.conflicts() == []
    assert ("notes" in ada.files()) == (side == conflict.winner)


def test_a_conflict_of_a_file_cannot_be_resolved_with_a_value(pair: Pair) -> None:
    ada, bob = pair
    ada.by_hand({"notes": b"here\n"})
    bob.by_hand({"notes": b"there\n"})
    sync_until_equal(ada, bob)
    with pytest.raises(InvalidArgument):
        settle(ada, "notes", value="x")


# --- claims and confirmations


def test_resolving_a_conflict_graduates_nothing(pair: Pair) -> None:
    ada, bob = pair
    ada.pattern("PAT-1")
    sync_until_equal(ada, bob)
    bob.edit("pattern", "PAT-1", 'status = "rule_candidate"', 'status = "graduated"')
    bob.push()
    dismiss_pattern(ada.ws, ada.clock(), "PAT-1")
    sync_until_equal(ada, bob)
    [found] = [one for one in ada.conflicts() if one.field == "status"]
    with pytest.raises(NeedsHuman):
        settle(ada, "PAT-1", value="graduated")
    settle(ada, found.id, found.winner)
    sync_until_equal(ada, bob)
    assert bob.get("pattern", "PAT-1").status == "dismissed"


# --- forged conflicts


def forge_conflict(one: Machine, **fields: str) -> None:
    """Commit the conflict `C-1` by hand: about the action of `OL-1`, unless `fields` say otherwise."""
    values = {
        "id": "C-1",
        "record_kind": "open_loop",
        "record_id": "OL-1",
        "field": "action",
        "winner": "ours",
        **fields,
    }
    text = "".join(f"{name} = {value if value.startswith('{') else repr(value)}\n" for name, value in values.items())
    one.by_hand({"conflicts/C-1.toml": text.encode()})


def test_a_conflict_about_an_unknown_kind_is_resolved_only_with_ours(pair: Pair) -> None:
    ada, _ = pair
    forge_conflict(ada, record_kind="nonsense")
    with pytest.raises(InvalidArgument, match="nonsense"):
        settle(ada, "C-1", "theirs")
    settle(ada, "C-1", "ours")
    assert ada.conflicts() == []


def test_a_conflict_about_a_rule_is_resolved_only_with_ours(pair: Pair) -> None:
    ada, _ = pair
    forge_conflict(ada, record_kind="rule", record_id="PAT-1", field="", theirs='{text = "another"}')
    with pytest.raises(NotAllowed) as refused:
        settle(ada, "C-1", "theirs")
    assert not isinstance(refused.value, NeedsHuman)
    assert "resolve C-1 with ours" in refused.value.hint
    settle(ada, "C-1", "ours")
    assert ada.conflicts() == []


def test_a_resolution_that_would_replace_another_record_is_rejected(pair: Pair) -> None:
    ada, _ = pair
    forge_conflict(ada, field="id", theirs="OL-2")
    with pytest.raises(NotAllowed):
        settle(ada, "C-1", "theirs")
    another = '{id = "OL-2", action = "a", expected_outcome = "b", created_at = "2026-11-01"}'
    forge_conflict(ada, field="", theirs=another)
    with pytest.raises(NotAllowed):
        settle(ada, "C-1", "theirs")
    forge_conflict(ada, field="", ours=another, winner="theirs")
    with pytest.raises(NotAllowed) as refused:
        settle(ada, "C-1", "ours")
    assert refused.value.hint == "to keep the current value: resolve C-1 with theirs"


@pytest.mark.parametrize("path", ["rules/PAT-9.md", "patterns/PAT-1.toml", "baton.toml", "open_loops/OL-1.toml"])
def test_a_resolution_that_would_put_a_file_in_the_place_of_a_record_is_rejected(pair: Pair, path: str) -> None:
    ada, _ = pair
    ada.by_hand({"evil": b"do as I say\n"})
    forge_conflict(ada, record_kind="file", record_id=path, field="", theirs='{path = "evil"}')
    before = {name: text for name, text in ada.files().items() if not name.startswith("conflicts/")}
    with pytest.raises(NotAllowed):
        settle(ada, "C-1", "theirs")
    forge_conflict(ada, record_kind="file", record_id="evil", field="", theirs=f'{{path = "{path}"}}')
    with pytest.raises(NotAllowed):
        settle(ada, "C-1", "ours")
    assert {name: text for name, text in ada.files().items() if not name.startswith("conflicts/")} == before


@pytest.mark.parametrize("path", ["../evil", ".git/config", "a//b", "/etc/passwd"])
def test_a_conflict_about_an_invalid_path_cannot_be_resolved_with_theirs(pair: Pair, path: str) -> None:
    ada, _ = pair
    forge_conflict(ada, record_kind="file", record_id=path, field="", theirs='{path = "format.toml"}')
    with pytest.raises(BatonError):
        settle(ada, "C-1", "theirs")


def test_a_forged_conflict_with_an_archived_record_cannot_graduate_a_pattern(pair: Pair) -> None:
    ada, _ = pair
    record = '{id = "PAT-1", what = "w", first_seen = "2026-11-01", last_seen = "2026-11-01", status = "graduated"}'
    closed = f'{{at = "2026-11-01T00:00:00Z", reason = "x", record = {record}}}'
    forge_conflict(ada, record_kind="pattern", record_id="PAT-1", field="", theirs=closed)
    with pytest.raises(NotAllowed):
        settle(ada, "C-1", "theirs")


def test_resolving_with_a_side_is_rejected_after_a_later_change(contested: Pair) -> None:
    ada, _ = contested
    [conflict] = ada.conflicts()
    loser: Any = "theirs" if conflict.winner == "ours" else "ours"
    ada.change("open_loop", "OL-1", action="elsewhere by now")
    before = ada.tip
    with pytest.raises(NotAllowed, match="action of OL-1 has changed since") as caught:
        settle(ada, conflict.id, loser)
    assert f"with {conflict.winner}" in caught.value.hint
    assert ada.tip == before
    settle(ada, conflict.id, conflict.winner)
    assert ada.get("open_loop", "OL-1").action == "elsewhere by now"
    assert ada.conflicts() == []
