"""Decisions: add, monitor, supersede."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from baton_git.core.errors import FieldHint, NeedsHuman
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import (
    apply_monitoring,
    apply_replacement_proposal,
    apply_supersession,
    may_supersede,
)
from baton_git.core.records.base import parse
from baton_git.core.records.work_items import ActiveDecision
from baton_git.core.state import Key, State, key_of
from baton_git.core.times import iso
from baton_git.core.verb import ADDS, REPLACES, SETTLES, Confirmation, Input, Option, Tool, verb
from baton_git.namespace.caller import ConfirmQuestion, Vouched
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace, check_not_empty, fresh_id
from baton_git.verbs.work_items.anchoring import ABOUT, About, anchor_record, as_field, make_anchors
from baton_git.verbs.work_items.new_records import (
    Added,
    MergeInto,
    NewId,
    authorship_of,
    confirm_change,
    describe_similar,
    merge_records,
)

DecisionId = Annotated[str, Field(description="The id of a decision, or a unique prefix of it.", examples=["DEC-042"])]


class NewDecision(Input):
    """A choice and its reasons."""

    what: str = Field(description="What was decided.", examples=["Always use --update-env-vars"])
    why: str = Field(description="The reason.", examples=["--set-env-vars clears the others"])
    evidence: list[str] = Field([], description="Evidence for it.", examples=[["incident of 2026-06-12"]])
    rejected: list[str] = Field([], description="Rejected alternatives.", examples=[["a wrapper script"]])
    about: About = Field([])
    replaces: str | None = Field(
        None, description="The id of a decision that it replaces, or that it is proposed to replace.",
        examples=["DEC-042"],
    )  # fmt: skip
    tier: Literal["raw_source", "llm_derived", "human_confirmed"] | None = Field(
        None,
        description="Who vouches for it. Default: human_confirmed if a person vouches for it, or else llm_derived.",
    )
    id: NewId | None = Field(None, description="The id to use, to continue an existing numbering. Default: a new one.")


class AnchorDecision(Input):
    """The decision, and the files it is about."""

    id: DecisionId
    about: About = Field([])


class MonitorDecision(Input):
    """The decision to watch."""

    id: DecisionId


class Replaced(Changed):
    """A decision that was superseded, or the proposal to replace it."""

    proposed: str | None = Field(
        None,
        description="The decision that is now proposed to replace it, because only a person may; absent if it was "
        "replaced.",
        examples=["DEC-051"],
    )

    @classmethod
    def of_replacement(cls, written: WriteResult, id_: str, **fields: Any) -> Self:
        """Return the result of a write that replaces a decision or proposes to."""
        state = written.revision.state
        changed = [change.id for change in written.changes if change.after("replaces") == id_]
        new = changed or [other.id for other in state.select(ActiveDecision, lambda other: other.replaces == id_)]
        old = state.entry(Key(ActiveDecision.kind, id_))
        is_open = isinstance(old, ActiveDecision) and old.status != "superseded"
        return cls.of(written, id=id_, **({"proposed": new[0]} if new and is_open else {}), **fields)

    @property
    def notes(self) -> tuple[str, ...]:
        if self.proposed is None:
            return ()
        proposal = f"{self.proposed}, proposed to replace {self.id}"
        confirm = f"baton decision confirm {self.proposed}"
        return (f"{proposal}: {self.id} stays in force until a person confirms it: {confirm}",)


class SupersedeDecision(Input):
    """The decision to replace, and its successor."""

    id: DecisionId
    by: str = Field(description="The id of the decision that replaces it.", examples=["DEC-051"])


def _ask_about_decision(ws: Workspace, now: datetime, verb_input: NewDecision) -> ConfirmQuestion | None:
    """Return the question whether a person vouches for a new decision; None if its tier does not need that."""
    if verb_input.tier != "human_confirmed":
        return None
    lists = (("Evidence", verb_input.evidence), ("Rejected", verb_input.rejected))
    more = (f"{name}: {text}" for name, texts in lists for text in texts)
    return ConfirmQuestion(
        (f"Decision: {verb_input.what}", f"Reason: {verb_input.why}", *more), "You would vouch for it."
    )


@verb(
    "decision add",
    "POST /v1/decisions",
    effect=ADDS,
    status=201,
    is_authored=True,
    positional=("what",),
    confirm=Confirmation(_ask_about_decision),
    options={"id": Option(metavar="ID"), "replaces": Option(metavar="ID"), "about": ABOUT},
    tool=Tool(
        "Record a decision and its reasons.",
        hidden=("id", "tier", "replaces"),
        fields={"about": "PATH:SYMBOL"},
    ),
    examples=('baton decision add "Always use --update-env-vars" --why "--set-env-vars clears the others"',),
)
def add_decision(ws: Workspace, now: datetime, verb_input: NewDecision) -> Added:
    """Record a decision and its reasons.

    For the tier `human_confirmed`, a person must vouch for the decision: at a terminal where no agent acts, or by a
    signature with a key that needs a touch or a passphrase.

    A decision is about the files that you name, or else about those that the session has changed. The brief marks the
    decision as soon as one of the named files has changed, or more than half of the others.

    Raises:
        InvalidArgument: a file is not in the work tree, or lacks the symbol.
        InvalidDocument: a value does not fit its field.
        NeedsHuman: the tier is human_confirmed and no person vouched for it.
        NotAllowed: the id is taken.
    """
    check_not_empty(verb_input.what, "decision")
    check_not_empty(verb_input.why, "reason")
    id_ = verb_input.id or fresh_id(KINDS[ActiveDecision.kind].prefix)
    author = authorship_of(ws, ActiveDecision, id_)
    if verb_input.tier == "human_confirmed" and author.tier != "human_confirmed":
        raise NeedsHuman(
            "a decision is human_confirmed only when a person vouches for it",
            hint=FieldHint("add it in a terminal and type yes when asked, or leave out {tier}"),
        )
    data: dict[str, Any] = {
        "id": id_,
        "what": verb_input.what,
        "why": verb_input.why,
        "created_at": iso(now),
        "status": "active",
        "source_tier": verb_input.tier or author.tier,
    }
    data |= as_field(make_anchors(ws, verb_input.about))
    lists = {"evidence": verb_input.evidence, "rejected": verb_input.rejected}
    decision = parse(ActiveDecision, data | {name: value for name, value in lists.items() if value})
    trailers = author.trailers if decision.source_tier == "human_confirmed" else ()
    named = verb_input.replaces
    old_id = None if named is None else ws.branch.read().state.find(ActiveDecision, named).id

    def change(tip: Revision) -> ProposedState:
        state = tip.state.add(decision)
        if old_id is None:
            return ProposedState(state, trailers=trailers)
        replaced = replace_decision(ws, tip, state, tip.state.get(ActiveDecision, old_id), decision)
        confirmed = dict.fromkeys((*trailers, *replaced.trailers))
        return replaced._replace(trailers=tuple(confirmed))

    written = ws.update("decision-add", now, change)
    similar = describe_similar("decision merge", decision, ws.branch.read().state)
    return Added.of(written, id=decision.id, **similar)


@verb(
    "decision anchor",
    "POST /v1/decisions/{id}/anchor",
    effect=REPLACES,
    positional=("id",),
    options={"about": ABOUT},
    examples=("baton decision anchor DEC-042 --about src/export.py:write_row", "baton decision anchor DEC-042"),
)
def anchor_decision(ws: Workspace, now: datetime, verb_input: AnchorDecision) -> Changed:
    """Set which files a decision is about; without a file, confirm that the decision still holds.

    Raises:
        InvalidArgument: a file is not in the work tree, or lacks the symbol.
    """
    return anchor_record(ws, now, "decision-anchor", ActiveDecision, verb_input.id, verb_input.about)


@verb(
    "decision monitor",
    "POST /v1/decisions/{id}/monitor",
    effect=SETTLES,
    positional=("id",),
    tool=Tool("Watch a decision."),
    examples=("baton decision monitor DEC-042",),
)
def monitor_decision(ws: Workspace, now: datetime, verb_input: MonitorDecision) -> Changed:
    """Mark a decision as watched; it stays in force."""
    return ws.edit(
        "decision-monitor",
        now,
        ActiveDecision,
        verb_input.id,
        lambda state, decision: state.put(apply_monitoring(decision)),
    )


@verb(
    "decision supersede",
    "POST /v1/decisions/{id}/supersede",
    effect=REPLACES,
    is_authored=True,
    positional=("id",),
    options={"by": Option(metavar="ID")},
    tool=Tool("Replace a decision with another."),
    examples=("baton decision supersede DEC-042 --by DEC-051",),
)
def supersede_decision(ws: Workspace, now: datetime, verb_input: SupersedeDecision) -> Replaced:
    """Replace a decision with another one.

    An agent cannot replace a decision that a person confirmed, nor one that a model derived by another one that a model
    derived. Then the new decision is stored as a proposal: the old one stays in force, and both are told as one line,
    until a person settles it with `baton decision confirm`, or forgets one of them.

    Raises:
        NotFound, Ambiguous: an id names no decision, or several.
        InvalidArgument: both ids name the same decision.
        NotAllowed: one of them is superseded.
    """
    id_ = ws.branch.read().state.find(ActiveDecision, verb_input.id).id

    def change(tip: Revision) -> ProposedState:
        old, new = tip.state.get(ActiveDecision, id_), tip.state.find(ActiveDecision, verb_input.by)
        return replace_decision(ws, tip, tip.state, old, new)

    return Replaced.of_replacement(ws.update("decision-supersede", now, change), id_)


def replace_decision(
    ws: Workspace, tip: Revision, state: State, old: ActiveDecision, new: ActiveDecision
) -> ProposedState:
    """Return the state in which a decision is superseded by another, or in which the other is proposed to replace it.

    Raises:
        InvalidArgument: both are the same decision.
        NotAllowed: one of them is superseded.
    """
    judge, is_person = ws.judgement(tip), isinstance(ws.confirmed, Vouched)
    tiers = [judge.tier(key_of(side), side.source_tier) for side in (old, new)]
    if is_person or (may_supersede(*tiers) and not judge.is_confirmed(key_of(old))):
        state = state.put(apply_supersession(old, new, judge, is_person=is_person))
        return ProposedState(state, trailers=confirm_change(ws, old))
    return ProposedState(state.put(apply_replacement_proposal(old, new, judge)))


@verb(
    "decision merge",
    "POST /v1/decisions/{id}/merge",
    effect=REPLACES,
    positional=("id", "into"),
    examples=("baton decision merge DEC-051 DEC-042",),
)
def merge_decision(ws: Workspace, now: datetime, verb_input: MergeInto) -> Changed:
    """Archive a duplicate decision, and add its evidence and files to the decision that remains.

    Raises:
        InvalidArgument: both ids name the same record.
        NotAllowed: a person confirmed the merged decision but not the remaining one, or one of them is superseded.
    """
    return merge_records(ws, now, "decision-merge", ActiveDecision, verb_input)
