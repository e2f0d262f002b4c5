"""Count the commits by which a local branch and its remote branch differ, as far as known without a fetch."""

from __future__ import annotations

from itertools import islice

from baton_git.core.names import Oid
from baton_git.git.store import Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.sync.tracking_refs import tracking_refs_of

COUNTED = 1000
"""Counting stops at this number of commits."""


def count_commits(store: Store, tip: Oid | None, excluded: Oid | None) -> int:
    """Return the number of commits reachable from `tip` but not from `excluded`, at most `COUNTED`."""
    if tip is None or tip == excluded:
        return 0
    return sum(1 for _ in islice(store.only_in(tip, *([excluded] if excluded is not None else [])), COUNTED))


def is_waiting(branch: Branch, remote: str) -> bool:
    """Return whether fetched commits of the remote are not merged into the local branch."""
    theirs, local = branch.store.tip(tracking_refs_of(branch, remote).incoming), branch.tip()
    return theirs is not None and theirs != local and not (local and branch.store.is_ancestor(theirs, local))


def count_unsent(branch: Branch, remote: str) -> int:
    """Return the number of local commits that the remote lacked when last seen, at most `COUNTED`."""
    return count_commits(branch.store, branch.tip(), branch.store.tip(tracking_refs_of(branch, remote).seen))
