"""What came from a remote and waits for a person."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Self

from pydantic import BaseModel, Field, model_validator

from baton_git.core.errors import NeedsHuman, NotFound
from baton_git.core.names import parse_oid
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import Pattern
from baton_git.core.state import Key
from baton_git.core.verb import READS, REPLACES, Input, Result, verb
from baton_git.namespace.commit_log import confirmation_trailers
from baton_git.namespace.provenance.labels import Labels
from baton_git.namespace.remote_selection import address_of, configured_remote, remote_of
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
    """Of which remote."""

    remote: str | None = Field(
        None, description="A remote of the repository, by name; else the one to sync with.", examples=["origin"]
    )


class ReviewItem(BaseModel):
    """A record that waits, and what taking it would change here."""

    kind: str = Field(description="Its kind.")
    id: str = Field(description="Its id.")
    changes: list[ChangedRecord] = Field(description="What taking it would change.")


class Waiting(Result):
    """What of a remote waits for a person."""

    remote: str = Field(description="The remote.")
    theirs: str | None = Field(None, description="Up to which commit this is, for `shown`.", examples=[COMMIT])
    commits: int = Field(0, description="How many commits wait.")
    waiting: list[ReviewItem] = Field(description="The records that wait.")


class ReviewDecision(ReviewInput):
    """What becomes of what waits."""

    accept: list[str] = Field([], max_length=10_000, description="Ids that are taken over.", examples=[["OL-7k3f9q"]])
    reject: list[str] = Field([], max_length=10_000, description="Ids that are turned down.", examples=[["PAT-2"]])
    accept_all: bool = Field(False, description="Take over everything that is not rejected.")
    reject_all: bool = Field(False, description="Turn down everything that is not accepted.")
    shown: str | None = Field(None, description="`theirs` of what was seen: refuse if more came.", examples=[COMMIT])

    @model_validator(mode="after")
    def _check_choices(self) -> Self:
        both = sorted(set(self.accept) & set(self.reject))
        if both:
            raise ValueError(f"{', '.join(both[:5])} cannot be both accepted and rejected")
        if self.accept_all and self.reject_all:
            raise ValueError("{accept_all} and {reject_all} do not go together")
        if not (self.accept or self.reject or self.accept_all or self.reject_all):
            raise ValueError("nothing is decided: give {accept}, {reject}, {accept_all} or {reject_all}")
        return self


class Decided(Result):
    """What became of what waited."""

    remote: str = Field(description="The remote.")
    taken: list[str] = Field(description="What was taken over.")
    refused: list[str] = Field(description="What was turned down.")
    left: int = Field(description="How many still wait.")
    commit: str | None = Field(description="Where the branch stands now.", examples=[COMMIT])


@verb(
    "review",
    "GET /v1/review",
    effect=READS,
    anywhere=True,
    tag="sharing",
    refuses=(502, 504),
    examples=("baton review",),
)
def show_review(ws: Workspace, now: datetime, asked: ReviewInput) -> Waiting:
    """Show what came from a remote and waits for a person."""
    return make_waiting(*load_review(ws, configured_remote(ws, asked.remote)))


def make_waiting(remote: str, queue: ReviewQueue | None) -> Waiting:
    """Return what waits of a remote as a result."""
    if queue is None:
        return Waiting(remote=remote, waiting=[])
    items = [
        ReviewItem.model_validate({"kind": item.kind, "id": item.id, "changes": [c.as_data() for c in item.changes]})
        for item in queue.items
    ]
    return Waiting(remote=remote, theirs=queue.theirs, commits=queue.commits, waiting=items)


@verb(
    "review decide",
    "POST /v1/review",
    effect=REPLACES,
    anywhere=True,
    tag="sharing",
    query=("remote",),
    examples=("baton review --accept OL-7k3f9q --reject PAT-2", "baton review --reject PAT-2 --accept-all"),
)
def decide_review(ws: Workspace, now: datetime, asked: ReviewDecision) -> Decided:
    """Take over what waits, or turn it down, record by record or all of it.

    What would become a rule is refused: that takes a person, on the page or in a terminal.
    """
    name, queue = load_review(ws, configured_remote(ws, asked.remote))
    if queue is None:
        raise NotFound("change that waits of", name)
    take = None if asked.accept_all else asked.accept
    refuse = None if asked.reject_all else asked.reject
    shown = parse_oid(asked.shown) if asked.shown is not None else None
    return make_decided(name, decide(ws, now, name, ReviewChoice(take, refuse, shown)))


def make_decided(remote: str, outcome: ReviewResult) -> Decided:
    """Return what became of a review as a result."""
    return Decided(
        remote=remote, taken=list(outcome.taken), refused=list(outcome.refused), left=outcome.left,
        commit=outcome.commit,
    )  # fmt: skip


def load_review(ws: Workspace, remote: str | None = None) -> tuple[str, ReviewQueue | None]:
    """The remote, and what of it waits.

    Raises:
        NotFound: there is no such remote, and nothing of it waits.
        Corrupt: something cannot be read.
    """
    name = _choose_remote(ws, remote)
    queue = load_review_queue(ws.branch, name)
    if queue is None and remote:
        address_of(ws, remote)  # what a removed remote sent may still wait; a name that never was is a mistake
    return name, queue


def decide(
    ws: Workspace, now: datetime, remote: str, choice: ReviewChoice, *, confirmed: Collection[str] = (),
    how: How = "terminal",
) -> ReviewResult:  # fmt: skip
    """Takes records over, and turns others down.

    Args:
        confirmed: the ids of the records of which a person said, at a face that asked (`how`), that they become rules.

    Raises:
        NotFound: no record of such an id waits.
        Unsettled: more came than was shown.
        NeedsHuman: a record would become a rule, and is not `confirmed`; `record` in the data is its id.
        Busy: others kept writing here.
    """

    def check(item: WaitingRecord) -> None:
        if takes_person(ws, remote, item) and item.id not in confirmed:
            raise NeedsHuman(
                f"{item.id} would become a rule, which takes a person",
                hint=f"look at it, then type its id: on the page, or in a terminal: baton review --accept {item.id}",
                record=item.id,
            )

    stamp = ws.stamp("review", now)
    names = (str(Key(Pattern.kind, id_)) for id_ in confirmed)
    trailers = confirmation_trailers(how, ws.actor.author, *names) if confirmed else ()
    return resolve_review(ws.branch, remote, stamp, choice, check=check, confirmed=trailers)


def takes_person(ws: Workspace, remote: str, item: WaitingRecord) -> bool:
    """Whether taking it over makes a rule here, or changes one, that nobody here vouches for yet."""
    graduates = any(change.kind == "pattern" and change.after("status") == "graduated" for change in item.changes)
    if not graduates and not any(change.kind == "rule" and change.action != "removed" for change in item.changes):
        return False
    labels = Labels(ws.branch, ws.branch.store.tip(tracking_refs_of(ws.branch, remote).incoming), ws.vouching)
    return labels.of(Key(Rule.kind, item.id)).kind != "confirmed"


def _choose_remote(ws: Workspace, remote: str | None) -> str:
    name = remote or remote_of(ws)
    if name is None:
        raise NotFound("remote to review", hint="baton review --remote NAME")
    return name
