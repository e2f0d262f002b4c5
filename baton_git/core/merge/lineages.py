"""Which records of a merge are the same: those that were archived, got another id, are new, or are copies of one.

Two different records may have one id; then one keeps it and the others get new ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal, NamedTuple, TypeVar

from baton_git.core.kinds import ALL_KINDS, NUMBERED, SINGLETONS
from baton_git.core.merge.decisions import (
    ContestedValue,
    Decision,
    Prefer,
    Table,
    canonical_json,
    digest,
    entry_values,
    ordered_json,
    record_data,
)
from baton_git.core.names import derive_id, find_replaced_id
from baton_git.core.records.base import (
    Archived,
    Counter,
    Fields,
    MergeRule,
    Part,
    Recent,
    Record,
    RecordingRule,
    merge_rule,
    parse,
    value_at,
)
from baton_git.core.state import Entry, Key, State, same_fields
from baton_git.core.times import parse_time_or_none


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


# --- records without a merge base that are copies of one record, so that their shared count is not added twice

AnyRecord = TypeVar("AnyRecord", bound=Record)


class Own(NamedTuple):
    """The minimum number of times that each copy counted after the two were equal."""

    ours: int
    theirs: int


def count_separately(model: type[Part], ours: Table, theirs: Table) -> Own | None:
    """Return how often each copy of one record counted on its own; None for separate records, whose counts are added.

    Copies of one record (for example, two imports of the same document) begin at the same time and, if both have
    entries, have at least one entry in common.
    """
    rule = model.recording if issubclass(model, Record) else None
    if rule is None or _at(ours, rule.begins) is None or _at(ours, rule.begins) != _at(theirs, rule.begins):
        return None
    our_entries, their_entries = (_entries(rule, side) for side in (ours, theirs))
    if our_entries and their_entries and not {*our_entries} & {*their_entries}:
        return None
    latest = [parse_time_or_none(_text(_at(side, rule.last))) for side in (ours, theirs)]
    later = [own is not None and (others is None or own > others) for own, others in (latest, latest[::-1])]
    return Own(max(_since(our_entries, their_entries), later[0]), max(_since(their_entries, our_entries), later[1]))


def _since(entries: Sequence[str], others: Sequence[str]) -> int:
    """Return the number of entries after the last entry that is also in `others`."""
    return sum(1 for _ in takewhile(lambda entry: entry not in others, reversed(entries)))


def count_shared(own: Own | None, ours: int, theirs: int) -> int:
    """Return the shared count of two copies of one record; 0 for two separate records (`own` is None)."""
    return 0 if own is None else max(0, min(ours - own.ours, theirs - own.theirs))


def clear_counts(record: AnyRecord) -> AnyRecord:
    """Return the record with its counters at 0 and its lists of recent entries empty."""
    return parse(type(record), _clear_counts(type(record), record.as_data()))


def _clear_counts(model: type[Part], data: Table) -> dict[str, Any]:
    return {name: _clear_count(merge_rule(model, name), value) for name, value in data.items()}


def _clear_count(rule: MergeRule, value: Any) -> Any:
    match rule:
        case Counter():
            return 0
        case Recent():
            return []
        case Fields(model) if isinstance(value, Mapping):
            return _clear_counts(model, value)
    return value


def remove_reverted_entries(merged: AnyRecord, before: Record, now: Record, after: Record) -> AnyRecord:
    """Return the merged record; its recent lists are those of `now`, changed as from `before` to `after`."""
    model = type(merged)
    limits = {name: rule.limit for name in model.model_fields if isinstance(rule := merge_rule(model, name), Recent)}
    sides = [side.as_data() for side in (before, now, after)]
    lists = {
        name: _without_removed(limit, *(side.get(name, ()) for side in sides))[-limit:]
        for name, limit in limits.items()
    }
    return parse(model, {**merged.as_data(), **lists})


def _without_removed(limit: int, before: Sequence[Any], now: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """Return `now` less the removed entries, plus entries of `after` that are new or that a full list dropped."""
    old = {canonical_json(entry) for entry in before}
    removed = old - {canonical_json(entry) for entry in after}
    dropped = [entry for entry in after if len(now) >= limit or canonical_json(entry) not in old]
    entries = {canonical_json(entry): entry for entry in (*dropped, *now)}
    return [entry for name, entry in entries.items() if name not in removed][-limit:]


def _entries(rule: RecordingRule, side: Table) -> list[str]:
    entries = _at(side, rule.entries) if rule.entries else ()
    return [canonical_json(entry) for entry in entries] if isinstance(entries, list | tuple) else []


def _at(data: Any, path: str) -> Any:
    """Return the value at a dotted path, or None."""
    for name in path.split("."):
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


# --- a key for each record: if several records have the same one, one keeps it and the others get new ids
#
# Without a preferred side, the result does not depend on which side is ours.


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
