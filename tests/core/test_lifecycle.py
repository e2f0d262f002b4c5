"""The lifecycle of records: the rules of session-baton's specification and of ACA, each as a table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from looped_cases import for_each
from strategies import any_small_record, decision, item, laws, loop, pattern

from baton_git.core import layout
from baton_git.core.errors import InvalidArgument, NeedsHuman, NotAllowed
from baton_git.core.lifecycle import (
    DECISION_STATUSES,
    DECLARED,
    MOST_CLOSED,
    Confirmed,
    apply_check,
    apply_deferral,
    apply_dismissal,
    apply_graduation,
    apply_monitoring,
    apply_proposal,
    apply_supersession,
    archive_closed,
    choose_verified,
    deadline,
    describe_sightings,
    hold_claims,
    is_due,
    may_supersede,
    propose_when_due,
    record_recurrence,
    settle_state,
)
from baton_git.core.policy import Policy
from baton_git.core.records.base import TIERS, Archived, Record
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import ActiveDecision, FollowUp, LastCheck, OpenLoop, Pattern, Rule
from baton_git.core.sessions import record_session
from baton_git.core.state import Key, State, key_of
from baton_git.core.times import iso

NOW = datetime(2026, 11, 21, 8, 14, 19, tzinfo=UTC)
POLICY = Policy()
PAIRS = [*product(TIERS, TIERS)]
ADA = Confirmed("Ada", "terminal", "PAT-1", "Read first")


# --- open loops


@for_each(
    ("created_at", "ttl_days", "last", "first"),
    [
        ("2026-11-01", 7, "2026-11-08T23:59:59+00:00", "2026-11-09T00:00:00+00:00"),
        ("2026-11-01", 0, "2026-11-01T23:59:59+00:00", "2026-11-02T00:00:00+00:00"),
        ("2026-11-01T12:00:00Z", 1, "2026-11-02T11:59:59+00:00", "2026-11-02T12:00:00+00:00"),
        ("2026-11-01T12:00:00+02:00", 1, "2026-11-02T09:59:59+00:00", "2026-11-02T10:00:00+00:00"),
        ("2026-11-01 12:00:00", 1, "2026-11-02T11:59:59+00:00", "2026-11-02T12:00:00+00:00"),
        ("2024-02-28", 1, "2024-02-29T23:59:59+00:00", "2024-03-01T00:00:00+00:00"),
    ],
)
def test_a_loop_is_due_when_its_days_are_over(created_at: str, ttl_days: int, last: str, first: str) -> None:
    one = loop(created_at=created_at, ttl_days=ttl_days)
    assert not is_due(one, datetime.fromisoformat(last))
    assert is_due(one, datetime.fromisoformat(first))


@for_each("created_at", ["", "yesterday", "2026-13-01", "9999-12-31"])
def test_a_loop_without_a_date_never_expires(created_at: str) -> None:
    assert deadline(loop(created_at=created_at)) is None
    assert not is_due(loop(created_at=created_at), NOW)


@pytest.mark.parametrize("ttl_days", [10**9, 2**70])
def test_a_ttl_beyond_the_calendar_never_expires(ttl_days: int) -> None:
    assert deadline(loop(ttl_days=ttl_days)) is None


@for_each(
    ("status", "after"),
    [("open", "escalated"), ("verified", "verified"), ("failed", "failed"), ("escalated", "escalated")],
)
def test_only_an_open_loop_is_escalated_when_it_expires(status: str, after: str) -> None:
    settled = settle_state(State().put(loop(status=status)), NOW, POLICY)
    assert settled.get(OpenLoop, "OL-1").status == after


@for_each("before", ["open", "verified", "failed", "escalated"])
@for_each(("result", "after"), [("passed", "verified"), ("failed", "failed"), ("unknown", None)])
def test_a_check_decides_the_status_and_an_unknown_result_changes_none(
    before: str, result: str, after: str | None
) -> None:
    found = LastCheck.model_validate({"result": result, "at": iso(NOW)})
    one = apply_check(loop(status=before), found)
    assert one.status == (after or before)
    assert one.last_check == found


# --- follow-ups


def test_the_priority_rises_at_three_and_five_deferrals() -> None:
    one, seen = item(), []
    for _ in range(6):
        one = apply_deferral(one, NOW, POLICY)
        seen.append((one.defer_count, one.priority))
    levels = ["normal", "normal", "elevated", "elevated", "escalated", "escalated"]
    assert seen == list(zip(range(1, 7), levels, strict=True))
    assert one.last_deferred == "2026-11-21T08:14:19Z"


@pytest.mark.parametrize("priority", ["normal", "elevated", "escalated"])
def test_a_priority_never_falls(priority: str) -> None:
    order = ("normal", "elevated", "escalated")
    for count in range(8):
        one = apply_deferral(item(defer_count=count, priority=priority), NOW, POLICY)
        assert order.index(one.priority) >= order.index(priority)


def test_a_new_deferral_reason_replaces_the_old_and_none_keeps_it() -> None:
    assert apply_deferral(item(reason="old"), NOW, POLICY, "new").reason == "new"
    assert apply_deferral(item(reason="old"), NOW, POLICY).reason == "old"
    assert apply_deferral(item(reason="old"), NOW, POLICY, "").reason == ""


def test_policy_numbers_can_be_configured() -> None:
    policy = Policy(elevate_at=1, escalate_at=2)
    one = apply_deferral(item(), NOW, policy)
    assert one.priority == "elevated"
    assert apply_deferral(one, NOW, policy).priority == "escalated"


@for_each(("count", "priority"), [(2, "normal"), (3, "elevated"), (4, "elevated"), (5, "escalated"), (99, "escalated")])
def test_a_defer_count_in_a_document_sets_the_priority(count: int, priority: str) -> None:
    settled = settle_state(State().put(item(defer_count=count)), NOW, POLICY)
    assert settled.get(FollowUp, "FU-1").priority == priority


# --- patterns


def test_the_count_continues_and_the_newest_five_occurrences_are_kept() -> None:
    one = pattern(count=1, threshold=99)
    for number in range(8):
        one = record_recurrence(one, f"s{number}", f"c{number}", NOW)
    assert one.count == 9
    assert [(seen.session, seen.context) for seen in one.recent_occurrences] == [
        (f"s{n}", f"c{n}") for n in range(3, 8)
    ]
    assert one.last_seen == "2026-11-21T08:14:19Z"
    assert one.first_seen == "2026-11-01"


def test_unknown_fields_of_an_occurrence_survive_the_next_one() -> None:
    one = pattern(recent_occurrences=[{"session": "s", "context": "c", "cost": None}])
    assert record_recurrence(one, "t", "d", NOW).as_data()["recent_occurrences"][0] == {
        "session": "s",
        "context": "c",
        "cost": None,
    }


@for_each(
    ("threshold", "count", "status"),
    [
        (3, 2, "observing"),
        (3, 3, "rule_candidate"),
        (3, 9, "rule_candidate"),
        (1, 1, "rule_candidate"),
        (9, 8, "observing"),
    ],
)
def test_a_rule_is_proposed_at_the_threshold(threshold: int, count: int, status: str) -> None:
    one = propose_when_due(pattern(threshold=threshold, count=count))
    assert one.status == status
    assert bool(one.proposed_rule) == (status == "rule_candidate")
    assert (
        settle_state(State().put(pattern(threshold=threshold, count=count)), NOW, POLICY).get(Pattern, "PAT-1") == one
    )


@pytest.mark.parametrize("status", ["rule_candidate", "graduated", "dismissed"])
def test_a_pattern_that_is_no_longer_observed_is_not_proposed(status: str) -> None:
    one = pattern(status=status, count=99)
    assert propose_when_due(one) is one
    assert record_recurrence(one, "s", "c", NOW).status == status


def test_an_existing_rule_proposal_is_kept() -> None:
    assert propose_when_due(pattern(count=3, proposed_rule="mine")).proposed_rule == "mine"
    assert apply_proposal(pattern(), "now").proposed_rule == "now"
    assert apply_proposal(pattern(), "now").status == "rule_candidate"


@pytest.mark.parametrize("status", ["graduated", "dismissed"])
def test_no_rule_is_proposed_for_a_settled_pattern(status: str) -> None:
    with pytest.raises(NotAllowed, match=status):
        apply_proposal(pattern(status=status), "x")


@pytest.mark.parametrize("status", ["observing", "rule_candidate", "dismissed"])
def test_a_pattern_can_be_dismissed_unless_it_is_a_rule(status: str) -> None:
    assert apply_dismissal(pattern(status=status)).status == "dismissed"
    with pytest.raises(NotAllowed, match="graduated"):
        apply_dismissal(pattern(status="graduated"))


def test_only_a_person_makes_a_rule() -> None:
    one = pattern(status="rule_candidate", proposed_rule="Read first", source_tier="human_confirmed")
    with pytest.raises(NeedsHuman):
        apply_graduation(State().put(one), one, None, NOW)


@pytest.mark.parametrize("status", ["observing", "graduated", "dismissed"])
def test_only_a_candidate_graduates_even_if_a_person_confirms(status: str) -> None:
    one = pattern(status=status, proposed_rule="x")
    with pytest.raises(NotAllowed, match=status):
        apply_graduation(State().put(one), one, ADA, NOW)


@pytest.mark.parametrize("shown", [{"pattern": "PAT-2"}, {"rule": "Read last"}, {"what": "something else"}])
def test_a_person_confirms_exactly_what_was_shown(shown: dict[str, Any]) -> None:
    one = pattern(status="rule_candidate", proposed_rule="Read first")
    with pytest.raises(NotAllowed, match="changed while you were asked"):
        apply_graduation(State().put(one), one, ADA._replace(**shown), NOW)


@pytest.mark.parametrize("rule", [None, ""])
def test_a_candidate_without_a_proposed_rule_cannot_graduate(rule: str | None) -> None:
    one = pattern(status="rule_candidate", proposed_rule=rule)
    with pytest.raises(NotAllowed, match="no proposed rule"):
        apply_graduation(State().put(one), one, ADA, NOW)
    given = ADA._replace(rule="given now")
    assert (
        apply_graduation(State().put(one), one, given, NOW, "given now").get(Pattern, "PAT-1").proposed_rule
        == "given now"
    )


@for_each("id_", ["PAT-1", "a/b", "..", "名"])
def test_a_graduated_pattern_is_human_confirmed_and_names_the_file_of_its_rule(id_: str) -> None:
    one = pattern(id=id_, status="rule_candidate", proposed_rule="Read first", count=4)
    state = apply_graduation(State().put(one), one, ADA._replace(pattern=id_), NOW)
    grown = state.get(Pattern, id_)
    assert (grown.status, grown.source_tier) == ("graduated", "human_confirmed")
    rule = state.get(Rule, id_)
    assert grown.graduated_to in layout.encode({Key("rule", id_): rule})
    assert "Read first" in rule.text
    assert "Seen 4 times, on 2026-11-01. Confirmed by Ada (terminal) on 2026-11-21." in rule.text


def test_the_days_of_a_pattern_are_in_order_and_without_times() -> None:
    times = {"first_seen": "2026-11-28T16:44:24.767253Z", "last_seen": "2026-11-28T16:44:24Z"}
    assert describe_sightings(pattern(count=1, **times)) == "seen once, on 2026-11-28"
    times = {"first_seen": "2026-11-27", "last_seen": "2026-11-28T01:00:00+02:00"}
    assert describe_sightings(pattern(count=2, **times)) == "seen 2 times, on 2026-11-27"
    assert describe_sightings(pattern(count=3, first_seen="2026-11-29", last_seen="2026-11-27")).endswith(
        "2026-11-27 to 2026-11-29"
    )


@laws
@given(st.lists(any_small_record, max_size=4), st.integers(-40_000, 40_000))
def test_time_and_counts_never_graduate_and_never_change_trust(records: list[Record], days: int) -> None:
    state = State()
    for record in records:
        state = state.put(record)
    settled = settle_state(state, NOW + timedelta(days=days), POLICY)
    for before in state.records(Pattern):
        after = settled.get(Pattern, before.id)
        assert after.status != "graduated" or before.status == "graduated"
        assert after.source_tier == before.source_tier
    assert settle_state(settled, NOW + timedelta(days=days), POLICY) is settled


# --- decisions


@for_each(("target", "by"), PAIRS)
def test_a_decision_may_supersede_another_unless_both_are_derived_by_a_model(target: str, by: str) -> None:
    old, new = decision(source_tier=target), decision(id="DEC-2", source_tier=by)
    forbidden = (target, by) == ("llm_derived", "llm_derived")
    assert may_supersede(target, by) != forbidden
    if forbidden:
        with pytest.raises(NotAllowed, match="derived by a model"):
            apply_supersession(old, new, DECLARED)
    else:
        done = apply_supersession(old, new, DECLARED)
        assert (done.status, done.superseded_by) == ("superseded", "DEC-2")


@pytest.mark.parametrize("status", ["active", "monitoring"])
def test_decisions_only_move_forward(status: str) -> None:
    assert apply_monitoring(decision(status=status)).status == "monitoring"
    assert apply_supersession(decision(status=status), decision(id="DEC-2"), DECLARED).status == "superseded"
    gone = decision(status="superseded", superseded_by="DEC-2")
    with pytest.raises(NotAllowed, match="superseded"):
        apply_monitoring(gone)
    with pytest.raises(NotAllowed, match="superseded already, by DEC-2"):
        apply_supersession(gone, decision(id="DEC-3"), DECLARED)


def test_a_decision_is_not_superseded_by_itself_or_a_superseded_one() -> None:
    with pytest.raises(InvalidArgument, match="itself"):
        apply_supersession(decision(), decision(what="else"), DECLARED)
    with pytest.raises(NotAllowed, match="superseded itself, by DEC-3"):
        apply_supersession(decision(), decision(id="DEC-2", status="superseded", superseded_by="DEC-3"), DECLARED)


# --- archiving


def test_verified_loops_and_superseded_decisions_go_to_the_archive_and_nothing_else() -> None:
    state = State()
    for status in ("open", "verified", "failed", "escalated"):
        state = state.put(loop(id=status, status=status))
    for status in DECISION_STATUSES:
        state = state.put(decision(id=status, status=status, superseded_by="D2" if status == "superseded" else None))
    for status in ("graduated", "dismissed"):
        state = state.put(pattern(id=status, status=status))
    done = archive_closed(state.put(item(priority="escalated")), NOW, "s2", DECLARED)
    assert done.ids("open_loop") == {"open", "failed", "escalated"}
    assert done.ids("active_decision") == {"active", "monitoring"}
    assert done.ids("pattern") == {"graduated", "dismissed"}
    assert done.ids("follow_up") == {"FU-1"}
    closed = [
        done.entry(Key(kind, id_, archived=True))
        for kind, id_ in (("open_loop", "verified"), ("active_decision", "superseded"))
    ]
    found = [(one.reason, one.session, one.at) for one in closed if isinstance(one, Archived)]
    assert found == [("verified", "s2", iso(NOW)), ("superseded by D2", "s2", iso(NOW))]
    assert archive_closed(done, NOW, "s2", DECLARED) is done


class _Believes:
    """Believes that the decisions with these ids are superseded."""

    def __init__(self, ids: set[str]) -> None:
        self.ids = ids

    def is_superseded(self, decision: Any) -> bool:
        return decision.id in self.ids

    def tier(self, key: Key, declared: str) -> str:
        return declared


def test_a_start_archives_a_bounded_number_of_closed_records_and_the_next_starts_the_rest() -> None:
    many = MOST_CLOSED + 50
    records: list[Record] = [loop(id=f"OL-{number}", status="verified") for number in range(many)]
    records += [decision(id=f"DEC-{number}", status="superseded") for number in range(many)]
    state = State(edits={key_of(record): record for record in records})
    first, other = (archive_closed(state, NOW, session, DECLARED) for session in ("s1", "s2"))
    kinds = ("open_loop", "active_decision")
    assert [len(first.ids(kind, archived=True)) for kind in kinds] == [MOST_CLOSED, MOST_CLOSED]
    assert first.ids("open_loop", archived=True) == {one.id for one in choose_verified(state, "s1")}
    assert all(first.ids(kind) != other.ids(kind) for kind in kinds)
    assert not any(archive_closed(first, NOW, "s3", DECLARED).ids(kind) for kind in kinds)


def test_decisions_that_are_not_believed_superseded_do_not_keep_the_others_from_the_archive() -> None:
    records = [decision(id=f"DEC-{number:03}", status="superseded") for number in range(2 * MOST_CLOSED)]
    state, believed = State(edits={key_of(record): record for record in records}), {"DEC-198", "DEC-199"}
    for number in range(30):
        state = archive_closed(state, NOW, f"s{number}", _Believes(believed))
    assert state.ids("active_decision", archived=True) == believed


def test_ids_used_again_after_archiving_do_not_overwrite_the_older_entry() -> None:
    state = State()
    for number in range(3):
        state = archive_closed(state.put(loop(action=str(number), status="verified")), NOW, None, DECLARED)
    entries = [
        state.entry(Key("open_loop", id_, archived=True)) for id_ in sorted(state.ids("open_loop", archived=True))
    ]
    assert [one.record["action"] for one in entries if isinstance(one, Archived)] == ["0", "1", "2"]


def test_all_but_the_newest_sessions_are_archived_but_never_the_session_that_is_recorded() -> None:
    policy = Policy(sessions_kept=3)
    state = State()
    for day in range(1, 7):
        state = record_session(state, Session(id=f"s{day}", started=f"2026-11-0{day}"), NOW, policy)
    assert [one.id for one in state.records(Session)] == ["s4", "s5", "s6"]
    assert state.ids("session", archived=True) == {"s1", "s2", "s3"}
    late = record_session(state, Session(id="s0", started="2026-01-01"), NOW, policy)
    assert "s0" in late.ids("session")


# --- claims without a valid confirmation


def hold(
    base: Record | None, claim: Record, tiers: dict[str, str] | None = None
) -> tuple[Any, dict[str, tuple[Any, Any]]]:
    """Return the record that is kept, and by field the claimed and the kept value of each claim that was held back."""
    kept, held = hold_claims(base, claim, (tiers or {}).get)
    return kept, {one.field: (one.claimed, one.kept) for one in held}


@for_each(("before", "after"), [*product((None, *TIERS), TIERS)])
def test_a_document_never_lowers_a_tier_and_never_raises_one_to_human_confirmed(before: str | None, after: str) -> None:
    base = item(source_tier=before) if before else None
    kept, held = hold(base, item(source_tier=after))
    allowed = before is None or before == after or (before, after) == ("raw_source", "llm_derived")
    assert kept.source_tier == (after if allowed else before)
    assert ("source_tier" in held) != allowed


def test_an_absent_tier_counts_as_its_default() -> None:
    kept, held = hold(item(source_tier="human_confirmed"), item())
    assert (kept.source_tier, held) == ("human_confirmed", {"source_tier": ("llm_derived", "human_confirmed")})
    assert hold(decision(), decision(source_tier="llm_derived"))[0].source_tier == "human_confirmed"


@for_each("base_status", [None, "observing", "rule_candidate", "dismissed"])
@for_each("tier", TIERS)
def test_a_document_cannot_graduate_a_pattern(base_status: str | None, tier: str) -> None:
    base = pattern(status=base_status) if base_status else None
    claim = pattern(status="graduated", source_tier=tier, graduated_to="rules/PAT-1.md")
    kept, held = hold(base, claim)
    stays = "dismissed" if base_status == "dismissed" else "rule_candidate"
    assert (kept.status, kept.graduated_to) == (stays, None)
    assert kept.source_tier != "human_confirmed"
    assert held["status"] == ("graduated", stays)
    assert held["graduated_to"] == ("rules/PAT-1.md", None)


def test_a_document_that_repeats_a_graduation_has_no_held_claims() -> None:
    done = pattern(status="graduated", source_tier="human_confirmed", graduated_to="rules/PAT-1.md", count=3)
    kept, held = hold(done, done.replace(count=4))
    assert (kept.count, kept.status, held) == (4, "graduated", {})


@pytest.mark.parametrize("status", ["observing", "rule_candidate", "dismissed"])
def test_a_document_cannot_end_a_rule(status: str) -> None:
    done = pattern(status="graduated", source_tier="human_confirmed", graduated_to="rules/PAT-1.md")
    kept, held = hold(done, pattern(status=status))
    assert (kept.status, kept.graduated_to, kept.source_tier) == ("graduated", "rules/PAT-1.md", "human_confirmed")
    assert set(held) == {"status", "graduated_to", "source_tier"}


@pytest.mark.parametrize("status", ["observing", "rule_candidate", "dismissed"])
def test_a_document_may_change_other_fields_of_a_pattern(status: str) -> None:
    claim = pattern(status=status, count=9, proposed_rule="x", extra=None)
    assert hold(pattern(), claim) == (claim, {})
    assert hold(None, claim) == (claim, {})


@for_each(("before", "after"), [*product(DECISION_STATUSES, DECISION_STATUSES)])
def test_a_document_moves_decisions_forward_only(before: str, after: str) -> None:
    kept, held = hold(decision(status=before), decision(status=after))
    back = DECISION_STATUSES.index(after) < DECISION_STATUSES.index(before)
    assert kept.status == (before if back else after)
    assert bool(held) == back


@for_each(("target", "by"), PAIRS)
@for_each("known", [True, False])
def test_documents_follow_the_same_rules_of_supersession(target: str, by: str, known: bool) -> None:
    base = decision(source_tier=target) if known else None
    claim = decision(source_tier=target, status="superseded", superseded_by="DEC-2")
    kept, held = hold(base, claim, {"DEC-2": by})
    forbidden = (target, by) == ("llm_derived", "llm_derived")
    assert kept.status == ("active" if forbidden else "superseded")
    assert kept.superseded_by == (None if forbidden else "DEC-2")
    assert bool(held) == forbidden


def test_a_decision_whose_change_is_held_back_keeps_superseded_by() -> None:
    base = decision(status="superseded", superseded_by="DEC-2")
    for claim in (decision(status="active"), decision(status="monitoring", superseded_by="DEC-3")):
        kept, held = hold(base, claim)
        assert (kept.status, kept.superseded_by) == ("superseded", "DEC-2")
        assert set(held) == {"status", "superseded_by"}


def test_a_document_cannot_replace_a_confirmed_superseding_decision_by_a_derived_one() -> None:
    base = decision(source_tier="llm_derived", status="superseded", superseded_by="DEC-2")
    kept, held = hold(base, base.replace(superseded_by="DEC-3"), {"DEC-2": "human_confirmed", "DEC-3": "llm_derived"})
    assert (kept.status, kept.superseded_by) == ("superseded", "DEC-2")
    assert held == {"superseded_by": ("DEC-3", "DEC-2")}


def test_a_decision_cannot_claim_trust_to_be_superseded() -> None:
    base = decision(source_tier="llm_derived")
    claim = decision(source_tier="human_confirmed", status="superseded", superseded_by="DEC-2")
    kept, held = hold(base, claim, {"DEC-2": "llm_derived"})
    assert (kept.status, kept.superseded_by, kept.source_tier) == ("active", None, "llm_derived")
    assert set(held) == {"source_tier", "status", "superseded_by"}


def test_claims_that_are_allowed_are_unchanged() -> None:
    claim = decision(status="monitoring", evidence=["new"], extra={"a": None})
    kept, held = hold(decision(), claim)
    assert kept is claim
    assert held == {}


def test_a_document_can_repeat_but_not_change_the_result_of_a_probe() -> None:
    found = {"result": "passed", "at": "2026-11-21", "by": "probe"}
    base = loop(last_check=found)
    assert hold(base, base) == (base, {})
    for before, claim in ((base, loop(last_check={**found, "result": "failed"})), (loop(), base)):
        kept, held = hold(before, claim)
        assert (kept, set(held)) == (before, {"last_check"})
    by_hand = loop(last_check={**found, "by": "human"})
    assert hold(base, by_hand) == (by_hand, {})


@laws
@given(any_small_record, any_small_record)
def test_holding_back_claims_is_idempotent_and_never_exceeds_the_base(base: Record, claim: Record) -> None:
    if base.kind != claim.kind:
        return
    base = base.replace(id=claim.id)
    kept, _ = hold_claims(base, claim, lambda _: None)
    again, held = hold_claims(base, kept, lambda _: None)
    assert (again.as_data(), held) == (kept.as_data(), [])
    assert getattr(kept, "status", "") != "graduated" or getattr(base, "status", "") == "graduated"
    if isinstance(kept, ActiveDecision) and isinstance(base, ActiveDecision):
        assert DECISION_STATUSES.index(kept.status) >= DECISION_STATUSES.index(base.status)
    tiers = [TIERS.index(getattr(one, "source_tier")) for one in (base, kept)]  # noqa: B009
    assert tiers[1] >= tiers[0]
    assert tiers[1] == tiers[0] or tiers[1] != TIERS.index("human_confirmed")


def test_times_are_written_in_utc_to_the_second() -> None:
    east = timezone(timedelta(hours=9))
    assert iso(datetime(2026, 11, 21, 17, 14, 19, 999, tzinfo=east)) == "2026-11-21T08:14:19Z"
