"""Counters of records with the same id that two machines created before their first merge: how they add up, and what
reverting a session subtracts."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from going_back import rollback_session, undo_revision
from machines import REF, Machine, sync_until_equal

from baton_git.core.layout import path_of
from baton_git.core.records.base import parse
from baton_git.core.state import Key
from baton_git.namespace.merge_driver import merge_file
from baton_git.namespace.workspace import Workspace
from baton_git.systems.paif.record import Identity
from baton_git.systems.session_baton.document_writing import write_document
from baton_git.verbs.revisions.undo import redo
from baton_git.verbs.work_items.patterns import record_pattern

FOLLOW_UP = path_of(Key("follow_up", "FU-1"))
PATTERN = path_of(Key("pattern", "PAT-1"))
IDENTITY = path_of(Key("identity", "zero"))
COUNTED = (FOLLOW_UP, PATTERN, IDENTITY)


def count(machine: Machine, times: int) -> None:
    """Record a pattern and defer a follow-up `times` times, and store an identity with counters of that size."""
    for number in range(times):
        record_pattern(machine.ws, machine.clock(), what="w", context=f"{machine.name} {number}", id="PAT-1")
    machine.follow_up("FU-1")
    for _ in range(times):
        machine.defer("FU-1")
    state = {"accumulated_experience": times, "drift_checks": {"passed": times, "failed": 2 * times}}
    identity = parse(Identity, {"id": "zero", "mutable": {"state": {**state, "last_session_at": machine.name}}})
    machine.ws.update("identity-init", machine.clock(), lambda tip: tip.state.put(identity))


def counts(machine: Machine) -> list[int]:
    """Return all counters of a machine."""
    state = machine.get("identity", "zero").mutable.state
    drift = state.drift_checks
    return [
        machine.get("pattern", "PAT-1").count,
        machine.get("follow_up", "FU-1").defer_count,
        state.accumulated_experience,
        drift.passed,
        drift.failed - drift.passed,
    ]


def revert(machine: Machine, session: str) -> None:
    rollback_session(as_another_session(machine), machine.clock(), session)


def as_another_session(machine: Machine) -> Workspace:
    """Return the machine's workspace for another session, so that no revert belongs to a session that is reverted."""
    return replace(machine.ws, actor=replace(machine.ws.actor, session="s-reverting"))


def records(machine: Machine) -> dict[str, bytes]:
    """Return the files of the records with counters, and of conflicts."""
    return {path: text for path, text in machine.files().items() if path in COUNTED or path.startswith("conflicts/")}


def merge_by_sync(ada: Machine, bob: Machine) -> None:
    sync_until_equal(ada, bob)


def merge_by_git(ada: Machine, bob: Machine) -> None:
    """Merge with git and the merge driver, in a work tree of Ada's."""
    tree = str(ada.top.with_name("tree"))
    ada.git("config", "merge.baton.driver", f"{sys.executable} -m baton_git merge-driver %O %A %B %P")
    ada.git("worktree", "add", "-q", tree, "baton/x")
    ada.git("fetch", "-q", str(bob.top), f"{REF}:refs/other")
    ada.git("-C", tree, "merge", "-q", "--no-edit", "--allow-unrelated-histories", "refs/other")


@pytest.mark.parametrize(("mine", "yours"), [(1, 1), (3, 3), (2, 1)])
def test_counts_of_two_machines_before_their_first_sync_add_up(
    ada: Machine, bob: Machine, mine: int, yours: int
) -> None:
    for one, times in ((ada, mine), (bob, yours)):
        one.pattern("PAT-1", times=times)
        one.follow_up("FU-1")
        for _ in range(times):
            one.defer("FU-1")
    texts = [one.files() for one in (ada, bob)]
    sync_until_equal(ada, bob)
    assert ada.get("pattern", "PAT-1").count == mine + yours
    assert ada.get("follow_up", "FU-1").defer_count == mine + yours
    for path in (FOLLOW_UP, PATTERN):
        assert merge_file(ada.store, path, b"", *(text[path] for text in texts)).text == ada.files()[path]


def test_a_document_imported_on_two_machines_counts_once(ada: Machine, bob: Machine) -> None:
    item = {"id": "FU-1", "item": "x", "first_seen": "2026-11-01", "defer_count": 3, "last_deferred": "2026-11-02"}
    document = {"session_id": "s", "open_loops": [], "follow_ups": [item], "patterns": [], "active_decisions": []}
    for one in (ada, bob):
        write_document(one.ws, one.clock(), document, op="import")
    ada.defer("FU-1")
    sync_until_equal(ada, bob)
    assert ada.get("follow_up", "FU-1").defer_count == 4


@pytest.mark.parametrize("merge", [merge_by_sync, merge_by_git])
def test_reverting_a_session_subtracts_its_own_counts(
    ada: Machine, bob: Machine, merge: Callable[[Machine, Machine], None]
) -> None:
    count(ada, 1)
    count(bob, 2)
    alone = records(ada)
    merge(ada, bob)
    assert counts(ada) == [3] * 5
    revert(ada, "s-bob")
    assert records(ada) == alone
    undo_revision(as_another_session(ada), ada.clock())
    assert counts(ada) == [3] * 5
    redo(as_another_session(ada), ada.clock(), yes=True)
    revert(ada, "s-ada")
    assert records(ada) == {}


def test_reverting_one_of_three_sessions_subtracts_only_its_count(ada: Machine, bob: Machine, make: Any) -> None:
    eve = make("eve")
    machines = (ada, bob, eve)
    for times, machine in enumerate(machines, 1):
        count(machine, times)
    sync_until_equal(*machines, rounds=4)
    ada.defer("FU-1")
    sync_until_equal(*machines, rounds=4)
    assert counts(eve) == [6, 7, 6, 6, 6]
    revert(ada, "s-bob")
    assert counts(ada) == [4, 5, 4, 4, 4]
    sync_until_equal(*machines, rounds=4)
    revert(eve, "s-ada")
    assert counts(eve) == [3] * 5
    revert(eve, "s-eve")
    assert records(eve) == {}


def test_later_counts_of_others_are_kept(ada: Machine, bob: Machine, make: Any) -> None:
    count(ada, 1)
    count(bob, 1)
    sync_until_equal(ada, bob)
    eve = make("eve")
    eve.sync()
    record_pattern(eve.ws, eve.clock(), what="w", context="later", id="PAT-1")
    for session in ("s-ada", "s-bob"):
        revert(eve, session)
    pattern = eve.get("pattern", "PAT-1")
    assert (pattern.count, [one.context for one in pattern.recent_occurrences]) == (1, ["later"])
    assert FOLLOW_UP not in records(eve)


def test_removed_occurrences_do_not_return_when_another_session_is_reverted(ada: Machine, bob: Machine) -> None:
    eve = [replace(one, ws=replace(one.ws, actor=replace(one.ws.actor, session="s-eve"))) for one in (ada, bob)]
    for round_, machines in enumerate(((ada, bob), (eve[0], bob))):
        for one in machines:
            record_pattern(one.ws, one.clock(), what="w", context=str(round_), id="PAT-1")
        sync_until_equal(ada, bob)
    for session, left in (("s-eve", 3), ("s-ada", 2)):
        revert(ada, session)
        assert (ada.get("pattern", "PAT-1").count, session in str(ada.get("pattern", "PAT-1"))) == (left, False)
    revert(ada, "s-bob")
    assert PATTERN not in records(ada)


def test_a_document_imported_on_two_machines_stays_until_both_imports_are_reverted(ada: Machine, bob: Machine) -> None:
    item = {"id": "FU-1", "item": "x", "first_seen": "2026-11-01", "defer_count": 3, "last_deferred": "2026-11-02"}
    document = {"open_loops": [], "follow_ups": [item], "patterns": [], "active_decisions": []}
    for one in (ada, bob):
        write_document(one.ws, one.clock(), {"session_id": f"s-{one.name}", **document}, op="import")
    ada.defer("FU-1")
    sync_until_equal(ada, bob)
    revert(bob, "s-ada")
    assert bob.get("follow_up", "FU-1").defer_count == 3
    revert(bob, "s-bob")
    assert bob.get("follow_up", "FU-1") is None


def test_reverting_a_session_removes_conflicts_with_its_changes(pair: tuple[Machine, Machine]) -> None:
    ada, bob = pair
    ada.change("open_loop", "OL-1", action="here")
    bob.change("open_loop", "OL-1", action="there")
    sync_until_equal(ada, bob)
    assert ada.list_conflicting_fields() == [("OL-1", "action")]
    for session, action in (("s-bob", "here"), ("s-ada", "there")):
        revert(ada, session)
        assert (ada.get("open_loop", "OL-1").action, ada.list_conflicting_fields()) == (action, [])
        undo_revision(as_another_session(ada), ada.clock())


def test_reverting_one_of_two_records_with_the_same_id_keeps_the_id_of_the_other(ada: Machine, bob: Machine) -> None:
    ada.loop("OL-1", "deployed the shop")
    bob.loop("OL-1", "cleaned the disk")
    sync_until_equal(ada, bob)
    ids = {ada.get("open_loop", id_).action: id_ for id_ in ada.state.ids("open_loop")}
    for session, left in (("s-ada", "cleaned the disk"), ("s-bob", "deployed the shop")):
        revert(ada, session)
        assert {id_: ada.get("open_loop", id_).action for id_ in ada.state.ids("open_loop")} == {ids[left]: left}
        undo_revision(as_another_session(ada), ada.clock())
