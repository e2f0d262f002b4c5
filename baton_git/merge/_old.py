"""Three states into one, by record id, then by field, by the rule that each field declares.

`decide` says what to do as data, `apply` does it. Neither knows git or bytes. Where both sides changed one
value in different ways and its rule cannot combine them, one of them stands for now and both are kept in a
`Conflict`; nothing is ever dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from baton_git.diff import TITLES
from baton_git.layout import FOLDERS
from baton_git.names import derived
from baton_git.records.archive import Archived
from baton_git.records.base import Part, alike, merge_rule, parse
from baton_git.records.conflict import Conflict
from baton_git.records.rules import Append, Counter, Earliest, Ladder, Latest, MergeRule, Newest, Recent, Union
from baton_git.state import Entry, Key, State, Unreadable

Prefer = Literal["ours", "theirs"]
"""Which side of a contested value stands for now."""


class Contested(NamedTuple):
    """A field that both sides changed; a side without the field has no value."""

    field: str
    base: tuple[Any, ...]
    ours: tuple[Any, ...]
    theirs: tuple[Any, ...]
    winner: Literal["ours", "theirs"]


class Decision(NamedTuple):
    """What is to become of one record.

    `take`: theirs as it is, which may be nothing; `merge`: `result` is made of both; `rekey`: theirs is another
    record of the same id; `keep`: ours, though theirs removed it. `to` is where the result goes, when that is not
    `key`; `leaves` says that the place at `key` becomes free.
    """

    key: Key
    action: Literal["take", "merge", "rekey", "keep"]
    result: Part | None = None
    to: Key | None = None
    leaves: bool = False
    contested: tuple[Contested, ...] = ()

    def as_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.key.kind, "id": self.key.id, "action": self.action}
        if self.to is not None:
            data["to"] = self.to.id
        if self.contested:
            data["contested"] = [one.field for one in self.contested]
        return data


def decide(base: State, ours: State, theirs: State, *, prefer: Prefer = "theirs") -> list[Decision]:
    """How `theirs` comes into `ours`, given that both grew from `base`. What only ours changed needs no decision."""
    changed = base.differing(theirs)
    moved = _moves(base, theirs, changed)
    ours_moved = _moves(base, ours, base.differing(ours)) if changed else {}
    decisions: list[Decision] = []
    for key in sorted(changed - set(moved.values())):
        here, there = ours_moved.get(key, key), moved.get(key, key)
        sides = (base.entry(key), ours.entry(here), theirs.entry(there))
        decisions += _decide(key, here, _free(ours, there), sides, prefer)
        if there != key and theirs.entry(key) is not None:
            standing = ours.entry(key) if here != key else None
            decisions += _decide(key, key, key, (None, standing, theirs.entry(key)), prefer)
    return decisions


def _moves(base: State, side: State, changed: set[Key]) -> dict[Key, Key]:
    """By the key of a record that was live in the base, where it stands in the archive of `side`."""
    moves = {}
    for key in sorted(changed):
        entry = side.entry(key) if key.archived else None
        if isinstance(entry, Archived) and base.entry(key) is None:
            live = Key(key.kind, str(entry.record.get("id")))
            if base.entry(live) is not None and live in changed:
                moves[live] = key
    return moves


def _free(state: State, key: Key) -> Key:
    """`key`; of the archive a place near it, when that one holds another record."""
    entry = state.entry(key) if key.archived else None
    return key if entry is None else key._replace(id=derived(key.id, _digest(_values(entry))))


def apply(ours: State, decisions: Sequence[Decision], *, record_conflicts: bool = True) -> State:
    """`ours` after `decisions`, with a `Conflict` for each contested value."""
    for one in decisions:
        if one.leaves:
            ours = ours.remove(one.key)
        if one.result is not None and one.action != "keep":
            ours = ours.put(one.result, one.to or one.key)
        for value in one.contested if record_conflicts else ():
            ours = ours.put(_conflict(one.key, value))
    return ours


Sides = tuple[Entry | None, Entry | None, Entry | None]
"""A record in the base, in ours, in theirs."""


def _decide(key: Key, here: Key, there: Key, sides: Sides, prefer: Prefer) -> Iterator[Decision]:
    """What becomes of one record that ours has at `here` and theirs would have at `there`."""
    was, mine, other = sides
    if _same(other, was) or _same(other, mine):
        return
    elsewhere = there if there != key else None
    if _same(mine, was):
        leaves = mine is not None and (other is None or there != key)
        yield Decision(key, "take", _readable(other), elsewhere, leaves)
    elif mine is None or other is None:
        kept = mine if other is None else other
        gone = Contested("", _values(was), _values(mine), _values(other), "ours" if other is None else "theirs")
        yield Decision(key, "keep" if other is None else "merge", _readable(kept), elsewhere, contested=(gone,))
    elif isinstance(mine, Unreadable) or isinstance(other, Unreadable):
        yield Decision(key, "keep", contested=(Contested("", _values(was), _values(mine), _values(other), "ours"),))
    elif was is None and are_two(key.kind, mine, other):
        yield _rekeyed(key, there, other)
    else:
        result, contested = _merged(key, was, mine, other, prefer)
        to = here if isinstance(mine, Archived) or not isinstance(result, Archived) else there
        yield Decision(key, "merge", result, to if to != key else None, here == key != to, contested)


def _same(one: Entry | None, other: Entry | None) -> bool:
    if isinstance(one, Part) and isinstance(other, Part):
        return type(one) is type(other) and alike(one.given(), other.given())
    return one == other


def _readable(entry: Entry | None) -> Part | None:
    return entry if isinstance(entry, Part) else None


def _values(entry: Entry | None) -> tuple[Any, ...]:
    if isinstance(entry, Part):
        return (entry.given(),)
    return () if entry is None else ({"unreadable": entry.why},)


def _record_data(part: Part) -> dict[str, Any]:
    return dict(part.record) if isinstance(part, Archived) else part.given()


def are_two(kind: str, mine: Part, other: Part) -> bool:
    """Whether two records that were added under one id are about different things."""
    title = TITLES.get(kind)
    return title is not None and _record_data(mine).get(title) != _record_data(other).get(title)


def _rekeyed(key: Key, there: Key, moved: Part) -> Decision:
    """The record that came in gets an id made of what it says."""
    fresh = derived(key.id, _digest(_record_data(moved)))
    if isinstance(moved, Archived):
        renamed: Part = moved.replace(record={**moved.record, "id": fresh}, was=key.id)
    else:
        renamed = moved.replace(id=fresh)
    return Decision(key, "rekey", renamed, to=there._replace(id=fresh))


def _merged(key: Key, was: Entry | None, mine: Part, other: Part, prefer: Prefer) -> tuple[Part, tuple[Contested, ...]]:
    """Field by field; archived on one side and edited on the other is archived with the edit."""
    model = type(mine) if not isinstance(mine, Archived) else type(other)
    if model is Archived:
        model = FOLDERS[key.kind].model
    base = _record_data(was) if isinstance(was, Part) else {}
    data, contested = merge_fields(model, base, _record_data(mine), _record_data(other), prefer)
    frames = [one for one in (mine, other) if isinstance(one, Archived)]
    frame = min(frames, key=lambda one: (one.at, _canonical(one.given())), default=None)
    result: Part = frame.replace(record=data) if frame is not None else parse(type(mine), data)
    return result, tuple(contested)


def merge_fields(
    model: type[Part],
    base: Mapping[str, Any],
    ours: Mapping[str, Any],
    theirs: Mapping[str, Any],
    prefer: Prefer = "theirs",
) -> tuple[dict[str, Any], list[Contested]]:
    """The fields of one record merged, and those for which no rule had an answer."""
    merged: dict[str, Any] = {}
    contested: list[Contested] = []
    for name in {**ours, **theirs}:
        rule = merge_rule(model, name)
        b, o, t = ((side[name],) if name in side else () for side in (base, ours, theirs))
        if isinstance(rule, Counter) and base:
            b, o, t = (side or (model.model_fields[name].get_default(),) for side in (b, o, t))
            value = _counted(b, o, t)
        else:
            value = _three_way(b, o, t)
        if value is None:
            value = _by_rule(rule, b, o, t)
        if value is None:
            winner: Prefer = prefer if (o if prefer == "ours" else t) else ("ours" if o else "theirs")
            contested.append(Contested(name, b, o, t, winner))
            value = o if winner == "ours" else t
        if value:
            merged[name] = value[0]
    return merged, contested


def _three_way(base: tuple[Any, ...], ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """No change on one side → take the other; None when both changed."""
    if alike(theirs, base) or alike(theirs, ours):
        return ours
    return theirs if alike(ours, base) else None


def _counted(base: tuple[Any, ...], ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """As `_three_way`, but two sides that counted on to the same number have each counted."""
    if theirs == base:
        return ours
    return theirs if ours == base else None


def _by_rule(
    rule: MergeRule, base: tuple[Any, ...], ours: tuple[Any, ...], theirs: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """What `rule` makes of two changes; None when it has no answer."""
    if not ours or not theirs or ours[0] is None or theirs[0] is None:
        return _without_one_side(rule, ours, theirs)
    b = base[0] if base else None
    o, t = ours[0], theirs[0]
    match rule:
        case Counter():
            return (max(0, o + t - (b or 0)),)
        case Union():
            return (_union(b or (), o, t),)
        case Recent(limit):
            return (_recent(b or (), o, t, limit),)
        case Append():
            return _appended(b or "", o, t)
        case Latest():
            return (max(o, t, key=_in_time),)
        case Earliest():
            return (min(o, t, key=_in_time),)
        case Newest(by):
            return (max(o, t, key=lambda table: (str(table.get(by, "")), _canonical(table))),)
        case Ladder(steps) if o in steps and t in steps:
            return (max(o, t, key=steps.index),)
    return None


def _in_time(text: Any) -> tuple[bool, str, str]:
    """Sorts points in time as such, whatever their offset; what is none stands after them, as text."""
    try:
        moment = datetime.fromisoformat(text)
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return True, "", str(text)
    return False, moment.isoformat(timespec="microseconds"), str(text)


def _without_one_side(rule: MergeRule, ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """A combining rule keeps the side that says something; a scalar that one side took away is contested."""
    if type(rule) is MergeRule:
        return None
    said = [side for side in (ours, theirs) if side and side[0] is not None]
    return said[0] if said else None


def _union(base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    kept = [item for item in base if item in ours and item in theirs]
    first, second = _in_order(
        [item for item in ours if item not in base], [item for item in theirs if item not in base]
    )
    added = [*first, *(item for item in second if item not in first)]
    return [*kept, *added]


def _recent(base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any], limit: int) -> list[Any]:
    return _union(
        [*base], [*base, *(i for i in ours if i not in base)], [*base, *(i for i in theirs if i not in base)]
    )[-limit:]


def _appended(base: str, ours: str, theirs: str) -> tuple[str] | None:
    if not (ours.startswith(base) and theirs.startswith(base)):
        return None
    first, second = _in_order(ours[len(base) :], theirs[len(base) :])
    return (f"{base}{first}{'' if first.endswith(chr(10)) else chr(10)}{second.lstrip(chr(10))}",)


def _in_order(one: Any, other: Any) -> tuple[Any, Any]:
    """Both, in an order that does not depend on which side is ours."""
    return (one, other) if _canonical(one) <= _canonical(other) else (other, one)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _digest(value: Any) -> str:
    return sha256(_canonical(value).encode()).hexdigest()[:6]


def _conflict(key: Key, value: Contested) -> Conflict:
    sides = sorted(_canonical(one) for one in (value.ours, value.theirs))
    digest = sha256(_canonical([key.kind, key.id, value.field, *sides]).encode()).hexdigest()[:8]
    return Conflict.model_validate(
        {
            "id": f"C-{digest}",
            "record_kind": key.kind,
            "record_id": key.id,
            "field": value.field,
            **{side: found[0] for side in ("base", "ours", "theirs") if (found := getattr(value, side))},
            "winner": value.winner,
        }
    )
