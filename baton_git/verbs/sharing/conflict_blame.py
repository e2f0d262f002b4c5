"""Find out from the history who wrote the two sides of a conflict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import NamedTuple, get_args

from baton_git.core.errors import BatonError
from baton_git.core.kinds import ALL_KINDS, SINGLETONS
from baton_git.core.layout import path_of
from baton_git.core.names import Oid
from baton_git.core.records.base import alike
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import Key
from baton_git.git.store import TreeEntry
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.operations import REDO, UNDO
from baton_git.verbs.sharing.conflict_resolution import Side, find_current_value, get_side_value

LOOKED = 500
"""How many of the newest commits are searched."""
MOST = 100
"""Maximum number of conflicts in one search."""

_FOLDERS = 500
"""How many folders are cached during a search."""

_GOES_BACK = frozenset({UNDO, REDO, "rollback", ""})
"""The verbs whose commits may restore a resolved conflict; the empty name stands for commits made by hand."""

Writers = dict[Side, LogEntry]
"""The commit that set the contested value of each side; sides that were not found are absent."""


class _Trail(NamedTuple):
    """A search back through the history, first for the merge that found a conflict, then for the value of each side.

    Attributes:
        side: None while the merge is searched.
        paths: the path of the conflict's file while the merge is searched; then those of the record, live and archived.
    """

    conflict: Conflict
    side: Side | None
    paths: tuple[str, ...]


def find_writers(ws: Workspace, conflicts: Sequence[Conflict]) -> dict[str, Writers]:
    """Find who wrote the sides of conflicts, by conflict id, in one walk through the history.

    Sides that were written too long ago, or whose history cannot be read, are absent.
    """
    by_conflict: dict[str, Writers] = {conflict.id: {} for conflict in conflicts}
    revision = ws.branch.read()
    state, tip = revision.state, revision.commit
    keys = [(conflict, Key(Conflict.kind, conflict.id)) for conflict in conflicts[:MOST]]
    trails = [_Trail(conflict, None, (path_of(key),)) for conflict, key in keys if state.entry(key) is not None]
    if tip is None or not trails:
        return by_conflict
    reader = _TreeReader(ws)
    waiting: dict[Oid, list[_Trail]] = defaultdict(list, {tip: trails})
    with suppress(BatonError):  # conflicts must be listed even if the history is damaged
        for entry in islice(ws.branch.history(tip), LOOKED):
            here = [(trail, _follow_trail(reader, entry, trail)) for trail in waiting.pop(entry.commit, ())]
            for parent, following in chain.from_iterable(onward for _, onward in here):
                waiting[parent].append(following)
            for trail, onward in here:
                # a shallow clone may end at a commit without parents
                if not onward and trail.side is not None and entry.parents:
                    by_conflict[trail.conflict.id][trail.side] = entry
            if not waiting:
                break
    return by_conflict


class _TreeReader:
    """Reads tree entries of commits, with a cache of folders that many searches share."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self._folders: dict[tuple[Oid, str], Mapping[str, TreeEntry]] = {}

    def tree(self, commit: Oid) -> Oid:
        return self.ws.branch.store.commit(commit).tree

    def file(self, tree: Oid, path: str) -> TreeEntry | None:
        """Return the tree entry at a path, or None."""
        folder, _, name = path.rpartition("/")
        return self._entries(tree, folder).get(name)

    def _entries(self, tree: Oid, path: str) -> Mapping[str, TreeEntry]:
        entries = self._folders.get((tree, path))
        if entries is None:
            folder = self.ws.branch.store.folder(tree)
            for name in path.split("/") if path else ():
                folder = folder.folder(name)
            if len(self._folders) >= _FOLDERS:
                self._folders.clear()
            entries = self._folders[tree, path] = folder.entries()
        return entries


def _follow_trail(reader: _TreeReader, entry: LogEntry, trail: _Trail) -> list[tuple[Oid, _Trail]]:
    """Return where a search continues after a commit.

    It continues at the parent with the same value, or at both sides of the merge that found the conflict, and ends at
    the commit that set the value. Commits that only restore a resolved conflict are passed over.
    """
    for parent in entry.parents:
        if _is_same(reader, entry.tree, parent, trail):
            return [(parent, trail)]
    if trail.side is None and entry.op in _GOES_BACK and len(entry.parents) == 1:
        return [(entry.parents[0], trail)]
    return _find_sides(reader.ws, entry.parents, trail.conflict) if trail.side is None else []


def _is_same(reader: _TreeReader, tree: Oid, parent: Oid, trail: _Trail) -> bool:
    """Return whether a parent already has what the trail follows: the conflict, or the value of its side."""
    before = reader.tree(parent)
    files = [reader.file(before, path) for path in trail.paths]
    if files == [reader.file(tree, path) for path in trail.paths]:
        return True
    if trail.side is None:
        return files != [None]
    return _has_value(reader.ws, parent, trail.conflict, trail.side)


def _find_sides(ws: Workspace, parents: Sequence[Oid], conflict: Conflict) -> list[tuple[Oid, _Trail]]:
    """Match the parents of a merge with the sides of its conflict, by their values."""
    kind, id_ = conflict.record_kind, conflict.record_id
    if kind not in ALL_KINDS:
        return []
    commits: dict[Side, Oid] = {}
    for parent in parents:
        for side in get_args(Side):
            if side not in commits and parent not in commits.values() and _has_value(ws, parent, conflict, side):
                commits[side] = parent
    if not commits:  # path_of would fail for an invalid record id
        return []
    is_archived = (False,) if kind in SINGLETONS else (False, True)
    paths = tuple(path_of(Key(kind, id_, archived)) for archived in is_archived)
    return [(parent, _Trail(conflict, side, paths)) for side, parent in commits.items()]


def _has_value(ws: Workspace, commit: Oid, conflict: Conflict, side: Side) -> bool:
    """Return whether the contested field has the side's value at a commit."""
    with suppress(BatonError):  # the record id or a revision from another machine may be invalid
        value = find_current_value(ws.branch.past_revision_at(commit).state, conflict)
        return value is not None and alike(value, get_side_value(conflict, side))
    return False
