"""Where each record will stand: of several that want one place one gets it, the others get other ids.

The order is one that does not depend on the sides, and so are the ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from baton_git.core.merge.decisions import Contested, Decision, Prefer, canonical, digest, record_data, values
from baton_git.core.merge.lineages import identical
from baton_git.core.names import derived
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Part, Record
from baton_git.core.state import Entry, Key, State


class Wish(NamedTuple):
    """An entry and where it would stand; `here` is where ours has it now."""

    key: Key
    entry: Entry | None
    to: Key
    action: Literal["take", "merge", "rekey", "keep"]
    here: Key | None
    contested: tuple[Contested, ...] = ()
    is_new: bool = False


def placed(ours: State, theirs: State, wishes: Sequence[Wish], prefer: Prefer | None) -> Iterator[Decision]:
    """The decisions that fulfil the wishes, at different places each."""
    settled = list(_settled(ours, theirs, wishes, prefer))
    left = {wish.here for wish, _ in settled if wish.here != wish.to}
    for wish, stays in settled:
        yield from _decision(ours, wish, stays=stays, left=wish.to in left)


def _settled(ours: State, theirs: State, wishes: Sequence[Wish], prefer: Prefer | None) -> Iterator[tuple[Wish, bool]]:
    """The wishes, with other ids where a place was wanted twice; and whether another record takes the place."""
    by_place: dict[Key, list[Wish]] = {}
    for wish in wishes:
        by_place.setdefault(wish.to, []).append(wish)
    for place, wanted in by_place.items():
        there = [wish for wish in wanted if wish.entry is not None]
        if len(there) > 1:
            there.sort(key=lambda wish: _rank(wish, prefer))
        first, *rest = there or wanted[:1]
        gone = [wish for wish in wanted if wish.entry is None and wish is not first]
        for wish in (first, *(_renamed(ours, theirs, wish, place) for wish in rest), *gone):
            yield wish, wish is not first and wish.entry is None


def _rank(wish: Wish, prefer: Prefer | None) -> tuple[bool, str]:
    """Who keeps a place: ours, when somebody is preferred; else what was there before, else the smaller by value."""
    if prefer is not None:
        return wish.here != wish.to, ""
    return wish.is_new, canonical(values(wish.entry))


def _renamed(ours: State, theirs: State, wish: Wish, place: Key) -> Wish:
    """With an id made of what the record says, the same wherever it is made."""
    assert wish.entry is not None
    data = record_data(wish.entry) if isinstance(wish.entry, Part) else values(wish.entry)
    to, entry = place, wish.entry
    for length in (6, 12, 24, 64):
        to = place._replace(id=derived(place.id, digest(data, length)))
        entry = called(wish.entry, to.id, place.id)
        if all(present is None or identical(present, entry) for present in (ours.entry(to), theirs.entry(to))):
            break
    return wish._replace(entry=entry, to=to, action="rekey")


def called(entry: Entry, id_: str, before: str) -> Entry:
    """The entry under another id; a closed one says which it had."""
    if isinstance(entry, Archived):
        return entry.replace(record={**entry.record, "id": id_}, was=before)
    return entry.replace(id=id_) if isinstance(entry, Record) else entry


def _decision(ours: State, wish: Wish, *, stays: bool, left: bool) -> Iterator[Decision]:
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
