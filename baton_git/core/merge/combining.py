"""What a rule makes of two changes of one value."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Mapping, Sequence
from typing import Any

from baton_git.core.codecs.scalars import is_writable
from baton_git.core.merge.decisions import canonical, written
from baton_git.core.records.merge_rules import (
    CHANGED_SIDE,
    Append,
    Counter,
    Earliest,
    Either,
    Keyed,
    Ladder,
    Latest,
    MergeRule,
    Newest,
    Recent,
    Union,
)
from baton_git.core.times import point_in_time

Value = tuple[Any, ...]
"""A value, or nothing where a side has none."""


def combined(rule: MergeRule, base: Value, ours: Value, theirs: Value) -> Value | None:
    """What `rule` makes of two changes; None when it has no answer."""
    if not ours or not theirs or ours[0] is None or theirs[0] is None:
        return _without_one_side(rule, ours, theirs)
    b = base[0] if base else None
    o, t = ours[0], theirs[0]
    match rule:
        case Counter():
            return _counted(b or 0, o, t)
        case Union():
            return (_union(b or (), o, t),)
        case Recent(limit):
            return (_recent(b or (), o, t, limit),)
        case Append():
            return _appended(b or "", o, t)
        case Keyed(by) if all(isinstance(side, list | tuple) for side in (b or (), o, t)):
            return (_keyed(by, b or (), o, t),)
    return _one_of(rule, o, t)


def _counted(base: int, ours: int, theirs: int) -> Value | None:
    """The base and what each side added; None where that is a number that no file can hold."""
    total = max(0, ours + theirs - base)
    return (total,) if is_writable(total) else None


def _one_of(rule: MergeRule, o: Any, t: Any) -> Value | None:
    match rule:
        case Latest():
            return (max(o, t, key=_in_time),)
        case Earliest():
            return (min(o, t, key=_in_time),)
        case Newest(by):
            return (max(o, t, key=lambda table: (_in_time(table.get(by)), canonical(table))),)
        case Either():
            return (max(o, t, key=_in_size),)
        case Ladder(steps) if o in steps and t in steps:
            return (max(o, t, key=steps.index),)
    return None


def _in_time(text: Any) -> tuple[bool, str, str]:
    """Sorts points in time as such, whatever their offset; what is none stands after them, as text."""
    try:
        moment = point_in_time(text)
    except (TypeError, ValueError):
        return True, "", str(text)
    return False, moment.isoformat(timespec="microseconds"), str(text)


def _in_size(value: Any) -> tuple[bool, float, str]:
    """Sorts numbers as such, and before everything else."""
    number = isinstance(value, int) and not isinstance(value, bool)
    return not number, value if number else 0, canonical(value)


def _without_one_side(rule: MergeRule, ours: Value, theirs: Value) -> Value | None:
    """A combining rule keeps the side that says something; a scalar that one side took away is contested."""
    if rule is CHANGED_SIDE:
        return None
    values = [side for side in (ours, theirs) if side and side[0] is not None]
    return values[0] if values else None


def _union(base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    start, our_items, their_items = ({canonical(item): item for item in side} for side in (base, ours, theirs))
    kept = [item for name, item in start.items() if name in our_items and name in their_items]
    first, second = in_order(
        *([item for name, item in side.items() if name not in start] for side in (our_items, their_items))
    )
    return [*kept, *{canonical(item): item for item in (*first, *second)}.values()]


def _keyed(by: str, base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    """As `_union`, but what has one key is one: the fields of both, and of a field that both changed the larger."""

    def key(item: Any) -> str:
        value = item.get(by) if isinstance(item, Mapping) else None
        return canonical(item) if value is None else canonical({by: value})

    twice = {name for side in (base, ours, theirs) for name, number in Counts(map(key, side)).items() if number > 1}

    def name(item: Any) -> str:
        return canonical(item) if key(item) in twice else key(item)

    start, our_items, their_items = ({name(item): item for item in side} for side in (base, ours, theirs))
    kept = [item_key for item_key in start if item_key in our_items and item_key in their_items]
    first, second = in_order(
        *([item_key for item_key in side if item_key not in start] for side in (our_items, their_items))
    )
    return [
        _one(start.get(item_key), our_items.get(item_key), their_items.get(item_key))
        for item_key in dict.fromkeys((*kept, *first, *second))
    ]


def _one(base: Any, ours: Any, theirs: Any) -> Any:
    """One entry of a keyed list; there on one side at least."""
    if ours is None or theirs is None or canonical(ours) == canonical(theirs):
        return theirs if ours is None else ours if theirs is None else min(ours, theirs, key=written)
    if canonical(ours) == canonical(base):
        return theirs
    if canonical(theirs) == canonical(base) or not (isinstance(ours, Mapping) and isinstance(theirs, Mapping)):
        return ours if canonical(theirs) == canonical(base) else max(ours, theirs, key=canonical)
    was = base if isinstance(base, Mapping) else {}
    names = [*(name for name in was if name in ours or name in theirs), *sorted({*ours, *theirs} - {*was})]
    merged = {name: _one(was.get(name), ours.get(name), theirs.get(name)) for name in names}
    gone = {name for name in was if name not in ours or name not in theirs}
    return {name: value for name, value in merged.items() if name not in gone}


def _recent(base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any], limit: int) -> list[Any]:
    return _union(base, [*base, *ours], [*base, *theirs])[-limit:]


def _appended(base: str, ours: str, theirs: str) -> tuple[str] | None:
    """The base with all that was put before and after it; None where a side does not have it any more."""
    our_ends, their_ends = _around(base, ours), _around(base, theirs)
    if our_ends is None or their_ends is None:
        return None
    before, after = (_both(*ends) for ends in zip(our_ends, their_ends, strict=True))
    return (f"{before}{base}{after}",)


def _around(base: str, text: str) -> tuple[str, str] | None:
    """What a text has before and after the base: at its beginning, or, between words, at its end or the first place."""
    if text.startswith(base):
        return "", text[len(base) :]
    places = (len(text) - len(base) if text.endswith(base) else -1, text.find(base))
    start = next((place for place in places if place > 0 and _is_apart(text, place, place + len(base))), None)
    return None if start is None else (text[:start], text[start + len(base) :])


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether a part of a text begins and ends where words do."""
    return not any(text[at - 1 : at].isalnum() and text[at : at + 1].isalnum() for at in (start, end))


def _both(ours: str, theirs: str) -> str:
    """Two additions at one place, one below the other; the same one only once."""
    if not ours or not theirs or ours == theirs:
        return ours or theirs
    first, second = in_order(ours, theirs)
    return f"{first}{'' if first.endswith(chr(10)) else chr(10)}{second.lstrip(chr(10))}"


def in_order(ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Both, in an order that does not depend on which side is ours."""
    first, second = sorted((ours, theirs), key=lambda value: (canonical(value), written(value)))
    return first, second
