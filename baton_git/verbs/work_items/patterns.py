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
    propose_when_due,
    record_recurrence,
)
from baton_git.core.records.base import parse
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import Pattern
from baton_git.core.state import Key, State, key_of
from baton_git.core.times import iso, iso_exact
from baton_git.core.verb import ADDS, REPLACES, Input, Option, Tool, verb
from baton_git.namespace.commit_log import confirmation_trailers
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.workspace import Workspace, check_not_empty, fresh_id
from baton_git.verbs.work_items.anchoring import ABOUT, About, anchor_record, as_field, make_anchors
from baton_git.verbs.work_items.authorship import authorship_of
from baton_git.verbs.work_items.similar_records import Added, MergeInto, describe_similar, find_same, merge_records

PatternId = Annotated[
    str, Field(description="The id of a pattern, or a unique beginning of it.", examples=["PAT-9d2k1m"])
]


class NewOccurrence(Input):
    """Something that went wrong."""

    what: str = Field(
        description="What went wrong, or the id of a pattern.", examples=["Assumed Docker without reading compose"]
    )
    context: str = Field("", description="What was going on.", examples=["deploying X"])
    rule: str | None = Field(None, description="The rule that would prevent it.")
    about: About = Field([])
    id: str | None = Field(None, min_length=1, description="An id of your own; a known one counts that pattern.")


class ProposedRule(Input):
    """The rule that a pattern would become."""

    id: PatternId
    rule: str = Field(description="The rule.", examples=["Read compose.yaml before touching a container"])


class AnchorPattern(Input):
    """What a pattern is about."""

    id: PatternId
    about: About = Field([])


class DismissPattern(Input):
    """Which pattern to dismiss."""

    id: PatternId


class GraduatePattern(Input):
    """Which pattern becomes a rule."""

    id: PatternId
    rule: str | None = Field(None, description="The rule, in place of the proposed one.")


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
        fields={"what": "The same words or id count it"},
    ),
    examples=('baton pattern record "Assumed Docker without reading compose" --context "deploying X"',),
)
def record_pattern(ws: Workspace, now: datetime, asked: NewOccurrence) -> Added:
    """Count something that went wrong, or note it for the first time.

    WHAT is words, or the id of a pattern. A pattern is recognised by its id, or by its words (case, spacing and a full
    stop aside).

    The brief marks it, and the rule that it becomes, once a file that it is about has changed. Where none is named it
    is about those that the session has changed.

    Raises:
        InvalidArgument: a file is not in the work tree, or does not have the symbol.
        InvalidDocument: a value does not fit its field.
    """
    check_not_empty(asked.what, "pattern")
    fresh = asked.id or fresh_id(KINDS[Pattern.kind].prefix)
    anchors = as_field(make_anchors(ws, asked.about))
    author = authorship_of(ws, Pattern, fresh)

    def change(tip: Revision) -> State | ProposedState:
        known = _find_pattern(tip.state, asked.what, asked.id)
        if known is not None:
            again = record_recurrence(known, ws.session, asked.context, now)
            if asked.about:
                again = again.replace(**anchors)
            return tip.state.put(again.replace(proposed_rule=asked.rule) if asked.rule else again)
        data = {
            "id": fresh,
            "what": asked.what,
            "first_seen": iso_exact(now),
            "last_seen": iso(now),
            "count": 1,
            "recent_occurrences": [{"session": ws.session, "context": asked.context}],
            "threshold": ws.policy.threshold,
            "status": "observing",
            "source_tier": author.tier,
        }
        rule = {"proposed_rule": asked.rule} if asked.rule else {}
        made = propose_when_due(parse(Pattern, data | rule | anchors))
        return ProposedState(tip.state.add(made), trailers=author.trailers)

    written = ws.update("pattern-record", now, change)
    known = _find_pattern(written.before.state, asked.what, asked.id)
    if known is not None:
        return Added.of(written, id=known.id)
    made = written.revision.state.get(Pattern, fresh)
    return Added.of(written, id=fresh, **describe_similar("pattern merge", made, written.before.state))


def _find_pattern(state: State, words_or_id: str, id_: str | None) -> Pattern | None:
    named = [name for name in (id_, words_or_id) if name in state.ids(Pattern.kind)]
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
def anchor_pattern(ws: Workspace, now: datetime, asked: AnchorPattern) -> Changed:
    """Anchor a pattern, and the rule that it became, to files; without a file, say that it still fits those it has.

    Raises:
        InvalidArgument: a file is not in the work tree, or does not have the symbol.
    """
    return anchor_record(ws, now, "pattern-anchor", Pattern, asked.id, asked.about)


@verb(
    "pattern propose",
    "POST /v1/patterns/{id}/propose",
    effect=REPLACES,
    positional=("id",),
    tool=Tool("Propose the rule for a pattern."),
    examples=('baton pattern propose PAT-9d2k1m --rule "Read compose.yaml before touching a container"',),
)
def propose_rule(ws: Workspace, now: datetime, asked: ProposedRule) -> Changed:
    """Propose the rule that a pattern would become, whatever its count."""
    check_not_empty(asked.rule, "rule")
    return ws.edit(
        "pattern-propose", now, Pattern, asked.id, lambda state, pattern: state.put(apply_proposal(pattern, asked.rule))
    )


@verb(
    "pattern dismiss",
    "POST /v1/patterns/{id}/dismiss",
    effect=REPLACES,
    positional=("id",),
    tool=Tool("It is no pattern after all."),
    examples=("baton pattern dismiss PAT-9d2k1m",),
)
def dismiss_pattern(ws: Workspace, now: datetime, asked: DismissPattern) -> Changed:
    """Dismiss a pattern: it is kept and counted, and never becomes a rule."""
    return ws.edit(
        "pattern-dismiss", now, Pattern, asked.id, lambda state, pattern: state.put(apply_dismissal(pattern))
    )


@verb(
    "pattern graduate",
    "POST /v1/patterns/{id}/graduate",
    effect=REPLACES,
    positional=("id",),
    examples=("baton pattern graduate PAT-9d2k1m", "baton pattern graduate PAT-9d2k1m --sign"),
)
def graduate_pattern(ws: Workspace, now: datetime, asked: GraduatePattern) -> Changed:
    """Make a rule of a pattern; only a person can.

    On the command line the id must be typed at a terminal where no agent acts, or the commit signed with a key
    (git config baton.signingKey) that needs a touch or a passphrase. Over HTTP it is always refused.

    Raises:
        NeedsHuman: no person confirmed it.
        NotAllowed: the pattern is no candidate.
    """
    confirmed = ws.confirmed if isinstance(ws.confirmed, Confirmed) else None

    def change(state: State, pattern: Pattern) -> ProposedState:
        is_claim = not ws.judgement().is_confirmed(Key(Rule.kind, pattern.id))
        grown = apply_graduation(state, pattern, confirmed, now, asked.rule, is_claim=is_claim)
        assert confirmed is not None
        return ProposedState(grown, trailers=confirmation_trailers(confirmed.how, confirmed.by, str(key_of(pattern))))

    return ws.edit("pattern-graduate", now, Pattern, asked.id, change)


@verb(
    "pattern merge",
    "POST /v1/patterns/{id}/merge",
    effect=REPLACES,
    positional=("id", "into"),
    examples=("baton pattern merge PAT-9d2k1m PAT-2x8m4c",),
)
def merge_pattern(ws: Workspace, now: datetime, asked: MergeInto) -> Changed:
    """Merge a pattern into another one that says the same: counts are added, and it is archived.

    Raises:
        InvalidArgument: they are the same record.
        NotAllowed: a person confirmed the one that goes but not the one that stays, or its status forbids it.
    """
    return merge_records(ws, now, "pattern-merge", Pattern, asked)
