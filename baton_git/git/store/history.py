"""Iterate over the ancestors of a commit, newest first, reading them lazily.

A commit comes before its parents. In linear history, one commit is read at a time. Where history forks, all commits
down to the one at which all paths meet again (a stretch) are read and sorted topologically, because the clocks of two
machines may disagree. A stretch of more than `_LONGEST_STRETCH` commits is split, and its parts follow each other by
time only.
"""

from __future__ import annotations

import heapq
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
