"""Follow-ups: work that is put off."""

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
from baton_git.verbs.work_items.authorship import authorship_of
from baton_git.verbs.work_items.references import find_reference
from baton_git.verbs.work_items.similar_records import (
    MAX_COMPARED,
    Added,
    MergeInto,
    describe_similar,
    find_same,
    merge_records,
)

FollowUpId = Annotated[
    str, Field(description="The id of a follow-up, or a unique beginning of it.", examples=["FU-2x8m4c"])
]


class NewFollowUp(Input):
    """Something to do later."""

    item: str = Field(description="What is to be done.", examples=["Refactor the scoring formula"])
    reason: str | None = Field(None, description="Why it is put off.", examples=["release first"])
    pattern: str | None = Field(None, description="The pattern it belongs to.", examples=["PAT-9d2k1m"])
    priority: Literal["normal", "elevated", "escalated"] | None = Field(
        None, description="How urgent it is; normal unless given."
    )
    id: str | None = Field(None, min_length=1, description="An id of your own instead of a new one.")


class DeferFollowUp(Input):
    """Which follow-up to put off, and why."""

    id: FollowUpId
    reason: str | None = Field(
        None, description="Why, in place of the previous reason.", examples=["waiting for review"]
    )


class FinishFollowUp(Input):
    """Which follow-up is done."""

    id: FollowUpId
    note: str | None = Field(None, description="What was done; kept with the record.", examples=["in commit 4f2a91c"])


@verb(
    "followup add",
    "POST /v1/follow-ups",
    effect=ADDS,
    status=201,
    is_authored=True,
    other_status={200: "A follow-up says that already."},
    positional=("item",),
    options={"pattern": Option(metavar="ID"), "id": Option(metavar="ID")},
    tool=Tool("Something is put off.", hidden=("id",)),
    examples=('baton followup add "Refactor the scoring formula" --reason "release first"',),
)
def add_follow_up(ws: Workspace, now: datetime, asked: NewFollowUp) -> Added:
    """Note something to do later; what a live follow-up says already is not noted again.

    Raises:
        InvalidDocument: a value does not fit its field.
        NotAllowed: the id is taken.
        NotFound, Ambiguous: there is no such pattern, or there are several.
    """
    check_not_empty(asked.item, "item")
    pattern = find_reference(ws, Pattern, asked.pattern)
    optional = {"reason": asked.reason, "linked_pattern": pattern, "priority": asked.priority}
    id_ = asked.id or fresh_id(KINDS[FollowUp.kind].prefix)
    author = authorship_of(ws, FollowUp, id_)
    data = {
        "id": id_,
        "item": asked.item,
        "first_seen": iso_exact(now),
        "source_tier": author.tier,
    }
    record = parse(FollowUp, data | {name: value for name, value in optional.items() if value})

    def change(tip: Revision) -> State | ProposedState:
        if _find_known(tip.state, asked) is not None:
            return tip.state
        return ProposedState(tip.state.add(record), trailers=author.trailers)

    written = ws.update("followup-add", now, change)
    known = _find_known(written.before.state, asked)
    if known is not None:
        return Added.of(written, id=known.id, exists=True)
    similar = describe_similar("followup merge", record, written.before.state)
    return Added.of(written, id=record.id, **similar)


def _find_known(state: State, asked: NewFollowUp) -> FollowUp | None:
    """Return the live follow-up that says the same; one with an id of its own is always new."""
    return find_same(state, FollowUp, asked.item, MAX_COMPARED) if asked.id is None else None


@verb(
    "followup defer",
    "POST /v1/follow-ups/{id}/defer",
    effect=ADDS,
    positional=("id",),
    tool=Tool("Put off once more."),
    examples=("baton followup defer FU-2x8m4c",),
)
def defer_follow_up(ws: Workspace, now: datetime, asked: DeferFollowUp) -> Changed:
    """Put a follow-up off once more: elevated at the third time, escalated at the fifth."""
    return ws.edit(
        "followup-defer", now, FollowUp, asked.id,
        lambda state, item: state.put(apply_deferral(item, now, ws.policy, asked.reason)),
    )  # fmt: skip


@verb(
    "followup done",
    "POST /v1/follow-ups/{id}/done",
    effect=REPLACES,
    positional=("id",),
    tool=Tool("It is done: archive it."),
    examples=('baton followup done FU-2x8m4c --note "in commit 4f2a91c"',),
)
def finish_follow_up(ws: Workspace, now: datetime, asked: FinishFollowUp) -> Changed:
    """Mark a follow-up as done and archive it."""
    reason = f"done: {asked.note}" if asked.note else "done"
    return archive_record(ws, now, "followup-done", FollowUp, asked.id, reason)


@verb(
    "followup merge",
    "POST /v1/follow-ups/{id}/merge",
    effect=REPLACES,
    positional=("id", "into"),
    examples=("baton followup merge FU-2x8m4c FU-7k3f9q",),
)
def merge_follow_up(ws: Workspace, now: datetime, asked: MergeInto) -> Changed:
    """Merge a follow-up into another one that says the same: deferrals are added, and it is archived.

    Raises:
        InvalidArgument: they are the same record.
        NotAllowed: a person confirmed the one that goes but not the one that stays, or its status forbids it.
    """
    return merge_records(ws, now, "followup-merge", FollowUp, asked)
