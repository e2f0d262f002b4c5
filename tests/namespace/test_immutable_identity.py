"""The immutable part of an identity: no verb, merge, sync or commit by hand changes it."""

from __future__ import annotations

from typing import Any

import going_back
import pytest
from machines import Machine, sync_until_equal

from baton_git.core.errors import NotAllowed
from baton_git.core.names import Namespace
from baton_git.core.records.base import parse
from baton_git.core.state import Key, State
from baton_git.namespace.ingest.server import find_refusals
from baton_git.systems.paif.record import Identity

Pair = tuple[Machine, Machine]
ME = {"purpose": {"statement": "care for the parser"}}
OTHER = {"purpose": {"statement": "please everybody"}}
PATH = "identity/zero.toml"
KEY = Key("identity", "zero")


def put(machine: Machine, **fields: Any) -> None:
    record = parse(Identity, {"id": "zero", **fields})
    machine.ws.update("identity-init", machine.clock(), lambda tip: tip.state.put(record))


def identity(machine: Machine) -> Identity:
    return machine.ws.branch.read().state.get(Identity, "zero")


def purpose(machine: Machine) -> str:
    immutable = identity(machine).immutable
    assert immutable is not None
    return immutable.purpose.statement


@pytest.fixture
def known(pair: Pair) -> Pair:
    """Return two machines that both have the identity."""
    ada, bob = pair
    put(ada, immutable=ME, mutable={"state": {"accumulated_experience": 1}})
    ada.sync()
    bob.sync()
    assert purpose(bob) == ME["purpose"]["statement"]
    return pair


def test_no_change_may_edit_or_remove_an_immutable_part(ada: Machine) -> None:
    put(ada, immutable=ME)
    before = ada.tip
    with pytest.raises(NotAllowed, match="identity zero: immutable is set once and must not change"):
        put(ada, immutable=OTHER)
    with pytest.raises(NotAllowed, match="set once"):
        put(ada)
    with pytest.raises(NotAllowed, match="set once"):
        ada.ws.update("x", ada.clock(), lambda tip: tip.state.remove(KEY))
    with pytest.raises(NotAllowed, match="set once"):
        ada.ws.update("x", ada.clock(), lambda tip: _archived(ada, tip.state))
    assert ada.tip == before


def _archived(machine: Machine, state: State) -> State:
    return state.archive(state.get(Identity, "zero"), at="2026-11-21", reason="x", session=None)


def test_an_identity_without_an_immutable_part_can_get_one_later(ada: Machine) -> None:
    put(ada, mutable={"state": {"accumulated_experience": 1}})
    put(ada, immutable=ME, mutable={"state": {"accumulated_experience": 1}})
    assert purpose(ada) == ME["purpose"]["statement"]


def test_a_rollback_keeps_the_immutable_part_and_restores_the_rest(ada: Machine) -> None:
    ada.loop("OL-1")
    put(ada, mutable={"state": {"accumulated_experience": 1}})
    put(ada, immutable=ME, mutable={"state": {"accumulated_experience": 1}})
    put(ada, immutable=ME, mutable={"state": {"accumulated_experience": 2}})
    going_back.rollback_to(ada.ws, ada.clock(), "~2")
    assert (purpose(ada), identity(ada).mutable.state.accumulated_experience) == (ME["purpose"]["statement"], 1)
    going_back.rollback_to(ada.ws, ada.clock(), "1")
    assert purpose(ada) == ME["purpose"]["statement"]
    going_back.rollback_record(ada.ws, ada.clock(), "zero", "2")
    going_back.undo_revision(ada.ws, ada.clock(), "3")
    assert purpose(ada) == ME["purpose"]["statement"]
    assert not ada.git("fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize("forged", [b"[immutable.purpose]\nstatement = 'please everybody'\n", None])
def test_a_merge_restores_an_immutable_part_changed_by_hand(known: Pair, forged: bytes | None) -> None:
    ada, bob = known
    ada.by_hand({PATH: forged, "notes": b"and something harmless\n"})
    ada.push()
    bob.loop("OL-2")
    bob.sync()
    assert purpose(bob) == ME["purpose"]["statement"]
    sync_until_equal(ada, bob)
    assert purpose(ada) == ME["purpose"]["statement"]


def test_a_fast_forward_that_changes_an_immutable_part_is_reported(known: Pair) -> None:
    ada, bob = known
    ada.by_hand({PATH: b"[immutable.purpose]\nstatement = 'please everybody'\n"})
    ada.push()
    assert bob.sync().problems == ("identity zero: immutable is set once and must not change, but was changed",)


def test_a_server_rejects_a_changed_immutable_part(known: Pair) -> None:
    ada, _ = known
    before = ada.tip
    after = ada.by_hand({PATH: b"[immutable.purpose]\nstatement = 'please everybody'\n"})
    [refused] = find_refusals(ada.store, Namespace("x"), before, after)
    assert (refused.record, refused.field) == ("zero", "immutable")
    assert "set once" in refused.why


def dated(immutable: dict[str, Any], day: int) -> dict[str, Any]:
    return {**immutable, "origin": {"created_at": f"2026-11-{day:02}T10:00:00+02:00"}}


@pytest.mark.parametrize(("mine", "yours"), [(1, 2), (2, 1)])
def test_the_older_of_two_independently_made_values_is_kept(ada: Machine, bob: Machine, mine: int, yours: int) -> None:
    put(ada, immutable=dated(ME, mine))
    put(bob, immutable=dated(OTHER, yours))
    sync_until_equal(ada, bob)
    assert purpose(ada) == (ME if mine < yours else OTHER)["purpose"]["statement"]
    [conflict] = ada.conflicts()
    assert {conflict.ours["purpose"]["statement"], conflict.theirs["purpose"]["statement"]} == {
        ME["purpose"]["statement"], OTHER["purpose"]["statement"],
    }  # fmt: skip


def test_a_merge_adds_the_counts_of_an_identity_and_keeps_its_latest_date(known: Pair) -> None:
    ada, bob = known
    for machine, when in ((ada, "2026-11-21T10:00:00Z"), (bob, "2026-11-21T09:00:00Z")):
        state = {"accumulated_experience": 2, "last_session_at": when, "drift_checks": {"passed": 3}}
        put(machine, immutable=ME, mutable={"state": state})
        machine.sync()
    ada.sync()
    found = identity(ada).mutable.state
    assert found.accumulated_experience == 3
    assert found.last_session_at == "2026-11-21T10:00:00Z"
    assert found.drift_checks.passed == 6
    assert not ada.conflicts()
