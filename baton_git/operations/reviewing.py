"""What came from a remote and waits for a person."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from baton_git.errors import NotFound
from baton_git.names import Oid
from baton_git.operations.reaching import remote_of
from baton_git.operations.workspace import Workspace
from baton_git.sync.waiting import Decided, Waiting, resolve, waiting


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
    shown: Oid | None = None,
) -> Decided:  # fmt: skip
    """Takes records over, and turns others down, by their ids; None: all that is not named otherwise.

    Args:
        shown: up to which commit of theirs a person has looked at it.

    Raises:
        NotFound: no record of such an id waits.
        Unsettled: more came than was shown.
        Busy: others kept writing here.
    """
    stamp = ws.stamp("review", now)
    return resolve(ws.branch, remote, stamp, take=take, refuse=refuse, trusted=ws.trusted, shown=shown)


def _named(ws: Workspace, remote: str | None) -> str:
    name = remote or remote_of(ws)
    if name is None:
        raise NotFound("remote", "to review", hint="baton review --remote NAME")
    return name
