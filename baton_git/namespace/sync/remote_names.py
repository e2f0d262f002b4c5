"""Rename or delete the branch of a namespace on a remote, if it holds nothing that this machine does not have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from baton_git.core.errors import NotAllowed, NotFound, RemoteError, Unsettled
from baton_git.core.names import Oid
from baton_git.git.remotes.remote import Push, PushAccepted, PushRefused, Remote
from baton_git.namespace.branch import Branch
from baton_git.namespace.moving import delete_ref
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.tracking_refs import set_ref, tracking_refs_of

SECONDS = 60.0
"""For each word with the remote."""


def check_remote(remote: Remote, branch: Branch, ours: Oid | None) -> Oid | None:
    """Return where the branch stands on the remote; None where it has none.

    Args:
        ours: the commit that must hold all that is there.

    Raises:
        Unsettled: the remote has commits that are not here.
        Unreachable, AccessDenied, RemoteError: it does not answer, or says no.
    """
    theirs = remote.tips({branch.ref: branch.ref}, seconds=SECONDS).get(branch.ref)
    if theirs is None:
        return None
    is_here = ours is not None and branch.store.has(theirs) and branch.store.is_ancestor(theirs, ours)
    if not is_here:
        raise Unsettled(
            f"{remote.name} has commits of {branch.namespace} that are not here",
            hint=f"first: baton sync --remote {remote.name}",
        )
    return theirs


class NamedRemote(NamedTuple):
    """A remote, what it is called here, and the environment of a git that we start."""

    remote: Remote
    name: str
    environment: Mapping[str, str]


def rename_on_remote(place: NamedRemote, old: Branch, new: Branch, stamp: CommitStamp) -> None:
    """Push the branch of the new name, and delete that of the old one.

    Raises:
        Unsettled, NotAllowed, Unreachable, AccessDenied, RemoteError: as in `check_remote` and `delete_on_remote`.
    """
    remote = place.remote
    tip = new.store.tip(new.ref)
    if tip is None:
        raise NotFound("namespace", str(new.namespace))
    check_remote(remote, old, tip)
    there = check_remote(remote, new, tip)
    if there != tip:
        _push(remote, Push(new.ref, tip, there))
    set_ref(new.store, tracking_refs_of(new, place.name).seen, tip, stamp)
    delete_on_remote(place, old, tip)


def delete_on_remote(place: NamedRemote, branch: Branch, kept: Oid | None) -> None:
    """Delete the branch on a remote.

    Args:
        kept: the commit that must hold all that is there.

    Raises:
        NotAllowed: the remote refuses.
        Unsettled: it has commits that are not here.
        Unreachable, AccessDenied, RemoteError: it does not answer, or says no.
    """
    theirs = check_remote(place.remote, branch, kept)
    if theirs is not None:
        _push(place.remote, Push(branch.ref, None, theirs))
    for ref in tracking_refs_of(branch, place.name):
        known = branch.store.tip(ref)
        if known is not None:
            delete_ref(branch, ref, known, place.environment)


def _push(remote: Remote, move: Push) -> None:
    answer = remote.push([move], seconds=SECONDS)[move.ref]
    if isinstance(answer, PushRefused):
        lines = "".join(f"\n  {line}" for line in answer.server_lines)
        raise NotAllowed(f"{remote.name} refused {move.ref}: {answer.why}{lines}")
    if not isinstance(answer, PushAccepted):
        raise RemoteError(f"{remote.name}: somebody wrote to {move.ref} meanwhile", hint="give the command once more")
