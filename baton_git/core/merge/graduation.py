"""Merge the graduation of a pattern: its fields are all taken from one side; only the tier can be lowered.

A person confirmed these fields together, so a mixture of both sides would be a rule that nobody confirmed.
session-baton calls this protection the Anti-Ouroboros gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton_git.core.merge.decisions import ContestedValue, Prefer, canonical_json
from baton_git.core.records.base import TIERS, alike
from baton_git.core.records.work_items import Pattern

Table = Mapping[str, Any]
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
    return prefer or ("ours" if _rank(o) > _rank(t) else "theirs")


def _part(data: Table) -> dict[str, Any]:
    return {name: data[name] for name in GRADUATION if name in data}


def _rank(part: Table) -> tuple[int, str]:
    return -_trust(part), canonical_json(part)


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
