"""Compute the marks of records at a commit by a fold over history: each commit is visited once, parents first.

A commit with one parent marks what it changes: a record whose covered fields stay the same keeps its mark. Going back
to an older value is a change like any other. For a commit with more parents see `merges`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter

from baton_git.core.names import Oid
from baton_git.core.state import Key
from baton_git.git.store import CommitInfo, Store
from baton_git.namespace.provenance.commit_view import CommitView, facets_of, is_absent, other_place, values_at
from baton_git.namespace.provenance.ledger import Ledger
from baton_git.namespace.provenance.trees import ChangedRecords, LabelledChange, find_labelled_changes, is_bare
from baton_git.namespace.provenance.vouching_commits import Mark, ProvenanceMarks, Slot

Known = Callable[[Oid], ProvenanceMarks | None]
"""The marks at a commit that were kept from earlier; None where there are none."""


def marks_at(store: Store, ledger: Ledger, tip: Oid, known: Known) -> tuple[ProvenanceMarks, int]:
    """Return the marks at a commit, and the number of commits visited.

    Raises:
        Corrupt: a commit or a tree cannot be read.
        StoreError: the ledger cannot be read.
    """
    kept = known(tip)
    if kept is not None:
        return kept, 0
    walk = Walk(store, known)
    walk.visit(tip)
    return MarkFold(store, ledger, walk).run(tip), len(walk.commits)


class Walk:
    """The commits that a fold visits, back to those with known marks."""

    def __init__(self, store: Store, known: Known) -> None:
        self._store = store
        self._known = known
        self.commits: dict[Oid, CommitInfo] = {}
        self.starts: dict[Oid, ProvenanceMarks] = {}
        self.bases: dict[Oid, list[Oid]] = {}

    def visit(self, tip: Oid) -> None:
        waiting = [tip]
        while waiting:
            name = waiting.pop()
            if name in self.commits or name in self.starts:
                continue
            kept = self._known(name)
            if kept is not None and self._fits(kept):
                self.starts[name] = kept
                continue
            info = self.commits[name] = self._store.commit(name)
            waiting += info.parents
            if len(info.parents) == 2:
                self.bases[name] = self._store.merge_bases(*info.parents)
                waiting += self.bases[name]

    def _fits(self, kept: ProvenanceMarks) -> bool:
        """All marks of a fold have the same default."""
        return all(marks.default == kept.default for marks in self.starts.values())

    def needs(self, name: Oid) -> list[Oid]:
        """Return the commits whose marks are needed for those of a commit."""
        return [*self.commits[name].parents, *self.bases.get(name, ())]

    def in_order(self) -> Iterator[CommitInfo]:
        """The commits, parents and merge bases first."""
        if not self.bases and all(len(commit.parents) < 2 for commit in self.commits.values()):
            return reversed(self.commits.values())
        sorter = TopologicalSorter(
            {name: [needed for needed in self.needs(name) if needed in self.commits] for name in self.commits}
        )
        return (self.commits[name] for name in sorter.static_order())


class MarkFold:
    """A fold under way. Marks are changed in place where nobody else needs those of the parent."""

    def __init__(self, store: Store, ledger: Ledger, walk: Walk) -> None:
        self._store = store
        self._ledger = ledger.as_it_stands()
        self._walk = walk
        self._marks: dict[Oid, ProvenanceMarks] = dict(walk.starts)
        self._users = Counter(needed for name in walk.commits for needed in walk.needs(name))
        self._default = next((marks.default for marks in walk.starts.values()), None)

    def run(self, tip: Oid) -> ProvenanceMarks:
        for info in self._walk.in_order():
            self._marks[info.oid] = self._fold_commit(info)
            for needed in self._walk.needs(info.oid):
                self._users[needed] -= 1
                if not self._users[needed]:
                    del self._marks[needed]
        return self._marks[tip]

    def _fold_commit(self, info: CommitInfo) -> ProvenanceMarks:
        look = CommitView(self._store, self._ledger, info)
        if self._default is None and not is_bare(look.root):
            self._default = look.plain_mark
        if len(info.parents) > 1:
            from baton_git.namespace.provenance.merges import merged_marks

            parents, bases = info.parents, self._walk.bases.get(info.oid, ())
            return merged_marks(look, [self._at(parent) for parent in parents], [self._at(base) for base in bases])
        marks = self._start(info)
        apply_commit(marks, look)
        return marks

    def _start(self, info: CommitInfo) -> ProvenanceMarks:
        """The marks before a commit, to be changed in place."""
        if not info.parents:
            return ProvenanceMarks(self._default or _NOBODY, {})
        [parent] = info.parents
        is_ours = self._users[parent] == 1 and parent not in self._walk.starts
        return self._at(parent) if is_ours else self._at(parent).copy()

    def _at(self, commit: Oid) -> ProvenanceMarks:
        """The marks at a commit, with the default of this fold also where there was no record yet."""
        marks = self._marks[commit]
        return marks if marks.default else ProvenanceMarks(self._default or _NOBODY, {})


_NOBODY: Mark = ()
"""The default before there is any record."""


def apply_commit(marks: ProvenanceMarks, look: CommitView) -> None:
    """Changes the marks at the only parent of a commit to those at the commit."""
    before = look.store.commit(look.info.parents[0]).tree if look.info.parents else None
    is_plain = not look.has_marks_apart and look.plain_mark == marks.default
    if is_plain and not marks.known:
        return
    changed = list(find_labelled_changes(look.store, before, look.info.tree))
    if any(marks.knows(change.key) for change in changed) if is_plain else changed:
        _Step(marks, look, changed).apply([change.key for change in changed])


class _Step:
    """The changes of one commit with one parent."""

    def __init__(self, marks: ProvenanceMarks, look: CommitView, changed: list[LabelledChange]) -> None:
        self.marks = marks
        self.look = look
        self.before = ChangedRecords(look.store, {change.key: change.before for change in changed})
        self.after = ChangedRecords(look.store, {change.key: change.after for change in changed})

    def apply(self, keys: list[Key]) -> None:
        moved = {key: was for key in keys if (was := self._moved_from(key)) is not None}
        kept = {
            key: [(facet, self.marks.of(Slot(was, facet))) for facet in facets_of(key)] for key, was in moved.items()
        }
        for key in keys:
            if is_absent(self.after, key):
                self.marks.drop(key)
                continue
            for facet, mark in kept.get(key, ()):
                self.marks.set(Slot(key, facet), mark)
            self._mark(key, moved.get(key, key))

    def _mark(self, key: Key, was: Key) -> None:
        for facet in facets_of(key):
            new = self.look.mark(key, facet)
            slot, values = Slot(key, facet), values_at(self.after, key, facet)
            if self.marks.of(slot) == new and values is not None:
                continue
            if values_at(self.before, was, facet) != values:
                self.marks.take_back(slot, new) if values is None else self.marks.set(slot, new)

    def _moved_from(self, key: Key) -> Key | None:
        """Return the previous key of a record that this commit moved into or out of the archive."""
        if not self.after.has(key) or self.before.has(key):
            return None
        previous = other_place(key, self.after.entry(key))
        return previous if self.before.has(previous) and not self.after.has(previous) else None
