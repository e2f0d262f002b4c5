"""Compute the marks of records at a commit by a fold over the history, which visits each commit once, parents first.

A mark names the commits that a value comes from (`marks`). A facet is a part of a record that has a mark of its own.
A commit that is not a merge marks the facets whose values it changes; all other facets keep their marks.
Restoring an older value is a change like any other. For merge commits see `merges`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from graphlib import TopologicalSorter
from types import MappingProxyType

from baton_git.core.names import Oid
from baton_git.core.state import Key
from baton_git.git.store import CommitInfo, Store
from baton_git.namespace.provenance.commit_view import (
    ChangedRecords,
    CommitView,
    LabelledChange,
    blob_at,
    facets_of,
    find_labelled_changes,
    is_absent,
    is_bare,
    list_sources,
    other_key,
    values_at,
)
from baton_git.namespace.provenance.ledger import Ledger
from baton_git.namespace.provenance.marks import Mark, ProvenanceMarks, Slot
from baton_git.namespace.provenance.uniform import UniformCommits, find_uniform

Known = Callable[[Oid], ProvenanceMarks | None]
"""Returns the cached marks at a commit, or None."""


def compute_marks(
    store: Store, ledger: Ledger, tip: Oid, known: Known, uniform: UniformCommits
) -> tuple[ProvenanceMarks, int]:
    """Return the marks at a commit, and the number of commits visited.

    Args:
        uniform: the known commits whose marks need no fold.

    Raises:
        Corrupt: a commit or a tree cannot be read.
        StoreError: the ledger cannot be read.
    """
    kept = known(tip)
    if kept is not None:
        return kept, 0
    part = find_uniform(store, ledger, tip, known, uniform)
    alike = part.load(tip)
    if alike is not None:
        return alike, part.visited
    walk = Walk(store, ledger, lambda name: part.load(name) or known(name))
    walk.visit(tip)
    return MarkFold(store, ledger, walk).run(tip), max(part.visited, len(walk.commits))


class Walk:
    """The commits that a fold visits, back to the commits with cached marks.

    A commit that restores values needs the marks at the commits from which it restores them.
    """

    def __init__(self, store: Store, ledger: Ledger, known: Known) -> None:
        self._store = store
        self._ledger = ledger
        self._known = known
        self.commits: dict[Oid, CommitInfo] = {}
        self.starts: dict[Oid, ProvenanceMarks] = {}
        self.bases: dict[Oid, list[Oid]] = {}
        self.sources: dict[Oid, tuple[Oid, ...]] = {}

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
            if sources := list_sources(self._store, self._ledger, info):
                self.sources[name] = sources
                waiting += sources

    def _fits(self, kept: ProvenanceMarks) -> bool:
        """Return whether cached marks have the same default as all others of this fold; else they cannot be used."""
        return all(marks.default == kept.default for marks in self.starts.values())

    def needs(self, name: Oid) -> list[Oid]:
        """Return the commits whose marks are needed to compute the marks of a commit."""
        return [*self.commits[name].parents, *self.bases.get(name, ()), *self.sources.get(name, ())]

    def in_order(self) -> Iterator[CommitInfo]:
        """Return the commits, each after its parents and merge bases."""
        if not self.bases and not self.sources and all(len(commit.parents) < 2 for commit in self.commits.values()):
            return reversed(self.commits.values())
        sorter = TopologicalSorter(
            {name: [needed for needed in self.needs(name) if needed in self.commits] for name in self.commits}
        )
        return (self.commits[name] for name in sorter.static_order())


class MarkFold:
    """A running fold. The marks of a parent are changed in place unless they are cached or needed by another commit."""

    def __init__(self, store: Store, ledger: Ledger, walk: Walk) -> None:
        self._store = store
        self._ledger = ledger.freeze()
        self._walk = walk
        self._marks: dict[Oid, ProvenanceMarks] = dict(walk.starts)
        self._uses_left = Counter(needed for name in walk.commits for needed in walk.needs(name))
        self._default = next((marks.default for marks in walk.starts.values()), None)

    def run(self, tip: Oid) -> ProvenanceMarks:
        """Compute the marks at `tip`. Marks that no later commit needs are dropped on the way."""
        for info in self._walk.in_order():
            self._marks[info.oid] = self._fold_commit(info)
            for needed in self._walk.needs(info.oid):
                self._uses_left[needed] -= 1
                if not self._uses_left[needed]:
                    del self._marks[needed]
        return self._marks[tip]

    def _fold_commit(self, info: CommitInfo) -> ProvenanceMarks:
        view = CommitView(self._store, self._ledger, info)
        if self._default is None and not is_bare(view.root):
            self._default = view.plain_mark
        if len(info.parents) > 1:
            from baton_git.namespace.provenance.merges import compute_merged_marks

            parents, bases = info.parents, self._walk.bases.get(info.oid, ())
            return compute_merged_marks(
                view, [self._at(parent) for parent in parents], [self._at(base) for base in bases]
            )
        sources = {name: self._at(name) for name in self._walk.sources.get(info.oid, ())}
        marks = self._start(info)
        apply_commit(marks, view, sources)
        return marks

    def _start(self, info: CommitInfo) -> ProvenanceMarks:
        """Return the marks at the parent of a commit, as a value that may be changed."""
        if not info.parents:
            return ProvenanceMarks(self._default or _NOBODY, {})
        [parent] = info.parents
        is_last_use = self._uses_left[parent] == 1 and parent not in self._walk.starts
        return self._at(parent) if is_last_use else self._at(parent).copy()

    def _at(self, commit: Oid) -> ProvenanceMarks:
        """Return the marks at a commit; before the first record they have the default of this fold."""
        marks = self._marks[commit]
        return marks if marks.default else ProvenanceMarks(self._default or _NOBODY, {})


_NOBODY: Mark = ()
"""The default mark before the first record."""


def apply_commit(
    marks: ProvenanceMarks, view: CommitView, sources: Mapping[Oid, ProvenanceMarks] = MappingProxyType({})
) -> None:
    """Update the marks of a commit's only parent to those of the commit, in place.

    Args:
        sources: the marks at the commits from which the commit restores values.
    """
    before = view.store.commit(view.info.parents[0]).tree if view.info.parents else None
    is_plain = not view.has_other_marks and view.plain_mark == marks.default
    if is_plain and not marks.known:
        return
    changed = list(find_labelled_changes(view.store, before, view.info.tree))
    if any(marks.knows(change.key) for change in changed) if is_plain else changed:
        _Step(marks, view, changed, sources).apply([change.key for change in changed])
    for key in view.vouched:
        if blob_at(view.root, key) is not None and view.covers(key):
            for facet in ("text", "statement"):
                if facet in facets_of(key):
                    marks.set(Slot(key, facet), view.mark(key))


class _Step:
    """The changes of one commit that is not a merge."""

    def __init__(
        self,
        marks: ProvenanceMarks,
        view: CommitView,
        changed: list[LabelledChange],
        sources: Mapping[Oid, ProvenanceMarks],
    ) -> None:
        self.marks = marks
        self.sources = sources
        self.view = view
        self.before = ChangedRecords(view.store, {change.key: change.before for change in changed})
        self.after = ChangedRecords(view.store, {change.key: change.after for change in changed})

    def apply(self, keys: list[Key]) -> None:
        """Update the marks. A record that was archived or reopened takes its marks along to its new key."""
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
        """Mark the facets of a record whose values the commit changed; `was` is the key of the record before."""
        statement = Slot(key, "statement")
        unchanged = self.marks.of(statement)
        for facet in facets_of(key):
            slot, values = Slot(key, facet), values_at(self.after, key, facet)
            restored = self.view.restored_mark(slot, values, self.sources)
            new = self.view.mark(key, facet) if restored is None else restored
            old = unchanged if facet == "statement" else self.marks.of(slot)
            if old == new and values is not None:
                continue
            if values_at(self.before, was, facet) != values:
                self.marks.mark_removed(slot, new) if values is None else self.marks.set(slot, new)
            elif facet == "statement":
                self.marks.set(statement, unchanged)  # a new mark of the text does not pass to it

    def _moved_from(self, key: Key) -> Key | None:
        """Return the previous key of a record that this commit moved into or out of the archive."""
        if not self.after.has(key) or self.before.has(key):
            return None
        previous = other_key(key, self.after.entry(key))
        return previous if self.before.has(previous) and not self.after.has(previous) else None
