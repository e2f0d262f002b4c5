"""Compare one side of a merge with the base: find the records that were archived, that got another id, or are new."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from baton_git.core.kinds import ALL_KINDS, NUMBERED, value_at
from baton_git.core.merge.decisions import entry_values, ordered_json, record_data
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Part
from baton_git.core.state import Entry, Key, State, same_fields

_RENAMED = re.compile(r"(.+)\.[0-9a-f]{6,64}")
"""An id that a merge assigned; the group is the previous id."""


@dataclass(frozen=True)
class MergeSide:
    """One side compared with the base.

    Attributes:
        state: the records of the side.
        changed: the keys that may differ from the base.
        moves: for each record that moved, its new key by its key in the base.
        arrived: the new keys in `moves`.
    """

    state: State
    changed: set[Key]
    moves: dict[Key, Key]
    arrived: frozenset[Key]

    def place(self, key: Key) -> Key:
        """Return the key on this side of the record that has `key` in the base."""
        return self.moves.get(key, key)

    def new_entry(self, key: Key, was: Entry | None) -> Entry | None:
        """Return the entry at `key`, or None if it comes from a record of the base."""
        if key in self.arrived or (was is not None and key not in self.moves):
            return None
        return self.state.entry(key)


def compare_side(base: State, state: State) -> MergeSide:
    """Return the changes of one side since the base, with the records that moved to another key."""
    changed = base.differing(state)
    moves: dict[Key, Key] = {}
    for key, candidates in sorted(_candidates(base, state, changed).items()):
        was = base.entry(key)
        free = [place for place in sorted(candidates) if place not in moves.values()]
        place = _place(key, was, state, free) if isinstance(was, Part) else None
        if place is not None:
            moves[key] = place
    return MergeSide(state, changed, moves, frozenset(moves.values()))


def _candidates(base: State, state: State, changed: Iterable[Key]) -> dict[Key, list[Key]]:
    """Map the keys of changed records to the new keys that they may have moved to."""
    changed = set(changed)
    candidates: dict[Key, list[Key]] = {}
    for place in changed:
        for key in _origins(place, state):
            if key in changed and base.entry(place) is None:
                candidates.setdefault(key, []).append(place)
    return candidates


def _origins(place: Key, state: State) -> Iterator[Key]:
    """Yield the keys that the entry at `place` may have had before."""
    entry = state.entry(place) if place.archived else None
    if isinstance(entry, Archived):
        yield Key(place.kind, str(entry.record.get("id")))
    renamed = _RENAMED.fullmatch(place.id)
    if renamed:
        yield place._replace(id=renamed[1])
        if place.archived:
            yield Key(place.kind, renamed[1])


def _place(key: Key, was: Part, state: State, places: list[Key]) -> Key | None:
    """Return the key in `places` that a record moved to, or None if it did not move.

    What is at `key` now decides where the record moved to:

    - the same record, unchanged: it did not move;
    - nothing: the first place with the same subject or, if there is none, the first closed place;
    - a record with another subject: the first place with the same subject as before;
    - anything else: the first closed place with the same subject.

    A live record's closed places are those in the archive whose ids were not assigned by a merge.
    """
    now = state.entry(key)
    if same(now, was):
        return None
    entries = ((place, state.entry(place)) for place in places)
    about_it = [place for place, entry in entries if isinstance(entry, Part) and not are_two(key.kind, was, entry)]
    closed = [place for place in places if place.archived and not key.archived and not _RENAMED.fullmatch(place.id)]
    if now is None:
        return next(iter((*about_it, *closed)), None)
    if isinstance(now, Part) and are_two(key.kind, was, now):
        return next(iter(about_it), None)
    return next((place for place in about_it if place in closed), None)


def same(left: Entry | None, right: Entry | None) -> bool:
    """Whether two entries are equal, regardless of the order of keys in their tables."""
    return left is right or same_fields(left, right)


def identical(left: Entry | None, right: Entry | None) -> bool:
    """Whether two entries are equal and have the same JSON text: key order and the sign of zero count too."""
    return left is right or (
        same(left, right) and ordered_json(entry_values(left)) == ordered_json(entry_values(right))
    )


def are_two(kind: str, ours: Part, theirs: Part) -> bool:
    """Whether two records with the same id are different records: their subjects differ.

    Records that never change (`made_once`) are different if anything differs.
    """
    info = ALL_KINDS[kind]
    if info.made_once:
        return not same(ours, theirs)
    subjects = [value_at(record_data(record), info.about) for record in (ours, theirs)]
    return kind in NUMBERED and subjects[0] != subjects[1]
