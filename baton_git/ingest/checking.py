"""What is wrong with fetched or pushed objects: sizes, names, and how much a tree holds. Nothing large is expanded.

Sizes are read from headers. A tree is parsed once, however many commits and folders lead to it; its entries are added
up over that graph, so that a tree of 100^6 paths in 9 objects costs 9 looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from baton_git.errors import BatonError, Rejected
from baton_git.ingest.budget import Budget
from baton_git.ingest.deadline import Deadline
from baton_git.ingest.tree_names import raw_entries, tree_fault
from baton_git.names import Oid
from baton_git.store import Header, Store
from baton_git.store.objects import COMMIT, TREE

_FOLDER: Final = b"40000"
_HINT: Final = "nothing of it was taken in; ask its author to take that out again"


class Fault(NamedTuple):
    """What is wrong with an object; `name`: the entry of a tree that is meant, or empty."""

    name: str
    why: str


class Measure(NamedTuple):
    """What is below a tree: files, each path counted, and folders below each other."""

    entries: int
    depth: int


def rejections(
    store: Store, folder: Path, tips: Mapping[str, Oid], budget: Budget, deadline: Deadline
) -> dict[str, Rejected]:
    """By ref, why its tip is not taken in; refs that may come in are left out.

    Args:
        store: one that reads the new objects as well.
        folder: the object directory with the new ones.
        tips: by ref, the commit that it leads to.
    """
    try:
        check = _Check(store, budget, deadline)
        check.look_at(list(store.headers(folder)))
    except BatonError as error:
        return dict.fromkeys(tips, _rejected(error))
    return {ref: found for ref, tip in tips.items() if (found := check.rejection(ref, tip)) is not None}


def _rejected(error: BatonError) -> Rejected:
    return error if isinstance(error, Rejected) else Rejected(f"what came cannot be read: {error}", hint=_HINT)


class _Check:
    def __init__(self, store: Store, budget: Budget, deadline: Deadline) -> None:
        self.store, self.budget, self.deadline = store, budget, deadline
        self.faults: dict[Oid, Fault] = {}
        self.new: dict[Oid, int] = {}
        self.commits = 0
        self._measures: dict[Oid, Measure] = {}
        self._clean: set[Oid] = set()
        self._width = store.repository.object_format.oid_length

    def look_at(self, headers: list[Header]) -> None:
        """Notes the faults of all new objects.

        Raises:
            Rejected: it takes too long.
            Corrupt: an object cannot be read.
        """
        self.new = {one.oid: one.kind for one in headers}
        self.commits = sum(1 for one in headers if one.kind == COMMIT)
        limit = self.budget.object_bytes
        for one in headers:
            if one.size > limit:
                self.faults[one.oid] = Fault("", f"has {one.size:,} bytes, the limit is {limit:,}")
        for one in headers:
            if one.kind == TREE and one.oid not in self.faults:
                self._judge(one.oid)

    def _judge(self, tree: Oid) -> None:
        measure = self._measure(tree, 0)
        if measure.depth > self.budget.depth:
            self.faults.setdefault(tree, Fault("", f"has folders nested deeper than {self.budget.depth}"))
        elif measure.entries > self.budget.entries:
            why = f"holds more than {self.budget.entries:,} files, the limit of one tree"
            self.faults.setdefault(tree, Fault("", why))

    def _measure(self, tree: Oid, level: int) -> Measure:
        """What is below a tree; more than the budget for one that is deeper, or too large, to be looked through."""
        known = self._measures.get(tree)
        if known is None:
            self.deadline.check("checking what came")
            too_much = Measure(self.budget.entries + 1, self.budget.depth + 1)
            known = too_much if level > self.budget.depth or tree in self.faults else self._added_up(tree, level)
            self._measures[tree] = known
        return known

    def _added_up(self, tree: Oid, level: int) -> Measure:
        kind, data = self.store.raw(tree)
        if kind != TREE:
            self.faults.setdefault(tree, Fault("", "is no tree where one should be"))
            return Measure(0, 0)
        found = tree_fault(data, self._width) if tree in self.new else None
        if found is not None:
            self.faults.setdefault(tree, Fault(*found))
            return Measure(0, 0)
        files, deepest = 0, 0
        for mode, _, oid in raw_entries(data, self._width):
            below = self._measure(Oid(oid.hex()), level + 1) if mode == _FOLDER else Measure(1, 0)
            files, deepest = min(files + below.entries, self.budget.entries + 1), max(deepest, below.depth + 1)
        return Measure(files, deepest)

    # --- where

    def rejection(self, ref: str, tip: Oid) -> Rejected | None:
        """Why a tip is not taken in; None when it may come in."""
        try:
            if self.commits > self.budget.commits:
                why = f"{self.commits:,} new commits, the limit is {self.budget.commits:,}"
                return Rejected(f"{ref} is not taken in: {why}", hint="fetch it by git, and then baton sync")
            found = self._first_fault(tip) if self.faults else None
        except BatonError as error:
            return _rejected(error)
        if found is None:
            return None
        commit, path, why = found
        where = f"commit {commit[:8]}" + (f", {path}" if path else "")
        return Rejected(f"{ref} is not taken in: {where}: {why}", hint=_HINT, commit=commit, path=path)

    def _first_fault(self, tip: Oid) -> tuple[Oid, str, str] | None:
        """The oldest new commit behind `tip` that has a fault, the path that is meant, and why."""
        for commit in reversed(self._new_behind(tip)):
            if commit in self.faults:
                return commit, "", self.faults[commit].why
            found = next(self._below(self.store.commit(commit).tree, ""), None)
            if found is not None:
                return commit, *found
        return None

    def _new_behind(self, tip: Oid) -> list[Oid]:
        waiting, seen = [tip], dict.fromkeys([tip])
        while waiting:
            commit = waiting.pop()
            if self.new.get(commit) != COMMIT or commit in self.faults:
                continue
            parents = [one for one in self.store.commit(commit).parents if one not in seen]
            seen.update(dict.fromkeys(parents))
            waiting += parents
        return [one for one in seen if one in self.new]

    def _below(self, oid: Oid, path: str) -> Iterator[tuple[str, str]]:
        """The faults of an object and of what is below it; what was found clean is not looked at again."""
        if oid in self._clean or oid not in self.new:
            return
        if oid in self.faults:
            fault = self.faults[oid]
            yield "/".join(part for part in (path, fault.name) if part), fault.why
        elif self.new[oid] == TREE:
            for _, name, below in raw_entries(self.store.raw(oid)[1], self._width):
                shown = "/".join(one for one in (path, name.decode("utf-8", "backslashreplace")) if one)
                yield from self._below(Oid(below.hex()), shown)
        self._clean.add(oid)
