"""Compare one side of a merge with the base: find the records that were archived, that got another id, or are new."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from baton_git.core.kinds import ALL_KINDS, NUMBERED, SINGLETONS
from baton_git.core.merge.decisions import entry_values, ordered_json, record_data
from baton_git.core.names import find_replaced_id
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import Part, value_at
from baton_git.core.state import Entry, Key, State, same_fields


@dataclass(frozen=True)
class MergeSide:
    """One side compared with the base.

    Attributes:
        state: the records of the side.
        moves: for each record that moved, its new key by its key in the base.
        arrived: the new keys in `moves`.
    """

    base: State
    state: State
    moves: dict[Key, Key]
    arrived: frozenset[Key]

    def is_changed(self, key: Key) -> bool:
        """Return whether the entry at `key` may differ from that of the base."""
        return self.base.may_differ(self.state, key)

    def current_key(self, key: Key) -> Key:
        """Return the key on this side of the record that has `key` in the base."""
        return self.moves.get(key, key)

    def new_entry(self, key: Key, was: Entry | None) -> Entry | None:
        """Return the entry at `key` on this side; None if there is none or it comes from a record of the base.

        Args:
            was: the entry at `key` in the base.
        """
        if key in self.arrived or (was is not None and key not in self.moves):
            return None
        return self.state.entry(key)


def compare_side(base: State, state: State) -> MergeSide:
    """Return the changes of one side since the base, with the records that moved to another key."""
    return _find_moves(base, state, _find_candidates(base, state, base.differing(state)))


def compare_side_at(base: State, state: State, keys: Iterable[Key]) -> MergeSide:
    """Return the same as `compare_side`, but only with the moves that a merge of changes at `keys` depends on.

    Only records are searched that may have moved from one of the keys, or to it. So a write costs as much as its own
    change, however much the side has changed since the base.
    """
    return _find_moves(base, state, _find_candidates_at(base, state, keys))


def _find_moves(base: State, state: State, candidates_by_key: Mapping[Key, Collection[Key]]) -> MergeSide:
    """Return the side in which each record moved to one of its candidates, if any; a candidate is taken once."""
    moves: dict[Key, Key] = {}
    taken: set[Key] = set()
    for key, candidates in sorted(candidates_by_key.items()):
        was = base.entry(key)
        free = [candidate for candidate in sorted(candidates) if candidate not in taken]
        new_key = _find_new_key(key, was, state, free) if isinstance(was, Part) else None
        if new_key is not None:
            moves[key] = new_key
            taken.add(new_key)
    return MergeSide(base, state, moves, frozenset(taken))


def _find_candidates(base: State, state: State, changed: Iterable[Key]) -> dict[Key, set[Key]]:
    """Map the keys of changed records to the new keys that they may have moved to."""
    changed = set(changed)
    candidates: dict[Key, set[Key]] = {}
    for new_key in changed:
        for key in _list_origins(new_key, state):
            if key in changed and base.entry(new_key) is None:
                candidates.setdefault(key, set()).add(new_key)
    return candidates


def _find_candidates_at(base: State, state: State, keys: Iterable[Key]) -> dict[Key, set[Key]]:
    """Return the part of `_find_candidates` for these keys, and for the records that compete with them for a new key.

    A record that the side left as it was did not move, so it is left out.
    """
    waiting: list[Key] = []
    for key in keys:
        was = base.entry(key)
        if key.kind not in SINGLETONS and not same(was, state.entry(key)):
            waiting += [key] if was is not None else _list_origins(key, state)
    candidates: dict[Key, set[Key]] = {}
    while waiting:
        key = waiting.pop()
        if key in candidates or same(base.entry(key), state.entry(key)):
            continue
        candidates[key] = {
            new_key
            for new_key in state.list_moved(key, base)
            if base.entry(new_key) is None and key in _list_origins(new_key, state)
        }
        waiting += [origin for new_key in candidates[key] for origin in _list_origins(new_key, state)]
    return candidates


def _list_origins(key: Key, state: State) -> Iterator[Key]:
    """Yield the keys that the entry at `key` may have had before."""
    entry = state.entry(key) if key.archived else None
    if isinstance(entry, Archived):
        yield Key(key.kind, str(entry.record.get("id")))
    replaced = find_replaced_id(key.id)
    if replaced is not None:
        yield key._replace(id=replaced)
        if key.archived:
            yield Key(key.kind, replaced)


def _find_new_key(key: Key, was: Part, state: State, candidates: Sequence[Key]) -> Key | None:
    """Return the key in `candidates` that a record moved to, or None if it did not move.

    The entry at `key` now decides where the record moved to:

    - the same record, unchanged: it did not move;
    - no entry: the first candidate with the same subject or, if there is none, the first closed one;
    - a record with another subject: the first candidate with the same subject as before;
    - any other entry: the first closed candidate with the same subject.

    For a live record, the closed candidates are those in the archive whose ids were not assigned by a merge.
    """
    now = state.entry(key)
    if same(now, was):
        return None
    entries = ((candidate, state.entry(candidate)) for candidate in candidates)
    same_subject = [
        candidate
        for candidate, entry in entries
        if isinstance(entry, Part) and not are_different_records(key.kind, was, entry)
    ]
    closed = [
        candidate
        for candidate in candidates
        if candidate.archived and not key.archived and find_replaced_id(candidate.id) is None
    ]
    if now is None:
        return next(iter((*same_subject, *closed)), None)
    if isinstance(now, Part) and are_different_records(key.kind, was, now):
        return next(iter(same_subject), None)
    return next((candidate for candidate in same_subject if candidate in closed), None)


def same(left: Entry | None, right: Entry | None) -> bool:
    """Whether two entries are equal, regardless of the order of keys in their tables."""
    return left is right or same_fields(left, right)


def identical(left: Entry | None, right: Entry | None) -> bool:
    """Whether two entries are equal and have the same JSON text: key order and the sign of zero count too."""
    return left is right or (
        same(left, right) and ordered_json(entry_values(left)) == ordered_json(entry_values(right))
    )


def are_different_records(kind: str, ours: Part, theirs: Part) -> bool:
    """Whether two records with the same id are different records.

    Records that never change (`made_once`) are different if anything differs, those with numbered ids if their subjects
    differ. Records of all other kinds are the same record.
    """
    info = ALL_KINDS[kind]
    if info.made_once:
        return not same(ours, theirs)
    subjects = [value_at(record_data(record), info.about) for record in (ours, theirs)]
    return kind in NUMBERED and subjects[0] != subjects[1]
