"""Settling a value that two sides changed differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from baton_git.core.errors import Ambiguous, InvalidArgument, NeedsHuman, NotAllowed, NotFound, Unsettled
from baton_git.core.kinds import ALL_KINDS, KINDS, SINGLETONS
from baton_git.core.layout import key_at
from baton_git.core.lifecycle import hold_claims
from baton_git.core.merge.decisions import entry_values, record_data
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Part, Record, alike, parse
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.rule import Rule
from baton_git.core.records.work_items import ActiveDecision
from baton_git.core.state import Key, State
from baton_git.core.times import iso
from baton_git.git.store import Edit
from baton_git.namespace.file_merge import KIND as FILE
from baton_git.namespace.file_merge import entry_at
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace

Side = Literal["ours", "theirs"]


def conflicts(ws: Workspace) -> list[Conflict]:
    """All that are not settled yet, by record and field."""
    found = ws.branch.read().state.records(Conflict)
    return sorted(found, key=lambda one: (one.record_kind, one.record_id, one.field, one.id))


def resolve(
    ws: Workspace, now: datetime, id_: str, side: Side | None, value: Any = None, *,
    shown: Conflict | None = None, stood: tuple[Any, ...] | None = None,
) -> tuple[Conflict, WriteResult]:  # fmt: skip
    """Settles a conflict: the value of one side, or another one, stands from now on.

    Args:
        id_: of the conflict, or of a record that has only one.
        side: whose value; None: `value` is meant, as plain data.
        shown: the conflict as somebody has seen it; None: however it stands.
        stood: what `standing` gave then: the side's value is put there whatever changed since the conflict arose.

    Raises:
        NotFound, Ambiguous: `id_` names none, or several.
        Unsettled: it is not as it was shown.
        NeedsHuman: it would graduate a pattern.
        NotAllowed: a rule forbids that value, or the field has changed since: a side would take that back.
        InvalidDocument: the value does not fit its field.
    """
    conflict = _found(ws.branch.read().state, id_)

    def change(tip: Revision) -> State | ProposedState:
        one = tip.state.get(Conflict, conflict.id)
        if shown is not None and not alike(one.as_data(), shown.as_data()):
            raise Unsettled("this conflict has changed since it was shown", hint="look again")
        if stood is not None and not alike(standing(tip.state, one) or (), stood):
            raise Unsettled("what stands there has changed since it was shown", hint="look again")
        settled = tip.state.remove(Key(Conflict.kind, one.id))
        if one.record_kind == FILE:
            return _file_settled(ws, tip, settled, one, side)
        if side == one.winner and (stood is None or alike(stood, side_value(one, side))):
            return settled
        chosen = side_value(one, side) if side is not None else (value,)
        return _settled(ws, now, settled, one, chosen, is_side=side is not None and stood is None)

    return conflict, ws.update("resolve", now, change)


def standing(state: State, conflict: Conflict) -> tuple[Any, ...] | None:
    """The value that stands now where a conflict is; nothing where there is none, None where nobody can say."""
    if conflict.record_kind == FILE or conflict.record_kind not in ALL_KINDS:
        return None
    _, entry = _place(state, conflict)
    if conflict.field == "":
        return entry_values(entry)
    if not isinstance(entry, Part):
        return None
    data = record_data(entry)
    return _at(data, _names(data, conflict.field))


def _found(state: State, text: str) -> Conflict:
    of_record = [one for one in state.records(Conflict) if text and text in (one.record_id, one.record_kind)]
    if len(of_record) > 1:
        raise Ambiguous("conflict", text, [one.id for one in of_record])
    return of_record[0] if of_record else state.find(Conflict, text)


def side_value(conflict: Conflict, side: Side) -> tuple[Any, ...]:
    """What a side had; nothing where it had none."""
    return (getattr(conflict, side),) if side in conflict.model_fields_set else ()


def _settled(
    ws: Workspace, now: datetime, state: State, conflict: Conflict, chosen: tuple[Any, ...], *, is_side: bool
) -> State:
    if conflict.record_kind == Rule.kind and chosen:
        raise NeedsHuman(f"{conflict.record_id}: a rule is what a person confirmed", hint=_keep(conflict))
    key, entry = _place(state, conflict)
    if is_side and chosen and isinstance(chosen[0], dict) and chosen[0].keys() == {"path", "blob"}:
        raise NotAllowed(
            f"{conflict.record_id}: that side is too large to be stored again",
            hint=f"git cat-file blob {chosen[0]['blob']} shows it; {_keep(conflict)}",
        )
    if conflict.field == "":
        return _whole(ws, now, state, key, entry, chosen)
    if not isinstance(entry, Part):
        raise NotFound("record", conflict.record_id or conflict.record_kind, hint=_keep(conflict))
    data = dict(entry.record) if isinstance(entry, Archived) else entry.as_data()
    names = _names(data, conflict.field)
    if is_side and not alike(_at(data, names), side_value(conflict, conflict.winner)):
        raise NotAllowed(
            f"{conflict.field} of {conflict.record_id or conflict.record_kind} has changed since",
            hint=f"{_keep(conflict)}, or give another --value",
        )
    return _put(state, key, entry, _with(data, names, chosen))


def _at(data: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    """The value that stands at the end of the names; nothing where there is none."""
    first, *rest = names
    if first not in data:
        return ()
    return _at(data[first], rest) if rest else (data[first],)


def _names(data: Mapping[str, Any], field: str) -> list[str]:
    """The names that lead to a field: `state.a.b` is the key `a.b` of the table `state`, if there is no table `a`."""
    first, _, rest = field.partition(".")
    if field in data or not rest or not isinstance(data.get(first, {}), Mapping):
        return [field]
    return [first, *_names(data.get(first, {}), rest)]


def _with(data: Mapping[str, Any], names: Sequence[str], chosen: tuple[Any, ...]) -> dict[str, Any]:
    """The table with the chosen value at the end of the names, or without one."""
    first, *rest = names
    if rest:
        return {**data, first: _with(data.get(first, {}), rest, chosen)}
    others = {name: value for name, value in data.items() if name != first}
    return {**others, first: chosen[0]} if chosen else others


def _keep(conflict: Conflict) -> str:
    return f"keep what stands: baton resolve {conflict.id} --{conflict.winner}"


def _place(state: State, conflict: Conflict) -> tuple[Key, Any]:
    kind, id_ = conflict.record_kind, conflict.record_id
    if kind not in ALL_KINDS:
        raise InvalidArgument(f"{conflict.id} is about a {kind!r}, which nobody here knows", hint=_keep(conflict))
    for key in (Key(kind, id_), Key(kind, id_, archived=True)):
        if kind in SINGLETONS and key.archived:
            continue
        entry = state.entry(key)
        if entry is not None:
            return key, entry
    return Key(kind, id_), None


def _put(state: State, key: Key, entry: Part | None, data: dict[str, Any]) -> State:
    model = ALL_KINDS[key.kind].model
    record = parse(model, data)
    if isinstance(record, Record):
        _check(state, key, entry, record)
    return state.put(entry.replace(record=record.as_data()) if isinstance(entry, Archived) else record, key)


def _check(state: State, key: Key, entry: Part | None, claim: Record) -> None:
    """Settling a conflict is no way around the gate, nor into the place of another record."""
    if claim.id != key.id and not key.archived:
        raise NotAllowed(f"{key} cannot become {claim.id}: an id stays", hint="keep what stands")

    def tier_of(id_: str) -> str | None:
        found = state.entry(Key(ActiveDecision.kind, id_))
        return found.source_tier if isinstance(found, ActiveDecision) else None

    before = parse(type(claim), entry.record) if isinstance(entry, Archived) else entry
    _, holds = hold_claims(before if isinstance(before, Record) else None, claim, tier_of, evidence=False)
    for one in holds:
        if one.claimed == "graduated":
            raise NeedsHuman(
                f"{claim.id}: {one.why}", hint=f"baton pattern graduate {claim.id}, then baton resolve it --ours"
            )
        raise NotAllowed(f"{claim.id} {one.field}: {one.why}", hint="keep what stands: --ours")


def _whole(ws: Workspace, now: datetime, state: State, key: Key, entry: Any, chosen: tuple[Any, ...]) -> State:
    """A record that one side removed, or could not read."""
    if not chosen:
        if isinstance(entry, Record) and not key.archived:
            return state.archive(entry, at=iso(now), reason="removed on one side", session=ws.actor.session)
        return state
    data = chosen[0]
    if not isinstance(data, dict) or "unreadable" in data:
        raise InvalidArgument(f"{key}: that side is no record", hint="keep what stands: --ours")
    is_closed = "record" in data and "at" in data and "id" not in data
    if is_closed:
        closed = parse(Archived, data)
        record = parse(KINDS[key.kind].model, closed.record)
        if isinstance(record, Record):
            _check(state, key._replace(archived=True), entry if isinstance(entry, Part) else None, record)
        return state.put(closed, Key(key.kind, key.id, archived=True))
    return _put(state, key, entry if isinstance(entry, Part) else None, data)


def _file_settled(ws: Workspace, tip: Revision, state: State, conflict: Conflict, side: Side | None) -> ProposedState:
    """The chosen side's file takes the place; the one beside it goes."""
    if side is None:
        raise InvalidArgument(f"{conflict.record_id} is a file", hint="choose --ours or --theirs")
    assert tip.tree is not None
    root, path = ws.branch.store.folder(tip.tree), conflict.record_id
    other: Side = "theirs" if conflict.winner == "ours" else "ours"
    named = [one.get("path") for one in side_value(conflict, other) if isinstance(one, dict)]
    beside = str(named[0] if named else path)
    if any(key_at(one) is not None for one in (path, beside)):
        raise NotAllowed(f"{conflict.id} is about a file, but {path} is a record", hint=_keep(conflict))
    found = entry_at(root, beside)
    gone: dict[str, Edit] = {beside: None} if beside != path else {}
    if side == conflict.winner:
        return ProposedState(state, files=gone if found is not None else {})
    if not side_value(conflict, side):
        return ProposedState(state, files={path: None})
    if found is None:
        raise NotFound("file", beside, hint=f"keep what stands: --{conflict.winner}")
    return ProposedState(state, files={path: found, **gone})
