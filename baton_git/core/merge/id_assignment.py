"""Assign a key to each record: if several records have the same key, one keeps it and the others get new ids.

Without a preferred side, the result does not depend on which side is ours.
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
    vacated = {placement.here for placement, _ in settled if placement.here != placement.to}
    for placement, is_reused in settled:
        yield from _decide_placement(ours, placement, is_reused=is_reused, is_vacated=placement.to in vacated)


def _resolve_collisions(
    ours: State, theirs: State, placements: Sequence[Placement], prefer: Prefer | None
) -> Iterator[tuple[Placement, bool]]:
    """Yield each placement, with a new id if its key is taken, and whether it removes a record whose key is reused."""
    by_key: dict[Key, list[Placement]] = {}
    for placement in placements:
        by_key.setdefault(placement.to, []).append(placement)
    for key, claimants in by_key.items():
        present = [placement for placement in claimants if placement.entry is not None]
        if len(present) > 1:
            present.sort(key=lambda placement: _rank(placement, prefer))
        first, *rest = present or claimants[:1]
        removed = [placement for placement in claimants if placement.entry is None and placement is not first]
        for placement in (first, *(_assign_new_id(ours, theirs, placement, key) for placement in rest), *removed):
            yield placement, placement is not first and placement.entry is None


def _rank(placement: Placement, prefer: Prefer | None) -> tuple[bool, str]:
    """Return a sort key; the first entry keeps the key.

    With a preferred side, the record that has the key in ours comes first. Without one, a record of the base comes
    first, then the smaller by value.
    """
    if prefer is not None:
        return placement.here != placement.to, ""
    return placement.is_new, canonical_json(entry_values(placement.entry))


def _assign_new_id(ours: State, theirs: State, placement: Placement, taken: Key) -> Placement:
    """Return the placement with an id derived from the content, so that it is the same on every machine."""
    assert placement.entry is not None
    data = record_data(placement.entry) if isinstance(placement.entry, Part) else entry_values(placement.entry)
    to, entry = taken, placement.entry
    for length in (6, 12, 24, 64):
        to = taken._replace(id=derive_id(taken.id, digest(data, length)))
        entry = replace_id(placement.entry, to.id, taken.id)
        if all(present is None or identical(present, entry) for present in (ours.entry(to), theirs.entry(to))):
            break
    return placement._replace(entry=entry, to=to, action="rekey")


def replace_id(entry: Entry, id_: str, before: str) -> Entry:
    """Return the entry with another id; an archived entry records its previous id `before`."""
    if isinstance(entry, Archived):
        return entry.replace(record={**entry.record, "id": id_}, was=before)
    return entry.replace(id=id_) if isinstance(entry, Record) else entry


def _decide_placement(ours: State, placement: Placement, *, is_reused: bool, is_vacated: bool) -> Iterator[Decision]:
    """Yield the decision for a placement, or nothing if ours already has the entry at that key.

    Args:
        is_reused: whether the placement removes a record, and another record takes its key.
        is_vacated: whether our current record at the key moves away.
    """
    moves = placement.here is not None and placement.here != placement.to and ours.entry(placement.here) is not None
    if (
        not moves
        and not is_vacated
        and not placement.contested
        and identical(ours.entry(placement.to), placement.entry)
    ):
        return
    leaves = (
        placement.here if moves or (placement.entry is None and not is_reused and placement.action != "keep") else None
    )
    to = placement.to if placement.to != placement.key else None
    action = "take" if moves and placement.action == "keep" else placement.action
    result = None if action == "keep" else placement.entry
    yield Decision(placement.key, action, result, to, leaves, placement.contested)
