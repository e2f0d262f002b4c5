"""The verbs `conflicts` and `resolve`: list and resolve the values that two sides changed differently."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Self, get_args

from pydantic import Field, model_validator

from baton_git.core.isolation import Failure, isolate
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.output import Styled, flat
from baton_git.core.styles import Column, Role, join, paint
from baton_git.core.text_layout import fit
from baton_git.core.times import describe_age, iso
from baton_git.core.verb import READS, REPLACES, Input, Option, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.results import PageInput, PageResult, WrittenResult, full_position, take_page
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sharing.conflict_blame import find_writers
from baton_git.verbs.sharing.conflict_resolution import Side, resolve
from baton_git.verbs.sharing.open_conflicts import list_open_conflicts


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
        "value": Option(metavar="VALUE"),
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
