"""Checks of the two trees that a sync brings together: ours for damage, and theirs for too many changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from baton_git.core.errors import Corrupt
from baton_git.core.kinds import ARCHIVE
from baton_git.core.layout import differing_paths
from baton_git.core.names import Oid
from baton_git.git.store import Folder, Store
from baton_git.namespace.ingest.budget import SYNC, Budget

# --- ours: the objects of the newest revision are present and readable


MOST_READ: Final = 2_000
"""Maximum number of files that are read. Of more files than these it is only checked that they exist; `baton doctor`
reads them all."""


def find_first_damage(store: Store, tip: Oid | None, *, thorough: bool) -> Corrupt | None:
    """Return the error of the first missing or unreadable object of a commit's tree; None if it is complete.

    Args:
        thorough: read the files, the archive last; otherwise only check that they exist.
    """
    if tip is None:
        return None
    try:
        for number, (folder, name, oid) in enumerate(_files(store.folder(store.commit(tip).tree).stored())):
            if thorough and number < MOST_READ:
                folder.read(name)
            if not store.is_stored(oid):
                return Corrupt(f"{folder.path}/{name}", f"object {oid} is missing")
    except Corrupt as error:
        return error
    return None


def _files(folder: Folder) -> Iterator[tuple[Folder, str, Oid]]:
    for name, entry in sorted(folder.entries().items(), key=lambda item: item[0] == ARCHIVE):
        if entry.is_folder:
            yield from _files(folder.folder(name))
        else:
            yield folder, name, entry.oid


# --- theirs: the number of files that differ from ours is limited


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
