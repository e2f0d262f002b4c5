"""What came from a remote and waits for a person."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from baton_git.errors import NeedsHuman, NotFound
from baton_git.names import Oid
from baton_git.operations.reaching import remote_of
from baton_git.operations.workspace import Workspace
from baton_git.sync.waiting import Decided, Item, Waiting, resolve, waiting


def review(ws: Workspace, remote: str | None = None) -> tuple[str, Waiting | None]:
    """The remote, and what of it waits.

    Raises:
        NotFound: there is no remote.
        Corrupt: something cannot be read.
    """
    name = _named(ws, remote)
    return name, waiting(ws.branch, name, ws.trusted)


def decide(
    ws: Workspace, now: datetime, remote: str, *, take: Collection[str] | None, refuse: Collection[str] | None,
    shown: Oid | None = None, confirmed: Collection[str] = (),
) -> Decided:  # fmt: skip
    """Takes records over, and turns others down, by their ids; None: all that is not named otherwise.

    Args:
        shown: up to which commit of theirs a person has looked at it.
        confirmed: the ids of the records of which a person said, at a face that asked, that they become rules.

    Raises:
        NotFound: no record of such an id waits.
        Unsettled: more came than was shown.
        NeedsHuman: a record would become a rule, and is not `confirmed`; `record` in the data is its id.
        Busy: others kept writing here.
    """

    def check(item: Item) -> None:
        if takes_person(ws, item) and item.id not in confirmed:
            raise NeedsHuman(
                f"{item.id} would become a rule, which takes a person",
                hint=f"look at it, then type its id: on the page, or in a terminal: baton review --accept {item.id}",
                record=item.id,
            )

    stamp = ws.stamp("review", now)
    return resolve(ws.branch, remote, stamp, take=take, refuse=refuse, trusted=ws.trusted, shown=shown, check=check)


def takes_person(ws: Workspace, item: Item) -> bool:
    """Whether taking it over makes a rule here, or changes one, by nobody's signature.

    Where signatures count (baton.allowedSigners), what no trusted key signed was held back before it came up here.
    """
    if ws.trusted is not None:
        return False
    graduates = any(one.kind == "pattern" and one.after("status") == "graduated" for one in item.changes)
    return graduates or any(one.kind == "rule" and one.action != "removed" for one in item.changes)


def _named(ws: Workspace, remote: str | None) -> str:
    name = remote or remote_of(ws)
    if name is None:
        raise NotFound("remote to review", hint="baton review --remote NAME")
    return name
