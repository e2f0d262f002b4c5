"""The commits that records rest on, before any trust is applied: the result of `fold`.

A mark does not depend on whom this machine trusts, so a change of trust makes nothing stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, get_args

from baton_git.core.names import Oid
from baton_git.core.records.confirmable import Facet
from baton_git.core.state import Key
from baton_git.namespace.provenance.origins import CommitOrigin, Source

_MOST = 8
_SEVERAL = "several"


class CommitClaim(NamedTuple):
    """Where a commit comes from, and its id when it says that a person confirmed the record (else empty)."""

    source: Source
    name: str
    confirming: Oid | str = ""

    @classmethod
    def of(cls, origin: CommitOrigin, confirming: Oid | str = "") -> CommitClaim:
        return cls(origin.source, origin.name, confirming)


Mark = tuple[CommitClaim, ...]
"""The claims that one value rests on: one, or those of both sides of a merge, of which the weakest counts."""


class Slot(NamedTuple):
    """What a mark is about: a facet of a record."""

    key: Key
    facet: Facet = "text"


def combine_marks(left: Mark, right: Mark) -> Mark:
    """The mark of a value that rests on two others."""
    if left == right:
        return left
    claims = sorted({*left, *right})
    if len(claims) <= _MOST:
        return tuple(claims)
    return (CommitClaim("hand", _SEVERAL),)


class ProvenanceMarks:
    """The marks of the records at one commit. `default` is that of each text that `known` does not list."""

    __slots__ = ("default", "known")

    def __init__(self, default: Mark, known: dict[Slot, Mark]) -> None:
        self.default = default
        self.known = known

    def copy(self) -> ProvenanceMarks:
        return ProvenanceMarks(self.default, dict(self.known))

    def of(self, slot: Slot) -> Mark:
        """The mark of a facet; of a closing without one of its own, that of the text. A check has its own: who changes
        the text of a record has not written its check.
        """
        mark = self.known.get(slot)
        if mark is None and slot.facet == "closing":
            mark = self.known.get(Slot(slot.key))
        return self.default if mark is None else mark

    def set(self, slot: Slot, mark: Mark) -> None:
        self.known.pop(slot, None)
        if mark != self.of(slot):
            self.known[slot] = mark

    def knows(self, key: Key) -> bool:
        """Whether a record has a mark of its own."""
        return any((key, facet) in self.known for facet in _FACETS)

    def take_back(self, slot: Slot, mark: Mark) -> None:
        """Marks that a closing is gone; without a trace where the same source had said it."""
        before = self.of(slot)
        self.known.pop(slot, None)
        if before != mark:
            self.known[slot] = mark

    def drop(self, key: Key) -> None:
        """Forgets a record that is gone."""
        for facet in _FACETS.values():
            self.known.pop(Slot(key, facet), None)


def as_data(marks: ProvenanceMarks) -> dict[str, Any]:
    """The marks as plain data; equal marks are written once."""
    numbers: dict[Mark, int] = {marks.default: 0}
    rows = [
        [slot.key.kind, slot.key.id, slot.key.archived, slot.facet, numbers.setdefault(mark, len(numbers))]
        for slot, mark in marks.known.items()
    ]
    return {"marks": [[list(claim) for claim in mark] for mark in numbers], "known": rows}


def from_data(data: Mapping[str, Any]) -> ProvenanceMarks:
    """The marks again.

    Raises:
        KeyError, TypeError, ValueError, IndexError: the data is something else.
    """
    marks = [_mark(claims) for claims in data["marks"]]
    known = {
        Slot(Key(str(kind), str(id_), archived is True), _FACETS[facet]): marks[number]
        for kind, id_, archived, facet, number in data["known"]
    }
    return ProvenanceMarks(marks[0], known)


def _mark(claims: Iterable[Iterable[str]]) -> Mark:
    claims_ = []
    for source, name, confirming in claims:
        claims_.append(CommitClaim(_SOURCES[source], str(name), str(confirming)))
    return tuple(claims_)


_FACETS: dict[str, Facet] = {facet: facet for facet in get_args(Facet)}
_SOURCES: dict[str, Source] = {"here": "here", "remote": "remote", "hand": "hand"}
