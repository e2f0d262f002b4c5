"""The verbs that change, close and reopen a live record by hand: `edit`, `forget`, `reopen`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn, cast

from pydantic import Field

from baton_git.core.errors import Corrupt, InvalidArgument, InvalidDocument, NeedsHuman, NotAllowed, NotFound, Unsettled
from baton_git.core.kinds import KINDS
from baton_git.core.lifecycle import HeldClaim, apply_reopening, hold_claims
from baton_git.core.records.base import Archived, Record, alike, covered_fields, covered_values, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import SECTIONS, ActiveDecision, Pattern, Rule
from baton_git.core.state import Key, State, Unreadable, key_of
from baton_git.core.times import EXAMPLES, expand_time, iso, parse_time_or_none
from baton_git.core.verb import REPLACES, Option, verb
from baton_git.namespace.caller import Vouched
from baton_git.namespace.commit_log import confirmation_trailers
from baton_git.namespace.results import DRY_RUN, Changed, Preview
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.workspace import Workspace, check_not_empty
from baton_git.verbs.records.details import NamedRecord, find_record
from baton_git.verbs.records.stored import DATES, check_kind
from baton_git.verbs.work_items.new_records import find_references

# --- the verb `edit`: change fields of a live record by hand


EDITABLE: Mapping[str, type[Record]] = {model.kind: model for model in SECTIONS.values()}
"""Kinds whose records can be edited field by field; other kinds have verbs of their own."""
Fields = dict[str, Any]


class EditRecord(NamedRecord):
    """The fields of a record to change."""

    fields: Fields = Field(
        description="New values by field name; null removes a field.",
        examples=[{"priority": "escalated", "reason": None}],
    )
    seen: Fields | None = Field(
        None,
        description="The record as last read: refuse if an edited field has changed since.",
        examples=[{"priority": "normal"}],
    )


LARGEST = 1_000_000_000
"""Largest number accepted in an edit."""


@verb(
    "edit",
    "POST /v1/records/{kind}/{id}/edit",
    usage=(
        "With the id of a record, --help shows the fields of its kind only.\n\n"
        "If no field is given, the command opens the record in git's editor, at a terminal. If the text has "
        "errors, you can edit it again."
    ),
    effect=REPLACES,
    more_paths=("/v1/records/{id}/edit",),
    is_authored=True,
    positional=("id",),
    options={"fields": Option(hidden=True), "seen": Option(hidden=True)},
    examples=("baton edit FU-2x8m4c --priority escalated", "baton edit OL-7k3f9q"),
)
def edit_record(ws: Workspace, now: datetime, verb_input: EditRecord) -> Changed:
    """Change fields of a live open loop, follow-up, pattern or decision.

    Only a person can change a text that a person confirmed; it stays confirmed.

    Raises:
        NotFound, Ambiguous: the id, or a new value that refers to a record, matches no record or several.
        InvalidArgument: no field is given, a field does not exist, or a value does not fit its field.
        Protected: a person confirmed the record, so only a person can change its text.
        NeedsHuman: only a person may make the change.
        NotAllowed: the record is archived or of a kind that cannot be edited, or a rule forbids the change.
        Unsettled: an edited field has changed since it was read.
        Corrupt: the record is unreadable.
    """
    key = find_live(ws, verb_input)
    if not verb_input.fields:
        raise InvalidArgument("no field is given", hint="name a field and its new value")
    _check_fields(EDITABLE[key.kind], verb_input.fields)
    current = ws.branch.read().state.get(EDITABLE[key.kind], key.id)
    new = find_references(ws, current, _expand_dates(verb_input.fields, now))

    def change(tip: Revision) -> ProposedState:
        record = tip.state.get(EDITABLE[key.kind], key.id)
        before = record.as_data()
        _check_seen(before, verb_input)
        rest = {name: value for name, value in {**before, **new}.items() if value is not None}
        try:
            edited = parse(type(record), rest, where=key.id)
        except InvalidDocument as error:  # the fields are arguments here, not a document
            raise InvalidArgument(str(error), hint=error.hint, **error.data) from None
        _check_claims(ws, tip, record, edited)
        return ProposedState(tip.state.put(edited), trailers=_confirm(ws, tip, record, edited))

    return Changed.of(ws.update("edit", now, change), id=key.id)


def find_live(ws: Workspace, verb_input: NamedRecord) -> Key:
    """Return the key of a live record of an editable kind.

    Raises:
        NotFound, Ambiguous: the id names no record, or several.
        NotAllowed: it is archived, or its kind cannot be edited.
        Corrupt: it is unreadable.
    """
    state = ws.branch.read().state
    key = find_record(state, verb_input.id, check_kind(verb_input.kind) if verb_input.kind is not None else None)
    if key.kind not in EDITABLE:
        names = ", ".join(KINDS[kind].name(2) for kind in EDITABLE)
        raise NotAllowed(f"{key.display_name} cannot be edited: only {names} can", hint=_OWN_VERBS.get(key.kind, ""))
    if key.archived:
        raise NotAllowed(f"{key.id} is in the archive", hint=f"baton reopen {key.id} brings it back")
    entry = state.entry(key)
    if isinstance(entry, Unreadable):
        raise Corrupt(entry.path, entry.why, hint=f"baton rollback --record {key.id} restores an earlier version")
    return key


_OWN_VERBS = {
    "rule": "propose another one for its pattern: baton pattern propose",
    "conflict": "resolve it: baton resolve",
    "session": "its list is changed with baton todo",
}


def _check_fields(model: type[Record], fields: Fields) -> None:
    if "id" in fields:
        raise NotAllowed("the id of a record never changes", hint="add another record, and forget this one")
    unknown = [name for name in fields if name not in model.model_fields]
    if unknown:
        names = ", ".join(name for name in model.model_fields if name != "id")
        message = f"{KINDS[model.kind].name(2)} have no field {unknown[0]!r}"
        raise InvalidArgument(message, hint=f"the fields are {names}")
    for name, value in fields.items():
        if isinstance(value, str) and model.model_fields[name].is_required():
            check_not_empty(value, name)
    if fields.get("ttl_days") == 0:  # records of other programs may have it
        raise InvalidArgument("ttl_days: 0 is less than one day")
    absurd = [name for name, value in fields.items() if isinstance(value, int) and value > LARGEST]
    if absurd:
        raise InvalidArgument(f"{absurd[0]}: {fields[absurd[0]]} is more than {LARGEST:,}")


def _expand_dates(fields: Fields, now: datetime) -> dict[str, Any]:
    """Return the fields with the phrases in dates, such as `yesterday`, as ISO times.

    Raises:
        InvalidArgument: a value is not a date or time.
    """
    dates = {
        name: expand_time(value, now) for name, value in fields.items() if name in DATES and isinstance(value, str)
    }
    for name, value in dates.items():
        if parse_time_or_none(value) is None:
            raise InvalidArgument(f"{name}: {value!r} is not a date or time", hint=f"for example {EXAMPLES}")
    return {**fields, **dates}


def _check_seen(before: Fields, verb_input: EditRecord) -> None:
    """Refuse to edit a field that somebody else has changed since it was read."""
    if verb_input.seen is None:
        return
    changed = [name for name in verb_input.fields if not alike(before.get(name), verb_input.seen.get(name))]
    if changed:
        raise Unsettled(f"{', '.join(changed)} of {before['id']} changed while you edited", hint="look at it again")


def _check_claims(ws: Workspace, tip: Revision, record: Record, edited: Record) -> None:
    """Refuse changes that the record's own verbs refuse too, and changes that only a person may make."""
    _, holds = hold_claims(record, edited, lambda id_: _tier_of(tip.state, id_), judge=ws.judgement(tip))
    for held in holds:
        _refuse(held)


def _refuse(held: HeldClaim) -> NoReturn:
    if held.claimed == "graduated":
        raise NeedsHuman(f"{held.id}: {held.why}", hint=f"baton pattern graduate {held.id}")
    raise NotAllowed(f"{held.id}: {held.field} cannot become {held.claimed!r}: {held.why}")


def _tier_of(state: State, id_: str) -> str | None:
    decision = state.entry(Key(ActiveDecision.kind, id_))
    return decision.source_tier if isinstance(decision, ActiveDecision) else None


def _is_confirmed_text(ws: Workspace, tip: Revision, record: Record, edited: Record) -> bool:
    """Return whether a person confirmed the record's text and the edit changes that text."""
    model, texts = type(record), (record.as_data(), edited.as_data())
    covered = [[covered_values(model, facet, data) for facet in covered_fields(model)] for data in texts]
    return not alike(*covered) and ws.judgement(tip).is_confirmed(key_of(record))


def _confirm(ws: Workspace, tip: Revision, record: Record, edited: Record) -> tuple[tuple[str, str], ...]:
    """Return the commit trailers that keep a confirmed record confirmed when a person edits it."""
    person = ws.confirmed
    if not isinstance(person, Vouched) or not _is_confirmed_text(ws, tip, record, edited):
        return ()
    return confirmation_trailers(person.how, person.by, str(key_of(record)))


# --- the verbs `forget` and `reopen`: archive any record, and restore it from the archive


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
