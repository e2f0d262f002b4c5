"""The private refs of baton: fetched tips, last known tips of remotes, and backups of reset or deleted branches.

refs/baton-incoming/<remote>/<namespace>   the tip that was fetched last
refs/baton-remotes/<remote>/<namespace>    the last known tip on the remote
refs/baton-incoming/=lanes/<remote>/<namespace>/<lane>  a lane of the remote (see `lanes`), as it was seen last
refs/baton-backup/<namespace>/<time>-<id>  the tip of the local branch before it was reset or deleted
"""

from __future__ import annotations

import re
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from baton_git.core.errors import InvalidName
from baton_git.core.names import LANES, Oid, decode, encode
from baton_git.core.times import iso
from baton_git.git.store import Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.last_tip import BACKUP
from baton_git.namespace.revision import CommitStamp

INCOMING = "refs/baton-incoming/"
REMOTES = "refs/baton-remotes/"
TRACKED_LANES = f"{INCOMING}=lanes/"  # `=` begins no encoded name of a remote

_ADDRESS = re.compile(r"^[./~]|[:@\\]")


class TrackingRefs(NamedTuple):
    """The private refs of a namespace for one remote: the tip that was fetched last, and the last known remote tip."""

    incoming: str
    seen: str


def encode_remote(remote: str) -> str:
    """Return a remote's name encoded as a part of a ref. An address, which may contain a password, is hashed."""
    if not _ADDRESS.search(remote):
        with suppress(InvalidName):
            return encode(remote)
    return sha256(remote.encode("utf-8", "replace")).hexdigest()[:40]


def tracking_refs_of(branch: Branch, remote: str) -> TrackingRefs:
    tail = f"{encode_remote(remote)}/{branch.namespace.component}"
    return TrackingRefs(INCOMING + tail, REMOTES + tail)


def git_tracking_ref(branch: Branch, remote: str) -> str | None:
    """Return the ref in which git keeps the tip of the remote's branch; None for a remote that is only an address."""
    return None if _ADDRESS.search(remote) else f"refs/remotes/{remote}/{branch.ref.removeprefix('refs/heads/')}"


def lanes_of(branch: Branch) -> str:
    """Return the prefix of the refs of a namespace's lanes on a remote."""
    return f"{LANES}{branch.namespace.component}/"


def track_lane(ref: str, remote: str) -> str:
    """Return the private ref for a lane of a remote, or for a pattern of lanes."""
    return f"{TRACKED_LANES}{encode_remote(remote)}/{ref.removeprefix(LANES)}"


def list_tracked_lanes(branch: Branch, remote: str) -> dict[str, Oid]:
    """Return the private refs of the namespace's lanes on a remote, with the tips that were seen last."""
    return branch.store.refs(track_lane(lanes_of(branch), remote))


def list_known_remotes(branch: Branch) -> list[str]:
    """Return the remotes that this namespace was ever synced with, sorted by name, with addresses as digests."""
    store, name = branch.store, branch.namespace.component
    folders = ((prefix, remote) for prefix in (REMOTES, INCOMING) for remote in store.ref_folders(prefix))
    return sorted(
        {_remote_of(remote) for prefix, remote in folders if store.tip(f"{prefix}{remote}/{name}") is not None}
    )


def _remote_of(component: str) -> str:
    try:
        return decode(component)
    except InvalidName:
        return component


def set_ref(store: Store, ref: str, to: Oid, stamp: CommitStamp) -> None:
    """Set a private ref, regardless of its current value. If others keep changing the ref, their value stays."""
    for _ in range(10):
        now = store.tip(ref)
        if now == to:
            return
        if store.publish(store.draft(), ref, now, to, stamp.reflog_entry()):
            return


def create_backup(branch: Branch, tip: Oid, stamp: CommitStamp) -> str:
    """Create a backup ref for `tip`, and return its name."""
    time = iso(stamp.now).replace(":", "").replace("-", "")
    ref = f"{BACKUP}{branch.namespace.component}/{time}-{tip[:8]}"
    set_ref(branch.store, ref, tip, stamp)
    return ref


# --- the number of commits by which a local branch and its remote branch differ, as far as known without a fetch


def count_commits(store: Store, tip: Oid | None, *excluded: Oid | None) -> int:
    """Return the number of commits reachable from `tip` but from none of `excluded`: 0.2 s for 10,000."""
    if tip is None or tip in excluded:
        return 0
    return sum(1 for _ in store.only_in(tip, *(commit for commit in excluded if commit is not None)))


def is_waiting(branch: Branch, remote: str) -> bool:
    """Return whether fetched commits of the remote are not merged into the local branch."""
    theirs, local = branch.store.tip(tracking_refs_of(branch, remote).incoming), branch.tip()
    return theirs is not None and theirs != local and not (local and branch.store.is_ancestor(theirs, local))


class Unsent(NamedTuple):
    """The local commits that a remote lacked when last seen.

    Attributes:
        oldest: the time of the oldest one, in seconds since 1970, without the initial commit of a namespace, which has
            no time; None if there is no other.
    """

    commits: int = 0
    oldest: int | None = None


def find_unsent(branch: Branch, remote: str, *, lanes: bool = True) -> Unsent:
    """Return what the remote lacked when baton or git last saw its branch.

    Args:
        lanes: whether commits that are only in a lane there count as sent; not so once the setting is off, because
            then nobody may merge them.
    """
    in_lanes = list_tracked_lanes(branch, remote).values() if lanes else ()
    pushed = git_tracking_ref(branch, remote)  # a plain `git push` moves only git's own ref
    tip, seen = branch.tip(), [find_seen(branch, remote), *in_lanes]
    seen += [branch.store.tip(pushed)] if pushed is not None else []
    if tip is None or tip in seen:
        return Unsent()
    known = (commit for commit in seen if commit is not None and branch.store.has(commit))
    times = [info.time for info in branch.store.only_in(tip, *known)]
    return Unsent(len(times), min(filter(None, times), default=None))


def find_seen(branch: Branch, remote: str) -> Oid | None:
    """Return the tip of the remote's branch when baton last saw it; else, when git did."""
    seen = branch.store.tip(tracking_refs_of(branch, remote).seen)
    ref = git_tracking_ref(branch, remote)
    return seen or (branch.store.tip(ref) if ref is not None else None)
