"""Fold the archive: move archived records from files of their own into bundles, so that the tree stays small.

Each session leaves two files for ever. A fold is an ordinary commit with the verb `fold` that changes no record, only
how it is stored (see `stored_form`). It is decided from the revision that it follows, so a record that somebody
changed, reopened or removed meanwhile is left alone, and two machines that fold the same revision make the same tree.
"""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Final

from baton_git.core import stored_form
from baton_git.core.kinds import ARCHIVE, KINDS
from baton_git.core.output import count_noun
from baton_git.core.state import Key
from baton_git.git.store import Folder
from baton_git.git.store.stored_moves import bundle, list_bundled, unbundle
from baton_git.git.store.stored_views import ArchiveView, ViewFolder
from baton_git.namespace.commit_log import UNDOES
from baton_git.namespace.revision import ProposedState, Reform, Revision
from baton_git.namespace.workspace import Workspace

FOLD: Final = "fold"
"""The verb of the commit."""
FIRST: Final = 1_000
"""Number of files of a kind from which a namespace of layout 1 is folded, which older programs then refuse to read."""
FURTHER: Final = 128
"""Number of files of a kind from which it is folded in a namespace of layout 2."""
SHARE: Final = 4
"""A fold adds at least a quarter to the newest month, so all folds of a month write at most five times its size."""
UNDO_SEARCHED: Final = 500
"""Number of newest commits among which an undo of a fold stops automatic folding."""
_SAMPLE: Final = 8
"""Number of 256 subfolders of a kind's archive that are counted to guess whether a fold may be due."""


def may_be_due(root: Folder) -> bool:
    """Guess in about a millisecond whether a fold may be due, from a few of the archive's subfolders."""
    archive = root.folder(ARCHIVE).stored()
    least = FURTHER if root.version > 1 else FIRST
    for kind in KINDS:
        folder = archive.folder(KINDS[kind].folder)
        shards = [name for name in folder.entries() if not name.startswith("=")]
        counted = sum(len(folder.folder(name).entries()) for name in shards[:_SAMPLE])
        if counted * max(1.0, len(shards) / _SAMPLE) >= least / 2:
            return True
    return False


def find_due(root: Folder) -> frozenset[Key]:
    """Return the archived records that a fold of a tree moves; empty if no fold is due.

    Raises:
        Corrupt: a folder of the archive cannot be read.
    """
    due: set[Key] = set()
    for kind in KINDS:
        keys = _list_single(root, kind)
        if len(keys) >= _count_least(root, kind):
            due.update(keys)
    return frozenset(due)


def _list_single(root: Folder, kind: str) -> list[Key]:
    """Return the archived records of a kind that have a file of their own and a name of theirs."""
    folder = root.folder(ARCHIVE).stored().folder(KINDS[kind].folder)
    keys: list[Key] = []
    for shard in folder.entries():
        for name in folder.folder(shard).entries() if not shard.startswith("=") else ():
            id_ = stored_form.find_archived_id(name)
            if id_ is not None and stored_form.digits_of(id_)[:2] == shard:
                keys.append(Key(kind, id_, archived=True))
    return keys


def _count_least(root: Folder, kind: str) -> int:
    """Return the number of files of a kind from which a fold is due."""
    if root.version == 1:
        return FIRST
    folder = root.folder(ARCHIVE).folder(KINDS[kind].folder)
    view = folder.view if isinstance(folder, ViewFolder) else None
    months = sorted(view.list_months()) if isinstance(view, ArchiveView) else []
    if not isinstance(view, ArchiveView) or not months:
        return FURTHER
    names = view.stored.folder(months[-1]).entries()
    held = sum(len(view.read_bundle(f"{months[-1]}/{name}")) for name in names)
    return max(FURTHER, held // SHARE)


def was_undone(ws: Workspace) -> bool:
    """Return whether one of the newest commits undoes a fold, so that nothing is folded automatically for a while."""
    log = islice(ws.branch.history(), UNDO_SEARCHED)
    entries = {entry.commit: entry for entry in log}
    undone = {commit for entry in entries.values() for commit in entry.trailer_values(UNDOES)}
    return any(entry.op == FOLD and commit in undone for commit, entry in entries.items())


def fold(ws: Workspace, now: datetime) -> Revision | None:
    """Move the archived records into bundles if that is due; return the new revision, or None if it is not.

    Raises:
        BatonError: under the same conditions as `Branch.update`.
    """
    if ws.branch.tip() is None or not _find_due_at(ws, ws.branch.read()):
        return None

    def change(tip: Revision) -> ProposedState:
        keys = _find_due_at(ws, tip)
        if not keys:
            return ProposedState(tip.state)
        note = f"{count_noun(len(keys), 'archived record')} folded into bundles"
        return ProposedState(tip.state, reform=lambda draft, tree: bundle(draft, tree, keys), note=note)

    written = ws.update(FOLD, now, change)
    return written.revision if written.revision.commit != written.before.commit else None


def _find_due_at(ws: Workspace, revision: Revision) -> frozenset[Key]:
    return find_due(ws.branch.store.folder(revision.tree)) if revision.tree is not None else frozenset()


def find_reversed(before: Folder, after: Folder) -> Reform | None:
    """Return the change that takes back how a commit stored archived records; None if it only changed records."""
    if max(before.version, after.version) == 1:
        return None
    bundled, taken = frozenset(list_bundled(before, after)), frozenset(list_bundled(after, before))
    if not bundled and not taken:
        return None
    return lambda draft, tree: bundle(draft, unbundle(draft, tree, bundled), taken)
