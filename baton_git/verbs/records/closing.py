"""The verbs `forget` and `reopen`: archive any record, and restore it from the archive."""

from __future__ import annotations

from datetime import datetime
from typing import cast

from pydantic import Field

from baton_git.core.errors import NotAllowed, NotFound
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import apply_reopening
from baton_git.core.records.base import Archived, Record, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import Pattern, Rule
from baton_git.core.state import Key, State
from baton_git.core.times import iso
from baton_git.core.verb import REPLACES, verb
from baton_git.namespace.results import DRY_RUN, Preview
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.details import NamedRecord, find_record
from baton_git.verbs.records.editing import EDITABLE
from baton_git.verbs.records.stored import check_kind


class ForgetRecord(NamedRecord):
    """The record to forget, and the reason."""

    reason: str = Field(
        min_length=1, description="The reason; stored with the record.", examples=["entered by mistake"]
    )
    dry_run: bool = Field(False, description=DRY_RUN)


class Forgotten(Preview):
    """The record that was forgotten."""

    id: str = Field(description="The id of the record.", examples=["OL-7k3f9q"])


class ReopenRecord(NamedRecord):
    """The record to reopen."""

    dry_run: bool = Field(False, description=DRY_RUN)


class Reopened(Preview):
    """The record that was reopened."""

    id: str = Field(description="The id of the record.", examples=["FU-2x8m4c"])


@verb(
    "forget",
    "POST /v1/records/{kind}/{id}/forget",
    effect=REPLACES,
    more_paths=("/v1/records/{id}/forget",),
    positional=("id",),
    examples=('baton forget DEC-042 --reason "entered by mistake"',),
)
def forget_record(ws: Workspace, now: datetime, verb_input: ForgetRecord) -> Forgotten:
    """Archive a record of any kind, with a reason. A pattern is archived together with its rule.

    Nothing is deleted: `baton undo` brings it back, and so does `baton reopen` for a loop, follow-up, pattern or
    decision.

    Raises:
        NotFound, Ambiguous: the id names no live record, or several.
        Protected: a person confirmed it, so only a person can forget it.
        NotAllowed: it is a conflict, or has immutable fields.
    """
    tip = ws.branch.read()
    key = find_record(tip.state, verb_input.id, check_kind(verb_input.kind) if verb_input.kind is not None else None)
    if key.archived:
        raise NotFound(
            f"live {KINDS[key.kind].title}", verb_input.id, hint=f"it is in the archive: baton show {key.id}"
        )
    if key.kind == Conflict.kind:
        raise NotAllowed(f"{key.display_name} is open until somebody resolves it", hint=f"baton resolve {key.id}")

    def change(tip: Revision) -> State:
        state = tip.state
        for kind in (Pattern.kind, Rule.kind) if key.kind in (Pattern.kind, Rule.kind) else (key.kind,):
            if kind == key.kind or state.entry(Key(kind, key.id)) is not None:
                record = state.get(cast("type[Record]", KINDS[kind].model), key.id)
                state = state.archive(record, at=iso(now), reason=verb_input.reason, session=ws.actor.session)
        return state

    if verb_input.dry_run:
        return Forgotten.of_preview(ws.preview(change), id=key.id)
    return Forgotten.of(ws.update("forget", now, change), id=key.id)


@verb(
    "reopen",
    "POST /v1/records/{kind}/{id}/reopen",
    effect=REPLACES,
    more_paths=("/v1/records/{id}/reopen",),
    positional=("id",),
    examples=("baton reopen FU-2x8m4c",),
)
def reopen_record(ws: Workspace, now: datetime, verb_input: ReopenRecord) -> Reopened:
    """Reopen a record: restore it from the archive, or set a closed loop back to open or a dismissed pattern back to
    observing.

    A closed loop whose time limit has passed gets its `ttl_days` again, counted from now. A pattern that was recorded
    often enough becomes a rule candidate.

    Raises:
        NotFound, Ambiguous: the id names no record, or several.
        NotAllowed: records of its kind cannot be reopened, it is not closed, a live record has its id, or it is a
            superseded decision.
    """
    key = find_record(
        ws.branch.read().state, verb_input.id, check_kind(verb_input.kind) if verb_input.kind is not None else None
    )
    if key.kind not in EDITABLE:
        names = ", ".join(KINDS[kind].name(2) for kind in EDITABLE)
        message = f"{key.display_name} cannot be reopened: only {names} can"
        raise NotAllowed(message, hint=f"baton rollback --record {key.id}")

    def change(tip: Revision) -> State:
        state, record = _take_out(tip.state, key)
        opened = apply_reopening(record, now, is_archived=key.archived)
        if not key.archived and opened is record:
            raise NotAllowed(f"{key.id} is not closed")
        return state.put(opened)

    result = ws.preview(change) if verb_input.dry_run else ws.update("reopen", now, change)
    id_ = next((item.id for item in result.changes if item.kind == key.kind), key.id)
    return Reopened.of_preview(result, id=id_) if verb_input.dry_run else Reopened.of(result, id=id_)


def _take_out(state: State, key: Key) -> tuple[State, Record]:
    """Return the state, without the record if it is archived, and the record.

    Raises:
        NotAllowed: it is archived, and a live record has the same id.
    """
    model = EDITABLE[key.kind]
    if not key.archived:
        return state, state.get(model, key.id)
    closed = state.entry(key)
    if not isinstance(closed, Archived):
        state.remove(key)  # raises Corrupt, since the record is unreadable
        raise NotFound(f"archived {KINDS[key.kind].title}", key.id)
    record = parse(model, closed.record, where=key.id)
    if state.entry(Key(key.kind, record.id)) is not None:
        hint = f"to archive it: baton forget {record.id} --reason TEXT"
        raise NotAllowed(f"there is a live {KINDS[key.kind].title} {record.id}", hint=hint)
    return state.remove(key), record
