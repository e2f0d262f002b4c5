"""Merge the fields of one record, each by the rule that it declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from baton_git.core.merge.combining import Value, combine_values
from baton_git.core.merge.decisions import NEWEST_RULES, ContestedValue, Prefer, Table, canonical_json, ordered_json
from baton_git.core.merge.lineages import Own, count_separately, count_shared
from baton_git.core.records.base import (
    CHANGED_SIDE,
    TIERS,
    Append,
    Beside,
    Counter,
    Extend,
    Fields,
    Fixed,
    MergeRule,
    Part,
    alike,
    merge_rule,
)
from baton_git.core.records.work_items import Pattern
from baton_git.core.times import parse_time_or_none

GRADUATION = ("status", "source_tier", "proposed_rule", "graduated_to")
"""The fields of a graduation, which a person confirms together."""


def is_graduated(data: Table) -> bool:
    """Whether a pattern, as plain data, is graduated."""
    return data.get("status") == "graduated"


def graduation_winner(
    base: Table, ours: Table, theirs: Table, prefer: Prefer | None, *, one_sided: bool = False
) -> Prefer | None:
    """Return the side whose graduation wins.

    Return None if the pattern is graduated on neither side, if both sides have the same graduation, or (without
    `one_sided`) if only one side changed it.

    If both sides changed the graduation and only one is graduated, the other side wins. Of two graduations, the
    preferred side wins, else the one with the lower (less trusted) tier, else the one with the larger canonical JSON.

    Args:
        one_sided: whether to also return a side if it alone changed the graduation.
    """
    if not (is_graduated(ours) or is_graduated(theirs)):
        return None
    b, o, t = (_part(side) for side in (base, ours, theirs))
    if alike(o, t):
        return None
    if alike(o, b) or alike(t, b):
        return None if not one_sided else "theirs" if alike(o, b) else "ours"
    if is_graduated(ours) != is_graduated(theirs):
        return "theirs" if is_graduated(ours) else "ours"
    ranks = [(-_trust(side), canonical_json(side)) for side in (o, t)]
    return prefer or ("ours" if ranks[0] > ranks[1] else "theirs")


def _part(data: Table) -> dict[str, Any]:
    return {name: data[name] for name in GRADUATION if name in data}


def _trust(data: Table) -> int:
    return TIERS.index(data.get("source_tier", Pattern.model_fields["source_tier"].default))


def gate_graduation(
    merged: dict[str, Any], contested: list[ContestedValue], sides: tuple[Table, Table, Table], prefer: Prefer | None
) -> list[ContestedValue]:
    """Replace the graduation in `merged` (in place) with the whole graduation of the winning side, if a side wins.

    A tier in `merged` that is lower than that of the winning side is kept.

    Returns:
        The updated list of contested values.
    """
    base, ours, theirs = sides
    winner = graduation_winner(base, ours, theirs, prefer)
    if winner is None:
        return contested
    first, second = (ours, theirs) if winner == "ours" else (theirs, ours)
    lowest_trust = _trust(
        min((table for table in (merged, first) if "source_tier" in table), key=_trust, default=first)
    )
    for name in GRADUATION:
        merged.pop(name, None)
    merged |= _part(first)
    if lowest_trust < _trust(first):
        merged["source_tier"] = TIERS[lowest_trust]
    differing = [name for name in GRADUATION if not alike(_value(first, name), _value(second, name))]
    names = [name for name in differing if name in ("status", "proposed_rule")] or differing
    contested_fields = [_contested_field(name, sides, winner, prefer) for name in names]
    return [value for value in contested if value.field not in GRADUATION] + contested_fields


def _contested_field(
    name: str, sides: tuple[Table, Table, Table], winner: Prefer, prefer: Prefer | None
) -> ContestedValue:
    base, ours, theirs = (_value(side, name) for side in sides)
    if prefer is None:
        return ContestedValue(name, base, *((ours, theirs) if winner == "ours" else (theirs, ours)), "ours")
    return ContestedValue(name, base, ours, theirs, winner)


def _value(data: Table, name: str) -> tuple[Any, ...]:
    return (data[name],) if name in data else ()


def merge_fields(
    model: type[Part],
    base: Table | None,
    ours: Table,
    theirs: Table,
    prefer: Prefer | None = None,
    rules: int = NEWEST_RULES,
) -> tuple[dict[str, Any], list[ContestedValue]]:
    """Return the merged fields of one record, and the values in conflict.

    Args:
        model: the model of the record.
        base: the fields in the merge base; None if both sides created the record.
        ours: our fields.
        theirs: their fields.
        prefer: the side that wins conflicts that no rule decides; None: decide by value, so that swapping the sides
            changes nothing.
        rules: the version of the merge rules.
    """
    own = count_separately(model, ours, theirs) if base is None else None
    return _merge_table(_Terms(prefer, base is None, own, rules), model, base or {}, ours, theirs)


class _Terms(NamedTuple):
    """Parameters for merging all tables of one record.

    Attributes:
        prefer: the side that wins conflicts, or None.
        has_no_base: whether both sides created the record.
        own: how often each side counted on its own, if both have copies of one record, else None.
        rules: the version of the merge rules.
    """

    prefer: Prefer | None
    has_no_base: bool
    own: Own | None
    rules: int


def _merge_table(
    terms: _Terms, model: type[Part], base: Table, ours: Table, theirs: Table
) -> tuple[dict[str, Any], list[ContestedValue]]:
    merged: dict[str, Any] = {}
    contested: list[ContestedValue] = []
    for name in _list_names(model, base, ours, theirs):
        sides = _values(name, base, ours, theirs)
        rule = _rule_of(model, name, terms)
        tables = _tables(*sides) if isinstance(rule, Fields) else None
        if isinstance(rule, Fields) and tables is not None:
            inner, inner_contested = _merge_table(terms, rule.model, *tables)
            value: Value | None = (inner,)
            contested += [value._replace(field=f"{name}.{value.field}") for value in inner_contested]
        elif isinstance(rule, Counter):
            value = _merge_counter(model, name, sides, terms)
        elif isinstance(rule, Beside):
            value = _merge_beside(rule, merged.get(rule.field), (base, ours, theirs), sides)
        else:
            value = _apply_rule(rule, sides)
        if value is None:
            value = _merge_unknown_table(*sides) if name not in model.model_fields else None
        if value is None:
            value, loser = (
                _choose_older(rule, name, sides)
                if isinstance(rule, Fixed)
                else settle_contested(name, *sides, terms.prefer)
            )
            contested.append(loser)
        if value:
            merged[name] = value[0]
    if model is Pattern:
        contested = gate_graduation(merged, contested, (base, ours, theirs), terms.prefer)
    return merged, contested


Sides = tuple[Value, Value, Value]


def _apply_rule(rule: MergeRule, sides: Sides) -> Value | None:
    """Return the value changed by one side, or combined by the rule; None for a conflict. A fixed value remains."""
    base = sides[0]
    if isinstance(rule, Fixed) and base and base[0] is not None:
        return base
    value = merge_value(*sides)
    return combine_values(rule, *sides) if value is None else value


def _values(name: str, base: Table, ours: Table, theirs: Table) -> Sides:
    b, o, t = ((side[name],) if name in side else () for side in (base, ours, theirs))
    return b, o, t


def _rule_of(model: type[Part], name: str, terms: _Terms) -> MergeRule:
    """Return the rule of a field. Without a base, a required text is not appended to the other side's text."""
    rule = merge_rule(model, name)
    if isinstance(rule, Extend) and terms.rules == 1:
        return Append()
    is_title = isinstance(rule, Append) and model.model_fields[name].is_required()
    return CHANGED_SIDE if terms.has_no_base and is_title else rule


def _list_names(model: type[Part], base: Table, ours: Table, theirs: Table) -> Iterator[str]:
    """Yield the names of all fields in the order of the merged record.

    First the model's fields, those with the rule `Beside` last. Then unknown fields: those of the base in its order,
    then new ones, in their order if both sides agree on it, else sorted, so that swapping the sides changes nothing.
    """
    known = [name for name in model.model_fields if name in ours or name in theirs]
    beside = [name for name in known if isinstance(merge_rule(model, name), Beside)]
    yield from (name for name in known if name not in beside)
    yield from beside
    before = [name for name in base if name not in known and (name in ours or name in theirs)]
    yield from before
    our_new, their_new = (
        [name for name in side if name not in known and name not in before] for side in (ours, theirs)
    )
    yield from our_new if our_new == their_new else sorted({*our_new, *their_new})


def settle_contested(
    field: str, base: Value, ours: Value, theirs: Value, prefer: Prefer | None
) -> tuple[Value, ContestedValue]:
    """Return the winning value of a conflict, and the conflict. A value wins over an absent one."""
    if prefer is None:
        first, second = sorted((ours, theirs), key=_value_order, reverse=True)
        return first, ContestedValue(field, base, first, second, "ours")
    winner: Prefer = prefer if (ours if prefer == "ours" else theirs) else ("ours" if ours else "theirs")
    return (ours if winner == "ours" else theirs), ContestedValue(field, base, ours, theirs, winner)


def _choose_older(rule: Fixed, field: str, sides: Sides) -> tuple[Value, ContestedValue]:
    """Return the older of two values that were set independently, and the conflict."""
    base, *both = sides
    first, second = sorted(both, key=lambda side: _since(rule, side))
    return first, ContestedValue(field, base, first, second, "ours")


def _since(rule: Fixed, side: Value) -> tuple[bool, str, str]:
    """Return a sort key: by date, values without a date last, then by value."""
    date: Any = side[0] if side else None
    for name in rule.since.split("."):
        date = date.get(name) if isinstance(date, Mapping) else None
    moment = parse_time_or_none(date) if isinstance(date, str) else None
    return moment is None, moment.isoformat() if moment else "", canonical_json(side[0]) if side else ""


def _value_order(side: Value) -> tuple[int, bool, str]:
    """Return a sort key: absent before null, null before values, values by their canonical JSON."""
    return len(side), side not in ((), (None,)), canonical_json(side[0]) if side else ""


def merge_value(base: Value, ours: Value, theirs: Value) -> Value | None:
    """Return the value of the only side that changed it, or of both if equal; None if both changed it differently."""
    if alike(theirs, ours):
        # Equal values that are no texts may have different JSON: key order, the sign of zero.
        return ours if not ours or isinstance(ours[0], str) else min(ours, theirs, key=ordered_json)
    if alike(theirs, base):
        return ours
    return theirs if alike(ours, base) else None


def _merge_counter(model: type[Part], name: str, sides: Sides, terms: _Terms) -> Value | None:
    """Return the count of the only side that changed it; if both did, even to the same number, add both increases.

    Return None if the sum has too many digits to be stored.
    """
    default = model.model_fields[name].get_default()
    base, ours, theirs = (side or (default,) for side in sides)
    if terms.has_no_base:
        base = (count_shared(terms.own, ours[0], theirs[0]),)
    if theirs == base:
        return ours
    return theirs if ours == base else combine_values(Counter(), base, ours, theirs)


def _tables(base: Value, ours: Value, theirs: Value) -> tuple[Table, Table, Table] | None:
    """Return the three versions of a table with rules for its fields; None if a version is not a table."""
    b, o, t = (side[0] if side else {} for side in (base, ours, theirs))
    return (
        (b or {}, o or {}, t or {}) if all(table is None or isinstance(table, Mapping) for table in (b, o, t)) else None
    )


def _merge_unknown_table(base: Value, ours: Value, theirs: Value) -> Value | None:
    """Merge a table without a model key by key; None if a side has no table, or a value in it is in conflict."""
    tables = [side[0] if side else {} for side in (base, ours, theirs)]
    if not (ours and theirs and all(isinstance(table, Mapping) for table in tables)):
        return None
    merged: dict[str, Any] = {}
    for name in sorted({*tables[1], *tables[2]}):
        sides = _values(name, *tables)
        value = merge_value(*sides)
        if value is None:
            value = _merge_unknown_table(*sides)
        if value is None:
            return None
        if value:
            merged[name] = value[0]
    return (merged,)


def _merge_beside(rule: Beside, winning: Any, tables: tuple[Table, Table, Table], values: Sides) -> Value | None:
    """Return the merged value of a field with the rule `Beside`; None for a conflict. The first case that applies:

    1. The sides changed neither this field nor `rule.field` in different ways: the value of the side that changed it.
    2. Exactly one side has `winning`, the merged value of `rule.field`: the value of that side.
    3. The sides did not change this field in different ways: the value of the side that changed it.
    4. The two values are combined by the rule.
    """
    value = merge_value(*values)
    if value is not None and merge_value(*_values(rule.field, *tables)) is not None:
        return value
    having = [value for table, value in zip(tables[1:], values[1:], strict=True) if table.get(rule.field) == winning]
    if len(having) == 1:
        return having[0]
    return combine_values(rule, *values) if value is None else value
