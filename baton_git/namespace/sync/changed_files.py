"""Limit the number of files in which a remote's branch may differ from ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from baton_git.core.layout import differing_paths
from baton_git.git.store import Folder
from baton_git.namespace.ingest.budget import SYNC, Budget


def check_changed(before: Folder, after: Folder, budget: Budget, allowances: Callable[[], int]) -> None:
    """Check that a merge of two trees does not take too long.

    Args:
        allowances: returns how many times the limit applies; called only if once is not enough.

    Raises:
        Rejected: more files differ.
    """
    most = budget.changed
    if not _has_more(differing_paths(before, after), most):
        return
    paths = differing_paths(before, after)
    changed = sum(1 for _ in islice(paths, most * max(1, allowances()) + 1))
    if changed > most * max(1, allowances()):
        changed += sum(1 for _ in paths)
        raise budget.refuse(
            f"more than {most:,} files changed on the remote, which is the limit here", "changed", changed, SYNC
        )


def _has_more(items: Iterable[object], most: int) -> bool:
    return sum(1 for _ in islice(items, most + 1)) > most
