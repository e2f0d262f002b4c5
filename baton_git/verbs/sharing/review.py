"""The verbs `review` and `review decide`: fetched changes that wait for a person."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Self

from pydantic import BaseModel, Field, model_validator

from baton_git.core.errors import NeedsHuman, NotFound
from baton_git.core.names import parse_oid
from baton_git.core.records.work_items import Pattern, Rule
from baton_git.core.state import Key
from baton_git.core.verb import READS, REPLACES, Input, Result, verb
from baton_git.namespace.commit_log import confirmation_trailers
from baton_git.namespace.provenance.labels import Labels
from baton_git.namespace.remote_selection import check_configured, find_remote_url, require_remote
from baton_git.namespace.results import COMMIT, ChangedRecord
from baton_git.namespace.review.queue import (
    ReviewChoice,
    ReviewQueue,
    ReviewResult,
    WaitingRecord,
    load_review_queue,
    resolve_review,
)
from baton_git.namespace.sync.tracking_refs import tracking_refs_of
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.rollback import How


class ReviewInput(Input):
    """The remote to review."""

    remote: str | None = Field(
        None, description="The name of a remote. The default is the remote to sync with.", examples=["origin"]
    )


class ReviewItem(BaseModel):
    """A waiting record, and the changes that accepting it would make here."""

    kind: str = Field(description="The kind of the record.")
    id: str = Field(description="The id of the record.")
    changes: list[ChangedRecord] = Field(description="The changes that accepting it would make.")


class Waiting(Result):
    """The changes of a remote that wait for a review."""

    remote: str = Field(description="The remote.")
    theirs: str | None = Field(
        None, description="The newest waiting commit, to pass as `shown` to a decision.", examples=[COMMIT]
    )
    commits: int = Field(0, description="The number of waiting commits.")
    waiting: list[ReviewItem] = Field(description="The waiting records.")
    withheld: str | None = Field(None, description="Why the changes are left out; only a person may see them.")


class ReviewDecision(ReviewInput):
    """The records to accept and to reject."""

    accept: list[str] = Field([], max_length=10_000, description="Ids of records to accept.", examples=[["OL-7k3f9q"]])
    reject: list[str] = Field([], max_length=10_000, description="Ids of records to reject.", examples=[["PAT-2"]])
    accept_all: bool = Field(False, description="Accept everything that is not rejected.")
    reject_all: bool = Field(False, description="Reject everything that is not accepted.")
    shown: str | None = Field(
        None,
        description="The value of `theirs` in the review that you saw; refuse if newer commits were fetched since.",
        examples=[COMMIT],
    )

    @model_validator(mode="after")
    def _check_choices(self) -> Self:
        both = sorted(set(self.accept) & set(self.reject))
        if both:
            raise ValueError(f"{', '.join(both[:5])} cannot be both accepted and rejected")
        if self.accept_all and self.reject_all:
            raise ValueError("{accept_all} and {reject_all} cannot be combined")
        if not (self.accept or self.reject or self.accept_all or self.reject_all):
            raise ValueError("nothing is decided: give {accept}, {reject}, {accept_all} or {reject_all}")
        return self


class Decided(Result):
    """The result of a review."""

    remote: str = Field(description="The remote.")
    accepted: list[str] = Field(description="The ids of accepted records.")
    rejected: list[str] = Field(description="The ids of rejected records.")
    remaining: int = Field(description="The number of records that still wait.")
    commit: str | None = Field(description="The new tip of the branch.", examples=[COMMIT])
    notes: list[str] = Field([], description="What became of changed modes of record files.")


@verb(
    "review",
    "GET /v1/review",
    effect=READS,
    anywhere=True,
    tag="sharing",
    refuses=(502, 504),
    examples=("baton review",),
)
def show_review(ws: Workspace, now: datetime, verb_input: ReviewInput) -> Waiting:
    """Show the fetched changes that wait for a review. To an agent, and over the API, only their kinds and ids."""
    return make_waiting(*load_review(ws, check_configured(ws, verb_input.remote)))


def make_waiting(remote: str, queue: ReviewQueue | None) -> Waiting:
    """Return the result for the waiting changes of a remote."""
    if queue is None:
        return Waiting(remote=remote, waiting=[])
    items = [
        ReviewItem.model_validate({"kind": item.kind, "id": item.id, "changes": [c.as_data() for c in item.changes]})
        for item in queue.items
    ]
    return Waiting(
        remote=remote, theirs=queue.theirs, commits=queue.commits, waiting=items, withheld=queue.withheld or None
    )


@verb(
    "review decide",
    "POST /v1/review",
    effect=REPLACES,
    anywhere=True,
    tag="sharing",
    query=("remote",),
    examples=("baton review --accept OL-7k3f9q --reject PAT-2", "baton review --reject PAT-2 --accept-all"),
)
def decide_review(ws: Workspace, now: datetime, verb_input: ReviewDecision) -> Decided:
    """Accept or reject waiting changes, record by record or all at once.

    Only a person may do that: it is refused to an agent, and over the API. A record that would become a rule also needs
    a confirmation, on the page or in a terminal.

    Raises:
        NotFound: nothing waits, or no waiting record has a given id.
        Unsettled: newer commits were fetched than were shown.
        NeedsHuman: the caller is or may be an agent, or a record would become a rule.
        NotAllowed: an accepted file is not allowed in a namespace.
        Busy: other writers kept changing the branch.
    """
    name, queue = load_review(ws, check_configured(ws, verb_input.remote))
    if queue is None:
        raise NotFound("waiting change of", name)
    accept = None if verb_input.accept_all else verb_input.accept
    reject = None if verb_input.reject_all else verb_input.reject
    shown = parse_oid(verb_input.shown) if verb_input.shown is not None else None
    return make_decided(name, decide(ws, now, name, ReviewChoice(accept, reject, shown)))


def make_decided(remote: str, outcome: ReviewResult) -> Decided:
    """Return the outcome of a review as a result."""
    return Decided(
        remote=remote, accepted=list(outcome.accepted), rejected=list(outcome.rejected), remaining=outcome.remaining,
        commit=outcome.commit, notes=list(outcome.notes),
    )  # fmt: skip


def load_review(ws: Workspace, remote: str | None = None) -> tuple[str, ReviewQueue | None]:
    """Return the name of the remote, and its waiting changes (None if there are none); without content for an agent.

    Args:
        remote: a name; None for the remote to sync with.

    Raises:
        NotFound: the remote does not exist, and none of its changes wait.
        Corrupt: a commit, a tree or the file with earlier decisions cannot be read.
    """
    name = remote or require_remote(ws)
    queue = load_review_queue(ws.branch, name)
    if queue is None and remote:
        find_remote_url(ws, remote)  # raises for an unknown name; changes of a removed remote may still wait
    why = _find_agent(ws) if queue is not None else ""
    if queue is None or not why:
        return name, queue
    items = tuple(item._replace(changes=()) for item in queue.items)
    return name, queue._replace(items=items, withheld=f"{why}; {HOW_TO_REVIEW}")


HOW_TO_REVIEW = (
    "only a person may review, on the page of baton serve with its own token (BATON_PAGE_TOKEN), or with baton review "
    "at a terminal of their own"
)


def _find_agent(ws: Workspace) -> str:
    """Return why the caller may be an agent; empty for a person, or if there is no sign of an agent."""
    return ws.find_agent() if ws.confirmed is None else ""


def decide(
    ws: Workspace, now: datetime, remote: str, choice: ReviewChoice, *, confirmed: Collection[str] = (),
    how: How = "terminal",
) -> ReviewResult:  # fmt: skip
    """Accept and reject waiting records.

    Args:
        confirmed: the ids of the records that may become rules, because a person confirmed it.
        how: where the person confirmed it.

    Raises:
        NotFound: nothing waits, or no waiting record has a given id.
        Unsettled: newer commits were fetched than were shown.
        NeedsHuman: the caller is or may be an agent; or a record would become a rule and is not `confirmed`; then
            `record` in the data is its id.
        NotAllowed: an accepted file is not allowed in a namespace.
        Busy: other writers kept changing the branch.
    """

    def check(item: WaitingRecord) -> None:
        if needs_person(ws, remote, item) and item.id not in confirmed:
            raise NeedsHuman(
                f"{item.id} would become a rule, which only a person may accept",
                hint=f"a person accepts it on the page, or in a terminal: baton review --accept {item.id}",
                record=item.id,
            )

    if why := _find_agent(ws):
        raise NeedsHuman(f"{why}, so nothing was decided", hint=HOW_TO_REVIEW)
    stamp = ws.stamp("review", now)
    names = (str(Key(Pattern.kind, id_)) for id_ in confirmed)
    trailers = confirmation_trailers(how, ws.actor.author, *names) if confirmed else ()
    return resolve_review(ws.branch, remote, stamp, choice, check=check, confirmed=trailers)


def needs_person(ws: Workspace, remote: str, item: WaitingRecord) -> bool:
    """Return whether accepting a record creates or changes a rule that nobody on this machine vouches for yet."""
    graduates = any(change.kind == "pattern" and change.after("status") == "graduated" for change in item.changes)
    if not graduates and not any(change.kind == "rule" and change.action != "removed" for change in item.changes):
        return False
    labels = Labels(ws.branch, ws.branch.store.tip(tracking_refs_of(ws.branch, remote).incoming), ws.vouching)
    return labels.of(Key(Rule.kind, item.id)).kind != "confirmed"
