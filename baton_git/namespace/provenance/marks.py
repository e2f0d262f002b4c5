"""Marks: for each value of a record, the commits that it comes from. They are the result of `fold`.

A mark does not depend on whom this machine trusts, so marks stay valid when trust changes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, get_args

from baton_git.core.names import Oid
from baton_git.core.records.base import Facet
from baton_git.core.state import Key
from baton_git.git.files import durable_files
from baton_git.namespace.provenance.ledger import CommitOrigin, Source

_MOST = 8
"""Maximum number of claims in a mark; more are replaced by a single claim with the source `hand`."""
_SEVERAL = "several"


class CommitClaim(NamedTuple):
    """The origin of a commit, and its id if the commit claims that a person confirmed the record (else empty)."""

    source: Source
    name: str
    confirming: Oid | str = ""

    @classmethod
    def of(cls, origin: CommitOrigin, confirming: Oid | str = "") -> CommitClaim:
        return cls(origin.source, origin.name, confirming)


Mark = tuple[CommitClaim, ...]
"""The claims behind one value: a single claim, or those of both sides of a merge, of which the weakest counts."""


class Slot(NamedTuple):
    """The part of a record that a mark belongs to."""

    key: Key
    facet: Facet = "text"


def combine_marks(left: Mark, right: Mark) -> Mark:
    """Return the mark of a value that was merged from two values."""
    if left == right:
        return left
    claims = sorted({*left, *right})
    if len(claims) <= _MOST:
        return tuple(claims)
    return (CommitClaim("hand", _SEVERAL),)


class ProvenanceMarks:
    """The marks of the records at one commit. `default` is the mark of everything that `known` does not list."""

    __slots__ = ("default", "known")

    def __init__(self, default: Mark, known: dict[Slot, Mark]) -> None:
        self.default = default
        self.known = known

    def copy(self) -> ProvenanceMarks:
        return ProvenanceMarks(self.default, dict(self.known))

    def of(self, slot: Slot) -> Mark:
        """Return the mark of a facet.

        A statement or a closing without a mark of its own has the mark of the text. This does not apply to a check,
        because a change of the text does not mean that its author wrote the check.
        """
        mark = self.known.get(slot)
        if mark is None and slot.facet in ("statement", "closing"):
            mark = self.known.get(Slot(slot.key))
        return self.default if mark is None else mark

    def set(self, slot: Slot, mark: Mark) -> None:
        self.known.pop(slot, None)
        if mark != self.of(slot):
            self.known[slot] = mark

    def knows(self, key: Key) -> bool:
        """Return whether a record has a mark of its own."""
        return any((key, facet) in self.known for facet in _FACETS)

    def mark_removed(self, slot: Slot, mark: Mark) -> None:
        """Record that a commit with this mark removed the values of a facet; store it if the facet had another mark."""
        before = self.of(slot)
        self.known.pop(slot, None)
        if before != mark:
            self.known[slot] = mark

    def drop(self, key: Key) -> None:
        """Remove the marks of a removed record."""
        for facet in _FACETS.values():
            self.known.pop(Slot(key, facet), None)


def as_data(marks: ProvenanceMarks) -> dict[str, Any]:
    """Return the marks as plain data, in which equal marks are stored once."""
    numbers: dict[Mark, int] = {marks.default: 0}
    rows = [
        [slot.key.kind, slot.key.id, slot.key.archived, slot.facet, numbers.setdefault(mark, len(numbers))]
        for slot, mark in marks.known.items()
    ]
    return {"marks": [[list(claim) for claim in mark] for mark in numbers], "known": rows}


def from_data(data: Mapping[str, Any]) -> ProvenanceMarks:
    """Return the marks from the data of `as_data`.

    Raises:
        KeyError, TypeError, ValueError, IndexError: the data is invalid.
    """
    marks = [_mark(claims) for claims in data["marks"]]
    known = {
        Slot(Key(str(kind), str(id_), archived is True), _FACETS[facet]): marks[number]
        for kind, id_, archived, facet, number in data["known"]
    }
    return ProvenanceMarks(marks[0], known)


def _mark(claims: Iterable[Iterable[str]]) -> Mark:
    return tuple(CommitClaim(_SOURCES[source], str(name), str(confirming)) for source, name, confirming in claims)


_FACETS: dict[str, Facet] = {facet: facet for facet in get_args(Facet)}
_SOURCES: dict[str, Source] = {"here": "here", "remote": "remote", "hand": "hand"}


# --- cache of provenance marks on disk: `<common dir>/baton/provenance/labels/<namespace>/<visited>-<commit>.json`
# While a part of the history is missing, `labels` is `labels-at-<digest of the boundary>`, because marks depend on it.
# `<visited>` grows with each snapshot. Any file may be deleted. `uniform` beside them has the commits whose marks
# need no fold (see `uniform`). The distance between snapshots doubles with their age.
# Therefore a merge base is never much farther from the next older snapshot than from the tip.


_VERSION = 4
_PARTIAL = "labels-at-"
_MODE = 0o600


class _File(NamedTuple):
    """One snapshot file. `visited`: the number of commits visited for this and all earlier snapshots."""

    visited: int
    commit: str

    @property
    def name(self) -> str:
        return f"{self.visited:09d}-{self.commit}.json"


class MarkSnapshots:
    """The snapshots of the marks of one namespace."""

    def __init__(self, common_dir: Path, component: str, boundary: str = "") -> None:
        top = common_dir / "baton" / "provenance"
        for outdated in () if boundary else top.glob(f"{_PARTIAL}*"):
            shutil.rmtree(outdated, ignore_errors=True)
        self._folder = top / (f"{_PARTIAL}{boundary}" if boundary else "labels") / component
        self._files = {file.commit: file for file in self._list_files()}
        self.uniform_file = self._folder / "uniform"

    def load(self, commit: Oid) -> ProvenanceMarks | None:
        """Return the marks at a commit; None if there is no snapshot or it cannot be read."""
        file = self._files.get(commit)
        if file is None:
            return None
        try:
            data = json.loads((self._folder / file.name).read_bytes())
            return from_data(data) if data["version"] == _VERSION else None
        except (OSError, ValueError, TypeError, LookupError):
            return None

    def save(self, commit: Oid, marks: ProvenanceMarks, visited: int) -> None:
        """Store the marks at a commit, for which `visited` commits were visited. Errors of the disk are ignored."""
        newest = max((file.visited for file in self._files.values()), default=0)
        file = _File(newest + visited, commit)
        data = json.dumps({"version": _VERSION, **as_data(marks)}).encode()
        if durable_files.save_derived(self._folder / file.name, data, mode=_MODE):
            self._files[commit] = file
            self._prune(file.visited)

    def _prune(self, newest: int) -> None:
        """Of snapshots of about the same age, remove all but the oldest."""
        seen: set[int] = set()
        for file in sorted(self._files.values()):
            bucket = (newest - file.visited).bit_length()
            if bucket in seen:
                durable_files.remove(self._folder / file.name)
                del self._files[file.commit]
            seen.add(bucket)

    def _list_files(self) -> list[_File]:
        files = []
        with suppress(OSError):
            for path in self._folder.iterdir():
                count, _, commit = path.stem.partition("-")
                if path.suffix == ".json" and count.isdecimal():
                    files.append(_File(int(count), commit))
        return files
