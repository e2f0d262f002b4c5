"""What the user of this machine allows: commands as checks, and remotes that are believed."""

from __future__ import annotations

import os
from datetime import datetime

from baton_git.checks.approvals import Approvals, Contents, contents_of
from baton_git.core.errors import BatonError, InvalidArgument, NotFound, RemoteError
from baton_git.core.times import iso
from baton_git.namespace.remote_selection import address_of
from baton_git.namespace.workspace import Workspace

NOT_APPROVED = "not approved on this machine"


def approvals_of(ws: Workspace) -> Approvals:
    if ws.approvals is None:
        raise InvalidArgument("there is no place for approvals here", hint="work in a repository")
    return ws.approvals


def trust(ws: Workspace, now: datetime, argv: tuple[str, ...]) -> bool:
    """Approves exactly `argv` for this repository on this machine; False when it was approved already."""
    if not argv or not argv[0]:
        raise InvalidArgument("no command to approve", hint="baton trust ID, or baton trust -- PROGRAM ARGUMENT…")
    if any("\ud800" <= character <= "\udfff" for word in argv for character in word):
        raise InvalidArgument("the command is not UTF-8 text", hint="no record could hold it")
    return approvals_of(ws).add(argv, iso(now), _contents(ws, argv))


def refusal_of(ws: Workspace, argv: tuple[str, ...]) -> str | None:
    """Why the command may not run here; None when exactly it was approved, and none of its files has changed since.

    Raises:
        Corrupt: the approvals cannot be read.
    """
    if ws.approvals is None:
        return NOT_APPROVED
    try:
        contents = _contents(ws, argv)
    except BatonError as error:
        return f"{NOT_APPROVED}: {error}"
    if ws.approvals.holds(argv, contents):
        return None
    changed = ws.approvals.changed_since(argv, contents)
    return f"changed since it was approved on this machine: {', '.join(changed[:3])}" if changed else NOT_APPROVED


def _contents(ws: Workspace, argv: tuple[str, ...]) -> Contents:
    return contents_of(argv, ws.folder, ws.environment.get("PATH", os.defpath))


def distrust(ws: Workspace, argv: tuple[str, ...]) -> bool:
    """Takes an approval back; False when there was none."""
    return approvals_of(ws).revoke(argv)


def trust_remote(ws: Workspace, now: datetime, remote: str) -> bool:
    """Believes what comes from the remote, at the address that it has now; False when it was believed already.

    Raises:
        NotFound: there is no such remote.
    """
    return approvals_of(ws).trust_remote(remote, address_of(ws, remote), iso(now))


def distrust_remote(ws: Workspace, remote: str) -> bool:
    """Takes that back for the remote of this name or address, also where the configuration has it no more; False when
    it was not believed.
    """
    approvals = approvals_of(ws)
    meant = {one.url for one in approvals.remotes() if remote in (one.name, one.url)}
    try:
        meant.add(address_of(ws, remote))
    except NotFound:
        if not meant:
            raise
    return [approvals.revoke_remote(url) for url in sorted(meant)].count(True) > 0


def trusts_remote(ws: Workspace, remote: str) -> bool:
    """Whether the user believes what comes from the remote at the address that it has now."""
    approvals = ws.approvals
    if approvals is None or not approvals.remotes():
        return False
    try:
        return approvals.trusts_remote(address_of(ws, remote))
    except (NotFound, RemoteError):
        return False
