"""Detect records without a merge base that are copies of one record, so that their shared count is not added twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, TypeVar

from baton_git.core.merge.decisions import canonical_json
from baton_git.core.records.base import Part, Record, merge_rule, parse
from baton_git.core.records.merge_rules import Counter, Fields, MergeRule, Recent, RecordingRule
from baton_git.core.times import parse_time_or_none

Table = Mapping[str, Any]
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
