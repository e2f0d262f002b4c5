"""Whether two records that were made apart, without a base, are one recording: then not all they count adds up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from baton_git.core.merge.decisions import canonical
from baton_git.core.records.base import Part, Record
from baton_git.core.records.merge_rules import Recording
from baton_git.core.times import when

Table = Mapping[str, Any]


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
    mine, other = (_entries(rule, side) for side in (ours, theirs))
    if mine and other and not {*mine} & {*other}:
        return None
    latest = [when(_text(_at(side, rule.last))) for side in (ours, theirs)]
    later = [one is not None and (two is None or one > two) for one, two in (latest, latest[::-1])]
    return Own(max(_since(mine, other), later[0]), max(_since(other, mine), later[1]))


def _since(entries: Sequence[str], others: Sequence[str]) -> int:
    """How many entries came after the last that the others have."""
    return sum(1 for _ in takewhile(lambda one: one not in others, reversed(entries)))


def counted_before(own: Own | None, ours: int, theirs: int) -> int:
    """What both had counted when they were one recording; 0 for two."""
    return 0 if own is None else max(0, min(ours - own.ours, theirs - own.theirs))


def _entries(rule: Recording, side: Table) -> list[str]:
    found = _at(side, rule.entries) if rule.entries else ()
    return [canonical(one) for one in found] if isinstance(found, list | tuple) else []


def _at(data: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for name in path.split("."):
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
