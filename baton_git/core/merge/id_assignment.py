"""Assign a key to each record: if several records have the same key, one keeps it and the others get new ids.

The result does not depend on which side is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from baton_git.core.merge.decisions import (
    ContestedValue,
    Decision,
    Prefer,
    canonical_json,
    digest,
    entry_values,
    record_data,
)
from baton_git.core.merge.lineages import identical
from baton_git.core.names import derive_id
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Part, Record
from baton_git.core.state import Entry, Key, State


class Placement(NamedTuple):
    """An entry and the key `to` that it should get.

    Attributes:
        key: its key in the base or, if new, on the side that added it.
        here: its current key in ours, or None.
        is_new: whether it does not exist in the base.
    """

    key: Key
    entry: Entry | None
    to: Key
    action: Literal["take", "merge", "rekey", "keep"]
    here: Key | None
    contested: tuple[ContestedValue, ...] = ()
    is_new: bool = False


def assign_ids(
    ours: State, theirs: State, placements: Sequence[Placement], prefer: Prefer | None
) -> Iterator[Decision]:
    """Yield the decisions for the placements, with a unique key for each entry."""
    settled = list(_resolve_collisions(ours, theirs, placements, prefer))
    left = {placement.here for placement, _ in settled if placement.here != placement.to}
    for placement, stays in settled:
        yield from _decision(ours, placement, stays=stays, left=placement.to in left)


def _resolve_collisions(
    ours: State, theirs: State, placements: Sequence[Placement], prefer: Prefer | None
) -> Iterator[tuple[Placement, bool]]:
    """Yield the placements, with new ids on collisions, and whether another entry takes a removed record's key."""
    by_place: dict[Key, list[Placement]] = {}
    for placement in placements:
        by_place.setdefault(placement.to, []).append(placement)
    for place, wanted in by_place.items():
        there = [placement for placement in wanted if placement.entry is not None]
        if len(there) > 1:
            there.sort(key=lambda placement: _rank(placement, prefer))
        first, *rest = there or wanted[:1]
        gone = [placement for placement in wanted if placement.entry is None and placement is not first]
        for placement in (first, *(_assign_new_id(ours, theirs, placement, place) for placement in rest), *gone):
            yield placement, placement is not first and placement.entry is None


def _rank(placement: Placement, prefer: Prefer | None) -> tuple[bool, str]:
    """Return a sort key; the first entry keeps the key.

    With a preferred side, ours comes first; otherwise records of the base, then the smaller by value.
    """
    if prefer is not None:
        return placement.here != placement.to, ""
    return placement.is_new, canonical_json(entry_values(placement.entry))


def _assign_new_id(ours: State, theirs: State, placement: Placement, place: Key) -> Placement:
    """Return the placement with an id derived from the content, so that it is the same on every machine."""
    assert placement.entry is not None
    data = record_data(placement.entry) if isinstance(placement.entry, Part) else entry_values(placement.entry)
    to, entry = place, placement.entry
    for length in (6, 12, 24, 64):
        to = place._replace(id=derive_id(place.id, digest(data, length)))
        entry = with_id(placement.entry, to.id, place.id)
        if all(present is None or identical(present, entry) for present in (ours.entry(to), theirs.entry(to))):
            break
    return placement._replace(entry=entry, to=to, action="rekey")


def with_id(entry: Entry, id_: str, before: str) -> Entry:
    """Return the entry with another id; an archived entry records its previous id `before`."""
    if isinstance(entry, Archived):
        return entry.replace(record={**entry.record, "id": id_}, was=before)
    return entry.replace(id=id_) if isinstance(entry, Record) else entry


def _decision(ours: State, placement: Placement, *, stays: bool, left: bool) -> Iterator[Decision]:
    """Yield the decision for a placement, or nothing if ours already has the entry there.

    Args:
        stays: whether another record takes the key.
        left: whether our current record at the key moves away.
    """
    moves = placement.here is not None and placement.here != placement.to and ours.entry(placement.here) is not None
    if not moves and not left and not placement.contested and identical(ours.entry(placement.to), placement.entry):
        return
    leaves = placement.here if moves or (placement.entry is None and not stays and placement.action != "keep") else None
    to = placement.to if placement.to != placement.key else None
    action = "take" if moves and placement.action == "keep" else placement.action
    result = None if action == "keep" else placement.entry
    yield Decision(placement.key, action, result, to, leaves, placement.contested)
