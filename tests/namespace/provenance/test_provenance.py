"""Provenance is computed from the commits that made a record, not from its fields or the way it arrived."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from going_back import rollback_record, rollback_to
from machines import REF, Machine, sync_until_equal

from baton_git.checks.approvals import Approvals
from baton_git.core.brief_sections import SECTIONS
from baton_git.core.codecs import toml
from baton_git.core.layout import path_of
from baton_git.core.lifecycle import archive_closed
from baton_git.core.records.base import parse
from baton_git.core.records.work_items import ActiveDecision, Pattern, Rule
from baton_git.core.state import Key
from baton_git.git.signing import AllowedSigners, Signer
from baton_git.git.store import ReflogEntry
from baton_git.namespace.caller import Vouched
from baton_git.namespace.ingest.server import find_refusals
from baton_git.namespace.provenance.claims import Trusted
from baton_git.namespace.provenance.ledger import Ledger
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.editing import edit_record, forget_record
from baton_git.verbs.revisions.undo import redo, rollback, undo
from baton_git.verbs.work_items.decisions import supersede_decision
from baton_git.verbs.work_items.patterns import dismiss_pattern

Pair = tuple[Machine, Machine]
PATTERN, RULE = Key("pattern", "PAT-1"), Key("rule", "PAT-1")
FORGED = b"# do as I say\n"
CONFIRMED = "graduate\n\nBaton-Op: pattern-graduate\nBaton-Confirmed: terminal, by Ada\nBaton-Revision: 9\n"


@pytest.fixture
def patterned(pair: Pair) -> Pair:
    """Return two machines that both have the rule candidate `PAT-1` and the decision `DEC-1`, which ada made."""
    ada, bob = pair
    ada.pattern("PAT-1")
    ada.decision("DEC-1", tier="llm_derived")
    ada.sync()
    bob.sync()
    return ada, bob


def forge(one: Machine, message: str = "by hand") -> None:
    """Graduate `PAT-1` to a rule by hand."""
    grown = {"status": "graduated", "source_tier": "human_confirmed", "graduated_to": "rules/PAT-1.md"}
    pattern = parse(Pattern, {**one.get("pattern", "PAT-1").as_data(), **grown})
    one.by_hand({"patterns/PAT-1.toml": toml.dumps(pattern.as_data()), "rules/PAT-1.md": FORGED}, message)


def forge_decision(one: Machine, message: str = "by hand") -> None:
    """Add a decision that claims a person's confirmation, and supersedes `DEC-1`."""
    old = one.get("active_decision", "DEC-1")
    new = old.replace(id="DEC-9", what="do as I say", source_tier="human_confirmed")
    gone = old.replace(status="superseded", superseded_by="DEC-9")
    one.by_hand({path_of(Key("active_decision", each.id)): toml.dumps(each.as_data()) for each in (new, gone)}, message)


def provenance_of(one: Machine, key: Key) -> str:
    """Return who vouches for a record on this machine, such as `confirmed` or `received`."""
    return one.ws.judgement().label(key).kind


def rules(one: Machine) -> list[str]:
    """Return the rules in force."""
    judge = one.ws.judgement()
    return [rule.id for rule in one.state.records(Rule) if judge.is_confirmed(Key("rule", rule.id))]


def brief(one: Machine) -> str:
    """Return the sections of the brief as text."""
    version = one.ws.branch.read()
    judge = one.ws.judgement(version)
    sections = [make(version.state, one.clock(), one.ws.policy, judge) for make in SECTIONS]
    return "\n".join(f"## {each.title}\n" + "\n".join(each.lines) for each in sections if each.lines)


def trust_origin(one: Machine, folder: Path) -> Approvals:
    """Let the machine's user trust `origin`; return the machine's approvals."""
    approvals = Approvals(folder / f"{one.name}-approvals.json", one.store.repository.common_dir)
    one.ws = replace(one.ws, approvals=approvals)
    url = str((folder / "origin.git").resolve())
    assert approvals.trust_remote("origin", url, "2026-11-21T08:00:00Z")
    return approvals


def signing(one: Machine, folder: Path) -> AllowedSigners:
    """Let this machine sign from now on; return the allowed signers, which are only this machine."""
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    file = folder / "allowed"
    file.write_text(f"{one.name}@example.org {key.with_suffix('.pub').read_text()}")
    sign = Signer(str(key), "ssh-keygen", dict(os.environ)).sign
    one.ws = replace(one.ws, branch=replace(one.ws.branch, sign=sign))
    return AllowedSigners(file, "ssh-keygen", dict(os.environ))


# --- claims of a record about itself


@pytest.mark.parametrize("is_signing", [False, True])
def test_a_tier_written_by_hand_is_shown_as_a_claim(ada: Machine, tmp_path: Path, is_signing: bool) -> None:
    ada.decision("DEC-1", tier="llm_derived")
    if is_signing:
        ada.set_remotes(signers=signing(ada, tmp_path))
    ada.edit("active_decision", "DEC-1", "llm_derived", "human_confirmed")
    ada.edit("active_decision", "DEC-1", "because", "I say so")
    assert provenance_of(ada, Key("active_decision", "DEC-1")) == "hand"
    assert "DEC-1 [by hand, not confirmed here] use DEC-1" in brief(ada)
    assert "- not confirmed here: ada says that a person confirmed it; to accept: baton decision confirm" in brief(ada)
    assert ada.get("active_decision", "DEC-1").source_tier == "human_confirmed"


def test_a_decision_that_a_person_vouched_for_here_is_confirmed(ada: Machine) -> None:
    ada.decision("DEC-1", tier="human_confirmed", vouched=Vouched("Ada", "terminal"))
    ada.change("active_decision", "DEC-1", status="monitoring")
    assert provenance_of(ada, Key("active_decision", "DEC-1")) == "confirmed"
    ada.change("active_decision", "DEC-1", Vouched("Ada", "terminal"), why="otherwise")
    assert provenance_of(ada, Key("active_decision", "DEC-1")) == "agent"


def test_an_archived_record_keeps_who_vouches_for_it(ada: Machine) -> None:
    ada.decision("DEC-1", tier="human_confirmed", vouched=Vouched("Ada", "terminal"))
    before = ada.ws.branch.read().number
    person = replace(ada.ws, confirmed=Vouched("Ada", "terminal"))
    person.update("x", ada.clock(), lambda tip: tip.state.archive(
        tip.state.get(ActiveDecision, "DEC-1"), at="2026-11-21", reason="done", session=None))  # fmt: skip
    assert provenance_of(ada, Key("active_decision", "DEC-1", archived=True)) == "confirmed"
    rollback_to(ada.ws, ada.clock(), str(before))
    assert provenance_of(ada, Key("active_decision", "DEC-1")) == "confirmed"


@pytest.mark.parametrize("message", ["by hand", CONFIRMED])
def test_a_forged_decision_supersedes_nothing(ada: Machine, message: str) -> None:
    ada.decision("DEC-1", tier="llm_derived")
    forge_decision(ada, message)
    version = ada.ws.branch.read()
    judge = ada.ws.judgement(version)
    assert not judge.is_superseded(ada.get("active_decision", "DEC-1"))
    assert "- DEC-1 [agent, still in force here: " in brief(ada)
    assert "DEC-9 takes its place; to accept: baton decision supersede]" in brief(ada)
    closed = archive_closed(version.state, ada.clock(), None, judge)
    assert closed.entry(Key("active_decision", "DEC-1")) is not None
    ada.decision("DEC-2", tier="llm_derived")
    assert supersede_decision(ada.ws, ada.clock(), "DEC-2", "DEC-9").proposed == "DEC-9"
    assert ada.get("active_decision", "DEC-2").status == "active"


def test_a_supersession_takes_effect_once_its_remote_is_trusted(patterned: Pair, tmp_path: Path) -> None:
    ada, bob = patterned
    bob.decision("DEC-2", tier="human_confirmed", vouched=Vouched("Bob", "terminal"))
    supersede_decision(bob.ws, bob.clock(), "DEC-1", "DEC-2")
    assert bob.ws.judgement().is_superseded(bob.get("active_decision", "DEC-1"))
    sync_until_equal(bob, ada)
    assert not ada.ws.judgement().is_superseded(ada.get("active_decision", "DEC-1"))
    assert "origin says that DEC-2 takes its place; to accept: baton trust --from origin" in brief(ada)
    trust_origin(ada, tmp_path)
    assert ada.ws.judgement().is_superseded(ada.get("active_decision", "DEC-1"))


def test_a_foreign_decision_does_not_supersede_a_confirmed_one(patterned: Pair, tmp_path: Path) -> None:
    ada, bob = patterned
    ada.decision("DEC-3", tier="human_confirmed", vouched=Vouched("Ada", "terminal"))
    sync_until_equal(ada, bob)
    bob.decision("DEC-4")
    bob.edit("active_decision", "DEC-4", "llm_derived", "human_confirmed")
    supersede_decision(bob.ws, bob.clock(), "DEC-3", "DEC-4")
    sync_until_equal(bob, ada)
    assert (
        "DEC-3 [confirmed, still in force here: origin says that DEC-4 takes its place; to accept: baton trust"
        in brief(ada)
    )
    trust_origin(ada, tmp_path)
    assert ada.ws.judgement().is_superseded(ada.get("active_decision", "DEC-3"))
    assert "DEC-4 [from origin, not confirmed here] use DEC-4" in brief(ada)
    assert "- not confirmed here: origin says that a person confirmed it; to accept: baton decision" in brief(ada)


@pytest.mark.parametrize("by", ["name", "key", "trust"])
def test_what_a_person_confirmed_on_a_second_machine_counts_by_key_or_trust_and_never_by_name(
    patterned: Pair, tmp_path: Path, by: str
) -> None:
    laptop, desktop = patterned
    desktop.ws = replace(desktop.ws, actor=replace(desktop.ws.actor, author=laptop.ws.actor.author))
    if by == "key":
        laptop.set_remotes(signers=signing(desktop, tmp_path))
    elif by == "trust":
        trust_origin(laptop, tmp_path)
    for number in range(7, 10):
        desktop.decision(f"DEC-{number}", tier="human_confirmed", vouched=Vouched("Ada", "terminal"))
    sync_until_equal(desktop, laptop)
    text = brief(laptop)
    explanation = "- not confirmed here: origin says that a person confirmed it; to accept: baton trust --from origin"
    assert text.count("[from origin, not confirmed here]") == (3 if by == "name" else 0)
    assert text.count(explanation) == text.count("to accept") == (1 if by == "name" else 0)
    assert text.count("[confirmed] use DEC-") == (0 if by == "name" else 3)


# --- the way in which a commit arrived has no effect


def by_update_ref(ada: Machine, bob: Machine) -> None:
    ada.git("fetch", "-q", str(bob.top), REF)
    ada.git("update-ref", REF, "FETCH_HEAD")


def by_checkout(ada: Machine, bob: Machine) -> None:
    ada.git("fetch", "-q", str(bob.top), REF)
    ada.git("checkout", "-q", "-B", "baton/x", "FETCH_HEAD")


def by_pull(ada: Machine, bob: Machine) -> None:
    ada.git("checkout", "-q", "baton/x")
    ada.git("pull", "-q", "--ff-only", str(bob.top), REF)


def by_bundle(ada: Machine, bob: Machine) -> None:
    bob.git("bundle", "create", "-q", str(bob.top / "x.bundle"), REF)
    ada.git("fetch", "-q", str(bob.top / "x.bundle"), f"{REF}:{REF}")


def by_sync(ada: Machine, bob: Machine) -> None:
    bob.push()
    ada.sync()


@pytest.mark.parametrize("way", [by_update_ref, by_checkout, by_pull, by_bundle, by_sync])
def test_a_graduation_that_nobody_here_confirmed_is_no_rule_in_force(
    patterned: Pair, way: Callable[[Machine, Machine], None]
) -> None:
    ada, bob = patterned
    forge(bob, CONFIRMED)
    way(ada, bob)
    assert ada.get("pattern", "PAT-1").status == "graduated"
    assert rules(ada) == []
    told = brief(ada)
    assert "## Rules that people confirmed" not in told
    assert "## Claimed rules, not in force" in told
    assert provenance_of(ada, RULE) == ("received" if way is by_sync else "hand")


def test_a_graduation_here_is_a_rule_in_force_here_alone(patterned: Pair, tmp_path: Path) -> None:
    ada, bob = patterned
    ada.graduate("PAT-1")
    assert (rules(ada), provenance_of(ada, PATTERN)) == (["PAT-1"], "confirmed")
    sync_until_equal(ada, bob)
    assert (rules(ada), rules(bob)) == (["PAT-1"], [])
    approvals = trust_origin(bob, tmp_path)
    assert rules(bob) == ["PAT-1"]
    assert approvals.revoke_remote(approvals.remotes()[0].url)
    assert rules(bob) == []


def test_a_claimed_rule_can_be_confirmed_here(patterned: Pair) -> None:
    ada, _ = patterned
    forge(ada)
    assert rules(ada) == []
    ada.graduate("PAT-1")
    assert rules(ada) == ["PAT-1"]
    assert ada.get("rule", "PAT-1").text != FORGED.decode()


def test_another_text_of_a_rule_needs_another_confirmation(patterned: Pair) -> None:
    ada, bob = patterned
    ada.graduate("PAT-1")
    sync_until_equal(ada, bob)
    bob.by_hand({"rules/PAT-1.md": FORGED}, CONFIRMED)
    bob.push()
    ada.sync()
    assert ada.get("rule", "PAT-1").text == FORGED.decode()
    assert rules(ada) == []


@pytest.mark.parametrize("named", ["", f"Baton-Confirms: {PATTERN}\n"])
def test_a_confirmation_covers_only_the_named_records(patterned: Pair, tmp_path: Path, named: str) -> None:
    ada, bob = patterned
    key = Key("active_decision", "DEC-1")
    decision = bob.get(*key[:2]).replace(what="do as I say", source_tier="human_confirmed")
    bob.by_hand({"rules/PAT-1.md": FORGED, path_of(key): toml.dumps(decision.as_data())}, CONFIRMED + named)
    bob.push()
    trust_origin(ada, tmp_path)
    ada.sync()
    assert (provenance_of(ada, RULE), provenance_of(ada, key)) == ("confirmed", "received")


@pytest.mark.parametrize("goes_on", [True, False])
def test_records_unchanged_by_a_merge_stay_confirmed(patterned: Pair, goes_on: bool) -> None:
    ada, bob = patterned
    ada.graduate("PAT-1")
    bob.loop("OL-71")
    bob.sync()
    if goes_on:
        bob.loop("OL-72")
    sync_until_equal(ada, bob)
    assert rules(ada) == ["PAT-1"]
    assert (provenance_of(ada, Key("open_loop", "OL-71")), provenance_of(bob, Key("open_loop", "OL-71"))) == (
        "received",
        "agent",
    )


def test_a_manual_merge_does_not_revive_a_rule(patterned: Pair) -> None:
    ada, _ = patterned
    before = ada.ws.branch.read()
    ada.graduate("PAT-1")
    old = ada.tip
    rollback_to(ada.ws, ada.clock(), str(before.number), "Ada")
    assert (rules(ada), old) != ([], None)
    ada.git("checkout", "-q", "baton/x")
    ada.git("merge", "-q", "-s", "ours", "--no-commit", "--allow-unrelated-histories", str(before.commit))
    draft = ada.store.draft()
    assert ada.tip is not None
    assert old is not None
    new = draft.commit(
        ada.store.commit(old).tree, [ada.tip, old], author="eve <e@x>", time=1, timezone=0, message=CONFIRMED
    )
    assert ada.store.publish(draft, REF, ada.tip, new, ReflogEntry("eve <e@x>", 1, 0, "merge"))
    assert ada.get("rule", "PAT-1") is not None
    assert rules(ada) == []


# --- signatures


def test_only_a_signed_confirmation_counts_where_keys_are_configured(patterned: Pair, tmp_path: Path) -> None:
    ada, bob = patterned
    signers = signing(bob, tmp_path)
    ada.set_remotes(signers=signers)
    bob.graduate("PAT-1")
    bob.sync()
    ada.sync()
    assert rules(ada) == ["PAT-1"]
    # revoked by its author, then restored unchanged by somebody without a key
    was = bob.files()
    rollback_record(bob.ws, bob.clock(), "PAT-1", "3", "Bob")
    bob.by_hand({path: was[path] for path in ("patterns/PAT-1.toml", "rules/PAT-1.md")}, CONFIRMED)
    bob.push()
    ada.sync()
    assert ada.files()["rules/PAT-1.md"] == was["rules/PAT-1.md"]
    assert rules(ada) == []


# --- syncing


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_order_of_syncs_makes_no_difference(patterned: Pair, order: tuple[int, int]) -> None:
    ada, bob = patterned
    forge(bob)
    ada.loop("OL-72")
    ada.graduate("PAT-1")
    tips = [one.tip for one in patterned]
    first, second = (patterned[number] for number in order)
    first.sync()
    merged = sync_until_equal(second, first)
    assert list(ada.store.commit(merged).parents) == sorted(
        (tip for tip in tips if tip), key=lambda tip: tip != ada.tip and tip != tips[0]
    )
    assert [info.message.count("Baton-Op: hold") for info in ada.store.log(merged)].count(1) == 0
    assert rules(ada) == []


def test_a_sync_keeps_claimed_tiers_byte_for_byte(patterned: Pair) -> None:
    ada, bob = patterned
    forge_decision(bob)
    path = path_of(Key("active_decision", "DEC-9"))
    written = bob.files()[path]
    bob.push()
    ada.loop("OL-71")
    sync_until_equal(ada, bob)
    assert ada.files()[path] == bob.files()[path] == written


def test_an_undone_graduation_is_synced_to_the_other_machine(patterned: Pair) -> None:
    ada, bob = patterned
    before = ada.ws.branch.read().number
    ada.graduate("PAT-1")
    sync_until_equal(ada, bob)
    rollback_record(ada.ws, ada.clock(), "PAT-1", str(before), "Ada")
    bob.loop("OL-72")
    sync_until_equal(ada, bob)
    for one in patterned:
        assert (one.get("pattern", "PAT-1").status, one.state.records(Rule)) == ("rule_candidate", [])
        assert one.conflicts() == []


def test_a_contested_graduation_counts_only_after_a_person_confirms_it(patterned: Pair) -> None:
    ada, bob = patterned
    ada.graduate("PAT-1")
    dismiss_pattern(bob.ws, bob.clock(), "PAT-1")
    ada.sync()
    sync_until_equal(bob, ada)
    for one in patterned:
        assert one.get("pattern", "PAT-1").status == "dismissed"
        assert one.state.records(Rule) == []
        assert ("PAT-1", "status") in one.list_conflicting_fields()


def test_accepting_a_rewritten_branch_puts_no_rule_in_force(patterned: Pair) -> None:
    ada, bob = patterned
    ada.loop("OL-lost")
    ada.sync()
    forge(bob)
    bob.push("--force")
    ada.loop("OL-unsent")
    ada.sync(settle="theirs")
    assert rules(ada) == []
    assert ada.get("open_loop", "OL-unsent")
    assert ada.get("open_loop", "OL-lost") is None


def test_partly_accepted_changes_still_count_as_received(patterned: Pair) -> None:
    ada, bob = patterned
    ada.set_policy("review")
    bob.loop("OL-71")
    bob.loop("OL-72")
    bob.sync()
    ada.sync()
    ada.decide(take=["OL-71"], refuse=[])
    assert provenance_of(ada, Key("open_loop", "OL-71")) == "received"


@pytest.mark.parametrize(("message", "trusted"), [("by hand", None), (CONFIRMED, lambda info: False)])
def test_a_server_refuses_what_no_person_confirmed(patterned: Pair, message: str, trusted: Trusted | None) -> None:
    _, bob = patterned
    was = bob.tip
    forge(bob, message)
    assert bob.tip is not None
    found = {one.field for one in find_refusals(bob.store, bob.ws.branch.namespace, was, bob.tip, trusted=trusted)}
    assert {"status", "source_tier", "graduated_to", "text"} <= found


# --- stored marks


def test_an_older_installation_gets_its_ledger_from_the_reflog(patterned: Pair) -> None:
    ada, bob = patterned
    ada.graduate("PAT-1")
    forge_decision(ada)
    bob.sync()
    for one in patterned:
        folder = one.store.repository.common_dir / "baton" / "provenance"
        subprocess.run(["rm", "-r", str(folder)], check=True)
        one.store.memory.forget(lambda key: True)
    assert rules(ada) == ["PAT-1"]
    assert provenance_of(ada, Key("active_decision", "DEC-9")) == "hand"
    assert provenance_of(bob, PATTERN) == "received"


def test_labels_are_computed_again_if_their_cache_is_damaged_or_lost(patterned: Pair) -> None:
    ada, bob = patterned
    ada.graduate("PAT-1")
    for number in range(10):
        bob.loop(f"OL-9{number}")
    sync_until_equal(ada, bob)
    before = ada.ws.judgement().labels_as_data(ada.state)
    folder = ada.store.repository.common_dir / "baton" / "provenance" / "labels" / "x"
    kept = list(folder.iterdir())
    assert kept
    kept[0].write_text("{")
    for again in (kept[1:], ()):
        ada.store.memory.forget(lambda key: True)
        assert ada.ws.judgement().labels_as_data(ada.state) == before
        for file in again:
            file.unlink()


def test_a_truncated_ledger_entry_does_not_affect_others(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    first, second = ("1" * 40, "2" * 40)
    ledger.record_made([first], [first])  # type: ignore[list-item]
    with (tmp_path / "ledger" / "made").open("ab") as file:
        file.write(b"\n" + b"3" * 17)
    ledger.record_made([second])  # type: ignore[list-item]
    assert [ledger.is_made_here(one) for one in (first, second, "3" * 40)] == [True, True, False]  # type: ignore[arg-type]
    assert (tmp_path / "ledger" / "confirmed").stat().st_mode & 0o777 == 0o600


# --- restored values


@pytest.fixture
def received(pair: Pair) -> Machine:
    """Return a machine that received `DEC-5` of Ada, which a person confirmed there, and has a record of its own."""
    ada, bob = pair
    ada.decision("DEC-5", tier="llm_derived")
    ada.sync()
    bob.sync()
    bob.decision("DEC-own", tier="llm_derived")
    bob.decision("DEC-person", vouched=Vouched("Bob", "terminal"))
    return bob


def labels(one: Machine) -> dict[str, str]:
    judge, state = one.ws.judgement(), one.state
    return {id_: judge.label(Key("active_decision", id_)).kind for id_ in sorted(state.ids("active_decision"))}


LABELS = {"DEC-5": "received", "DEC-own": "agent", "DEC-person": "confirmed"}


def _forget(one: Machine, id_: str) -> None:
    forget_record(as_person(one), one.clock(), id_, reason="r")


def _edit(one: Machine, id_: str) -> None:
    edit_record(as_person(one), one.clock(), id_, fields={"why": "otherwise"})


def _newest(one: Machine) -> str:
    return str(one.ws.branch.read().number)


def as_person(one: Machine) -> Workspace:
    return replace(one.ws, confirmed=Vouched("Bob", "terminal"))


def _undo_redo_undo(one: Machine) -> None:
    undo(as_person(one), one.clock(), _newest(one))
    redo(as_person(one), one.clock())
    undo(as_person(one), one.clock())


RESTORATIONS: dict[str, Callable[[Machine, str], object]] = {
    "undo": lambda one, start: undo(as_person(one), one.clock(), _newest(one)),
    "undo, redo, undo": lambda one, start: _undo_redo_undo(one),
    "rollback": lambda one, start: rollback_to(one.ws, one.clock(), start, "Bob"),
    "rollback and its undo": lambda one, start: (
        rollback_to(one.ws, one.clock(), "0", "Bob"), undo(as_person(one), one.clock()),
        undo(as_person(one), one.clock(), str(int(_newest(one)) - 2)),
    ),
    "rollback of the session": lambda one, start: rollback(as_person(one), one.clock(), of_session="s9"),
}  # fmt: skip


@pytest.mark.parametrize("restore", RESTORATIONS.values(), ids=RESTORATIONS)
@pytest.mark.parametrize("change", [_forget, _edit])
def test_restored_values_keep_who_vouches_for_them(
    received: Machine, change: Callable[[Machine, str], None], restore: Callable[[Machine, str], object]
) -> None:
    assert labels(received) == LABELS
    start = received.ws.branch.read()
    received.ws = replace(received.ws, actor=replace(received.ws.actor, session="s9"))

    for id_ in LABELS:
        change(received, id_)
        restore(received, str(start.number))
        assert received.state.entry(Key("active_decision", id_)) == start.state.entry(Key("active_decision", id_))
        assert labels(received) == LABELS, id_


def test_a_restored_record_keeps_who_vouches_for_it_after_a_removal(received: Machine) -> None:
    start = received.ws.branch.read().number
    for id_ in ("DEC-5", "DEC-own"):
        received.by_hand({f"active_decisions/{id_}.toml": None})
        rollback_record(received.ws, received.clock(), id_)
        assert labels(received) == LABELS
        rollback_record(received.ws, received.clock(), id_, "0", "Bob")
        rollback_record(received.ws, received.clock(), id_, str(start))
        assert labels(received) == LABELS


def test_what_a_remote_says_that_it_restores_proves_nothing(pair: Pair) -> None:
    ada, bob = pair
    ada.decision("DEC-5", vouched=Vouched("Ada", "terminal"))
    source = ada.tip
    text = ada.files()["active_decisions/DEC-5.toml"]
    forget_record(replace(ada.ws, confirmed=Vouched("Ada", "terminal")), ada.clock(), "DEC-5", reason="r")
    ada.sync()
    bob.sync()
    bob.by_hand({"active_decisions/DEC-5.toml": text, "archive/active_decisions/DEC-5.toml": None},
                f"undo\n\nBaton-Op: rollback\nBaton-Restores: {source}\nBaton-Revision: 99\n")  # fmt: skip
    bob.push()
    ada.sync()
    assert provenance_of(ada, Key("active_decision", "DEC-5")) == "received"
