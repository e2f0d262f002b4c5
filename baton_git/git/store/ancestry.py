"""What two tips have in common, and what only one of them has, without reading the history behind that.

The commits behind all tips are walked together, each with the mark of the tips that lead to it, as git does it. The
commit with the largest `Baton-Revision` comes next: a commit counts one more than its parents, so children come
before their parents and as little as possible is walked. Neither these numbers nor the clocks are believed, though:
a remote may send any. They only choose the order, and a mark that comes late is carried on behind its commit.

The walk is over when one single commit waits and no beginning of a history was passed. Then every way down from what
was walked leads to that commit; as no commit stands behind itself, nothing behind it leads back up, and no mark can
change any more. That is soon the case where all ways meet; unrelated histories have to be read as a whole.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Iterable, Iterator
from typing import Final

from baton_git.core.names import Oid
from baton_git.git.objects.values import CommitInfo
from baton_git.git.store.history import Load, all_commits, in_order

_REVISION = re.compile(r"^Baton-Revision: (\d{1,9})$", re.MULTILINE)

_ONE: Final = 1
_OTHER: Final = 2
_BOTH: Final = _ONE | _OTHER


def merge_bases(load: Load, a: Oid, b: Oid) -> list[Oid]:
    """The best common ancestors: those behind no other common one. Sorted by id; empty for unrelated histories.

    Raises:
        Corrupt: a commit is missing or damaged.
    """
    walk = _Walk(load, [(a, _ONE), (b, _OTHER)])
    while walk.advance():
        pass
    common = {oid for oid, marks in walk.marks.items() if marks == _BOTH}
    behind = {parent for oid in common for parent in walk.commits[oid].parents}
    return sorted(common - behind)


def is_ancestor(load: Load, old: Oid, new: Oid) -> bool:
    """Whether `new` is `old` or was built on it.

    Raises:
        Corrupt: a commit is missing or damaged.
    """
    walk = _Walk(load, [(old, _ONE), (new, _OTHER)])
    while walk.marks[old] != _BOTH:
        if not walk.advance():
            return False
    return True


def only_in(load: Load, tip: Oid, others: Iterable[Oid]) -> Iterator[CommitInfo]:
    """The commits behind `tip` (itself included) that are behind none of the others, in the order of `all_commits`.

    Raises:
        Corrupt: a commit is missing or damaged.
    """
    known = [(tip, _OTHER) for tip in others]
    if not known:
        return all_commits(load, tip)
    walk = _Walk(load, [(tip, _ONE), *known])
    while walk.advance():
        pass
    return in_order(walk.commits[oid] for oid, marks in walk.marks.items() if marks == _ONE)


class _Walk:
    """The commits behind some tips: `commits` as far as they were read, `marks` with the tips that lead to each."""

    def __init__(self, load: Load, tips: Iterable[tuple[Oid, int]]) -> None:
        self.commits: dict[Oid, CommitInfo] = {}
        self.marks: dict[Oid, int] = {}
        self._load = load
        self._waiting: list[tuple[float, int, Oid]] = []
        self._numbers: dict[Oid, float] = {}
        self._queued: set[Oid] = set()
        self._passed_a_root = False
        for tip, mark in tips:
            self._meet(tip, mark, math.inf)

    def advance(self) -> bool:
        """Walks past one commit; False when there was nothing more to learn."""
        if not self._waiting or (len(self._waiting) == 1 and not self._passed_a_root):
            return False
        _, _, oid = heapq.heappop(self._waiting)
        self._queued.remove(oid)
        parents = self.commits[oid].parents
        self._passed_a_root |= not parents
        for parent in parents:
            self._meet(parent, self.marks[oid], self._numbers[oid] - 1)
        return True

    def _meet(self, oid: Oid, mark: int, at_most: float) -> None:
        """Adds the mark; the commit waits (again) if it is new. `at_most` is its number if it does not say one."""
        before = self.marks.get(oid, 0)
        self.marks[oid] = before | mark
        if before | mark == before:
            return
        if oid not in self.commits:
            self.commits[oid] = commit = self._load(oid)
            self._numbers[oid] = _number(commit, at_most)
        if oid not in self._queued:
            self._queued.add(oid)
            heapq.heappush(self._waiting, (-self._numbers[oid], -self.commits[oid].time, oid))


def _number(commit: CommitInfo, at_most: float) -> float:
    """The revision that the last paragraph of the message claims; the largest possible for a commit made by hand."""
    numbers = _REVISION.findall(commit.message.rpartition("\n\n")[2])
    return float(numbers[-1]) if numbers else at_most
