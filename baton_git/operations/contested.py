"""Who wrote the sides of a conflict, as far as the history says: so that a person knows whom to ask."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import get_args

from baton_git.diary import LogEntry
from baton_git.kinds import SINGLES
from baton_git.layout import path_of
from baton_git.names import Oid
from baton_git.operations.conflicts import Side, side_value, standing
from baton_git.operations.history import files_at, touches
from baton_git.operations.workspace import Workspace
from baton_git.records.base import alike
from baton_git.records.conflict import Conflict
from baton_git.state import Key

LOOKED = 500
"""How many commits back the merge is looked for that met the two sides, and before it each side's last change."""

Writers = dict[Side, LogEntry]
"""By side, the commit that gave the record its value there; a side that nobody can tell is not there."""


def writers(ws: Workspace, found: Sequence[Conflict]) -> dict[str, Writers]:
    """By id of a conflict, who wrote its sides; a conflict that is older than `LOOKED` commits is not there."""
    wanted = {path_of(Key(Conflict.kind, one.id)): one for one in found}
    told = {}
    for entry in islice(ws.branch.history(), LOOKED):
        if not wanted:
            break
        for path in files_at(ws, entry.tree, list(wanted)):
            if not any(files_at(ws, ws.branch.store.commit(one).tree, [path]) for one in entry.parents):
                conflict = wanted.pop(path)
                told[conflict.id] = _of_sides(ws, conflict, entry.parents)
    return told


def _of_sides(ws: Workspace, conflict: Conflict, parents: Sequence[Oid]) -> Writers:
    """The merge's parents had a side each; which one, their values say."""
    told: Writers = {}
    for parent in parents:
        there = standing(ws.branch.version(parent).state, conflict)
        sides: tuple[Side, ...] = get_args(Side)
        side = next((one for one in sides if there is not None and alike(side_value(conflict, one), there)), None)
        entry = _last_change(ws, conflict, parent) if side is not None and side not in told else None
        if side is not None and entry is not None:
            told[side] = entry
    return told


def _last_change(ws: Workspace, conflict: Conflict, commit: Oid) -> LogEntry | None:
    """The newest commit behind `commit` that changed the record itself; a merge only passes changes on."""
    kind, id_ = conflict.record_kind, conflict.record_id
    places = (False,) if kind in SINGLES else (False, True)
    paths = [path_of(Key(kind, id_, archived)) for archived in places]
    course = islice(ws.branch.history(commit), LOOKED)
    return next((one for one in course if len(one.parents) < 2 and touches(ws, one, paths)), None)
