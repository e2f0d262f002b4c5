"""The lifecycle rules of records, as pure functions `(state, event, now) → state`.

Sources of the rules: session-baton's specification (expiry, escalation at 3 and 5 deferrals, the newest five
occurrences, a rule proposed at the threshold, the Anti-Ouroboros gate: only a person makes a rule), and the trust rules
of ACA, the Agent Civilization Architecture (https://github.com/MakiDevelop/agent-civilization-architecture): tiers
never decrease, a model-derived decision never supersedes another model-derived one, a decision never returns to an
earlier status. `now` is always an aware `datetime` in UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from baton_git.core.errors import InvalidArgument, NeedsHuman, NotAllowed
from baton_git.core.names import RecordId
from baton_git.core.outlines import DecisionOutline, FollowUpOutline, LoopOutline
from baton_git.core.output import count_times
from baton_git.core.policy import Policy
from baton_git.core.records.base import TIERS, Record, parse
from baton_git.core.records.work_items import (
    OCCURRENCES,
    ActiveDecision,
    FollowUp,
    LastCheck,
    Occurrence,
    OpenLoop,
    Pattern,
    Rule,
)
from baton_git.core.state import Key, Selection, State, key_of
from baton_git.core.times import iso, parse_time, parse_time_or_none

PRIORITIES = ("normal", "elevated", "escalated")
DECISION_STATUSES = ("active", "monitoring", "superseded")
_MOST_CHOSEN_FROM = 500
"""Number of the oldest records from which those to archive are chosen."""
MOST_ARCHIVED = 2
"""Maximum number of old records of one kind that a session archives at once, so that it archives more than it adds."""
MOST_CLOSED = 100
"""Maximum number of closed records of one kind that a session start archives. To archive 10,000 takes minutes."""
Model = TypeVar("Model", bound=Record)


class Confirmed(NamedTuple):
    """A person's confirmation of a rule on this machine, created only by the interface that received it.

    Attributes:
        pattern: the id of the pattern.
        rule: the text of the rule that the person was shown.
        what: the failure that the person was shown; None if it was not shown.
    """

    by: str
    how: Literal["terminal", "page", "signature", "client"]
    pattern: str
    rule: str
    what: str | None = None

    def covers(self, pattern: Pattern, rule: str) -> bool:
        """Whether the person confirmed this rule for this pattern, and the failure is still as it was shown."""
        shown = pattern.what if self.what is None else self.what
        return (self.pattern, self.rule, shown) == (pattern.id, rule, pattern.what)


# --- open loops

WAITS = "its check waits for a person's approval"


def deadline(loop: OpenLoop | LoopOutline) -> datetime | None:
    """Return when the loop expires; None if `created_at` is not a date. A date without a time means its end."""
    try:
        created = parse_time(loop.created_at)
        if len(loop.created_at) <= len("2026-11-21"):
            created += timedelta(days=1)
        return created + timedelta(days=loop.ttl_days)
    except (ValueError, OverflowError):
        return None


def is_due(loop: OpenLoop | LoopOutline, now: datetime) -> bool:
    """Whether the loop is open and has expired."""
    end = deadline(loop)
    return loop.status == "open" and end is not None and now >= end


def is_overdue(loop: OpenLoop | LoopOutline, now: datetime) -> bool:
    """Whether the loop has expired without a result, and whether or not a start has escalated it since."""
    return loop.status == "escalated" or is_due(loop, now)


def apply_check(loop: OpenLoop, check: LastCheck) -> OpenLoop:
    """Return the loop with the result of a check.

    `passed` makes the loop verified, and `failed` makes it failed; `unknown` does not change its status.
    """
    status = {"passed": "verified", "failed": "failed"}.get(check.result)
    return loop.replace(last_check=check, **({"status": status} if status else {}))


CODE_METHODS = ("git_commit", "file_exists", "command")
"""The check methods whose result a commit or a checkout of the code can change."""


def waits_for_code(loop: OpenLoop) -> bool:
    """Whether a change of the code can change the result of this loop's check."""
    return loop.status != "verified" and loop.verify is not None and loop.verify.method in CODE_METHODS


# --- follow-ups


def apply_deferral(item: FollowUp, now: datetime, policy: Policy, reason: str | None = None) -> FollowUp:
    """Return the follow-up deferred once more. Its priority rises at `elevate_at` and `escalate_at` and never falls."""
    count = item.defer_count + 1
    later = item.replace(
        defer_count=count, last_deferred=iso(now), priority=_raise_priority(item.priority, count, policy)
    )
    return later.replace(reason=reason) if reason is not None else later


def _raise_priority(priority: str, count: int, policy: Policy) -> str:
    level = 2 if count >= policy.escalate_at else 1 if count >= policy.elevate_at else 0
    return PRIORITIES[max(level, PRIORITIES.index(priority))]


# --- patterns


def record_recurrence(pattern: Pattern, session: str, context: str, now: datetime) -> Pattern:
    """Return the pattern with one more occurrence. It keeps the newest five, and proposes a rule at the threshold."""
    occurrences = (*pattern.recent_occurrences, Occurrence(session=session, context=context))[-OCCURRENCES:]
    again = pattern.replace(
        count=pattern.count + 1,
        last_seen=iso(now),
        recent_occurrences=[occurrence.as_data() for occurrence in occurrences],
    )
    return propose_when_due(again)


def _is_rule_due(status: str, count: int, threshold: int) -> bool:
    """Whether a pattern is `observing` and has reached the threshold, so that a rule is to be proposed."""
    return status == "observing" and count >= threshold


def propose_when_due(pattern: Pattern) -> Pattern:
    """Return the pattern with a proposed rule if it is `observing` and has reached the threshold, else unchanged."""
    if not _is_rule_due(pattern.status, pattern.count, pattern.threshold):
        return pattern
    rule = pattern.proposed_rule or f"Rule this out before acting: {pattern.what}"
    return pattern.replace(status="rule_candidate", proposed_rule=rule)


def apply_proposal(pattern: Pattern, rule: str) -> Pattern:
    """Return the pattern as a rule candidate with `rule`, regardless of its count.

    Raises:
        NotAllowed: the pattern is graduated or dismissed.
    """
    if pattern.status in ("graduated", "dismissed"):
        hint = f"baton reopen {pattern.id} sets it back to observing" if pattern.status == "dismissed" else ""
        raise NotAllowed(f"pattern {pattern.id} is {pattern.status}, so no rule can be proposed for it", hint=hint)
    return pattern.replace(status="rule_candidate", proposed_rule=rule)


def apply_dismissal(pattern: Pattern) -> Pattern:
    """Return the pattern as dismissed. Raises NotAllowed if it is graduated."""
    if pattern.status == "graduated":
        hint = f"to archive it together with its rule: baton forget {pattern.id} --reason TEXT"
        raise NotAllowed(f"pattern {pattern.id} is graduated, so it cannot be dismissed", hint=hint)
    return pattern.replace(status="dismissed")


def apply_graduation(
    state: State, pattern: Pattern, confirmed: Confirmed | None, now: datetime, rule: str | None = None,
    *, is_claim: bool = False,
) -> State:  # fmt: skip
    """Return the state with the pattern graduated to a rule. This is the only way to graduate a pattern.

    Args:
        confirmed: the person's confirmation of exactly this rule, or None if there is none.
        rule: the text of the rule; by default the proposed rule of the pattern.
        is_claim: whether to also accept a pattern that is graduated already. Such a pattern came from elsewhere, and
            nobody has confirmed it on this machine.

    Raises:
        NeedsHuman: no person confirmed the rule.
        NotAllowed: the pattern is not a rule candidate, has no proposed rule, or differs from what the person was
            shown.
    """
    if pattern.status != "rule_candidate" and not (is_claim and pattern.status == "graduated"):
        raise NotAllowed(
            f"pattern {pattern.id} is {pattern.status}, not a rule candidate",
            hint={
                "observing": f"baton pattern propose {pattern.id} --rule TEXT",
                "dismissed": f"baton reopen {pattern.id} sets it back to observing",
            }.get(pattern.status, ""),
        )
    text = rule or pattern.proposed_rule
    if not text:
        raise NotAllowed(f"pattern {pattern.id} has no proposed rule", hint="give the text of the rule")
    if confirmed is None:
        raise NeedsHuman(
            f"pattern {pattern.id} graduates only when a person confirms it",
            hint=f"in a terminal: baton pattern graduate {pattern.id}; or on the page of baton serve",
        )
    if not confirmed.covers(pattern, text):
        raise NotAllowed(
            f"pattern {pattern.id}: the rule changed while you were asked, so nothing was confirmed",
            hint="run it again, and read the rule as it is now",
        )
    path = f"rules/{RecordId(pattern.id).component}.md"
    graduated = pattern.replace(
        status="graduated", source_tier="human_confirmed", proposed_rule=text, graduated_to=path
    )
    return state.put(graduated).put(Rule(id=pattern.id, text=_rule_text(graduated, text, confirmed, now)))


def describe_sightings(pattern: Pattern) -> str:
    """Return how often a pattern was seen, and on which days: `seen once, on 2026-11-01`."""
    times = [(text, parse_time_or_none(text)) for text in (pattern.first_seen, pattern.last_seen)]
    first, last = sorted(iso(time)[:10] if time is not None else text for text, time in times)
    days = f"on {first}" if first == last else f"{first} to {last}"
    return f"seen {count_times(pattern.count)}, {days}"


def _rule_text(pattern: Pattern, rule: str, confirmed: Confirmed, now: datetime) -> str:
    return (
        f"# {pattern.id}: {pattern.what}\n\n{rule.strip()}\n\n---\n\n"
        f"S{describe_sightings(pattern)[1:]}. "
        f"Confirmed by {confirmed.by} ({confirmed.how}) on {iso(now)[:10]}.\n"
    )


# --- decisions

_ONE_WAY = "a decision never returns to an earlier status"


def apply_monitoring(decision: ActiveDecision) -> ActiveDecision:
    """Return the decision as monitored. Raises NotAllowed if it is superseded."""
    if decision.status == "superseded":
        raise NotAllowed(f"decision {decision.id} is superseded; {_ONE_WAY}", hint="add a new decision")
    return decision.replace(status="monitoring")


class Judge(Protocol):
    """Judges records by their provenance."""

    def is_superseded(self, decision: ActiveDecision | DecisionOutline) -> bool:
        """Whether the decision counts as superseded: its status counts only if an entitled author changed it."""

    def tier(self, key: Key, declared: str) -> str:
        """Return the tier of a record for the rules; `declared` is the tier in the record itself."""


class _Declared:
    """Accepts the tier and the status that each record declares."""

    def is_superseded(self, decision: ActiveDecision | DecisionOutline) -> bool:
        return decision.status == "superseded"

    def tier(self, key: Key, declared: str) -> str:
        return declared


DECLARED: Judge = _Declared()
"""The judge for callers without history, for example a server that checks a push."""


def apply_supersession(
    decision: ActiveDecision, by: ActiveDecision, judge: Judge, *, is_person: bool = False
) -> ActiveDecision:
    """Return the decision as superseded by another.

    Args:
        is_person: whether a person asks for it, who may replace what a model derived by what a model derived.

    Raises:
        InvalidArgument: both are the same decision.
        NotAllowed: one of the decisions is superseded already, or both were derived by a model.
    """
    _check_replacement(decision, by, judge)
    tiers = [judge.tier(key_of(side), side.source_tier) for side in (decision, by)]
    if not (is_person or may_supersede(*tiers)):
        raise NotAllowed(
            f"decision {by.id} was derived by a model and cannot supersede {decision.id}, also derived by a model",
            hint="to propose it, so that a person settles it: baton decision supersede ID --by NEW",
        )
    return decision.replace(status="superseded", superseded_by=by.id)


def _check_replacement(decision: ActiveDecision, by: ActiveDecision, judge: Judge) -> None:
    if judge.is_superseded(decision):
        raise NotAllowed(f"decision {decision.id} is superseded already, by {decision.superseded_by}")
    if by.id == decision.id:
        raise InvalidArgument(f"decision {decision.id} cannot supersede itself")
    if judge.is_superseded(by):
        raise NotAllowed(f"decision {by.id} is superseded itself, by {by.superseded_by}")


def apply_replacement_proposal(decision: ActiveDecision, by: ActiveDecision, judge: Judge) -> ActiveDecision:
    """Return `by` as the proposal to replace `decision`, which stays in force until a person settles it.

    Raises:
        InvalidArgument: both are the same decision.
        NotAllowed: one of the decisions is superseded already.
    """
    _check_replacement(decision, by, judge)
    return by.replace(replaces=decision.id)


def apply_confirmation(record: Record) -> Record:
    """Return a record that a person confirmed; a proposal is settled and names no decision to replace any more."""
    data = record.as_data() | {"source_tier": "human_confirmed"}
    data.pop("replaces", None)
    return parse(type(record), data, where=record.id)


def may_supersede(target_tier: str, candidate_tier: str) -> bool:
    """Whether a decision of tier `candidate_tier` may supersede one of tier `target_tier` (ACA, layer 2)."""
    return (target_tier, candidate_tier) != ("llm_derived", "llm_derived")


# --- reopening


def apply_reopening(record: Record, now: datetime, *, is_archived: bool) -> Record:
    """Return a closed record as an open one, or the same record if its status is not a closed one.

    A graduated pattern is reopened only if it is archived; the result no longer refers to its rule.

    Raises:
        NotAllowed: the record is a superseded decision.
    """
    if isinstance(record, ActiveDecision) and record.status == "superseded":
        raise NotAllowed(f"decision {record.id} is superseded; {_ONE_WAY}", hint="add a new decision")
    if isinstance(record, OpenLoop) and record.status != "open":
        return _reopen_loop(record, now)
    if isinstance(record, Pattern) and record.status in (("dismissed", "graduated") if is_archived else ("dismissed",)):
        fields = {name: value for name, value in record.as_data().items() if name != "graduated_to"}
        return propose_when_due(parse(Pattern, {**fields, "status": "observing"}))
    return record


def _reopen_loop(loop: OpenLoop, now: datetime) -> OpenLoop:
    """Return the loop as open and without its last check; an expired loop gets its `ttl_days` again, from now."""
    fields = {name: value for name, value in loop.as_data().items() if name != "last_check"}
    opened = parse(OpenLoop, {**fields, "status": "open"})
    end = deadline(opened)
    if end is None or now < end:
        return opened
    return opened.replace(ttl_days=opened.ttl_days + (now - end).days + max(1, opened.ttl_days))


# --- time-based changes and archiving


def settle_state(state: State, now: datetime, policy: Policy) -> State:
    """Return the state after the changes that follow from time and counters: expiry, escalation, rule candidates."""
    for loop in state.select(OpenLoop, lambda loop: is_due(loop, now)):
        state = state.put(loop.replace(status="escalated"))

    def raised(item: FollowUp | FollowUpOutline) -> str:
        return _raise_priority(item.priority, item.defer_count, policy)

    for item in state.select(FollowUp, lambda item: raised(item) != item.priority):
        state = state.put(item.replace(priority=raised(item)))
    for pattern in state.select(Pattern, lambda pattern: _is_rule_due(pattern.status, pattern.seen, pattern.threshold)):
        state = state.put(propose_when_due(pattern))
    return state


def choose_verified(state: State, session: str | None) -> list[OpenLoop]:
    """Return the verified loops that the start of a session archives: at most `MOST_CLOSED`, ordered by date."""
    return _choose_closed(state, OpenLoop, "verified", session)


def archive_closed(state: State, now: datetime, session: str | None, judge: Judge) -> State:
    """Archive records that earlier sessions closed: verified loops and superseded decisions, some of each if many.

    A decision is archived only if `judge` also counts it as superseded.
    """
    for loop in choose_verified(state, session):
        state = state.archive(loop, at=iso(now), reason="verified", session=session)
    for decision in _choose_closed(state, ActiveDecision, "superseded", session):
        if judge.is_superseded(decision):
            reason = f"superseded by {decision.superseded_by}" if decision.superseded_by else "superseded"
            state = state.archive(decision, at=iso(now), reason=reason, session=session)
    return state


def _choose_closed(state: State, model: type[Model], status: str, by: str | None) -> list[Model]:
    """Return at most `MOST_CLOSED` records of a status, ordered by date.

    Each session draws others, so that decisions that stay because their judge does not believe them superseded do not
    keep the rest from the archive.
    """
    outlines = state.select(model, lambda outline: outline.status == status).outlines
    drawn = {outline.id for outline in _draw(outlines, by or "", MOST_CLOSED)}
    return list(Selection(state, model, [outline for outline in outlines if outline.id in drawn]))


class _Identified(Protocol):
    """A record or its outline."""

    @property
    def id(self) -> str: ...


Item = TypeVar("Item", bound=_Identified)


def choose_surplus(surplus: Sequence[Item], by: str) -> list[Item]:
    """Return the records that the session `by` archives of those that need not stay live: at most `MOST_ARCHIVED`.

    Sessions that run at the same time do not see each other's commits, so each of them finds the same surplus: with 60
    at once, each would write all of about 60 files that the others write, too. So they choose differently.
    """
    if len(surplus) <= MOST_ARCHIVED:
        return list(surplus)
    return _draw(surplus[:_MOST_CHOSEN_FROM], by, MOST_ARCHIVED)


def _draw(items: Sequence[Item], by: str, most: int) -> list[Item]:
    """Return at most `most` of the items, which depend on `by`."""
    if len(items) <= most:
        return list(items)
    return sorted(items, key=lambda item: sha256(f"{by} {item.id}".encode()).digest())[:most]


# --- unconfirmed claims


class HeldClaim(NamedTuple):
    """A claim of a document that was not accepted: the record's id, the field, and the claimed and the kept value."""

    id: str
    field: str
    claimed: Any
    kept: Any
    why: str


def hold_claims(
    base: Record | None, claim: Record, tier_of: Callable[[str], str | None], *, evidence: bool = True,
    judge: Judge = DECLARED,
) -> tuple[Record, list[HeldClaim]]:  # fmt: skip
    """Return the record of a document without its unauthorised changes, and the list of these changes.

    The following changes are held back:

    - the graduation of a pattern, the end of a graduation, and any change of `graduated_to`;
    - a new status of a dismissed pattern;
    - a tier that is lowered, or raised to `human_confirmed`;
    - the status of a decision that moves back;
    - a supersession that `may_supersede` forbids. The tier of a superseding decision that does not exist counts as
      `llm_derived`; a new record may name such a decision;
    - a new result of a probe, if `evidence` is true.

    A field whose change is held back keeps the value of `base`. A pattern that claims a graduation becomes a rule
    candidate, unless it is stored as dismissed.

    Args:
        base: the stored record, or None for a new one.
        claim: the record in the document.
        tier_of: returns the tier of the decision with an id, or None if there is none.
        evidence: whether to hold back new results of probes.
        judge: decides the tier of stored records.
    """
    if claim is base:
        return claim, []
    holds = _find_holds(base, claim, tier_of, judge)
    if not evidence:
        holds = [hold for hold in holds if hold.field != "last_check"]
    if not holds:
        return claim, []
    data = claim.as_data()
    before = base.as_data() if base else {}
    for held in holds:
        data.pop(held.field, None)
        if held.kept is not None and (held.field in before or held.field == "status" or base is None):
            data[held.field] = held.kept
    return type(claim).model_validate(data), holds


def _find_holds(
    base: Record | None, claim: Record, tier_of: Callable[[str], str | None], judge: Judge
) -> list[HeldClaim]:
    """Return the changes that `hold_claims` holds back, with evidence."""
    holds = _hold_tier(base, claim)
    if isinstance(claim, OpenLoop):
        holds += _hold_evidence(base if isinstance(base, OpenLoop) else None, claim)
    if isinstance(claim, Pattern):
        holds += _hold_graduation(base if isinstance(base, Pattern) else None, claim)
    if isinstance(claim, ActiveDecision):
        declared = str(holds[0].kept) if holds else claim.source_tier

        def own_tier() -> str:
            return declared if base is None else judge.tier(key_of(base), declared)

        holds += _hold_decision_status(base if isinstance(base, ActiveDecision) else None, claim, own_tier, tier_of)
    return holds


def _hold_tier(base: Record | None, claim: Record) -> list[HeldClaim]:
    """Hold back a tier that is lowered, or raised to `human_confirmed`."""
    before, after = getattr(base, "source_tier", None), getattr(claim, "source_tier", None)
    if before == after or after is None:
        return []
    if before is None:
        graduating = isinstance(claim, Pattern) and claim.status == "graduated" and after == "human_confirmed"
        why = "no person confirmed it here"
        return [HeldClaim(claim.id, "source_tier", after, "llm_derived", why)] if graduating else []
    if TIERS.index(after) < TIERS.index(before):
        return [HeldClaim(claim.id, "source_tier", after, before, "tiers never go down")]
    if after == "human_confirmed":
        return [HeldClaim(claim.id, "source_tier", after, before, "no person confirmed it here")]
    return []


def _hold_evidence(base: OpenLoop | None, claim: OpenLoop) -> list[HeldClaim]:
    """Hold back a new result of an automatic check. A document may repeat the stored one, or state a person's."""
    before = base.last_check if base else None
    if claim.last_check is None or claim.last_check.by != "probe" or claim.last_check == before:
        return []
    kept = before.as_data() if before else None
    why = "no check that ran on this machine reported it"
    return [HeldClaim(claim.id, "last_check", claim.last_check.as_data(), kept, why)]


def _hold_graduation(base: Pattern | None, claim: Pattern) -> list[HeldClaim]:
    """Hold back a graduation or its end, a new status of a dismissed pattern, and a change of `graduated_to`."""
    was_graduated = base is not None and base.status == "graduated"
    is_graduated = claim.status == "graduated"
    holds = []
    if is_graduated != was_graduated:
        kept = base.status if base is not None and base.status != "observing" else "rule_candidate"
        why = "only a person ends a rule" if was_graduated else "a pattern graduates only through a person"
        holds.append(HeldClaim(claim.id, "status", claim.status, kept, why))
    elif base is not None and base.status == "dismissed" != claim.status:
        holds.append(HeldClaim(claim.id, "status", claim.status, "dismissed", "it was dismissed"))
    before = base.graduated_to if base else None
    if claim.graduated_to != before:
        holds.append(HeldClaim(claim.id, "graduated_to", claim.graduated_to, before, "set by graduation only"))
    return holds


def _hold_decision_status(
    base: ActiveDecision | None, claim: ActiveDecision, tier: Callable[[], str], tier_of: Callable[[str], str | None]
) -> list[HeldClaim]:
    """Hold back a forbidden change of status. `tier` returns the tier of the claim without an unauthorised raise.

    The tiers of stored decisions are computed from the history, so they are asked for only if the status changes.
    """
    before, old = (base.status, base.superseded_by) if base else ("active", None)
    if DECISION_STATUSES.index(claim.status) < DECISION_STATUSES.index(before):
        return _hold_status(claim, before, old, _ONE_WAY)
    if claim.status != "superseded" or (claim.status, claim.superseded_by) == (before, old):
        return []
    by = tier_of(claim.superseded_by) if claim.superseded_by else None
    if (by or base is not None) and not may_supersede(tier(), by or "llm_derived"):
        why = "both decisions were derived by a model" if by else "the superseding decision does not exist"
        return _hold_status(claim, before, old, why)
    return []


def _hold_status(claim: ActiveDecision, status: str, by: str | None, why: str) -> list[HeldClaim]:
    """Hold back the fields `status` and `superseded_by` of a decision."""
    fields = (("status", claim.status, status), ("superseded_by", claim.superseded_by, by))
    return [HeldClaim(claim.id, field, claimed, kept, why) for field, claimed, kept in fields if claimed != kept]
