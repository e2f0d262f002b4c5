"""How far a branch here and its like on a remote are apart, by what is known here."""

from __future__ import annotations

from itertools import islice

from baton_git.core.names import Oid
from baton_git.git.store import Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.sync.tracking_refs import tracking_refs_of

COUNTED = 1000
"""Commits are counted up to here."""


def count_commits(store: Store, tip: Oid | None, excluded: Oid | None) -> int:
    """How many commits are behind `tip` and not behind `other`; at most `COUNTED`."""
    if tip is None or tip == excluded:
        return 0
    return sum(1 for _ in islice(store.only_in(tip, *([excluded] if excluded is not None else [])), COUNTED))


def is_waiting(branch: Branch, remote: str) -> bool:
    """Whether something came from there that is not in our branch."""
    theirs, local = branch.store.tip(tracking_refs_of(branch, remote).incoming), branch.store.tip(branch.ref)
    return theirs is not None and theirs != local and not (local and branch.store.is_ancestor(theirs, local))


def count_unsent(branch: Branch, remote: str) -> int:
    """How many commits the remote does not have, as far as we know."""
    return count_commits(
        branch.store, branch.store.tip(branch.ref), branch.store.tip(tracking_refs_of(branch, remote).seen)
    )
