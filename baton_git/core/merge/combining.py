"""Combine two changes of one value by its merge rule."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from baton_git.core.codecs.limits import is_writable
from baton_git.core.merge.decisions import canonical_json, ordered_json
from baton_git.core.records.base import (
    CHANGED_SIDE,
    Append,
    Counter,
    Earliest,
    Either,
    Extend,
    Keyed,
    Ladder,
    Latest,
    MergeRule,
    Newest,
    Recent,
    Union,
)
from baton_git.core.times import parse_time

Value = tuple[Any, ...]
"""A value in a tuple, or an empty tuple if a side has none."""


def combine_values(rule: MergeRule, base: Value, ours: Value, theirs: Value) -> Value | None:
    """Combine two changes of a value by `rule`; None if the rule cannot."""
    if not ours or not theirs or ours[0] is None or theirs[0] is None:
        return _keep_given(rule, ours, theirs)
    b = base[0] if base else None
    o, t = ours[0], theirs[0]
    match rule:
        case Counter():
            total = max(0, o + t - (b or 0))  # the base plus the increase on each side
            return (total,) if is_writable(total) else None
        case Union():
            return (_merge_sets(b or (), o, t),)
        case Recent(limit):
            return (_merge_sets(b or (), [*(b or ()), *o], [*(b or ()), *t])[-limit:],)
        case Extend() if not b:
            return None
        case Append():
            return _merge_appended(b or "", o, t)
        case Keyed(by) if all(isinstance(side, list | tuple) for side in (b or (), o, t)):
            return (_merge_keyed(by, b or (), o, t),)
    return _choose_value(rule, o, t)


def _choose_value(rule: MergeRule, o: Any, t: Any) -> Value | None:
    match rule:
        case Latest():
            return (max(o, t, key=_time_order),)
        case Earliest():
            return (min(o, t, key=_time_order),)
        case Newest(by):
            return (max(o, t, key=lambda table: (_time_order(table.get(by)), canonical_json(table))),)
        case Either():
            return (max(o, t, key=_size_order),)
        case Ladder(steps) if o in steps and t in steps:
            return (max(o, t, key=steps.index),)
    return None


def _time_order(text: Any) -> tuple[bool, str, str]:
    """Return a sort key for times, regardless of their offset; other texts sort last."""
    try:
        moment = parse_time(text)
    except (TypeError, ValueError):
        return True, "", text if isinstance(text, str) else canonical_json(text)
    return False, moment.isoformat(timespec="microseconds"), str(text)


def _size_order(value: Any) -> tuple[bool, float, str]:
    """Return a sort key: integers first, by size, then other values by their canonical JSON."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return not is_number, value if is_number else 0, canonical_json(value)


def _keep_given(rule: MergeRule, ours: Value, theirs: Value) -> Value | None:
    """Return the side that has a value; None for `CHANGED_SIDE`, so that a removal is a conflict."""
    if rule is CHANGED_SIDE:
        return None
    values = [side for side in (ours, theirs) if side and side[0] is not None]
    return values[0] if values else None


def _merge_sets(base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    start, our_items, their_items = ({canonical_json(item): item for item in side} for side in (base, ours, theirs))
    kept = [item for name, item in start.items() if name in our_items and name in their_items]
    first, second = order_sides(
        *([item for name, item in side.items() if name not in start] for side in (our_items, their_items))
    )
    return [*kept, *{canonical_json(item): item for item in (*first, *second)}.values()]


def _merge_keyed(by: str, base: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    """Like `_merge_sets`, but merge items with the same key by field. If both sides changed a field, the larger wins.

    Items whose key occurs twice in a list are compared as a whole.
    """

    def key(item: Any) -> str:
        value = item.get(by) if isinstance(item, Mapping) else None
        return canonical_json(item) if value is None else canonical_json({by: value})

    twice = {name for side in (base, ours, theirs) for name, number in Counts(map(key, side)).items() if number > 1}

    def name(item: Any) -> str:
        return canonical_json(item) if key(item) in twice else key(item)

    start, our_items, their_items = ({name(item): item for item in side} for side in (base, ours, theirs))
    kept = [item_key for item_key in start if item_key in our_items and item_key in their_items]
    first, second = order_sides(
        *([item_key for item_key in side if item_key not in start] for side in (our_items, their_items))
    )
    return [
        _merge_item(start.get(item_key), our_items.get(item_key), their_items.get(item_key))
        for item_key in dict.fromkeys((*kept, *first, *second))
    ]


def _merge_item(base: Any, ours: Any, theirs: Any) -> Any:
    """Merge one item of a keyed list, which at least one side has."""
    if ours is None or theirs is None or canonical_json(ours) == canonical_json(theirs):
        return theirs if ours is None else ours if theirs is None else min(ours, theirs, key=ordered_json)
    if canonical_json(ours) == canonical_json(base):
        return theirs
    if canonical_json(theirs) == canonical_json(base) or not (
        isinstance(ours, Mapping) and isinstance(theirs, Mapping)
    ):
        return ours if canonical_json(theirs) == canonical_json(base) else max(ours, theirs, key=canonical_json)
    was = base if isinstance(base, Mapping) else {}
    names = [*(name for name in was if name in ours or name in theirs), *sorted({*ours, *theirs} - {*was})]
    merged = {name: _merge_item(was.get(name), ours.get(name), theirs.get(name)) for name in names}
    gone = {name for name in was if name not in ours or name not in theirs}
    return {name: value for name, value in merged.items() if name not in gone}


def _merge_appended(base: str, ours: str, theirs: str) -> tuple[str] | None:
    """Return the base with the additions of both sides before and after it; None if a side no longer contains it."""
    our_ends, their_ends = _split_around(base, ours), _split_around(base, theirs)
    if our_ends is None or their_ends is None:
        return None
    before, after = (_join_texts(*ends) for ends in zip(our_ends, their_ends, strict=True))
    return (f"{before}{base}{after}",)


def _split_around(base: str, text: str) -> tuple[str, str] | None:
    """Return the text before and after the base, or None.

    The base is looked for at the start of the text, then at the end, then at its first occurrence; except at the start
    of the text, it must begin and end at word boundaries.
    """
    if text.startswith(base):
        return "", text[len(base) :]
    places = (len(text) - len(base) if text.endswith(base) else -1, text.find(base))
    start = next((place for place in places if place > 0 and _is_apart(text, place, place + len(base))), None)
    return None if start is None else (text[:start], text[start + len(base) :])


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether a part of a text starts and ends at word boundaries."""
    return not any(text[at - 1 : at].isalnum() and text[at : at + 1].isalnum() for at in (start, end))


def _join_texts(ours: str, theirs: str) -> str:
    """Return two additions, one below the other; equal additions only once."""
    if not ours or not theirs or ours == theirs:
        return ours or theirs
    first, second = order_sides(ours, theirs)
    return f"{first}{'' if first.endswith(chr(10)) else chr(10)}{second.lstrip(chr(10))}"


def order_sides(ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Return both in an order that does not depend on which side is ours."""
    first, second = sorted((ours, theirs), key=lambda value: (canonical_json(value), ordered_json(value)))
    return first, second


# --- lines of a text
#
# The algorithm is that of Khanna, Kunal and Pierce, "A Formal Investigation of Diff3" (2007). Lines of the base that
# both sides still have are stable; each chunk between two stable lines is taken from the side that changed it. Merge
# commits must be identical on every machine, so lines are compared with the standard library's `difflib` and its
# default settings; other diff algorithms align some texts differently.

Lines = Sequence[bytes]


def merge_lines(base: Lines, ours: Lines, theirs: Lines) -> list[bytes] | None:
    """Return the merged lines; None if both sides changed the same lines differently.

    Swapping the sides gives the same result.
    """
    merged: list[bytes] = []
    starts = (0, 0, 0)
    for ends in _stable_lines(base, ours, theirs):
        sides = (text[start:end] for text, start, end in zip((base, ours, theirs), starts, ends, strict=True))
        chunk = _merge_chunk(*sides)
        if chunk is None:
            return None
        merged += chunk
        merged += base[ends[0] : ends[0] + 1]
        starts = (ends[0] + 1, ends[1] + 1, ends[2] + 1)
    return merged


def _stable_lines(base: Lines, ours: Lines, theirs: Lines) -> Iterator[tuple[int, int, int]]:
    """Yield the indexes of each stable line in the three texts, then the lengths of the texts."""
    in_theirs = dict(_matching_lines(base, theirs))
    for line, in_ours in _matching_lines(base, ours):
        if line in in_theirs:
            yield line, in_ours, in_theirs[line]
    yield len(base), len(ours), len(theirs)


def _matching_lines(base: Lines, side: Lines) -> Iterator[tuple[int, int]]:
    for block in SequenceMatcher(None, base, side).get_matching_blocks():
        yield from zip(range(block.a, block.a + block.size), range(block.b, block.b + block.size), strict=True)


def _merge_chunk(base: Lines, ours: Lines, theirs: Lines) -> Lines | None:
    if ours in (base, theirs):
        return theirs
    return ours if theirs == base else None
