"""Count the commits by which a local branch and its remote branch differ, as far as known without a fetch."""

from __future__ import annotations

from typing import NamedTuple

from baton_git.core.names import Oid
from baton_git.git.store import Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.sync.tracking_refs import git_tracking_ref, list_tracked_lanes, tracking_refs_of


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
