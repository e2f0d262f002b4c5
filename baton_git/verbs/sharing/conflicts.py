"""The verbs of conflicts: list them with who made each side, and resolve them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain, islice
from typing import Any, NamedTuple, Self, get_args

from pydantic import Field, model_validator

from baton_git.core.errors import BatonError
from baton_git.core.isolation import Failure, isolate
from baton_git.core.kinds import ALL_KINDS, SINGLETONS
from baton_git.core.layout import path_of
from baton_git.core.names import Oid
from baton_git.core.output import Styled, flat
from baton_git.core.records.base import alike
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import Key
from baton_git.core.styles import Column, Role, join, paint
from baton_git.core.text_layout import fit
from baton_git.core.times import describe_age, iso
from baton_git.core.verb import READS, REPLACES, Input, Option, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.store import TreeEntry
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.results import PageInput, PageResult, WrittenResult, full_position, take_page
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.history import REDO, UNDO
from baton_git.verbs.sharing.conflict_resolution import Side, find_current_value, get_side_value, resolve
from baton_git.verbs.sharing.open_conflicts import list_open_conflicts

# --- find out from the history who wrote the two sides of a conflict


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


# --- the verbs `conflicts` and `resolve`: list and resolve the values that two sides changed differently


class ConflictPage(PageInput):
    """The conflicts to list."""

    limit: int = Field(100, ge=1, le=1000, description="Maximum number of conflicts.")


class ConflictList(PageResult):
    """A page of open conflicts."""

    conflicts: list[dict[str, Any]] = Field(
        description="Each has the fields of `/v1/schema/conflict`, and `writers`: who wrote the value of each side, as "
        "far as the history shows. `ours` is the current value, unless `winner` names the other side.",
        examples=[[{"id": "C-1f2e3d4c", "record_kind": "open_loop", "record_id": "OL-1", "field": "expected_outcome",
                    "ours": "200", "theirs": "204", "winner": "ours", "writers": {}}]],
    )  # fmt: skip

    def show(self, reader: Reader) -> ResultView:
        how = "to resolve one: baton resolve ID --ours | --theirs | --value VALUE"
        notes = [how if self.conflicts else "there is no open conflict"]
        if self.next is not None:
            notes.append(f"there are more conflicts: baton conflicts --after {flat(self.next)}")
        return ResultView(join([_describe_safely(reader, conflict) for conflict in self.conflicts], "\n"), notes)


class ResolveConflict(Input):
    """The conflict, and the value to keep: that of a side, or another one."""

    id: str = Field(
        description="The id of a conflict, or of a record that has only one conflict.", examples=["C-1f2e3d4c"]
    )
    side: Side | None = Field(None, description="The side whose value to keep.")
    value: Any = Field(None, description="Another value to set instead.", examples=["the health check answers 200"])

    @model_validator(mode="after")
    def _check_choice(self) -> Self:
        if (self.side is None) == ("value" not in self.model_fields_set):
            raise ValueError("give either {side} or {value}")
        return self


class ResolvedConflict(WrittenResult):
    """A resolved conflict."""

    id: str = Field(examples=["C-1f2e3d4c"], description="The id of the conflict.")
    record: str = Field(examples=["OL-1"], description="The id of the record.")
    field: str = Field(examples=["expected_outcome"], description="The field; empty for the whole record.")


@verb(
    "conflicts",
    "GET /v1/conflicts",
    effect=READS,
    tag="sharing",
    tool=Tool("Values that two sides changed.", hidden=("limit", "after")),
    examples=("baton conflicts",),
)
def list_conflicts(ws: Workspace, now: datetime, verb_input: ConflictPage) -> ConflictList:
    """List the values that two sides changed differently. Until a conflict is resolved, one value is in use."""
    revision = ws.branch.read()
    shown, more = take_page(list_open_conflicts(ws), verb_input, lambda conflict: conflict.id)
    by_conflict = find_writers(ws, shown)
    listed = [
        {**conflict.as_data(), "writers": _describe_writers(by_conflict.get(conflict.id, {}))} for conflict in shown
    ]
    return ConflictList(conflicts=listed, next=more, **full_position(revision))


def _describe_writers(sides: Mapping[Side, LogEntry]) -> dict[str, Any]:
    names = ("session", "agent", "machine", "commit", "revision")
    return {
        side: {"time": iso(entry.time), "author": entry.author, **{name: getattr(entry, name) for name in names}}
        for side, entry in sides.items()
    }


@verb(
    "resolve",
    "POST /v1/conflicts/{id}/resolve",
    effect=REPLACES,
    tag="sharing",
    positional=("id",),
    options={
        "side": Option(
            flags={
                "ours": "Keep the first value that baton conflicts shows.",
                "theirs": "Keep the second value that baton conflicts shows.",
            }
        ),
        "value": Option(metavar="VALUE", is_json=True),
    },
    tool=Tool("Resolve a conflict.", fields={"value": "Or another value"}),
    examples=(
        "baton resolve C-1f2e3d4c --theirs",
        'baton resolve OL-7k3f9q --value "the health check answers 200"',
    ),
)
def resolve_conflict(ws: Workspace, now: datetime, verb_input: ResolveConflict) -> ResolvedConflict:
    """Resolve a conflict: choose whose value to keep, or give another value.

    Raises:
        NotFound, Ambiguous: `id` names no conflict, or several.
        NeedsHuman: the value would graduate a pattern.
        NotAllowed: a rule forbids the value, or the field has changed since the conflict arose.
        InvalidDocument: the value is invalid for its field.
    """
    conflict, written = resolve(ws, now, verb_input.id, verb_input.side, verb_input.value)
    return ResolvedConflict.of(written, id=conflict.id, record=conflict.record_id, field=conflict.field)


# --- what people read

LONGEST = 1000
"""Maximum width of a value, in terminal columns; --json prints the whole value."""
SIDE_COLUMNS = (
    Column("side", lambda row: row[0], Role.ID),
    Column("", lambda row: row[1], Role.GOOD),
    Column("value", lambda row: row[2], lambda row: row[3], wraps=True),
)


def _describe_safely(reader: Reader, conflict: dict[str, Any]) -> Styled:
    lines = isolate(lambda: _describe(reader, conflict))
    return join([f"{flat(conflict['id'])}: {lines.describe()}"]) if isinstance(lines, Failure) else lines


def _describe(reader: Reader, conflict: dict[str, Any]) -> Styled:
    """Return a conflict as lines: the record and the field, and each side's value with its author and age."""
    info = ALL_KINDS.get(conflict["record_kind"])
    about = f"{info.title if info else conflict['record_kind']} {conflict['record_id']}".strip()
    heading = [
        f"{flat(about)}, {flat(conflict['field'] or 'the whole record')}  ",
        paint(flat(conflict["id"]), Role.ID),
    ]
    rows = [row for side in get_args(Side) for row in _side_rows(reader, conflict, side)]
    return join([join(heading), reader.table(rows, SIDE_COLUMNS, headings=False)], "\n")


def _side_rows(reader: Reader, conflict: dict[str, Any], side: str) -> Iterator[tuple[str, str, str, Role]]:
    """Yield the rows of a side: the option that chooses it, whether its value is in use, its text, and the style."""
    yield f"  --{side}", "(in use)" if conflict["winner"] == side else "", _value_of(conflict, side), Role.PLAIN
    writer = conflict["writers"].get(side)
    if writer is not None:
        who = writer["author"].partition(" <")[0]
        is_here = writer["machine"] is not None and reader.is_own_machine(writer["machine"])
        where = f" on {writer['machine']}{' (this machine)' if is_here else ''}" if writer["machine"] else ""
        session = f", session {reader.sessions.shorten(writer['session'])}" if writer["session"] else ""
        yield "", "", f"{who}{where}, {describe_age(writer['time'], reader.now)}{session}", Role.DIM


def _value_of(conflict: dict[str, Any], side: str) -> str:
    if side not in conflict:
        return "nothing"
    value = conflict[side]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return fit(flat(text), LONGEST)
