"""What takes a person is held back when it comes, or is committed, by hand; and nobody goes in circles about it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import REF, Machine, settled

from baton_git.ingest.refusals import refusals
from baton_git.operations.going_back import rollback_record
from baton_git.operations.syncing import in_words
from baton_git.records.base import parse
from baton_git.records.baton import Pattern
from baton_git.records.rule import Rule
from baton_git.signing import AllowedSigners, Signer

Pair = tuple[Machine, Machine]
Make = Callable[..., Machine]
FORGED = b"# do as I say\n"


@pytest.fixture
def patterned(pair: Pair) -> Pair:
    """Both have the rule candidate `PAT-1` and the decision `DEC-1`, which is being monitored."""
    ada, bob = pair
    ada.pattern("PAT-1")
    ada.decision("DEC-1", tier="llm_derived")
    ada.change("active_decision", "DEC-1", status="monitoring")
    ada.sync()
    bob.sync()
    return ada, bob


def forge(one: Machine, *, rule: bool = True, tier: str = "human_confirmed") -> None:
    pattern = one.get("pattern", "PAT-1")
    grown = parse(
        Pattern,
        {**pattern.given(), "status": "graduated", "source_tier": tier, "graduated_to": "rules/PAT-1.md"},
    )
    from baton_git.codecs import toml

    files = {"patterns/PAT-1.toml": toml.dumps(grown.given())}
    one.by_hand({**files, **({"rules/PAT-1.md": FORGED} if rule else {})})


def is_clean(one: Machine) -> None:
    pattern = one.get("pattern", "PAT-1")
    assert (pattern.status, pattern.source_tier) == ("rule_candidate", "llm_derived")
    assert pattern.graduated_to is None
    assert one.state.records(Rule) == []


@pytest.mark.parametrize("rule", [True, False])
@pytest.mark.parametrize("goes_on", [True, False])
def test_a_graduation_by_hand_that_comes_is_held_and_kept_as_a_conflict(
    patterned: Pair, rule: bool, goes_on: bool
) -> None:
    ada, bob = patterned
    forge(bob, rule=rule)
    bob.by_hand({"notes": b"and something harmless\n"})
    bob.push()
    if goes_on:
        ada.loop("OL-2")
    done = ada.sync()
    is_clean(ada)
    assert ada.files()["notes"] == b"and something harmless\n"
    assert any("PAT-1 status" in one for one in done.held)
    assert ("PAT-1", "status") in ada.contested()
    settled(ada, bob)
    is_clean(bob)


def test_a_graduation_by_hand_here_is_taken_back_before_it_is_sent(patterned: Pair) -> None:
    ada, bob = patterned
    forge(ada)
    done = ada.sync()
    assert any("PAT-1 status" in one for one in done.held)
    is_clean(ada)
    bob.sync()
    settled(ada, bob)
    is_clean(bob)


def test_it_makes_no_difference_who_else_wrote_meanwhile(patterned: Pair, make: Make) -> None:
    ada, bob = patterned
    eve = make("eve")
    eve.sync()
    forge(bob)
    bob.push()
    ada.loop("OL-2")
    eve.loop("OL-3")
    ada.sync()
    settled(ada, eve, bob)
    for one in (ada, eve, bob):
        is_clean(one)


@pytest.mark.parametrize("kind", ["auto", "review"])
def test_a_rule_file_alone_makes_no_rule(patterned: Pair, kind: str) -> None:
    ada, bob = patterned
    ada.with_policy(kind)
    bob.by_hand({"rules/PAT-9.md": FORGED})
    bob.push()
    ada.sync()
    if kind == "review":
        assert ada.waiting()
        ada.decide(take=None)
        ada.with_policy("auto")
    assert ada.state.records(Rule) == []
    assert ("PAT-9", "text") in ada.contested()
    settled(ada, bob)
    assert bob.state.records(Rule) == []


def test_the_text_of_a_rule_is_not_changed_by_hand(patterned: Pair) -> None:
    ada, bob = patterned
    ada.graduate("PAT-1")
    ada.sync()
    bob.sync()
    text = bob.get("rule", "PAT-1").text
    bob.by_hand({"rules/PAT-1.md": FORGED})
    bob.push()
    ada.sync()
    assert ada.get("rule", "PAT-1").text == text
    settled(ada, bob)
    assert bob.get("rule", "PAT-1").text == text


def test_a_tier_raised_by_hand_is_held(patterned: Pair) -> None:
    ada, bob = patterned
    bob.edit("active_decision", "DEC-1", 'source_tier = "llm_derived"', 'source_tier = "human_confirmed"')
    bob.push()
    ada.sync()
    assert ada.get("active_decision", "DEC-1").source_tier == "llm_derived"
    settled(ada, bob)
    assert bob.get("active_decision", "DEC-1").source_tier == "llm_derived"


def test_a_tier_raised_by_leaving_it_out_is_held(patterned: Pair) -> None:
    """A decision that says nothing about its tier is one that a person confirmed."""
    ada, bob = patterned
    bob.edit("active_decision", "DEC-1", 'source_tier = "llm_derived"\n', "")
    bob.push()
    ada.sync()
    assert ada.get("active_decision", "DEC-1").source_tier == "llm_derived"
    settled(ada, bob)


def test_a_decision_moved_back_by_hand_is_held(patterned: Pair) -> None:
    ada, bob = patterned
    bob.by_hand({"notes": b"not just as it was before\n"})
    bob.edit("active_decision", "DEC-1", 'status = "monitoring"', 'status = "active"')
    bob.push()
    ada.sync()
    assert ada.get("active_decision", "DEC-1").status == "monitoring"
    settled(ada, bob)
    assert bob.get("active_decision", "DEC-1").status == "monitoring"


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_graduation_that_a_person_confirmed_reaches_the_others(patterned: Pair, goes_on: bool) -> None:
    ada, bob = patterned
    ada.graduate("PAT-1")
    ada.sync()
    if goes_on:
        bob.loop("OL-2")
    done = bob.sync()
    assert done.held == ()
    assert bob.get("pattern", "PAT-1").status == "graduated"
    assert [one.id for one in bob.state.records(Rule)] == ["PAT-1"]
    settled(ada, bob)
    assert bob.conflicts() == []


def test_a_pattern_vouched_for_from_the_start_can_be_graduated(pair: Pair) -> None:
    ada, bob = pair
    ada.pattern("PAT-2", tier="human_confirmed")
    ada.graduate("PAT-2")
    ada.sync()
    done = bob.sync()
    assert done.held == ()
    assert bob.get("pattern", "PAT-2").source_tier == "human_confirmed"


def test_a_graduation_taken_back_reaches_the_others(patterned: Pair) -> None:
    ada, bob = patterned
    before = ada.ws.branch.read().revision
    ada.graduate("PAT-1")
    settled(ada, bob)
    rollback_record(ada.ws, ada.clock(), "PAT-1", str(before))
    bob.loop("OL-2")
    settled(ada, bob)
    for one in patterned:
        is_clean(one)
        assert one.conflicts() == []


def test_a_contested_graduation_is_none_until_a_person_says_so(patterned: Pair) -> None:
    from baton_git.operations.patterns import dismiss_pattern

    ada, bob = patterned
    ada.graduate("PAT-1")
    dismiss_pattern(bob.ws, bob.clock(), "PAT-1")
    ada.sync()
    settled(bob, ada)
    for one in patterned:
        assert one.get("pattern", "PAT-1").status == "dismissed"
        assert one.state.records(Rule) == []
        assert ("PAT-1", "status") in one.contested()


def test_a_forged_trailer_is_not_believed_where_signing_is_configured(patterned: Pair, tmp_path: Path) -> None:
    ada, bob = patterned
    file, _ = keys(tmp_path)
    ada.reach(signers=AllowedSigners(file, "ssh-keygen", dict(os.environ)))
    bob.graduate("PAT-1")  # confirmed, but not signed
    bob.sync()
    done = ada.sync()
    assert done.held
    is_clean(ada)


def test_where_signing_is_configured_a_signed_graduation_counts(patterned: Pair, tmp_path: Path) -> None:
    from dataclasses import replace

    ada, bob = patterned
    file, key = keys(tmp_path)
    signers = AllowedSigners(file, "ssh-keygen", dict(os.environ))
    sign = Signer(str(key), "ssh-keygen", dict(os.environ)).sign
    for one in patterned:
        one.reach(signers=signers)
    bob.ws = replace(bob.ws, branch=replace(bob.ws.branch, sign=sign))
    bob.graduate("PAT-1")
    bob.sync()
    ada.loop("OL-2")
    done = ada.sync()
    assert done.held == ()
    assert ada.get("pattern", "PAT-1").status == "graduated"
    settled(ada, bob)


def keys(folder: Path) -> tuple[Path, Path]:
    """A file of allowed signers, and the key that it allows."""
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    file = folder / "allowed"
    file.write_text(f"bob@example.org {key.with_suffix('.pub').read_text()}")
    return file, key


def test_a_rewritten_branch_that_is_taken_over_passes_the_gate_too(patterned: Pair) -> None:
    ada, bob = patterned
    ada.loop("OL-lost")
    ada.sync()
    forge(bob)
    bob.push("--force")
    ada.loop("OL-unsent")
    ada.sync(settle="theirs")
    is_clean(ada)
    assert ada.get("open_loop", "OL-unsent")
    assert ada.get("open_loop", "OL-lost") is None
    settled(ada, bob)
    is_clean(bob)


def test_a_server_refuses_what_a_merge_would_hold(patterned: Pair) -> None:
    _, bob = patterned
    was = bob.tip
    forge(bob)
    found = {one.field for one in refusals(bob.store, bob.ws.branch.namespace, was, bob.tip)}
    assert {"status", "source_tier", "graduated_to", "text"} <= found


def test_what_was_held_is_said_in_words(patterned: Pair) -> None:
    ada, bob = patterned
    forge(bob)
    bob.push()
    told = in_words(ada.synced())
    assert any(one.startswith("held back: PAT-1 status") for one in told)
    assert ada.git("log", "--format=%s", REF).splitlines()[1:2]
