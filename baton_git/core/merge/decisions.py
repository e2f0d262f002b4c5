"""Merge decisions as data: what to do with each record, and how that is applied to a state."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from baton_git.core.records.base import Archived, Part
from baton_git.core.records.conflict import Conflict
from baton_git.core.state import SHAPE, Entry, Key, State, Unreadable

NEWEST_RULES = 3
"""The version of the merge rules for new merges."""
RULES = (NEWEST_RULES, 2, 1)
"""All versions. A merge commit is verified with the version of the rules that it was made with."""
Table = Mapping[str, Any]
Prefer = Literal["ours", "theirs"]
"""A side of a merge; as a preference, the side that wins conflicts."""


class ContestedValue(NamedTuple):
    """A field that both sides changed differently. A side without the field is an empty tuple.

    Without a preferred side, `ours` is the winning value, whichever side it comes from.
    """

    field: str
    base: tuple[Any, ...]
    ours: tuple[Any, ...]
    theirs: tuple[Any, ...]
    winner: Prefer

    def as_data(self) -> dict[str, Any]:
        sides = {side: value[0] for side in ("base", "ours", "theirs") if (value := getattr(self, side))}
        return {"field": self.field, **sides, "winner": self.winner}


class Decision(NamedTuple):
    """What to do with one record.

    Attributes:
        key: the key of the record.
        action: `take`: use theirs, which may be absent; `merge`: use `result`, combined from both; `rekey`: give a new
            id to one of two records with the same id; `keep`: use ours although theirs differs.
        result: the entry to store.
        to: the key for the result, if it is not `key`.
        leaves: the key whose entry is removed.
        contested: the values in conflict.
    """

    key: Key
    action: Literal["take", "merge", "rekey", "keep"]
    result: Entry | None = None
    to: Key | None = None
    leaves: Key | None = None
    contested: tuple[ContestedValue, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Return the decision as plain data, as described in `formats/decisions`."""
        data: dict[str, Any] = {**_place(self.key), "action": self.action}
        if self.result is not None and self.action != "keep":
            data["result"] = entry_values(self.result)[0]
        data |= {name: _place(key) for name in ("to", "leaves") if (key := getattr(self, name)) is not None}
        if self.contested:
            data["contested"] = [value.as_data() for value in self.contested]
        return data


def _place(key: Key) -> dict[str, Any]:
    return {"kind": key.kind, "id": key.id, **({"archived": True} if key.archived else {})}


def entry_values(entry: Entry | None) -> tuple[Any, ...]:
    """Return an entry as plain data in a tuple; of an unreadable file, its content; for None, an empty tuple."""
    if isinstance(entry, Part):
        return (entry.as_data(),)
    return () if entry is None else (_unreadable_data(entry),)


def _unreadable_data(entry: Unreadable) -> dict[str, Any]:
    """Return the content, but not the error: its wording may differ between machines, and merge results must not."""
    try:
        return {"unreadable": True, "text": entry.content().decode()}
    except UnicodeDecodeError:
        return {"unreadable": True, "base64": b64encode(entry.content()).decode()}


def record_data(part: Part) -> Mapping[str, Any]:
    """Return the fields of a live or archived record."""
    return part.record if isinstance(part, Archived) else part.as_data()


def frame_json(entry: Entry | None) -> str | None:
    """Return the frame of an archived record (all of its fields but `record`) as JSON; None for any other entry."""
    if not isinstance(entry, Archived):
        return None
    return canonical_json({name: value for name, value in entry.as_data().items() if name != "record"})


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys: the same text for equal data."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def ordered_json(value: Any) -> str:
    """Return JSON with the keys in their order, which `canonical_json` ignores."""
    return json.dumps(value, ensure_ascii=False)


def digest(value: Any, length: int = 6) -> str:
    return sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()[:length]


# --- applying them

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
