"""Follow-ups: deferred work."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import apply_deferral
from baton_git.core.records.base import parse
from baton_git.core.records.work_items import FollowUp, Pattern
from baton_git.core.state import State
from baton_git.core.times import iso_exact
from baton_git.core.verb import ADDS, REPLACES, Input, Option, Tool, verb
from baton_git.namespace.results import Changed
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.workspace import Workspace, archive_record, check_not_empty, fresh_id
from baton_git.verbs.work_items.new_records import (
    Added,
    MergeInto,
    NewId,
    authorship_of,
    describe_similar,
    find_reference,
    find_same,
    merge_records,
)

FollowUpId = Annotated[
    str, Field(description="The id of a follow-up, or a unique prefix of it.", examples=["FU-2x8m4c"])
]


class NewFollowUp(Input):
    """Work to do later."""

    item: str = Field(description="The work to do.", examples=["Refactor the scoring formula"])
    reason: str | None = Field(None, description="Why it is deferred.", examples=["release first"])
    pattern: str | None = Field(None, description="The pattern that it belongs to.", examples=["PAT-9d2k1m"])
    priority: Literal["normal", "elevated", "escalated"] | None = Field(
        None, description="How urgent it is. Default: normal."
    )
    id: NewId | None = Field(None, description="The id to use. Default: a new one.")


class DeferFollowUp(Input):
    """The follow-up to defer, and the reason."""

    id: FollowUpId
    reason: str | None = Field(
        None, description="The reason, replacing the previous one.", examples=["waiting for review"]
    )


class FinishFollowUp(Input):
    """The follow-up that is done."""

    id: FollowUpId
    note: str | None = Field(None, description="What was done; stored with the record.", examples=["in commit 4f2a91c"])


@verb(
    "followup add",
    "POST /v1/follow-ups",
    effect=ADDS,
    status=201,
    is_authored=True,
    other_status={200: "A follow-up with this text exists already."},
    positional=("item",),
    options={"pattern": Option(metavar="ID"), "id": Option(metavar="ID")},
    tool=Tool("Record work to do later.", hidden=("id",)),
    examples=('baton followup add "Refactor the scoring formula" --reason "release first"',),
)
def add_follow_up(ws: Workspace, now: datetime, verb_input: NewFollowUp) -> Added:
    """Record work to do later.

    Without an id, nothing is recorded if a live follow-up has the same text.

    Raises:
        InvalidDocument: a value does not fit its field.
        NotAllowed: the id is taken.
        NotFound, Ambiguous: `pattern` names no pattern, or several.
    """
    check_not_empty(verb_input.item, "item")
    pattern = find_reference(ws, Pattern, verb_input.pattern)
    optional = {"reason": verb_input.reason, "linked_pattern": pattern, "priority": verb_input.priority}
    id_ = verb_input.id or fresh_id(KINDS[FollowUp.kind].prefix)
    author = authorship_of(ws, FollowUp, id_)
    data = {
        "id": id_,
        "item": verb_input.item,
        "first_seen": iso_exact(now),
        "source_tier": author.tier,
    }
    record = parse(FollowUp, data | {name: value for name, value in optional.items() if value})

    def change(tip: Revision) -> State | ProposedState:
        if _find_known(tip.state, verb_input) is not None:
            return tip.state
        return ProposedState(tip.state.add(record), trailers=author.trailers)

    written = ws.update("followup-add", now, change)
    known = _find_known(written.before.state, verb_input)
    if known is not None:
        return Added.of(written, id=known.id, exists=True)
    similar = describe_similar("followup merge", record, ws.branch.read().state)
    return Added.of(written, id=record.id, **similar)


def _find_known(state: State, verb_input: NewFollowUp) -> FollowUp | None:
    """Return the live follow-up with the same text; None if the input names an id."""
    return find_same(state, FollowUp, verb_input.item) if verb_input.id is None else None


@verb(
    "followup defer",
    "POST /v1/follow-ups/{id}/defer",
    effect=ADDS,
    positional=("id",),
    tool=Tool("Defer a follow-up."),
    examples=("baton followup defer FU-2x8m4c",),
)
def defer_follow_up(ws: Workspace, now: datetime, verb_input: DeferFollowUp) -> Changed:
    """Defer a follow-up once more. By default, the third deferral makes it elevated, and the fifth escalated."""
    return ws.edit(
        "followup-defer", now, FollowUp, verb_input.id,
        lambda state, item: state.put(apply_deferral(item, now, ws.policy, verb_input.reason)),
    )  # fmt: skip


@verb(
    "followup done",
    "POST /v1/follow-ups/{id}/done",
    effect=REPLACES,
    positional=("id",),
    tool=Tool("Archive a finished follow-up."),
    examples=('baton followup done FU-2x8m4c --note "in commit 4f2a91c"',),
)
def finish_follow_up(ws: Workspace, now: datetime, verb_input: FinishFollowUp) -> Changed:
    """Mark a follow-up as done and archive it."""
    reason = f"done: {verb_input.note}" if verb_input.note else "done"
    return archive_record(ws, now, "followup-done", FollowUp, verb_input.id, reason)


@verb(
    "followup merge",
    "POST /v1/follow-ups/{id}/merge",
    effect=REPLACES,
    positional=("id", "into"),
    examples=("baton followup merge FU-2x8m4c FU-7k3f9q",),
)
def merge_follow_up(ws: Workspace, now: datetime, verb_input: MergeInto) -> Changed:
    """Archive a duplicate follow-up, and add its deferrals to the follow-up that remains.

    Raises:
        InvalidArgument: both ids name the same record.
        NotAllowed: a person confirmed the merged follow-up but not the remaining one.
    """
    return merge_records(ws, now, "followup-merge", FollowUp, verb_input)
