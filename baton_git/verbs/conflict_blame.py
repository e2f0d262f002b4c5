"""Who wrote the sides of a conflict, as far as the history says: so that a person knows whom to ask."""

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
from baton_git.verbs.conflict_resolution import Side, side_value, standing

LOOKED = 500
"""How many commits back the sides are looked for."""
MOST = 100
"""Of how many conflicts; nobody looks at more at once."""

_FOLDERS = 500
"""How many folders are remembered while looking."""

Writers = dict[Side, LogEntry]
"""By side, the commit that gave the contested field its value; a side that nobody can tell is not there."""


class _Trail(NamedTuple):
    """What is followed back from commit to commit: a conflict to the merge that found it, then each side's value.

    `paths` are those of the file: of the conflict (`side` is None), or of the record, live and closed.
    """

    conflict: Conflict
    side: Side | None
    paths: tuple[str, ...]


def writers(ws: Workspace, found: Sequence[Conflict]) -> dict[str, Writers]:
    """By id of a conflict, who wrote its sides; of what lies too far back, or cannot be read, nothing is told.

    The history is gone through once, with all trails side by side.
    """
    told: dict[str, Writers] = {one.id: {} for one in found}
    version = ws.branch.read()
    state, tip = version.state, version.commit
    keys = [(one, Key(Conflict.kind, one.id)) for one in found[:MOST]]
    trails = [_Trail(one, None, (path_of(key),)) for one, key in keys if state.entry(key) is not None]
    if tip is None or not trails:
        return told
    look = _Look(ws)
    waiting: dict[Oid, list[_Trail]] = defaultdict(list, {tip: trails})
    with suppress(BatonError):  # a list of conflicts is needed most where the history is damaged
        for entry in islice(ws.branch.history(tip), LOOKED):
            here = [(trail, _onward(look, entry, trail)) for trail in waiting.pop(entry.commit, ())]
            for parent, following in chain.from_iterable(onward for _, onward in here):
                waiting[parent].append(following)
            for trail, onward in here:
                if not onward and trail.side is not None and entry.parents:  # where a shallow clone ends nobody can say
                    told[trail.conflict.id][trail.side] = entry
            if not waiting:
                break
    return told


class _Look:
    """Files of commits. Many trails ask for the same folders of one commit after the other."""

    def __init__(self, ws: Workspace) -> None:
        self.ws = ws
        self._folders: dict[tuple[Oid, str], Mapping[str, TreeEntry]] = {}

    def tree(self, commit: Oid) -> Oid:
        return self.ws.branch.store.commit(commit).tree

    def file(self, tree: Oid, path: str) -> TreeEntry | None:
        """What stands at a path; None where nothing does."""
        folder, _, name = path.rpartition("/")
        return self._entries(tree, folder).get(name)

    def _entries(self, tree: Oid, path: str) -> Mapping[str, TreeEntry]:
        found = self._folders.get((tree, path))
        if found is None:
            folder = self.ws.branch.store.folder(tree)
            for name in path.split("/") if path else ():
                folder = folder.folder(name)
            if len(self._folders) >= _FOLDERS:
                self._folders.clear()
            found = self._folders[tree, path] = folder.entries()
        return found


def _onward(look: _Look, entry: LogEntry, trail: _Trail) -> list[tuple[Oid, _Trail]]:
    """Where a trail goes on: at the parent that has the same, or, from the merge that found a conflict, at both sides;
    nowhere where it began."""
    for parent in entry.parents:
        if _is_same(look, entry.tree, parent, trail):
            return [(parent, trail)]
    return _sides(look.ws, entry.parents, trail.conflict) if trail.side is None else []


def _is_same(look: _Look, tree: Oid, parent: Oid, trail: _Trail) -> bool:
    before = look.tree(parent)
    files = [look.file(before, path) for path in trail.paths]
    if files == [look.file(tree, path) for path in trail.paths]:
        return True
    if trail.side is None:
        return files != [None]
    return _has(look.ws, parent, trail.conflict, trail.side)


def _sides(ws: Workspace, parents: Sequence[Oid], conflict: Conflict) -> list[tuple[Oid, _Trail]]:
    """The parents of the merge had a side each; which one, their values say."""
    kind, id_ = conflict.record_kind, conflict.record_id
    if kind not in ALL_KINDS:
        return []
    found: dict[Side, Oid] = {}
    for parent in parents:
        for side in get_args(Side):
            if side not in found and parent not in found.values() and _has(ws, parent, conflict, side):
                found[side] = parent
    if not found:  # also where the name of the record is none
        return []
    places = (False,) if kind in SINGLETONS else (False, True)
    paths = tuple(path_of(Key(kind, id_, archived)) for archived in places)
    return [(parent, _Trail(conflict, side, paths)) for side, parent in found.items()]


def _has(ws: Workspace, commit: Oid, conflict: Conflict, side: Side) -> bool:
    """Whether the contested field has the side's value there."""
    with suppress(BatonError):  # a name from elsewhere that is none
        there = standing(ws.branch.revision_at(commit).state, conflict)
        return there is not None and alike(there, side_value(conflict, side))
    return False
