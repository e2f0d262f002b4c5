"""Check the sizes, names and tree contents of fetched or pushed commits, without expanding anything large.

Sizes are read from object headers. Each tree is measured only once, even if many commits and folders contain it: the
numbers of files are summed over the graph of the objects, not over all paths. A tree of 100^6 paths in 9 objects
therefore costs 9 lookups.

The limits count what is new: the commits that were received, and the files and live records beyond those of the
accepted commits. Where one allowance is not enough, it is counted for each machine of the accepted history by itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from baton_git.core.errors import BatonError, Rejected, StoreError
from baton_git.core.kinds import KIND_OF_FOLDER
from baton_git.core.names import Oid
from baton_git.git.objects.values import COMMIT, TREE, CommitInfo, raw_entries
from baton_git.git.store import Store
from baton_git.namespace.ingest.budget import NOT_ACCEPTED, SYNC, Budget, IngestDeadline, first_meeting
from baton_git.namespace.ingest.trees import FOLDER, find_tree_fault, parse_plain_tree

_MACHINE = re.compile(r"^Baton-Machine: (.+)$", re.MULTILINE)
KNOWN_DEPTH: Final = 2000
"""Number of the newest accepted commits in which machines are looked up."""
_OTHERS: Final = ""
"""The group of all machines that the accepted history does not name."""


class TreeFault(NamedTuple):
    """A fault of a tree. `name` is the entry at fault, or empty if the tree itself is."""

    name: str
    why: str


class Before(NamedTuple):
    """What was accepted of the new branches before.

    Attributes:
        accepted: the accepted commits by ref.
        first: the refs that a trusted remote had before this machine first met them.
        here: a store that reads accepted objects only; None if the new objects do not include accepted ones.
    """

    accepted: Mapping[str, Sequence[Oid]] = {}
    first: Collection[str] = ()
    here: Store | None = None


_NOTHING_BEFORE: Final = Before()


class Measure(NamedTuple):
    """The size of a tree: its number of files, with a blob counted once per path, and its levels of folders."""

    entries: int
    depth: int


def find_rejections(
    store: Store,
    folder: Path,
    tips: Mapping[str, Oid],
    budget: Budget,
    deadline: IngestDeadline,
    before: Before = _NOTHING_BEFORE,
) -> dict[str, Rejected]:
    """Return the rejections by ref. Refs with an accepted tip are left out.

    Args:
        store: a store that also reads the new objects.
        folder: the object directory with the new objects.
        tips: the new commit of each ref.
    """
    try:
        check = _Check(store, folder, budget, deadline, before)
    except BatonError as error:
        return dict.fromkeys(tips, _to_rejection(error))
    return {ref: rejection for ref, tip in tips.items() if (rejection := check.rejection(ref, tip)) is not None}


def check_older_part(
    store: Store, folder: Path, ref: str, tips: Sequence[Oid], budget: Budget, deadline: IngestDeadline
) -> None:
    """Check a part of the history of a branch that a trusted remote had before this machine first met it.

    Args:
        store: a store that also reads the new objects.
        folder: the object directory with the new objects.
        tips: the newest commits of the part. Most commits lead to several of them, and are checked once.

    Raises:
        Rejected: the part exceeds the limits, or an object is not allowed.
        Corrupt, StoreError: under the same conditions as `Store.headers`.
    """
    check = _Check(store, folder, budget, deadline, Before(first=[ref]))
    rejection = check.rejection(ref, *tips) if tips else None
    if rejection is not None:
        raise rejection


def _to_rejection(error: BatonError) -> Rejected:
    return (
        error if isinstance(error, Rejected) else Rejected(f"a new object cannot be read: {error}", hint=NOT_ACCEPTED)
    )


def find_machine(info: CommitInfo) -> str:
    """Return the machine in the trailers of a commit, as its author claims it; empty if there is none."""
    match = _MACHINE.search(info.message.rpartition("\n\n")[2])
    return match[1] if match is not None else ""


class _Check:
    def __init__(self, store: Store, folder: Path, budget: Budget, deadline: IngestDeadline, before: Before) -> None:
        self.store, self.budget, self.deadline, self.before = store, budget, deadline, before
        task = "listing the new objects"
        deadline.check(task)
        try:
            headers = store.headers(folder, deadline.seconds_left)
        except StoreError:
            deadline.check(task)
            raise
        self.kinds = {header.oid: header.kind for header in headers}
        self.large = {bytes.fromhex(header.oid): header.size for header in headers if header.size > budget.object_bytes}
        self.faults: dict[Oid, TreeFault] = {}
        self.distinct = 0
        """The number of files in all measured trees, each of which counts once."""
        self._measures: dict[bytes, Measure] = {}
        self._clean: set[Oid] = set()
        self._width = store.repository.object_format.oid_length
        self._deepest = Measure(0, budget.depth + 1)

    def rejection(self, ref: str, *tips: Oid) -> Rejected | None:
        """Return the rejection of a tip, or of several tips of one branch; None if they are accepted."""
        branch = _NewBranch(self, ref, tips)
        try:
            return branch.count_commits() or branch.find_malformed() or branch.count_live()
        except BatonError as error:
            return _to_rejection(error)

    def list_new_commits(self, tips: Sequence[Oid], most: int) -> list[Oid]:
        """Return the new commits reachable from a tip, descendants first; if there are more than `most`, some of them.

        Raises:
            Rejected: a commit object is too large, or the check takes too long.
        """
        waiting, seen, here = [*tips], dict.fromkeys(tips), self.before.here
        new: list[Oid] = []
        while waiting and len(new) <= most:
            commit = waiting.pop()
            if self.kinds.get(commit) != COMMIT or (here is not None and here.is_stored(commit)):
                continue
            new.append(commit)
            self.deadline.check("checking the new objects")
            if self.large:
                self.check_size(f"commit {commit[:8]}", bytes.fromhex(commit))
            parents = [parent for parent in self.store.commit(commit).parents if parent not in seen]
            seen.update(dict.fromkeys(parents))
            waiting += parents
        return new

    def check_size(self, label: str, oid: bytes) -> None:
        if oid in self.large:
            raise Rejected(f"{label} is rejected: it {self._describe_size(oid)}", hint=NOT_ACCEPTED)

    def _describe_size(self, oid: bytes) -> str:
        return f"has {self.large[oid]:,} bytes, the limit is {self.budget.object_bytes:,}"

    # --- trees

    def judge(self, tree: Oid) -> Measure:
        """Record the faults of a commit's tree and its subtrees; return its measure."""
        if self.large and bytes.fromhex(tree) in self.large:
            self.faults[tree] = TreeFault("", self._describe_size(bytes.fromhex(tree)))
            return Measure(0, 0)
        measure = self.measure(bytes.fromhex(tree), 0)
        if measure.depth > self.budget.depth:
            self.faults.setdefault(tree, TreeFault("", f"has folders nested deeper than {self.budget.depth}"))
        return measure

    def measure(self, tree: bytes, level: int) -> Measure:
        """Measure a tree. A tree that is nested too deeply gets a depth above the budget."""
        known = self._measures.get(tree)
        if known is None:
            self.deadline.check("checking the new objects")
            known = self._deepest if level > self.budget.depth else self._measure_entries(tree, level)
            self._measures[tree] = known
        return known

    def _measure_entries(self, tree: bytes, level: int) -> Measure:
        name = Oid(tree.hex())
        kind, data = self.store.raw(name)
        is_new = name in self.kinds
        entries = None if kind != TREE or (is_new and self.large) else parse_plain_tree(data, self._width)
        if entries is None:
            fault = self._fault(kind, data, is_new=is_new)
            if fault is not None:
                self.faults[name] = fault
                return Measure(0, 0)
            entries = [(mode, name, oid) for mode, name, oid in raw_entries(data, self._width)]
        folders = [oid for mode, _, oid in entries if mode == FOLDER]
        files = len(entries) - len(folders)
        self.distinct += files
        deepest = 1 if files else 0
        measures = self._measures
        for oid in folders:
            below = measures.get(oid) or self.measure(oid, level + 1)
            files += below.entries
            if below.depth >= deepest:
                deepest = below.depth + 1
        return Measure(files, deepest)

    def _fault(self, kind: int, data: bytes, *, is_new: bool) -> TreeFault | None:
        if kind != TREE:
            return TreeFault("", "is not a tree, although its entry says that it is one")
        if not is_new:
            return None
        fault = find_tree_fault(data, self._width)
        if fault is not None:
            return TreeFault(*fault)
        large = (
            (entry for entry in raw_entries(data, self._width) if entry.oid in self.large) if self.large else iter(())
        )
        return next((TreeFault(entry.shown, self._describe_size(entry.oid)) for entry in large), None)

    def find_faults_below(self, tree: Oid, path: str) -> Iterator[tuple[str, str]]:
        """Yield path and reason of the topmost faults of a tree and its subtrees; skip subtrees searched before."""
        if tree in self._clean:
            return
        if tree in self.faults:
            fault = self.faults[tree]
            yield _join_path(path, fault.name), fault.why
        elif self.kinds.get(tree) == TREE:
            for entry in raw_entries(self.store.raw(tree)[1], self._width):
                if entry.mode == FOLDER:
                    yield from self.find_faults_below(Oid(entry.oid.hex()), _join_path(path, entry.shown))
        self._clean.add(tree)


class _NewBranch:
    """The check of one branch: what its new commits bring, against the allowances."""

    def __init__(self, check: _Check, ref: str, tips: Sequence[Oid]) -> None:
        self.check, self.ref, self.tips = check, ref, tips
        self.accepted = tuple(check.before.accepted.get(ref, ()))
        self.is_first = ref in check.before.first
        self.budget = first_meeting(check.budget) if self.is_first else check.budget
        self.commits: list[Oid] = []

    def count_commits(self) -> Rejected | None:
        """List the new commits; return the rejection if one machine made too many of them."""
        most = self.budget.commits
        self.commits = self.check.list_new_commits(self.tips, most)
        if len(self.commits) <= most:
            return None
        machines = self._known_machines()
        self.commits = self.check.list_new_commits(self.tips, most * (len(machines) + 1))
        made = Counter(self._group(self.check.store.commit(commit), machines) for commit in self.commits)
        if max(made.values()) <= most:
            return None
        why = f"more than {most:,} new commits, the limit for one fetch or push"
        return self.budget.refuse(f"{self.ref} is rejected: {why}", "commits", max(made.values()))

    def find_malformed(self) -> Rejected | None:
        """Return the rejection of a new commit whose tree has a fault or too many files. Ancestors come first."""
        check, accepted = self.check, max((self._files(commit) for commit in self.accepted), default=0)
        for number, commit in enumerate(reversed(self.commits), start=1):
            tree = check.store.commit(commit).tree
            files = check.judge(tree).entries
            fault = next(check.find_faults_below(tree, ""), None) if check.faults else None
            if fault is not None:
                path, why = fault
                where = f"commit {commit[:8]}" + (f", {path}" if path else "")
                return Rejected(f"{self.ref} is rejected: {where}: {why}", hint=NOT_ACCEPTED, commit=commit, path=path)
            if files > accepted + self.budget.entries:
                rejection = self._count_files(commit, files, accepted, number)
                if rejection is not None:
                    return rejection
        return self._find_repetition() if self.is_first else None

    def _count_files(self, commit: Oid, files: int, accepted: int, number: int) -> Rejected | None:
        """Return the rejection of a commit with too many files, unless several machines added them.

        Args:
            number: the position of the commit among the new ones, ancestors first.
        """
        most, machines = self.budget.entries, self._known_machines()
        added: Counter[str] = Counter()
        for one in islice(reversed(self.commits), number):
            info = self.check.store.commit(one)
            # A merge may have the files of all its sides; what it adds beyond them is its own.
            sides = [self._files(parent) for parent in info.parents] or [0]
            growth = self._files(one) - (sides[0] if len(sides) == 1 else sum(sides))
            added[self._group(info, machines)] += max(0, growth)
        new = files - accepted
        if max(added.values()) <= most and new <= most * len(+added):
            return None
        where = f"{self.ref} is rejected: commit {commit[:8]}"
        why = f"{where}: has more than {most:,} files that are not here, the limit for one fetch or push"
        if files > 2 * self.check.distinct:
            return Rejected(why, hint=NOT_ACCEPTED, commit=commit)  # the same files over and over: nobody's records
        return self.budget.refuse(why, "entries", new, commit=commit)

    def _find_repetition(self) -> Rejected | None:
        """Return the rejection of a large first tree that repeats the same folders."""
        files, tip = max((self._files(tip), tip) for tip in self.tips)
        if files <= SYNC.entries or files <= 2 * self.check.distinct:
            return None
        where = f"{self.ref} is rejected: commit {tip[:8]}"
        why = f"{where}: has more than {SYNC.entries:,} files, most of them repeated"
        return Rejected(why, hint=NOT_ACCEPTED, commit=tip)

    def count_live(self) -> Rejected | None:
        """Return the rejection of a tip with too many records outside the archive."""
        live, tip = max((self._live(tip), tip) for tip in self.tips)
        # A team reaches any fixed number within months, so what is here may double.
        most = max([self.budget.live, *(2 * self._live(commit) for commit in self.accepted)])
        if live <= most:
            return None
        why = f"{self.ref} is rejected: it has {live:,} records outside the archive, the limit is {most:,}"
        return self.budget.refuse(why, "live", live, commit=tip)

    def _live(self, commit: Oid) -> int:
        root = self.check.store.folder(self.check.store.commit(commit).tree)
        folders = [entry.oid for name, entry in root.entries().items() if name in KIND_OF_FOLDER and entry.is_folder]
        return sum(self.check.measure(bytes.fromhex(folder), 1).entries for folder in folders)

    def _files(self, commit: Oid) -> int:
        return self.check.measure(bytes.fromhex(self.check.store.commit(commit).tree), 0).entries

    def _known_machines(self) -> frozenset[str]:
        """Return the machines that the newest accepted commits name."""
        store = self.check.store
        infos = (info for commit in self.accepted for info in islice(store.log(commit), KNOWN_DEPTH))
        return frozenset(filter(None, map(find_machine, infos)))

    def _group(self, info: CommitInfo, machines: Collection[str]) -> str:
        machine = find_machine(info)
        # Unknown machines share one allowance, so that nobody gets more by inventing names.
        return machine if machine in machines else _OTHERS


def _join_path(path: str, name: str) -> str:
    return "/".join(part for part in (path, name) if part)
