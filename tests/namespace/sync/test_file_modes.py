"""Changed modes of record files: a sync and a review say what became of them; the rules of merging stay the same."""

from __future__ import annotations

import pytest
from machines import REF, Machine

from baton_git.core.names import Oid
from baton_git.git.store import TreeEntry
from baton_git.namespace.review.queue import ReviewChoice
from baton_git.verbs.sharing.review import decide, load_review, make_decided
from baton_git.verbs.sharing.sync import SyncResult, sync
from baton_git.verbs.upkeep.validation import validate_branch

Pair = tuple[Machine, Machine]
RECORD = "follow_ups/FU-1.toml"
EXPECTED = "record files have mode 100644"
DROPPED = f"the mode 100755 of {RECORD} was not taken over: {EXPECTED}"
KEPT = f"the mode 100755 of {RECORD} stays until it is corrected (baton doctor records): {EXPECTED}"


def set_mode(one: Machine, mode: int, *paths: str) -> None:
    """Commit another mode of files by hand."""
    oids = {path: Oid(one.git("rev-parse", f"{REF}:{path}")) for path in paths or (RECORD,)}
    one.by_hand({path: TreeEntry(oid, False, mode) for path, oid in oids.items()})


def mode_of(one: Machine, path: str = RECORD) -> str:
    return one.git("ls-tree", REF, path).split()[0]


def test_a_fast_forward_keeps_a_mode_and_names_the_file(pair: Pair) -> None:
    ada, bob = pair
    set_mode(ada, 0o100755)
    assert ada.sync().notes == ()
    assert bob.sync().notes == (KEPT,)
    assert mode_of(bob) == "100755"
    assert [(file.path, [str(fault) for fault in file.faults]) for file in validate_branch(bob.ws) if file.faults] == [
        (RECORD, [f"mode: is 100755, but {EXPECTED}"])
    ]
    set_mode(ada, 0o100644)
    ada.sync()
    assert bob.sync().notes == ()  # it was corrected
    assert not any(file.faults for file in validate_branch(bob.ws))


@pytest.mark.parametrize("mode", ["100755", "100644"])
@pytest.mark.parametrize("here", [False, True])
def test_a_merge_says_what_became_of_a_changed_mode(pair: Pair, mode: str, here: bool) -> None:
    """The side with the larger revision number is the first of the merge, which keeps its modes."""
    ada, bob = pair
    changing, other = (bob, ada) if here else (ada, bob)
    changing.loop("OL-4")
    set_mode(changing, 0o100755)
    for number in range(1 if mode == "100755" else 4):
        other.loop(f"OL-{number + 5}")
    ada.sync()
    assert bob.sync().notes == (KEPT if mode == "100755" else DROPPED,)
    assert mode_of(bob) == mode
    ada.sync()
    assert ada.tip == bob.tip


def test_a_correction_that_a_merge_drops_is_not_taken_for_done(pair: Pair) -> None:
    ada, bob = pair
    set_mode(ada, 0o100755)
    ada.sync()
    bob.sync()
    set_mode(ada, 0o100644)
    for number in range(3):
        bob.loop(f"OL-{number + 5}")
    ada.sync()
    assert bob.sync().notes == (KEPT,)
    assert mode_of(bob) == "100755"


def test_the_line_names_three_files_and_counts_the_others(pair: Pair) -> None:
    ada, bob = pair
    ids = [f"OL-{number}" for number in range(2, 7)]
    for id_ in ids:
        ada.loop(id_)
    set_mode(ada, 0o100755, *(f"open_loops/{id_}.toml" for id_ in ids))
    ada.sync()
    result = SyncResult.of(sync(bob.ws, bob.clock()))
    named = "open_loops/OL-2.toml, open_loops/OL-3.toml, open_loops/OL-4.toml and 2 more"
    [line] = [line for line in result.summary if "100755" in line]
    assert line.startswith(f"the mode 100755 of {named} stays")
    assert result.namespaces[0]["notes"] == [line]


def test_the_group_writable_mode_of_old_versions_of_git_counts_as_100644(pair: Pair) -> None:
    """Seen with git 2.39.5: `git ls-tree` prints 100644 for it, and `git commit` finds nothing to correct."""
    ada, bob = pair
    set_mode(ada, 0o100664)
    ada.sync()
    assert bob.sync().notes == ()
    assert bob.store.folder(bob.ws.branch.read().tree).folder("follow_ups").entries()["FU-1.toml"].mode == 0o100664
    assert mode_of(bob) == "100644"
    assert not any(file.faults for file in validate_branch(bob.ws))


def test_a_removed_record_has_no_mode_to_name(pair: Pair) -> None:
    ada, bob = pair
    set_mode(ada, 0o100755)
    ada.sync()
    bob.sync()
    ada.loop("OL-4")
    ada.by_hand({RECORD: None})
    bob.loop("OL-5")
    ada.sync()
    assert not any("mode" in note for note in bob.sync().notes)


def test_files_that_are_no_records_may_have_any_mode(pair: Pair) -> None:
    ada, bob = pair
    ada.by_hand({"run.sh": b"#!/bin/sh\n"})
    set_mode(ada, 0o100755, "run.sh")
    bob.loop("OL-5")
    ada.sync()
    assert bob.sync().notes == ()
    assert mode_of(bob, "run.sh") == "100755"
    assert not any(file.faults for file in validate_branch(bob.ws))


@pytest.mark.parametrize("loops", [0, 3])
@pytest.mark.parametrize("partly", [False, True])
def test_a_review_says_what_became_of_a_changed_mode(pair: Pair, loops: int, partly: bool) -> None:
    ada, bob = pair
    bob.set_policy("review")
    ada.loop("OL-7")
    ada.defer("FU-1")
    set_mode(ada, 0o100755)
    ada.sync()
    for number in range(loops):
        bob.loop(f"OL-{number + 20}")
    bob.sync()
    name, queue = load_review(bob.ws)
    assert queue is not None
    if partly:
        done = decide(bob.ws, bob.clock(), name, ReviewChoice(["OL-7"], []))
        assert done.notes == ()
    done = decide(bob.ws, bob.clock(), name, ReviewChoice(None, []))
    assert done.notes == (KEPT if mode_of(bob) == "100755" else DROPPED,)
    assert make_decided(name, done).as_data()["notes"] == list(done.notes)


def test_a_reset_to_a_rewritten_branch_names_its_changed_modes(pair: Pair) -> None:
    ada, bob = pair
    before = ada.tip
    ada.loop("OL-7")
    ada.sync()
    bob.sync()
    set_mode(ada, 0o100755)
    commit = ada.git("commit-tree", f"{REF}^{{tree}}", "-p", str(before), "-m", "rewritten")
    ada.git("push", "-qf", "origin", f"{commit}:{REF}")
    [outcome] = sync(bob.ws, bob.clock(), settle="theirs").outcomes
    assert outcome.error is None
    assert outcome.notes[1:] == (KEPT,)
    assert mode_of(bob) == "100755"
