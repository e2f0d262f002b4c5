"""What came from a remote and waits for a person."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from baton_git.core.errors import NeedsHuman, NotFound
from baton_git.core.names import Oid
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import Pattern
from baton_git.core.state import Key
from baton_git.namespace.commit_log import confirmation_trailers
from baton_git.namespace.provenance.labels import Labels
from baton_git.namespace.remote_selection import address_of, remote_of
from baton_git.namespace.review.queue import ReviewQueue, ReviewResult, WaitingRecord, load_review_queue, resolve_review
from baton_git.namespace.sync.tracking_refs import tracking_refs_of
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.rollback import How


def review(ws: Workspace, remote: str | None = None) -> tuple[str, ReviewQueue | None]:
    """The remote, and what of it waits.

    Raises:
        NotFound: there is no such remote, and nothing of it waits.
        Corrupt: something cannot be read.
    """
    name = _named(ws, remote)
    found = load_review_queue(ws.branch, name)
    if found is None and remote:
        address_of(ws, remote)  # what a removed remote sent may still wait; a name that never was is a mistake
    return name, found


def decide(
    ws: Workspace, now: datetime, remote: str, *, take: Collection[str] | None, refuse: Collection[str] | None,
    shown: Oid | None = None, confirmed: Collection[str] = (), how: How = "terminal",
) -> ReviewResult:  # fmt: skip
    """Takes records over, and turns others down, by their ids; None: all that is not named otherwise.

    Args:
        shown: up to which commit of theirs a person has looked at it.
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
    names = (str(Key(Pattern.kind, one)) for one in confirmed)
    said = confirmation_trailers(how, ws.actor.author, *names) if confirmed else ()
    return resolve_review(
        ws.branch, remote, stamp, take=take, refuse=refuse, shown=shown, check=check, confirmed=said
    )  # fmt: skip


def takes_person(ws: Workspace, remote: str, item: WaitingRecord) -> bool:
    """Whether taking it over makes a rule here, or changes one, that nobody here vouches for yet."""
    graduates = any(one.kind == "pattern" and one.after("status") == "graduated" for one in item.changes)
    if not graduates and not any(one.kind == "rule" and one.action != "removed" for one in item.changes):
        return False
    labels = Labels(ws.branch, ws.branch.store.tip(tracking_refs_of(ws.branch, remote).incoming), ws.vouching)
    return labels.of(Key(Rule.kind, item.id)).kind != "confirmed"


def _named(ws: Workspace, remote: str | None) -> str:
    name = remote or remote_of(ws)
    if name is None:
        raise NotFound("remote to review", hint="baton review --remote NAME")
    return name
