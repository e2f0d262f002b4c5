"""Approve and revoke what the user of this machine trusts: the commands of checks, and remotes."""

from __future__ import annotations

import os
from datetime import datetime

from baton_git.checks.approvals import Approvals, Contents, contents_of
from baton_git.core.errors import BatonError, InvalidArgument, NotFound, RemoteError
from baton_git.core.times import iso
from baton_git.namespace.remote_selection import find_remote_url
from baton_git.namespace.workspace import Workspace

NOT_APPROVED = "not approved on this machine"


def require_approvals(ws: Workspace) -> Approvals:
    """Return the approvals; raise InvalidArgument if they cannot be stored here."""
    if ws.approvals is None:
        raise InvalidArgument("approvals cannot be stored here", hint="work in a repository")
    return ws.approvals


def trust(ws: Workspace, now: datetime, argv: tuple[str, ...]) -> bool:
    """Approve exactly the command `argv` for this repository on this machine; return False if already approved.

    Raises:
        InvalidArgument: the command is empty or not UTF-8 text, or approvals cannot be stored here.
    """
    if not argv or not argv[0]:
        raise InvalidArgument("no command to approve", hint="baton trust ID, or baton trust -- PROGRAM ARGUMENT…")
    if any("\ud800" <= character <= "\udfff" for word in argv for character in word):
        raise InvalidArgument("the command is not UTF-8 text", hint="a record cannot store it")
    argv = _as_run(ws, argv)
    return require_approvals(ws).add(argv, iso(now), _read_contents(ws, argv))


def _as_run(ws: Workspace, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command in the one form in which it is approved and run, whether it was typed or is stored."""
    return ws.names.expand_arguments(ws.names.shorten_arguments(argv))


def find_refusal(ws: Workspace, argv: tuple[str, ...]) -> str | None:
    """Return why a command may not run here; None if it was approved and none of its files has changed since.

    Raises:
        Corrupt: the approvals cannot be read.
    """
    if ws.approvals is None:
        return NOT_APPROVED
    refusal, as_run = _find_refusal_of(ws, ws.approvals, argv), _as_run(ws, argv)
    if refusal is None or as_run == argv:
        return refusal
    return _find_refusal_of(ws, ws.approvals, as_run)  # an older record has the absolute path


def _find_refusal_of(ws: Workspace, approvals: Approvals, argv: tuple[str, ...]) -> str | None:
    try:
        contents = _read_contents(ws, argv)
    except BatonError as error:
        return f"{NOT_APPROVED}: {error}"
    if approvals.holds(argv, contents):
        return None
    changed = approvals.changed_since(argv, contents)
    return f"changed since it was approved on this machine: {', '.join(changed[:3])}" if changed else NOT_APPROVED


def _read_contents(ws: Workspace, argv: tuple[str, ...]) -> Contents:
    return contents_of(argv, ws.folder, ws.environment.get("PATH", os.defpath))


def distrust(ws: Workspace, argv: tuple[str, ...]) -> bool:
    """Revoke the approval of a command; return False if there was none."""
    approvals = require_approvals(ws)
    return [approvals.revoke(form) for form in dict.fromkeys((argv, _as_run(ws, argv)))].count(True) > 0


def trust_remote(ws: Workspace, now: datetime, remote: str) -> bool:
    """Trust a remote at its current address; return False if it was trusted already.

    Raises:
        NotFound: there is no such remote.
        InvalidArgument: approvals cannot be stored here.
    """
    return require_approvals(ws).trust_remote(remote, find_remote_url(ws, remote), iso(now))


def distrust_remote(ws: Workspace, remote: str) -> bool:
    """Stop trusting a remote, given by name or address; return False if it was not trusted.

    Raises:
        NotFound: the remote is neither configured nor trusted.
        InvalidArgument: approvals cannot be stored here.
    """
    approvals = require_approvals(ws)
    meant = {trusted.url for trusted in approvals.remotes() if remote in (trusted.name, trusted.url)}
    try:
        meant.add(find_remote_url(ws, remote))
    except NotFound:
        if not meant:
            raise
    return [approvals.revoke_remote(url) for url in sorted(meant)].count(True) > 0


def trusts_remote(ws: Workspace, remote: str) -> bool:
    """Return whether the user trusts the remote at its current address."""
    approvals = ws.approvals
    if approvals is None or not approvals.remotes():
        return False
    try:
        return approvals.trusts_remote(find_remote_url(ws, remote))
    except (NotFound, RemoteError):
        return False
