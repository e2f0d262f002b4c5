"""Resolve conflicts: choose the value of a field that two sides changed differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from baton_git.core.errors import Ambiguous, InvalidArgument, InvalidName, NeedsHuman, NotAllowed, NotFound, Unsettled
from baton_git.core.kinds import ALL_KINDS, KINDS, SINGLETONS
from baton_git.core.layout import key_at
from baton_git.core.lifecycle import hold_claims
from baton_git.core.merge.decisions import entry_values, record_data
from baton_git.core.records.base import Archived, Part, Record, alike, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.work_items import ActiveDecision, Rule
from baton_git.core.state import Key, State
from baton_git.core.times import iso
from baton_git.git.store import Edit
from baton_git.namespace.file_merge import KIND as FILE
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace

Side = Literal["ours", "theirs"]


def resolve(
    ws: Workspace, now: datetime, id_: str, side: Side | None, value: Any = None, *,
    shown: Conflict | None = None, shown_value: tuple[Any, ...] | None = None,
) -> tuple[Conflict, WriteResult]:  # fmt: skip
    """Resolve a conflict with the value of one side, or another value.

    Args:
        id_: the id of the conflict, or of a record with exactly one conflict.
        side: the side whose value to use; None to use `value`, which is plain data.
        shown: the conflict that the person saw; None to skip this check.
        shown_value: the result of `find_current_value` that the person saw; None to skip this check. If given, the
            value of the side is set even if the field has changed since the conflict arose.

    Raises:
        NotFound: `id_` names no conflict, or the record or file of the conflict no longer exists.
        Ambiguous: `id_` names several conflicts.
        InvalidArgument: the conflict is about a file and `value` is given, or about something that is not a record.
        Unsettled: the conflict or the current value differs from the one that was shown.
        NeedsHuman: the value would graduate a pattern.
        NotAllowed: a rule forbids the value, the value is too large, or the field has changed since the conflict arose.
        InvalidDocument: the value is invalid for its field.
    """
    conflict = _find_conflict(ws.branch.read().state, id_)

    def change(tip: Revision) -> State | ProposedState:
        current = tip.state.get(Conflict, conflict.id)
        if shown is not None and not alike(current.as_data(), shown.as_data()):
            raise Unsettled("this conflict has changed since it was shown", hint="look at it again")
        if shown_value is not None and not alike(find_current_value(tip.state, current) or (), shown_value):
            raise Unsettled("the current value has changed since it was shown", hint="look at it again")
        resolved = tip.state.remove(Key(Conflict.kind, current.id))
        if current.record_kind == FILE:
            return _resolve_file(ws, tip, resolved, current, side)
        if side == current.winner and (shown_value is None or alike(shown_value, get_side_value(current, side))):
            return resolved
        chosen = get_side_value(current, side) if side is not None else (value,)
        state = _apply_value(ws, now, resolved, current, chosen, is_side=side is not None and shown_value is None)
        return ProposedState(state, keeps_paths=side is not None)

    return conflict, ws.update("resolve", now, change)


def find_current_value(state: State, conflict: Conflict) -> tuple[Any, ...] | None:
    """Return the current value of a contested field in a tuple, which is empty if the field is absent.

    Returns:
        None if the conflict is about a file, an unknown kind or an invalid id, or the record cannot be read.
    """
    if conflict.record_kind == FILE:
        return None
    try:
        _, entry = _find_entry(state, conflict)
    except InvalidArgument:
        return None
    if conflict.field == "":
        return entry_values(entry)
    if not isinstance(entry, Part):
        return None
    data = record_data(entry)
    return _read_value(data, _split_field(data, conflict.field))


def _find_conflict(state: State, text: str) -> Conflict:
    of_record = state.select(
        Conflict, lambda candidate: bool(text) and text in (candidate.record_id, candidate.record_kind)
    )
    if len(of_record) > 1:
        raise Ambiguous("conflict", text, [outline.id for outline in of_record.outlines])
    return of_record[0] if of_record else state.find(Conflict, text)


def get_side_value(conflict: Conflict, side: Side) -> tuple[Any, ...]:
    """Return a side's value in a tuple, which is empty if the side has no value."""
    return (getattr(conflict, side),) if side in conflict.model_fields_set else ()


def _apply_value(
    ws: Workspace, now: datetime, state: State, conflict: Conflict, chosen: tuple[Any, ...], *, is_side: bool
) -> State:
    if conflict.record_kind == Rule.kind and chosen:
        raise NotAllowed(
            f"{conflict.record_id}: resolving a conflict cannot change a rule",
            hint=f"{_make_keep_hint(conflict)}; for another text, a person must graduate the pattern again",
        )
    key, entry = _find_entry(state, conflict)
    if is_side and chosen and isinstance(chosen[0], dict) and chosen[0].keys() == {"path", "blob"}:
        raise NotAllowed(
            f"{conflict.record_id}: the value of that side is too large to be stored again",
            hint=f"git cat-file blob {chosen[0]['blob']} shows it; {_make_keep_hint(conflict)}",
        )
    if conflict.field == "":
        return _resolve_record(ws, now, state, key, entry, chosen, conflict)
    if not isinstance(entry, Part):
        raise NotFound("record", conflict.record_id or conflict.record_kind, hint=_make_keep_hint(conflict))
    data = dict(entry.record) if isinstance(entry, Archived) else entry.as_data()
    names = _split_field(data, conflict.field)
    if is_side and not alike(_read_value(data, names), get_side_value(conflict, conflict.winner)):
        raise NotAllowed(
            f"{conflict.field} of {conflict.record_id or conflict.record_kind} has changed since the conflict arose",
            hint=f"{_make_keep_hint(conflict)}; or give another value",
        )
    return _put_record(state, key, entry, _replace_value(data, names, chosen), conflict)


def _read_value(data: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    """Read the value at a path of names, in a tuple; empty if it is absent."""
    first, *rest = names
    if first not in data:
        return ()
    return _read_value(data[first], rest) if rest else (data[first],)


def _split_field(data: Mapping[str, Any], field: str) -> list[str]:
    """Split a field into names: `state.a.b` is the key `a.b` of the table `state` if that has no table `a`."""
    first, _, rest = field.partition(".")
    if field in data or not rest or not isinstance(data.get(first, {}), Mapping):
        return [field]
    return [first, *_split_field(data.get(first, {}), rest)]


def _replace_value(data: Mapping[str, Any], names: Sequence[str], chosen: tuple[Any, ...]) -> dict[str, Any]:
    """Return the table with the value at a path of names replaced or removed."""
    first, *rest = names
    if rest:
        return {**data, first: _replace_value(data.get(first, {}), rest, chosen)}
    others = {name: value for name, value in data.items() if name != first}
    return {**others, first: chosen[0]} if chosen else others


def _make_keep_hint(conflict: Conflict) -> str:
    return f"to keep the current value: resolve {conflict.id} with {conflict.winner}"


def _find_entry(state: State, conflict: Conflict) -> tuple[Key, Any]:
    """Return the key and the entry of a conflict's record; the entry is None if there is no such record.

    Raises:
        InvalidArgument: no record can have the kind or the id that the conflict names.
    """
    kind, id_ = conflict.record_kind, conflict.record_id
    if kind not in ALL_KINDS:
        raise InvalidArgument(f"{conflict.id} is about the unknown kind {kind!r}", hint=_make_keep_hint(conflict))
    for key in (Key(kind, id_), Key(kind, id_, archived=True)):
        if kind in SINGLETONS and key.archived:
            continue
        try:
            entry = state.entry(key)
        except InvalidName as error:
            hint = _make_keep_hint(conflict)
            raise InvalidArgument(f"{conflict.id} is about a record whose {error}", hint=hint) from None
        if entry is not None:
            return key, entry
    return Key(kind, id_), None


def _put_record(state: State, key: Key, entry: Part | None, data: dict[str, Any], conflict: Conflict) -> State:
    model = ALL_KINDS[key.kind].model
    record = parse(model, data)
    if isinstance(record, Record):
        _check_claim(state, key, entry, record, conflict)
    return state.put(entry.replace(record=record.as_data()) if isinstance(entry, Archived) else record, key)


def _check_claim(state: State, key: Key, entry: Part | None, claim: Record, conflict: Conflict) -> None:
    """Check that the resolved record keeps its id and claims nothing that needs a person's confirmation."""
    if claim.id != key.id and not key.archived:
        message = f"{key.display_name} cannot become {claim.id}: the id of a record never changes"
        raise NotAllowed(message, hint=_make_keep_hint(conflict))

    def tier_of(id_: str) -> str | None:
        decision = state.entry(Key(ActiveDecision.kind, id_))
        return decision.source_tier if isinstance(decision, ActiveDecision) else None

    before = parse(type(claim), entry.record) if isinstance(entry, Archived) else entry
    _, holds = hold_claims(before if isinstance(before, Record) else None, claim, tier_of, evidence=False)
    for hold in holds:
        if hold.claimed == "graduated":
            raise NeedsHuman(
                f"{claim.id}: {hold.why}",
                hint=f"baton pattern graduate {claim.id}, then resolve {conflict.id} with {conflict.winner}",
            )
        raise NotAllowed(f"{claim.id} {hold.field}: {hold.why}", hint=_make_keep_hint(conflict))


def _resolve_record(
    ws: Workspace, now: datetime, state: State, key: Key, entry: Any, chosen: tuple[Any, ...], conflict: Conflict
) -> State:
    if not chosen:
        if isinstance(entry, Record) and not key.archived:
            return state.archive(entry, at=iso(now), reason="removed on one side", session=ws.actor.session)
        return state
    data = chosen[0]
    if not isinstance(data, dict) or "unreadable" in data:
        message = f"{key.display_name}: the value of that side is not a record"
        raise InvalidArgument(message, hint=_make_keep_hint(conflict))
    is_archived = "record" in data and "at" in data and "id" not in data
    if is_archived:
        archived = parse(Archived, data)
        record = parse(KINDS[key.kind].model, archived.record)
        if isinstance(record, Record):
            before = entry if isinstance(entry, Part) else None
            _check_claim(state, key._replace(archived=True), before, record, conflict)
        return state.put(archived, Key(key.kind, key.id, archived=True))
    return _put_record(state, key, entry if isinstance(entry, Part) else None, data, conflict)


def _resolve_file(ws: Workspace, tip: Revision, state: State, conflict: Conflict, side: Side | None) -> ProposedState:
    """Resolve a conflict about a file: keep the file of the chosen side, and remove the other side's copy."""
    if side is None:
        raise InvalidArgument(f"{conflict.record_id} is a file, so no value can be given", hint="choose ours or theirs")
    assert tip.tree is not None
    root, path = ws.branch.store.folder(tip.tree), conflict.record_id
    losing: Side = "theirs" if conflict.winner == "ours" else "ours"
    named = [value.get("path") for value in get_side_value(conflict, losing) if isinstance(value, dict)]
    copy_path = str(named[0] if named else path)
    if any(key_at(candidate) is not None for candidate in (path, copy_path)):
        raise NotAllowed(f"{conflict.id} is about a file, but {path} is a record", hint=_make_keep_hint(conflict))
    entry = root.entry_at(copy_path)
    gone: dict[str, Edit] = {copy_path: None} if copy_path != path else {}
    if side == conflict.winner:
        return ProposedState(state, files=gone if entry is not None else {})
    if not get_side_value(conflict, side):
        return ProposedState(state, files={path: None})
    if entry is None:
        raise NotFound("file", copy_path, hint=_make_keep_hint(conflict))
    return ProposedState(state, files={path: entry, **gone})
