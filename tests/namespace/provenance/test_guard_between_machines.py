"""The guard at the write, where records and changes came from another machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from machines import Machine, sync_until_equal

from baton_git.checks.approvals import Approvals
from baton_git.core.errors import Protected
from baton_git.core.state import Key
from baton_git.git.signing import AllowedSigners, Signer
from baton_git.namespace.caller import Vouched
from baton_git.verbs.records.editing import edit_record, forget_record
from baton_git.verbs.sharing.conflict_resolution import resolve
from baton_git.verbs.work_items.confirming import confirm_records
from baton_git.verbs.work_items.decisions import supersede_decision

Pair = tuple[Machine, Machine]
PERSON = Vouched("Ada", "typed")
DECISION = Key("active_decision", "DEC-1")


def as_person(one: Machine) -> Any:
    return replace(one.ws, confirmed=PERSON)


@pytest.fixture
def confirmed(pair: Pair) -> Pair:
    """Return two machines that both have DEC-1, which a person confirmed on Ada's."""
    ada, bob = pair
    ada.decision("DEC-1", vouched=PERSON)
    ada.sync()
    bob.sync()
    return pair


def _resolve(ada: Machine, bob: Machine) -> None:
    """Resolve a conflict about the text of a confirmed record with the text of the other machine."""
    edit_record(as_person(ada), ada.clock(), "DEC-1", fields={"why": "here"})
    bob.change("active_decision", "DEC-1", why="there")
    bob.sync()
    ada.sync()
    [conflict] = ada.conflicts()
    confirm_records(as_person(ada), ada.clock(), ["DEC-1"])
    resolve(ada.ws, ada.clock(), conflict.id, "ours" if conflict.winner == "theirs" else "theirs")


def _review(ada: Machine, bob: Machine, *, before: Callable[[], object] | None = None, accept: Any = None) -> None:
    """Accept in a review that another machine removed a confirmed record."""
    ada.set_policy("review")
    forget_record(bob.ws, bob.clock(), "DEC-1", reason="r")
    bob.loop("OL-9")
    bob.sync()
    if before is not None:
        before()
    ada.sync()
    ada.decide(take=accept)


ROADS: dict[str, Callable[[Machine, Machine], None]] = {
    "a conflict is resolved": _resolve,
    "a review accepts everything": _review,
    "a review merges everything": lambda ada, bob: _review(ada, bob, before=lambda: ada.loop("OL-8")),
    "a review accepts the record": lambda ada, bob: _review(ada, bob, accept=["DEC-1"]),
}


@pytest.mark.parametrize("road", ROADS.values(), ids=ROADS)
def test_an_agent_does_not_take_over_the_loss_of_a_confirmed_record(
    confirmed: Pair, road: Callable[[Machine, Machine], None]
) -> None:
    ada, bob = confirmed
    with pytest.raises(Protected, match="a person confirmed DEC-1"):
        road(ada, bob)
    assert ada.state.entry(DECISION) is not None
    assert ada.ws.judgement().is_confirmed(DECISION)


@pytest.mark.parametrize("road", ROADS.values(), ids=ROADS)
def test_a_person_takes_it_over(confirmed: Pair, road: Callable[[Machine, Machine], None]) -> None:
    ada, bob = confirmed
    ada.ws = as_person(ada)
    road(ada, bob)


def test_a_record_that_a_trusted_remote_confirmed_is_protected_here_too(confirmed: Pair, tmp_path: Path) -> None:
    _, bob = confirmed
    url = str((tmp_path / "origin.git").resolve())
    approvals = Approvals(tmp_path / "approvals.json", bob.store.repository.common_dir)
    bob.ws = replace(bob.ws, approvals=approvals)
    assert not bob.ws.labels().can_be_confirmed
    assert approvals.trust_remote("origin", url, "2026-11-21T08:00:00Z")
    with pytest.raises(Protected):
        forget_record(bob.ws, bob.clock(), "DEC-1", reason="r")


def test_a_record_with_a_signed_confirmation_is_protected_here_too(pair: Pair, tmp_path: Path) -> None:
    ada, bob = pair
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (tmp_path / "allowed").write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    sign = Signer(str(key), "ssh-keygen", dict(os.environ)).sign
    ada.ws = replace(ada.ws, branch=replace(ada.ws.branch, sign=sign))
    bob.set_remotes(signers=AllowedSigners(tmp_path / "allowed", "ssh-keygen", dict(os.environ)))
    ada.decision("DEC-1", vouched=PERSON)
    sync_until_equal(ada, bob)
    with pytest.raises(Protected):
        forget_record(bob.ws, bob.clock(), "DEC-1", reason="r")


def test_a_received_record_is_not_protected_before_its_remote_is_trusted(confirmed: Pair) -> None:
    _, bob = confirmed
    forget_record(bob.ws, bob.clock(), "DEC-1", reason="r")


def test_a_supersession_by_a_person_is_protected_although_an_agent_wrote_both(ada: Machine) -> None:
    for id_ in ("DEC-1", "DEC-2"):
        ada.decision(id_, tier="llm_derived")
    supersede_decision(as_person(ada), ada.clock(), "DEC-1", "DEC-2")
    with pytest.raises(Protected, match="replace it"):
        ada.change("active_decision", "DEC-1", status="active", superseded_by=None)
    ada.change("active_decision", "DEC-1", why="an agent may still edit what agents wrote")


def test_a_record_leaves_the_archive_with_the_statement_that_a_person_confirmed(ada: Machine) -> None:
    ada.decision("DEC-1", vouched=PERSON)
    record = ada.state.entry(DECISION)
    forget_record(as_person(ada), ada.clock(), "DEC-1", reason="r")

    def reopen(tip: Any, **fields: Any) -> Any:
        return tip.state.remove(DECISION._replace(archived=True)).put(record.replace(**fields))

    with pytest.raises(Protected, match="change its text"):
        ada.ws.update("x", ada.clock(), lambda tip: reopen(tip, what="something else"))
    ada.ws.update("x", ada.clock(), reopen)
