"""Check the sizes, names and tree contents of fetched or pushed commits, without expanding anything large.

Sizes are read from object headers. Each tree is measured only once, even if many commits and folders contain it: the
numbers of files are summed over the graph of the objects, not over all paths. A tree of 100^6 paths in 9 objects
therefore costs 9 lookups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from baton_git.core.errors import BatonError, Rejected
from baton_git.core.kinds import KIND_OF_FOLDER
from baton_git.core.names import Oid
from baton_git.git.objects.values import COMMIT, TREE, raw_entries
from baton_git.git.store import Store
from baton_git.namespace.ingest.budget import Budget
from baton_git.namespace.ingest.deadline import IngestDeadline
from baton_git.namespace.ingest.tree_names import FOLDER, find_tree_fault

_HINT: Final = "nothing was accepted from this branch; ask its author to remove the cause"


class TreeFault(NamedTuple):
    """A fault of a tree. `name` is the entry at fault, or empty if the tree itself is."""

    name: str
    why: str


class Measure(NamedTuple):
    """The size of a tree: its number of files, with a blob counted once per path, and its levels of folders."""

    entries: int
    depth: int


def find_rejections(
    store: Store, folder: Path, tips: Mapping[str, Oid], budget: Budget, deadline: IngestDeadline
) -> dict[str, Rejected]:
    """Return the rejections by ref. Refs with an accepted tip are left out.

    Args:
        store: a store that also reads the new objects.
        folder: the object directory with the new objects.
        tips: the new commit of each ref.
    """
    try:
        check = _Check(store, folder, budget, deadline)
    except BatonError as error:
        return dict.fromkeys(tips, _to_rejection(error))
    return {ref: rejection for ref, tip in tips.items() if (rejection := check.rejection(ref, tip)) is not None}


def _to_rejection(error: BatonError) -> Rejected:
    return error if isinstance(error, Rejected) else Rejected(f"a new object cannot be read: {error}", hint=_HINT)


class _Check:
    def __init__(self, store: Store, folder: Path, budget: Budget, deadline: IngestDeadline) -> None:
        self.store, self.budget, self.deadline = store, budget, deadline
        headers = list(store.headers(folder))
        self.kinds = {header.oid: header.kind for header in headers}
        self.large = {bytes.fromhex(header.oid): header.size for header in headers if header.size > budget.object_bytes}
        self.faults: dict[Oid, TreeFault] = {}
        self._measures: dict[Oid, Measure] = {}
        self._clean: set[Oid] = set()
        self._width = store.repository.object_format.oid_length
        self._too_much = Measure(budget.entries + 1, budget.depth + 1)

    def rejection(self, ref: str, tip: Oid) -> Rejected | None:
        """Return the rejection of a tip; None if it is accepted."""
        try:
            return self._over_budget(ref, tip) or self._find_malformed(ref, tip) or self._too_many_live(ref, tip)
        except BatonError as error:
            return _to_rejection(error)

    def _over_budget(self, ref: str, tip: Oid) -> Rejected | None:
        commits = self._list_new_commits(tip)
        if len(commits) <= self.budget.commits:
            return None
        why = f"more than {self.budget.commits:,} new commits, the limit for one fetch or push"
        return Rejected(f"{ref} is rejected: {why}", hint="fetch the branch with git fetch and inspect it with git log")

    def _find_malformed(self, ref: str, tip: Oid) -> Rejected | None:
        """Return the rejection of a new commit whose tree has a fault, or None. Ancestors are searched first."""
        for commit in reversed(self._list_new_commits(tip)):
            tree = self.store.commit(commit).tree
            self._judge(tree)
            fault = next(self._find_faults_below(tree, ""), None) if self.faults else None
            if fault is not None:
                path, why = fault
                where = f"commit {commit[:8]}" + (f", {path}" if path else "")
                return Rejected(f"{ref} is rejected: {where}: {why}", hint=_HINT, commit=commit, path=path)
        return None

    def _too_many_live(self, ref: str, tip: Oid) -> Rejected | None:
        root = self.store.folder(self.store.commit(tip).tree)
        folders = [entry.oid for name, entry in root.entries().items() if name in KIND_OF_FOLDER and entry.is_folder]
        live = sum(self._measure(folder, 1).entries for folder in folders)
        if live <= self.budget.live:
            return None
        why = f"{live:,} records outside the archive, the limit is {self.budget.live:,}"
        return Rejected(f"{ref} is rejected: it has {why}", hint=_HINT, commit=tip)

    def _list_new_commits(self, tip: Oid) -> list[Oid]:
        """Return the new commits reachable from a tip; if there are more than the budget allows, only some of them.

        Raises:
            Rejected: a commit object is too large, or the check takes too long.
        """
        waiting, seen = [tip], dict.fromkeys([tip])
        while waiting and len(seen) <= self.budget.commits + 1:
            commit = waiting.pop()
            if self.kinds.get(commit) != COMMIT:
                continue
            self.deadline.check("checking the new objects")
            self._check_size(f"commit {commit[:8]}", bytes.fromhex(commit))
            parents = [parent for parent in self.store.commit(commit).parents if parent not in seen]
            seen.update(dict.fromkeys(parents))
            waiting += parents
        return [commit for commit in seen if commit in self.kinds]

    def _check_size(self, label: str, oid: bytes) -> None:
        if oid in self.large:
            raise Rejected(f"{label} is rejected: it {self._describe_size(oid)}", hint=_HINT)

    def _describe_size(self, oid: bytes) -> str:
        return f"has {self.large[oid]:,} bytes, the limit is {self.budget.object_bytes:,}"

    # --- trees

    def _judge(self, tree: Oid) -> None:
        """Record the faults of a commit's tree and its subtrees."""
        if bytes.fromhex(tree) in self.large:
            self.faults[tree] = TreeFault("", self._describe_size(bytes.fromhex(tree)))
            return
        measure = self._measure(tree, 0)
        if measure.depth > self.budget.depth:
            self.faults.setdefault(tree, TreeFault("", f"has folders nested deeper than {self.budget.depth}"))
        elif measure.entries > self.budget.entries:
            why = f"has more than {self.budget.entries:,} files, the limit for one tree"
            self.faults.setdefault(tree, TreeFault("", why))

    def _measure(self, tree: Oid, level: int) -> Measure:
        """Measure a tree. A tree that is nested too deeply gets a measure above the budget."""
        known = self._measures.get(tree)
        if known is None:
            self.deadline.check("checking the new objects")
            known = self._too_much if level > self.budget.depth else self._measure_entries(tree, level)
            self._measures[tree] = known
        return known

    def _measure_entries(self, tree: Oid, level: int) -> Measure:
        kind, data = self.store.raw(tree)
        fault = self._fault(tree, kind, data)
        if fault is not None:
            self.faults[tree] = fault
            return Measure(0, 0)
        files, deepest = 0, 0
        for mode, _, oid in raw_entries(data, self._width):
            below = self._measure(Oid(oid.hex()), level + 1) if mode == FOLDER else Measure(1, 0)
            files, deepest = min(files + below.entries, self.budget.entries + 1), max(deepest, below.depth + 1)
        return Measure(files, deepest)

    def _fault(self, tree: Oid, kind: int, data: bytes) -> TreeFault | None:
        if kind != TREE:
            return TreeFault("", "is not a tree, although its entry says that it is one")
        if tree not in self.kinds:
            return None  # the tree is not new
        fault = find_tree_fault(data, self._width)
        if fault is not None:
            return TreeFault(*fault)
        large = (
            (entry for entry in raw_entries(data, self._width) if entry.oid in self.large) if self.large else iter(())
        )
        return next((TreeFault(entry.shown, self._describe_size(entry.oid)) for entry in large), None)

    def _find_faults_below(self, tree: Oid, path: str) -> Iterator[tuple[str, str]]:
        """Yield path and reason of the topmost faults of a tree and its subtrees; skip subtrees searched before."""
        if tree in self._clean:
            return
        if tree in self.faults:
            fault = self.faults[tree]
            yield _join_path(path, fault.name), fault.why
        elif self.kinds.get(tree) == TREE:
            for entry in raw_entries(self.store.raw(tree)[1], self._width):
                if entry.mode == FOLDER:
                    yield from self._find_faults_below(Oid(entry.oid.hex()), _join_path(path, entry.shown))
        self._clean.add(tree)


def _join_path(path: str, name: str) -> str:
    return "/".join(part for part in (path, name) if part)
