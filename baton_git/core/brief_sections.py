"""The sections of a brief that show records of the state: context, loops, conflicts, decisions, rules and others."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from datetime import datetime, timedelta
from typing import TypeVar, cast

from baton_git.core.brief import (
    CLAIMED_TIER,
    LINE,
    BriefJudge,
    Rank,
    Section,
    judged_line,
    short_session,
    tier_line,
)
from baton_git.core.isolation import show_each
from baton_git.core.kinds import KINDS, name_kind
from baton_git.core.lifecycle import PRIORITIES, WAITS, deadline, is_due, is_overdue
from baton_git.core.output import one_line, quote_id
from baton_git.core.policy import Policy
from baton_git.core.proposals import find_proposals
from baton_git.core.records.base import Record, value_at
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import ActiveDecision, FollowUp, OpenLoop, Pattern, Rule
from baton_git.core.sessions import WorkContext, list_contexts
from baton_git.core.state import Key, State, key_of
from baton_git.core.times import describe_age, parse_time_or_none

Model = TypeVar("Model", bound=Record)

CANDIDATES = "Rule candidates (a person decides: baton pattern graduate ID)"
MOST_LINES = 200
"""Maximum number of conflicts and of claimed rules of which a brief makes lines; a brief of the default size has room
for about 100."""
OTHER_CONTEXTS = "Where the work of other sessions stands, which worked at the same time"
OUTSIDE_CONTEXTS = "What was said about the work outside of a session"
_OTHER_CONTEXT = 1000
"""Maximum length in characters of the text of such a session; `baton show` shows all of it."""
_WRITER = 160
MARKS = "What the marks of unconfirmed records mean"
_MOST_MARKS = 4
CLAIMED = "Claimed rules, not in force: no person on this machine confirmed them"


SectionMaker = Callable[[State, datetime, Policy, BriefJudge], Section]


def _context_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    """Make the section with the newest context, whole; its title names the session if there are others, or if it is
    older than a day."""
    contexts = list_told_contexts(state)
    newest = contexts[0] if contexts else None
    point = parse_time_or_none(newest.set_at) if newest is not None else None
    is_old = point is not None and now - point > timedelta(days=1)
    whose = f", says {describe_writer(newest, now)}" if newest is not None and (len(contexts) > 1 or is_old) else ""
    texts = newest.text.splitlines() if newest is not None and newest.text else []
    lines = tuple(f"| {one_line(line, 1000)}" for line in texts if line.strip())
    return Section(
        f"Where the work stands{whose}", lines, "lines of context", rank=Rank.STANDING, told_at=newest and newest.set_at
    )


def _other_contexts_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    """Make the section with the contexts of the sessions that worked at the same time, a line for each."""
    others = [context for context in list_told_contexts(state)[1:] if _is_of_session(context)]
    lines = tuple(_other_context_line(context, now) for context in others)
    return Section(OTHER_CONTEXTS, lines, "contexts of other sessions", all="baton show SESSION", rank=Rank.STANDING)


def _outside_contexts_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    """Make the section with the older context that nobody's session set, such as `baton wrap --context` at a prompt."""
    others = [context for context in list_told_contexts(state)[1:] if not _is_of_session(context)]
    lines = tuple(_other_context_line(context, now) for context in others)
    return Section(OUTSIDE_CONTEXTS, lines, "contexts from outside of sessions", all="baton read", rank=Rank.STANDING)


def _is_of_session(context: WorkContext) -> bool:
    return context.session not in ("", "none")


def list_told_contexts(state: State) -> list[WorkContext]:
    """Return the current contexts with a text, newest first."""
    return [context for context in list_contexts(state) if (context.text or "").strip()]


def describe_writer(context: WorkContext, now: datetime) -> str:
    """Return who set a context and when, as the record says it: `session 3f2a91c0 of Ada (claude on desk), 2 hours
    ago`."""
    name = f"session {short_session(context.session)}" if _is_of_session(context) else "written outside of a session"
    name += f" of {context.person}" if context.person else ""
    where = f"on {context.machine}" if context.machine else ""
    by = f" ({' '.join(filter(None, (context.agent, where)))})" if context.agent or where else ""
    when = f", {describe_age(context.set_at, now)}" if context.set_at else ""
    return one_line(f"{name}{by}{when}", _WRITER)


def _other_context_line(context: WorkContext, now: datetime) -> str:
    text = " · ".join(line.strip() for line in (context.text or "").splitlines() if line.strip())
    return f"- {describe_writer(context, now)} [{CLAIMED_TIER}] {one_line(text, _OTHER_CONTEXT)}"


def _failed_loops_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    loops = state.select(
        OpenLoop, lambda loop: loop.status == "failed" or is_overdue(loop, now), lambda loop: loop.status != "failed"
    )
    return _limit_section(
        "Loops that failed or are overdue", loops, "failed loops", policy.max_open_loops,
        lambda loop: loop_line(loop, now, judge), Rank.ATTENTION,
    )  # fmt: skip


def _open_loops_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    loops = state.select(OpenLoop, lambda loop: loop.status == "open" and not is_due(loop, now))
    return _limit_section(
        "Open loops", loops, "open loops", policy.max_open_loops, lambda loop: loop_line(loop, now, judge), Rank.OPEN
    )


def _verified_loops_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    lines, unshown = show_each(
        state.select(OpenLoop, lambda loop: loop.status == "verified"), lambda loop: loop_line(loop, now, judge)
    )
    return Section("Verified loops (the next session archives them)", lines, "verified loops", unshown=unshown)


def _follow_ups_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    items = state.select(
        FollowUp, lambda item: True, lambda item: (-PRIORITIES.index(item.priority), -item.defer_count)
    )
    return _limit_section(
        "Follow-ups", items, "follow-ups", policy.max_follow_ups, lambda item: follow_up_line(item, judge), Rank.OPEN
    )


def _rule_candidates_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    patterns = _patterns(state, "rule_candidate")
    return _limit_section(
        CANDIDATES, patterns, "rule candidates", policy.max_patterns, lambda pattern: pattern_line(pattern, judge),
        Rank.ATTENTION,
    )  # fmt: skip


def _decisions_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    proposals, limit = find_proposals(state, judge), policy.max_active_decisions
    decisions = _decisions(state, judge, proposals.targets)

    def line(decision: ActiveDecision) -> str:
        waiting = [state.get(ActiveDecision, id_) for id_ in proposals.by_target.get(decision.id, ())]
        return proposal_line(decision, waiting, judge) if waiting else decision_line(decision, judge)

    return _limit_section("Decisions in force", decisions, "decisions", limit, line, Rank.IN_FORCE)


def _confirmed_rules_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    rules = state.select(Rule, lambda rule: judge.is_confirmed(Key(Rule.kind, rule.id)))
    lines, unshown = show_each(rules, lambda rule: rule_line(rule, judge))
    return Section("Rules that people confirmed", lines, "rules", rank=Rank.IN_FORCE, unshown=unshown)


def _claimed_rules_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    rules = state.select(Rule, lambda rule: not judge.is_confirmed(Key(Rule.kind, rule.id)))
    more = max(0, len(rules) - MOST_LINES)
    lines, unshown = show_each(rules[:MOST_LINES], lambda rule: rule_line(rule, judge))
    return Section(CLAIMED, lines, "claimed rules", more, all="baton validate", unshown=unshown)


def _patterns_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    patterns = _patterns(state, "observing")
    return _limit_section(
        "Patterns seen so far", patterns, "patterns", policy.max_patterns, lambda pattern: pattern_line(pattern, judge)
    )


def _conflicts_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    title = "Conflicts (one side's value is in force until resolved)"
    conflicts = state.select(Conflict, lambda conflict: True)
    return _limit_section(title, conflicts, "conflicts", MOST_LINES, conflict_line, Rank.ATTENTION)


def _make_section_of(kind: str) -> SectionMaker:
    """Return a function that makes a section with the live records of a kind."""
    info = KINDS[kind]

    def make(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
        records = state.records(cast("type[Record]", info.model)) if state.ids(kind) else []

        def line(record: Record) -> str:
            text = str(value_at(record, info.about) or "")
            return judged_line(record, text, judge) if info.labelled else tier_line(record.id, CLAIMED_TIER, text)

        lines, unshown = show_each(records, line)
        return Section(info.name(2).capitalize(), lines, info.name(2), unshown=unshown)

    return make


def _marks_section(state: State, now: datetime, policy: Policy, judge: BriefJudge) -> Section:
    """Make the section that explains the marks of the sections before it: one line for all records of one source."""
    lines = [f"- {one_line(text, LINE)}" for text in judge.explain_marks()]
    more = max(0, len(lines) - _MOST_MARKS)
    return Section(MARKS, tuple(lines[:_MOST_MARKS]), "marks", more, all="baton validate", rank=Rank.IN_FORCE)


SECTIONS: tuple[SectionMaker, ...] = (
    _context_section,
    _other_contexts_section,
    _outside_contexts_section,
    _failed_loops_section,
    _conflicts_section,
    _rule_candidates_section,
    _decisions_section,
    _confirmed_rules_section,
    _open_loops_section,
    _follow_ups_section,
    _patterns_section,
    _claimed_rules_section,
    *(_make_section_of(kind) for kind, info in KINDS.items() if info.in_brief),
    _verified_loops_section,
    _marks_section,
)
"""The functions that make the sections of a state. A section that fails does not affect the others."""


def _limit_section(
    title: str, records: Sequence[Model], what: str, limit: int, line: Callable[[Model], str],
    rank: Rank = Rank.DETAILS,
) -> Section:  # fmt: skip
    more = max(0, len(records) - limit)
    lines, unshown = show_each(records[:limit], line)
    return Section(title, lines, what, more, rank=rank, unshown=unshown)


def _patterns(state: State, status: str) -> Sequence[Pattern]:
    return state.select(Pattern, lambda pattern: pattern.status == status, lambda pattern: -pattern.seen)


def _decisions(state: State, judge: BriefJudge, proposed: Container[str]) -> Sequence[ActiveDecision]:
    """Return the decisions in force, except proposed ones: newest first, the monitored ones last.

    An unauthorised supersession is ignored.
    """
    return state.select(
        ActiveDecision, lambda decision: decision.id not in proposed and not judge.is_superseded(decision),
        lambda decision: decision.status != "monitoring",
    )[::-1]  # fmt: skip


def record_line(record: object, now: datetime, judge: BriefJudge) -> str | None:
    """Return the brief's line for a live record; None for an object of a type without such a line."""
    match record:
        case OpenLoop():
            return loop_line(record, now, judge)
        case FollowUp():
            return follow_up_line(record, judge)
        case Pattern():
            return pattern_line(record, judge)
        case ActiveDecision():
            return decision_line(record, judge)
        case Rule():
            return rule_line(record, judge)
    return None


def loop_line(loop: OpenLoop, now: datetime, judge: BriefJudge) -> str:
    check, waits = loop.last_check, judge.waits_for_approval(loop)
    parts = [f"{loop.status.upper()}: {loop.action} → expected: {loop.expected_outcome}"]
    if check is not None and not (waits and check.result == "unknown"):
        parts.append(f"check {check.result}{f' ({check.why})' if check.why else ''} {describe_age(check.at, now)}")
    elif loop.verify is None:
        parts.append("no check: look yourself, then baton loop verify ID --passed or --failed")
    elif loop.verify.method == "manual":
        parts.append(f"for a person: {loop.verify.note or 'no note'}")
    if waits:
        parts.append(f"{WAITS}: baton trust {quote_id(loop.id)}")
    end = deadline(loop)
    if loop.status == "open" and end is not None:
        days = -((now - end) // timedelta(days=1))
        parts.append("overdue" if is_due(loop, now) else f"due in {days} d")
    return judged_line(loop, " · ".join(parts), judge)


def follow_up_line(item: FollowUp, judge: BriefJudge) -> str:
    mark = "" if item.priority == "normal" else f"{item.priority.upper()}: "
    count = f" (put off {item.defer_count}×)" if item.defer_count else ""
    reason = f" · {item.reason}" if item.reason else ""
    return judged_line(item, f"{mark}{item.item}{count}{reason}", judge)


def pattern_line(pattern: Pattern, judge: BriefJudge) -> str:
    rule = f" → proposed rule: {pattern.proposed_rule}" if pattern.proposed_rule else ""
    return judged_line(pattern, f"seen {pattern.count}×: {pattern.what}{rule}", judge)


def decision_line(decision: ActiveDecision, judge: BriefJudge) -> str:
    mark = f"proposed to replace {decision.replaces}: " if decision.replaces and decision.status == "active" else ""
    return judged_line(decision, f"{mark}{_describe_decision(decision)}", judge)


def _describe_decision(decision: ActiveDecision) -> str:
    rejected = f" · rejected: {', '.join(decision.rejected)}" if decision.rejected else ""
    mark = "monitoring: " if decision.status == "monitoring" else ""
    return f"{mark}{decision.what} · because {decision.why}{rejected}"


def proposal_line(decision: ActiveDecision, proposed: Sequence[ActiveDecision], judge: BriefJudge) -> str:
    """Return the line of a decision in force that others are proposed to replace: one line for all of them.

    What is in force comes first, so that nothing that cuts the line hides it.
    """
    ids = " and ".join(quote_id(other.id) for other in proposed)
    words = {judge.word(key_of(other)) for other in proposed}
    labels = f"{judge.word(key_of(decision))}; {ids}: {', '.join(sorted(words))}"
    new = " · or ".join(one_line(_describe_decision(other), LINE // 2) for other in proposed)
    held = one_line(_describe_decision(decision), LINE // 2)
    claims = one_line(", ".join(filter(None, (labels, judge.mark(decision), judge.aging(decision)))), LINE)
    id_ = quote_id(decision.id)
    return f"- {id_} [{claims}] {held} · {ids}, proposed to replace {id_}: {one_line(new, LINE)}"


def rule_line(rule: Rule, judge: BriefJudge) -> str:
    lines = [line for line in rule.text.splitlines() if line.strip() and not line.startswith(("#", "---"))]
    return judged_line(rule, f"{lines[0] if lines else ''} (rules/{rule.id}.md)", judge)


def conflict_line(conflict: Conflict) -> str:
    record = f"{name_kind(conflict.record_kind)} {conflict.record_id}".strip()
    field = conflict.field or conflict.about_record
    return f"- {one_line(f'{conflict.id}: {record}, {field}', LINE)}"
