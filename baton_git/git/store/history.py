"""The ancestors of commits, read lazily: all of them newest first, merge bases, and the commits of a range.

A commit comes before its parents. In linear history, one commit is read at a time. Where history forks, all commits
down to the one at which all paths meet again (a stretch) are read and sorted topologically, because the clocks of two
machines may disagree. A stretch of more than `_LONGEST_STRETCH` commits is split, and its parts follow each other by
time only.
"""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from baton_git.core.names import Oid
from baton_git.git.objects.values import CommitInfo

_LONGEST_STRETCH: Final = 2000  # commits

Load = Callable[[Oid], CommitInfo]


def first_parents(load: Load, tip: Oid) -> Iterator[CommitInfo]:
    """Yield the tip, its first parent, and so on."""
    commit = load(tip)
    yield commit
    while commit.parents:
        commit = load(commit.parents[0])
        yield commit


def all_commits(load: Load, *tips: Oid) -> Iterator[CommitInfo]:
    """Yield every commit reachable from a tip once: children before parents, otherwise the latest first."""
    seen = set(tips)
    waiting = [_rank(load(tip)) for tip in seen]
    heapq.heapify(waiting)
    stretch: list[CommitInfo] = []
    while waiting:
        _, _, commit = heapq.heappop(waiting)
        stretch.append(commit)
        for parent in set(commit.parents) - seen:
            seen.add(parent)
            heapq.heappush(waiting, _rank(load(parent)))
        if _is_complete(stretch, waiting) or len(stretch) >= _LONGEST_STRETCH:
            yield from in_order(stretch) if len(stretch) > 1 else stretch
            stretch = []


def _rank(commit: CommitInfo) -> tuple[int, Oid, CommitInfo]:
    return -commit.time, commit.oid, commit


def _is_complete(stretch: list[CommitInfo], waiting: list[tuple[int, Oid, CommitInfo]]) -> bool:
    """Return whether a stretch is complete: at most one commit is queued, and if the stretch has several commits, the
    queued one is not later than any of them."""
    if len(waiting) > 1:
        return False
    return not waiting or len(stretch) == 1 or waiting[0][2].time <= min(commit.time for commit in stretch)


def in_order(stretch: Iterable[CommitInfo]) -> Iterator[CommitInfo]:
    """Yield these commits in topological order (Kahn's algorithm): children before parents, otherwise latest first."""
    inside = {commit.oid: commit for commit in stretch}
    children = dict.fromkeys(inside, 0)
    for commit in inside.values():
        for parent in set(commit.parents) & inside.keys():
            children[parent] += 1
    ready = [_rank(commit) for commit in inside.values() if not children[commit.oid]]
    heapq.heapify(ready)
    while ready:
        _, _, commit = heapq.heappop(ready)
        yield commit
        for parent in set(commit.parents) & inside.keys():
            children[parent] -= 1
            if not children[parent]:
                heapq.heappush(ready, _rank(inside[parent]))


# --- merge bases and ranges, without reading the older history
#
# As in git, one walk visits the ancestors of all tips and marks each commit with the tips that reach it. The commit
# with the largest `Baton-Revision` is visited next. Usually a commit's number is one more than its parents', so
# children are visited before their parents and the walk is short. These numbers and the commit times only determine the
# order: a remote may send wrong ones, so a commit that receives a further mark later is visited again.
#
# The walk ends when no commit is queued, or already when a single one is and no root commit was visited. Then all paths
# from the visited commits lead through the queued one. Its ancestors cannot be descendants of it, so no mark of a
# visited commit can change any more. This happens soon after the histories meet; unrelated ones are read completely.

_REVISION = re.compile(r"^Baton-Revision: ([0-9]{1,9})$", re.MULTILINE)

_ONE: Final = 1
_OTHER: Final = 2
_BOTH: Final = _ONE | _OTHER


def merge_bases(load: Load, a: Oid, b: Oid) -> list[Oid]:
    """Return the common ancestors that no other common ancestor descends from, sorted by id; empty if unrelated.

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
    """Return whether `old` is `new` or one of its ancestors.

    Raises:
        Corrupt: a commit is missing or damaged.
    """
    walk = _Walk(load, [(old, _ONE), (new, _OTHER)])
    while walk.marks[old] != _BOTH:
        if not walk.advance():
            return False
    return True


def only_in(load: Load, tip: Oid, others: Iterable[Oid]) -> Iterator[CommitInfo]:
    """Yield the commits reachable from `tip` but from none of `others`, in the order of `all_commits`.

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
    """A walk over the ancestors of some tips.

    `commits` has the commits that were read, `marks` the marks of the tips that reach each commit.
    """

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
        """Visit the next commit; return False if the walk is complete."""
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
        """Add a mark to a commit, and queue the commit if the mark is new.

        `at_most` is the number to assume for a commit whose message has no revision number.
        """
        before = self.marks.get(oid, 0)
        self.marks[oid] = before | mark
        if before | mark == before:
            return
        if oid not in self.commits:
            self.commits[oid] = commit = self._load(oid)
            numbers = _REVISION.findall(commit.message.rpartition("\n\n")[2])  # none in a commit made by hand
            self._numbers[oid] = float(numbers[-1]) if numbers else at_most
        if oid not in self._queued:
            self._queued.add(oid)
            heapq.heappush(self._waiting, (-self._numbers[oid], -self.commits[oid].time, oid))
