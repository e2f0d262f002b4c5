"""The marks of records at a merge commit: three-way, like the records themselves.

What only one side changed has the mark of that side; what both changed has both marks, of which the weaker counts.
Where the commit holds something else than the merge that this program makes of its parents, somebody decided that, and
the commit vouches for it like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from baton_git.core.merge import NEWEST_RULES, RULES
from baton_git.core.state import Key, State
from baton_git.git.store import Folder
from baton_git.namespace.merge_commit import MergedTree, base_tree, merge_trees, parents_in_order
from baton_git.namespace.provenance.commit_view import (
    CommitView,
    CoveredValues,
    facets_of,
    is_absent,
    other_place,
    values_at,
)
from baton_git.namespace.provenance.trees import blob_at, find_labelled_changes
from baton_git.namespace.provenance.vouching_commits import Mark, ProvenanceMarks, Slot, combine_marks


def merged_marks(
    look: CommitView, parents: Sequence[ProvenanceMarks], bases: Sequence[ProvenanceMarks]
) -> ProvenanceMarks:
    """The marks at a merge commit.

    Args:
        parents: the marks at its parents, in their order.
        bases: those at the merge bases of two parents.

    Raises:
        Corrupt: a tree cannot be read.
    """
    if len(parents) > 2:
        return _of_many(look, parents)
    return _Merge(look, parents, bases).marks()


class _Side(NamedTuple):
    """A parent, or the base, of a merge."""

    root: Folder
    state: State
    marks: Sequence[ProvenanceMarks]

    def pair(self, slot: Slot) -> tuple[CoveredValues, Mark | None] | None:
        """What a facet says, and its mark (None where two bases have two); None where there is no record."""
        if is_absent(self.state, slot.key):
            return None
        marks = {mark.of(slot) for mark in self.marks}
        return values_at(self.state, slot.key, slot.facet), marks.pop() if len(marks) == 1 else None


class _Merge:
    def __init__(self, look: CommitView, parents: Sequence[ProvenanceMarks], bases: Sequence[ProvenanceMarks]) -> None:
        self.look = look
        self.state = look.state()
        self.sides = [self._side(look.parent_root(number), [parent]) for number, parent in enumerate(parents)]
        self.parents = parents
        self.bases = bases
        self._draft = look.store.draft()

    def _side(self, root: Folder, marks: Sequence[ProvenanceMarks]) -> _Side:
        return _Side(root, self.look.state(root), marks)

    @cached_property
    def base(self) -> _Side:
        tree = base_tree(self.look.store, self._draft, *self.look.info.parents)
        return self._side(self._draft.folder(tree), self.bases)

    @cached_property
    def expected_merge(self) -> tuple[MergedTree, Folder]:
        """The merge that this program makes of the parents."""
        return self._merge_by(NEWEST_RULES)

    @cached_property
    def _older_roots(self) -> list[Folder]:
        """The merges that older versions of this program made of the parents."""
        return [self._merge_by(rules)[1] for rules in RULES if rules != NEWEST_RULES]

    def _merge_by(self, rules: int) -> tuple[MergedTree, Folder]:
        first, second = parents_in_order(self.look.store, self.look.info.parents)
        tree = base_tree(self.look.store, self._draft, first.oid, second.oid, rules=rules)
        draft = self._draft.on_top()
        merged = merge_trees(draft, tree, first.tree, second.tree, rules=rules)
        return merged, draft.folder(merged.tree)

    def marks(self) -> ProvenanceMarks:
        result = self.parents[0].copy()
        for key in sorted(self._keys()):
            if is_absent(self.state, key):
                result.drop(key)
                continue
            result.drop(key)
            for facet in facets_of(key):
                result.set(Slot(key, facet), self._mark(Slot(key, facet)))
        return result

    def _keys(self) -> set[Key]:
        """The records whose mark may not be the default one."""
        first, second = self.parents
        known = {slot.key for parent in self.parents for slot in parent.known if first.of(slot) != second.of(slot)}
        plain = (
            not (first.known or second.known)
            and self.look.plain_mark == first.default
            and not self.look.has_marks_apart
        )
        if plain:
            return known
        return known.union(*(self._changed_keys(side.root) for side in self.sides))

    def _changed_keys(self, root: Folder) -> set[Key]:
        return {change.key for change in find_labelled_changes(self.look.store, root.oid, self.look.root.oid)}

    def _mark(self, slot: Slot) -> Mark:
        values = values_at(self.state, slot.key, slot.facet)
        of_sides = [values_at(side.state, slot.key, slot.facet) for side in self.sides]
        if self.look.covers(slot.key) and any(values != of_side for of_side in of_sides):
            return self.look.mark(*slot)
        if not self._is_expected(slot, values):
            kept = self._kept_here(slot, values)
            return kept if kept is not None else self.look.mark(*slot)
        first, second = (side.pair(slot) for side in self.sides)
        base = self.base.pair(slot)
        for mine, theirs in ((first, second), (second, first)):
            if theirs == base and mine is not None and mine[0] == values and mine[1] is not None:
                return mine[1]
        return self._combine_marks(slot)

    def _is_expected(self, slot: Slot, values: CoveredValues) -> bool:
        """Whether the commit holds what the merge of its parents gives."""
        blob, first, second = (
            blob_at(root, slot.key) for root in (self.look.root, *(side.root for side in self.sides))
        )
        if blob == first == second:
            return True
        base = blob_at(self.base.root, slot.key)
        if (blob == first and second == base) or (blob == second and first == base):
            return True
        return self._holds(self.expected_merge[1], slot, values) or any(
            self._holds(root, slot, values) for root in self._older_roots
        )

    def _holds(self, root: Folder, slot: Slot, values: CoveredValues) -> bool:
        """Whether a merge of the parents says this of a record."""
        blob = blob_at(self.look.root, slot.key)
        return blob == blob_at(root, slot.key) or values == values_at(self.look.state(root), slot.key, slot.facet)

    def _kept_here(self, slot: Slot, values: CoveredValues) -> Mark | None:
        """The mark of the side that a review on this machine kept, or took."""
        if self.look.origin.source != "here":
            return None
        pairs = (side.pair(slot) for side in self.sides)
        return next((mark for pair in pairs if pair is not None and pair[0] == values and (mark := pair[1])), None)

    def _combine_marks(self, slot: Slot) -> Mark:
        """The marks of all that a value was made of: the record on both sides, wherever it was there."""
        entry = self.state.entry(slot.key)
        keys = {slot.key, other_place(slot.key, entry), *self._renamed_from(slot.key)}
        marks = [
            pair[1]
            for side in self.sides
            for key in sorted(keys)
            if (pair := side.pair(Slot(key, slot.facet))) is not None and pair[1] is not None
        ]
        return _all_of(marks) or self.look.mark(*slot)

    def _renamed_from(self, key: Key) -> Iterable[Key]:
        if any(blob_at(side.root, key) is not None for side in self.sides):
            return ()
        merged, _ = self.expected_merge
        return [decision.key for decision in merged.decisions if decision.to == key]


def _of_many(look: CommitView, parents: Sequence[ProvenanceMarks]) -> ProvenanceMarks:
    """The marks at a merge of more than two, which baton never makes: what all parents have alike keeps its mark."""
    result = parents[0].copy()
    roots = [look.parent_root(number) for number in range(len(parents))]
    changed = {change.key for root in roots for change in find_labelled_changes(look.store, root.oid, look.root.oid)}
    for slot in {slot for parent in parents for slot in parent.known}:
        result.set(slot, _all_of([parent.of(slot) for parent in parents]))
    state = look.state()
    for key in sorted(changed):
        result.drop(key)
        if not is_absent(state, key):
            for facet in facets_of(key):
                result.set(Slot(key, facet), look.mark(key, facet))
    return result


def _all_of(marks: Sequence[Mark]) -> Mark:
    combined: Mark = marks[0] if marks else ()
    for mark in marks[1:]:
        combined = combine_marks(combined, mark)
    return combined
