"""Whether two records that were made apart, without a base, are one recording: then not all they count adds up."""

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
    """How often each side counted, at least, since both were one recording."""

    ours: int
    theirs: int


def own_counts(model: type[Part], ours: Table, theirs: Table) -> Own | None:
    """What each side of one recording counted on its own; None for two recordings, of which all adds up.

    One recording begins at one time on both sides, as an import of the same document does, and, where both keep
    occurrences, shares one of them.
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
    """How many entries came after the last that the others have."""
    return sum(1 for _ in takewhile(lambda entry: entry not in others, reversed(entries)))


def counted_before(own: Own | None, ours: int, theirs: int) -> int:
    """What both had counted when they were one recording; 0 for two."""
    return 0 if own is None else max(0, min(ours - own.ours, theirs - own.theirs))


def without_counts(record: AnyRecord) -> AnyRecord:
    """Return the record as it is before anything is counted in it: counters at 0, and no entries of what they count."""
    return parse(type(record), _without_counts(type(record), record.as_data()))


def _without_counts(model: type[Part], data: Table) -> dict[str, Any]:
    return {name: _without_count(merge_rule(model, name), value) for name, value in data.items()}


def _without_count(rule: MergeRule, value: Any) -> Any:
    match rule:
        case Counter():
            return 0
        case Recent():
            return []
        case Fields(model) if isinstance(value, Mapping):
            return _without_counts(model, value)
    return value


def take_off_entries(merged: AnyRecord, before: Record, now: Record, after: Record) -> AnyRecord:
    """Return the merged record with its recent lists as `now` has them, without the entries that `after` lacks."""
    model = type(merged)
    limits = {name: rule.limit for name in model.model_fields if isinstance(rule := merge_rule(model, name), Recent)}
    sides = [side.as_data() for side in (before, now, after)]
    lists = {
        name: _without_removed(limit, *(side.get(name, ()) for side in sides))[-limit:]
        for name, limit in limits.items()
    }
    return parse(model, {**merged.as_data(), **lists})


def _without_removed(limit: int, before: Sequence[Any], now: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """Return what is left of a list, with older entries from `after` that were dropped; only a full list drops some."""
    old = {canonical_json(entry) for entry in before}
    removed = old - {canonical_json(entry) for entry in after}
    dropped = [entry for entry in after if len(now) >= limit or canonical_json(entry) not in old]
    entries = {canonical_json(entry): entry for entry in (*dropped, *now)}
    return [entry for name, entry in entries.items() if name not in removed][-limit:]


def _entries(rule: RecordingRule, side: Table) -> list[str]:
    entries = _at(side, rule.entries) if rule.entries else ()
    return [canonical_json(entry) for entry in entries] if isinstance(entries, list | tuple) else []


def _at(data: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for name in path.split("."):
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
