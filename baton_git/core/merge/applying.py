"""Apply merge decisions to a state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from baton_git.core.merge.decisions import ContestedValue, Decision, canonical_json, digest
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import SHAPE, Entry, Key, State, Unreadable

_QUIET = (SHAPE.kind, Conflict.kind)
"""Kinds without conflict records: the layout of a document, and conflicts themselves."""


def apply(ours: State, decisions: Sequence[Decision], *, record_conflicts: bool = True) -> State:
    """Return `ours` with the decisions applied, and with the conflicts from `list_conflicts`.

    Args:
        record_conflicts: whether to add the conflicts.
    """
    edits: dict[Key, Entry | None] = {decision.leaves: None for decision in decisions if decision.leaves is not None}
    edits |= {
        decision.to or decision.key: decision.result
        for decision in decisions
        if decision.result is not None and decision.action != "keep"
    }
    state = State(ours.source, {**ours.edits, **edits}) if edits else ours
    return add_conflicts(state, list_conflicts(decisions)) if record_conflicts else state


def add_conflicts(state: State, conflicts: Iterable[Conflict]) -> State:
    """Return the state with the conflicts. A conflict whose id belongs to an unreadable file gets another id."""
    for conflict in conflicts:
        while isinstance(state.entry(Key(Conflict.kind, conflict.id)), Unreadable):
            conflict = conflict.replace(id=f"{conflict.id}.2")
        state = state.put(conflict)
    return state


def list_conflicts(decisions: Sequence[Decision]) -> Iterator[Conflict]:
    """Yield a conflict for each contested value, except those of the kinds in `_QUIET`.

    The id of a conflict is computed from the record, the field and both values.
    """
    for decision in decisions:
        if decision.key.kind not in _QUIET:
            yield from (make_conflict(decision.key.kind, decision.key.id, value) for value in decision.contested)


def make_conflict(kind: str, id_: str, value: ContestedValue) -> Conflict:
    """Return the conflict record of one contested value."""
    sides = sorted(canonical_json(side) for side in (value.ours, value.theirs))
    name = digest([kind, id_, value.field, *sides], 8)
    return Conflict.model_validate({"id": f"C-{name}", "record_kind": kind, "record_id": id_, **value.as_data()})
