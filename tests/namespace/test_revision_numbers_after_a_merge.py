"""Equal revision numbers that two machines gave before a merge, and undoing the other machine's work."""

from __future__ import annotations

import pytest
from going_back import rollback_session, rollback_to, undo_revision
from machines import REF, Machine

from baton_git.core.errors import Ambiguous, NotFound
from baton_git.core.names import Oid
from baton_git.namespace.merge_commit import create_merge_commit
from baton_git.verbs.revisions.history import Filter, compare, read_commit, read_log

Pair = tuple[Machine, Machine]


def merge_bob_into_ada(ada: Machine, bob: Machine) -> None:
    """Merge Bob's branch into Ada's branch."""
    ada.git("fetch", "-q", str(bob.top), f"+{REF}:refs/other")
    merged = create_merge_commit(ada.store, ada.tip, bob.tip)
    assert ada.ws.branch.advance(merged.draft, ada.tip, merged.commit, ada.ws.stamp("sync", ada.clock()), by="sync")


@pytest.fixture
def machine_with_duplicate_number(pair: Pair) -> tuple[Machine, str, str]:
    """Return a machine with two commits of the same number: its own, and a commit of the other machine, whose history
    was longer."""
    ada, bob = pair
    ada.loop("OL-ada")
    bob.loop("OL-bob")
    tips = str(ada.tip), str(bob.tip)
    bob.loop("OL-bob2")
    merge_bob_into_ada(ada, bob)
    ada.loop("OL-after")
    return ada, *tips


def test_a_revision_number_of_two_commits_is_rejected_with_both_ids(
    machine_with_duplicate_number: tuple[Machine, str, str],
) -> None:
    ada, mine, other = machine_with_duplicate_number
    number = str(ada.ws.branch.revision_at(Oid(mine)).number)
    for ask in (
        lambda: ada.ws.branch.read(number),
        lambda: undo_revision(ada.ws, ada.clock(), number),
        lambda: rollback_to(ada.ws, ada.clock(), f"r{number}"),
        lambda: compare(ada.ws, number),
        lambda: read_commit(ada.ws, number),
    ):
        with pytest.raises(Ambiguous) as caught:
            ask()
        assert {one[:10] for one in caught.value.data["candidates"]} == {mine[:10], other[:10]}
        assert "id" in caught.value.hint
    assert read_commit(ada.ws, mine).entry.revision is None


def test_the_log_omits_duplicate_numbers_and_shows_only_names_that_resolve(
    machine_with_duplicate_number: tuple[Machine, str, str],
) -> None:
    ada, mine, other = machine_with_duplicate_number
    found = {one.entry.commit: one.entry.revision for one in read_log(ada.ws)}
    assert {commit for commit, number in found.items() if number is None} == {mine, other}
    assert all(ada.ws.branch.resolve(str(number)) == commit for commit, number in found.items() if number is not None)
    assert next(read_log(ada.ws, Filter(after=ada.tip))).entry.revision


def test_a_commit_of_either_machine_is_undone_by_its_id(
    machine_with_duplicate_number: tuple[Machine, str, str],
) -> None:
    ada, mine, other = machine_with_duplicate_number
    undo_revision(ada.ws, ada.clock(), mine)
    assert ada.get("open_loop", "OL-ada") is None
    undo_revision(ada.ws, ada.clock(), other[:10])
    assert ada.state.ids("open_loop") == {"OL-1", "OL-bob2", "OL-after"}


@pytest.mark.parametrize("session", ["s-ada", "s-bob"])
def test_a_merged_session_is_reverted_completely(pair: Pair, session: str) -> None:
    """The commits of the session may be on either of the two lines of history."""
    ada, bob = pair
    ada.loop("OL-ada")
    for id_ in ("OL-bob", "OL-bob2"):
        bob.loop(id_)
        bob.defer("FU-1")
    merge_bob_into_ada(ada, bob)
    rollback_session(ada.ws, ada.clock(), session)
    left = {"OL-bob", "OL-bob2"} if session == "s-ada" else set()
    assert ada.state.ids("open_loop") == left | ({"OL-1", "OL-ada"} if session == "s-bob" else set())
    with pytest.raises(NotFound):
        rollback_session(ada.ws, ada.clock(), session)


def test_revision_numbers_after_a_manual_merge_continue_from_the_larger_number(pair: Pair) -> None:
    ada, bob = pair
    ada.loop("OL-ada")
    for number in range(3):
        bob.loop(f"OL-bob{number}")
    ada.git("fetch", "-q", str(bob.top), f"+{REF}:refs/other")
    merged = create_merge_commit(ada.store, ada.tip, bob.tip)
    parents = (ada.tip, bob.tip)
    commit = merged.draft.commit(merged.tree, parents, author="A <a>", time=9, timezone=0, message="Merge by hand")
    assert ada.ws.branch.advance(merged.draft, ada.tip, commit, ada.ws.stamp("sync", ada.clock()), by="sync")
    largest = bob.ws.branch.read().number
    assert ada.ws.branch.read().number == largest + 1
    assert ada.ws.branch.resolve(str(largest)) == bob.tip


def test_a_commit_with_a_false_number_does_not_hide_the_commits_before_it(pair: Pair) -> None:
    ada, _ = pair
    ada.loop("OL-2")
    known, number = ada.tip, ada.ws.branch.read().number
    ada.by_hand({"notes.txt": b"x\n"}, "a lie\n\nBaton-Op: edit\nBaton-Revision: 0\n")
    ada.loop("OL-3")
    assert ada.ws.branch.resolve(str(number)) == known
    with pytest.raises(Ambiguous):
        ada.ws.branch.resolve("1")
