"""Rename, move or delete the branch of a namespace on a remote, if it contains no commits that this machine lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from baton_git.core.errors import NotAllowed, NotFound, RemoteError, Unsettled
from baton_git.core.names import Oid
from baton_git.git.remotes import Push, PushAccepted, PushRefused, Remote
from baton_git.namespace.branch import Branch
from baton_git.namespace.moving import delete_ref
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.tracking_refs import lanes_of, list_tracked_lanes, set_ref, tracking_refs_of

SECONDS = 60.0
"""Time limit for each request to the remote, in seconds."""


def check_remote(remote: Remote, branch: Branch, ours: Oid | None) -> Oid | None:
    """Return the tip of the branch on the remote; None if the remote does not have the branch.

    Args:
        ours: the local commit that must contain all remote commits.

    Raises:
        Unsettled: the remote has commits that are not here.
        Unreachable, AccessDenied, RemoteError: the remote does not answer, denies access, or fails.
    """
    lanes = f"{lanes_of(branch)}*"
    tips = remote.tips({branch.ref: branch.ref, lanes: lanes}, seconds=SECONDS)
    theirs, store = tips.get(branch.ref), branch.store
    if theirs is None:
        return None
    if ours is None or not all(store.has(tip) and store.is_ancestor(tip, ours) for tip in tips.values()):
        raise Unsettled(
            f"{remote.name} has commits of {branch.namespace} that are not here",
            hint=f"run baton sync --remote {remote.name} first",
        )
    return theirs


class NamedRemote(NamedTuple):
    """A remote, its name in the configuration, and the environment for running git."""

    remote: Remote
    name: str
    environment: Mapping[str, str]


def rename_on_remote(named_remote: NamedRemote, old: Branch, new: Branch, stamp: CommitStamp) -> None:
    """Push the branch with the new name, and delete the one with the old name.

    Raises:
        NotFound: the new branch does not exist here.
        Unsettled, NotAllowed, Unreachable, AccessDenied, RemoteError: under the same conditions as `delete_on_remote`.
    """
    tip = _push_new(named_remote, old, new, stamp)
    delete_on_remote(named_remote, old, tip)


def move_on_remote(named_remote: NamedRemote, old: Branch, new: Branch, stamp: CommitStamp) -> None:
    """Push the branch of a namespace below its new prefix, and delete the one below the old prefix.

    Raises:
        NotFound, Unsettled, NotAllowed, Unreachable, AccessDenied, RemoteError: as for `rename_on_remote`.
    """
    tip = _push_new(named_remote, old, new, stamp)
    theirs = check_remote(named_remote.remote, old, tip)
    if theirs is not None:
        _push(named_remote.remote, Push(old.ref, None, theirs))


def _push_new(named_remote: NamedRemote, old: Branch, new: Branch, stamp: CommitStamp) -> Oid:
    remote = named_remote.remote
    tip = new.tip()
    if tip is None:
        raise NotFound("namespace", str(new.namespace))
    check_remote(remote, old, tip)
    theirs = check_remote(remote, new, tip)
    if theirs != tip:
        _push(remote, Push(new.ref, tip, theirs))
    set_ref(new.store, tracking_refs_of(new, named_remote.name).seen, tip, stamp)
    return tip


def delete_on_remote(named_remote: NamedRemote, branch: Branch, kept: Oid | None) -> None:
    """Delete the branch on a remote with its lanes, and its tracking refs here.

    Args:
        kept: the local commit that must contain all remote commits.

    Raises:
        NotAllowed: the remote refuses the push.
        Unsettled: the remote has commits that are not here.
        Unreachable, AccessDenied: the remote does not answer, or denies access.
        RemoteError: somebody else pushed to the branch meanwhile, or the remote failed.
    """
    theirs = check_remote(named_remote.remote, branch, kept)
    if theirs is not None:
        _push(named_remote.remote, Push(branch.ref, None, theirs))
    lanes = f"{lanes_of(branch)}*"
    for ref, tip in named_remote.remote.tips({lanes: lanes}, seconds=SECONDS).items():
        if kept is not None and branch.store.has(tip) and branch.store.is_ancestor(tip, kept):
            _push(named_remote.remote, Push(ref, None, tip))
    for ref in (*tracking_refs_of(branch, named_remote.name), *list_tracked_lanes(branch, named_remote.name)):
        known = branch.store.tip(ref)
        if known is not None:
            delete_ref(branch, ref, known, named_remote.environment)


def _push(remote: Remote, move: Push) -> None:
    answer = remote.push([move], seconds=SECONDS)[move.ref]
    if isinstance(answer, PushRefused):
        lines = "".join(f"\n  {line}" for line in answer.server_lines)
        raise NotAllowed(f"{remote.name} refused {move.ref}: {answer.why}{lines}")
    if not isinstance(answer, PushAccepted):
        raise RemoteError(f"{remote.name}: somebody pushed to {move.ref} meanwhile", hint="run the command again")
