"""Patterns: record an occurrence, propose a rule, graduate (a person only), dismiss."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import (
    Confirmed,
    apply_dismissal,
    apply_graduation,
    apply_proposal,
    describe_sightings,
    propose_when_due,
    record_recurrence,
)
from baton_git.core.records.base import parse
from baton_git.core.records.work_items import Pattern, Rule
from baton_git.core.state import Key, State, key_of
from baton_git.core.times import iso, iso_exact
from baton_git.core.verb import ADDS, REPLACES, Confirmation, Input, Option, Tool, verb
from baton_git.namespace.caller import ConfirmQuestion, ShownRule
from baton_git.namespace.commit_log import confirmation_trailers
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.workspace import Workspace, check_not_empty, fresh_id
from baton_git.verbs.work_items.anchoring import ABOUT, About, anchor_record, as_field, make_anchors
from baton_git.verbs.work_items.new_records import (
    Added,
    MergeInto,
    NewId,
    authorship_of,
    describe_similar,
    find_same,
    merge_records,
)

PatternId = Annotated[str, Field(description="The id of a pattern, or a unique prefix of it.", examples=["PAT-9d2k1m"])]


class NewOccurrence(Input):
    """A mistake to count."""

    what: str = Field(
        description="What went wrong, or the id of a pattern.", examples=["Assumed Docker without reading compose"]
    )
    context: str = Field("", description="The situation in which it happened.", examples=["deploying X"])
    rule: str | None = Field(None, description="The rule that would prevent it.")
    about: About = Field([])
    id: NewId | None = Field(
        None,
        description="The id to use. If a pattern has this id, the mistake is counted for it. Default: a new id.",
    )  # fmt: skip


class ProposedRule(Input):
    """The rule to propose for a pattern."""

    id: PatternId
    rule: str = Field(description="The rule.", examples=["Read compose.yaml before touching a container"])


class AnchorPattern(Input):
    """The pattern, and the files it is about."""

    id: PatternId
    about: About = Field([])


class DismissPattern(Input):
    """The pattern to dismiss."""

    id: PatternId


class GraduatePattern(Input):
    """The pattern that becomes a rule."""

    id: PatternId
    rule: str | None = Field(None, description="The rule. Default: the proposed one.")


@verb(
    "pattern record",
    "POST /v1/patterns",
    effect=ADDS,
    is_authored=True,
    positional=("what",),
    options={"id": Option(metavar="ID"), "about": ABOUT},
    tool=Tool(
        "Count a mistake.",
        hidden=("id", "about"),
        fields={"what": "What went wrong, or the id"},
    ),
    examples=('baton pattern record "Assumed Docker without reading compose" --context "deploying X"',),
)
def record_pattern(ws: Workspace, now: datetime, verb_input: NewOccurrence) -> Added:
    """Count a mistake: add an occurrence to its pattern, or create the pattern.

    WHAT is a description, or the id of a pattern. Descriptions match if they differ only in case, spacing and a final
    full stop or exclamation mark.

    A new pattern is about the files that you name, or else about those that the session has changed. The brief marks
    the pattern and its rule as soon as one of the named files has changed, or more than half of the others.

    Raises:
        InvalidArgument: a file is not in the work tree, or lacks the symbol.
        InvalidDocument: a value does not fit its field.
    """
    check_not_empty(verb_input.what, "pattern")
    fresh = verb_input.id or fresh_id(KINDS[Pattern.kind].prefix)
    anchors = as_field(make_anchors(ws, verb_input.about))
    author = authorship_of(ws, Pattern, fresh)

    def change(tip: Revision) -> State | ProposedState:
        known = _find_pattern(tip.state, verb_input.what, verb_input.id)
        if known is not None:
            again = record_recurrence(known, ws.session, verb_input.context, now)
            if verb_input.about:
                again = again.replace(**anchors)
            return tip.state.put(again.replace(proposed_rule=verb_input.rule) if verb_input.rule else again)
        data = {
            "id": fresh,
            "what": verb_input.what,
            "first_seen": iso_exact(now),
            "last_seen": iso(now),
            "count": 1,
            "recent_occurrences": [{"session": ws.session, "context": verb_input.context}],
            "threshold": ws.policy.threshold,
            "status": "observing",
            "source_tier": author.tier,
        }
        rule = {"proposed_rule": verb_input.rule} if verb_input.rule else {}
        made = propose_when_due(parse(Pattern, data | rule | anchors))
        return ProposedState(tip.state.add(made), trailers=author.trailers)

    written = ws.update("pattern-record", now, change)
    key = Key(Pattern.kind, fresh)
    before, made = written.before.state, written.revision.state.entry(key)
    if not isinstance(made, Pattern) or before.entry(key) is not None:
        known = _find_pattern(before, verb_input.what, verb_input.id)
        assert known is not None  # `change` counted it
        return Added.of(written, id=known.id)
    return Added.of(written, id=fresh, **describe_similar("pattern merge", made, ws.branch.read().state))


def _find_pattern(state: State, words_or_id: str, id_: str | None) -> Pattern | None:
    ids = state.ids(Pattern.kind)
    named = [name for name in (id_, words_or_id) if name in ids]
    entries = (state.entry(Key(Pattern.kind, name)) for name in named)
    known = next((entry for entry in entries if isinstance(entry, Pattern)), None)
    return known or (find_same(state, Pattern, words_or_id) if id_ is None else None)


@verb(
    "pattern anchor",
    "POST /v1/patterns/{id}/anchor",
    effect=REPLACES,
    positional=("id",),
    options={"about": ABOUT},
    examples=("baton pattern anchor PAT-9d2k1m --about compose.yaml", "baton pattern anchor PAT-9d2k1m"),
)
def anchor_pattern(ws: Workspace, now: datetime, verb_input: AnchorPattern) -> Changed:
    """Set which files a pattern and its rule are about; without a file, confirm that both still hold.

    Raises:
        InvalidArgument: a file is not in the work tree, or lacks the symbol.
    """
    return anchor_record(ws, now, "pattern-anchor", Pattern, verb_input.id, verb_input.about)


@verb(
    "pattern propose",
    "POST /v1/patterns/{id}/propose",
    effect=REPLACES,
    positional=("id",),
    tool=Tool("Propose the rule for a pattern."),
    examples=('baton pattern propose PAT-9d2k1m --rule "Read compose.yaml before touching a container"',),
)
def propose_rule(ws: Workspace, now: datetime, verb_input: ProposedRule) -> Changed:
    """Propose the rule for a pattern, whatever its count."""
    check_not_empty(verb_input.rule, "rule")
    return ws.edit(
        "pattern-propose",
        now,
        Pattern,
        verb_input.id,
        lambda state, pattern: state.put(apply_proposal(pattern, verb_input.rule)),
    )


@verb(
    "pattern dismiss",
    "POST /v1/patterns/{id}/dismiss",
    effect=REPLACES,
    positional=("id",),
    tool=Tool("Dismiss a pattern."),
    examples=("baton pattern dismiss PAT-9d2k1m",),
)
def dismiss_pattern(ws: Workspace, now: datetime, verb_input: DismissPattern) -> Changed:
    """Dismiss a pattern: it stays and is still counted, but never becomes a rule."""
    return ws.edit(
        "pattern-dismiss", now, Pattern, verb_input.id, lambda state, pattern: state.put(apply_dismissal(pattern))
    )


def _find_question(ws: Workspace, now: datetime, verb_input: GraduatePattern) -> ConfirmQuestion | None:
    """Return the question whether a pattern becomes a rule; None if it cannot become one."""
    pattern = ws.branch.read().state.find(Pattern, verb_input.id)
    rule = verb_input.rule or pattern.proposed_rule
    if pattern.status != "rule_candidate" or not rule:
        return None
    return ask_about_rule(pattern, rule)


def ask_about_rule(pattern: Pattern, rule: str) -> ConfirmQuestion:
    """Return the question whether a pattern becomes this rule."""
    shown = ShownRule(pattern.id, rule, pattern.what)
    return ConfirmQuestion(
        (f"{pattern.id}: {pattern.what}", describe_sightings(pattern)), f"The rule would be: {rule}", pattern.id, shown
    )


@verb(
    "pattern graduate",
    effect=REPLACES,
    positional=("id",),
    confirm=Confirmation(_find_question, always=True),
    tool=Tool("Ask the person to make a pattern a rule."),
    examples=("baton pattern graduate PAT-9d2k1m", "baton pattern graduate PAT-9d2k1m --sign"),
)
def graduate_pattern(ws: Workspace, now: datetime, verb_input: GraduatePattern) -> Changed:
    """Turn a pattern into a rule; only a person can do this.

    The person types the id: at a terminal where no agent acts, on the page, or in an MCP client that asks its user. Or
    the commit is signed with a key (git config baton.signingKey) that needs a touch or a passphrase.

    Raises:
        NeedsHuman: no person confirmed it.
        NotAllowed: the pattern is not a candidate.
    """
    confirmed = ws.confirmed if isinstance(ws.confirmed, Confirmed) else None

    def change(state: State, pattern: Pattern) -> ProposedState:
        is_claim = not ws.judgement().is_confirmed(Key(Rule.kind, pattern.id))
        grown = apply_graduation(state, pattern, confirmed, now, verb_input.rule, is_claim=is_claim)
        assert confirmed is not None
        return ProposedState(grown, trailers=confirmation_trailers(confirmed.how, confirmed.by, str(key_of(pattern))))

    return ws.edit("pattern-graduate", now, Pattern, verb_input.id, change)


@verb(
    "pattern merge",
    "POST /v1/patterns/{id}/merge",
    effect=REPLACES,
    positional=("id", "into"),
    examples=("baton pattern merge PAT-9d2k1m PAT-2x8m4c",),
)
def merge_pattern(ws: Workspace, now: datetime, verb_input: MergeInto) -> Changed:
    """Archive a duplicate pattern, and add its count to the pattern that remains.

    Raises:
        InvalidArgument: both ids name the same record.
        NotAllowed: a person confirmed the merged pattern but not the remaining one, or one of them is graduated.
    """
    return merge_records(ws, now, "pattern-merge", Pattern, verb_input)
