"""Where each record will stand: of several that want one place one gets it, the others get other ids.

The order is one that does not depend on the sides, and so are the ids.
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
    """An entry and where it would stand; `here` is where ours has it now."""

    key: Key
    entry: Entry | None
    to: Key
    action: Literal["take", "merge", "rekey", "keep"]
    here: Key | None
    contested: tuple[ContestedValue, ...] = ()
    is_new: bool = False


def assign_ids(ours: State, theirs: State, wishes: Sequence[Placement], prefer: Prefer | None) -> Iterator[Decision]:
    """The decisions that fulfil the wishes, at different places each."""
    settled = list(_resolve_collisions(ours, theirs, wishes, prefer))
    left = {wish.here for wish, _ in settled if wish.here != wish.to}
    for wish, stays in settled:
        yield from _decision(ours, wish, stays=stays, left=wish.to in left)


def _resolve_collisions(
    ours: State, theirs: State, wishes: Sequence[Placement], prefer: Prefer | None
) -> Iterator[tuple[Placement, bool]]:
    """The wishes, with other ids where a place was wanted twice; and whether another record takes the place."""
    by_place: dict[Key, list[Placement]] = {}
    for wish in wishes:
        by_place.setdefault(wish.to, []).append(wish)
    for place, wanted in by_place.items():
        there = [wish for wish in wanted if wish.entry is not None]
        if len(there) > 1:
            there.sort(key=lambda wish: _rank(wish, prefer))
        first, *rest = there or wanted[:1]
        gone = [wish for wish in wanted if wish.entry is None and wish is not first]
        for wish in (first, *(_assign_new_id(ours, theirs, wish, place) for wish in rest), *gone):
            yield wish, wish is not first and wish.entry is None


def _rank(wish: Placement, prefer: Prefer | None) -> tuple[bool, str]:
    """Who keeps a place: ours, when somebody is preferred; else what was there before, else the smaller by value."""
    if prefer is not None:
        return wish.here != wish.to, ""
    return wish.is_new, canonical_json(entry_values(wish.entry))


def _assign_new_id(ours: State, theirs: State, wish: Placement, place: Key) -> Placement:
    """With an id made of what the record says, the same wherever it is made."""
    assert wish.entry is not None
    data = record_data(wish.entry) if isinstance(wish.entry, Part) else entry_values(wish.entry)
    to, entry = place, wish.entry
    for length in (6, 12, 24, 64):
        to = place._replace(id=derive_id(place.id, digest(data, length)))
        entry = with_id(wish.entry, to.id, place.id)
        if all(present is None or identical(present, entry) for present in (ours.entry(to), theirs.entry(to))):
            break
    return wish._replace(entry=entry, to=to, action="rekey")


def with_id(entry: Entry, id_: str, before: str) -> Entry:
    """The entry under another id; a closed one says which it had."""
    if isinstance(entry, Archived):
        return entry.replace(record={**entry.record, "id": id_}, was=before)
    return entry.replace(id=id_) if isinstance(entry, Record) else entry


def _decision(ours: State, wish: Placement, *, stays: bool, left: bool) -> Iterator[Decision]:
    """What is to be done for a wish; nothing where ours is so already.

    `stays`: another record takes the place. `left`: what ours has there goes elsewhere.
    """
    moves = wish.here is not None and wish.here != wish.to and ours.entry(wish.here) is not None
    if not moves and not left and not wish.contested and identical(ours.entry(wish.to), wish.entry):
        return
    leaves = wish.here if moves or (wish.entry is None and not stays and wish.action != "keep") else None
    to = wish.to if wish.to != wish.key else None
    action = "take" if moves and wish.action == "keep" else wish.action
    result = None if action == "keep" else wish.entry
    yield Decision(wish.key, action, result, to, leaves, wish.contested)
