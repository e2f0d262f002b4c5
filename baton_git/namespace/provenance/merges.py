"""Compute the marks of records at a merge commit with a three-way merge, like that of the records themselves.

A value that one side changed gets the mark of that side. A value that both sides changed gets both marks, of which the
weaker counts. A value that differs from the automatic merge of the parents was chosen by the author of the merge
commit: it is marked like a change in any other commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from baton_git.core.merge import NEWEST_RULES, RULES
from baton_git.core.state import Key, State
from baton_git.git.store import Folder
from baton_git.namespace.commit_log import parse_entry
from baton_git.namespace.merge_commit import MergedTree, base_tree, merge_trees, sort_parents
from baton_git.namespace.provenance.commit_view import (
    CommitView,
    CoveredValues,
    blob_at,
    facets_of,
    find_labelled_changes,
    is_absent,
    other_key,
    values_at,
)
from baton_git.namespace.provenance.marks import Mark, ProvenanceMarks, Slot, combine_marks


def compute_merged_marks(
    view: CommitView, parents: Sequence[ProvenanceMarks], bases: Sequence[ProvenanceMarks]
) -> ProvenanceMarks:
    """Return the marks at a merge commit.

    Args:
        parents: the marks at its parents, in order.
        bases: the marks at the merge bases, if it has two parents.

    Raises:
        Corrupt: a tree cannot be read.
    """
    if len(parents) > 2:
        return _merge_many_parents(view, parents)
    return _Merge(view, parents, bases).marks()


class _Side(NamedTuple):
    """A parent or the base of a merge.

    Attributes:
        marks: the marks at the parent, or at each merge base.
    """

    root: Folder
    state: State
    marks: Sequence[ProvenanceMarks]

    def value_and_mark(self, slot: Slot) -> tuple[CoveredValues, Mark | None] | None:
        """Return the values and the mark of a facet; None if the record is absent.

        The mark is None if several bases have different marks.
        """
        if is_absent(self.state, slot.key):
            return None
        facet_marks = {marks.of(slot) for marks in self.marks}
        return values_at(self.state, slot.key, slot.facet), facet_marks.pop() if len(facet_marks) == 1 else None


class _Merge:
    """Computes the marks at a merge commit of two parents."""

    def __init__(self, view: CommitView, parents: Sequence[ProvenanceMarks], bases: Sequence[ProvenanceMarks]) -> None:
        self.view = view
        self.state = view.state()
        self.sides = [self._side(view.parent_root(number), [parent]) for number, parent in enumerate(parents)]
        self.parents = parents
        self.bases = bases
        self._draft = view.store.draft()

    def _side(self, root: Folder, marks: Sequence[ProvenanceMarks]) -> _Side:
        return _Side(root, self.view.state(root), marks)

    @cached_property
    def base(self) -> _Side:
        tree = base_tree(self.view.store, self._draft, *self.view.info.parents)
        return self._side(self._draft.folder(tree), self.bases)

    @cached_property
    def expected_merge(self) -> tuple[MergedTree, Folder]:
        """The automatic merge of the parents."""
        return self._merge_by(NEWEST_RULES)

    @cached_property
    def _older_roots(self) -> list[Folder]:
        """The automatic merges of the parents under older merge rules."""
        return [self._merge_by(rules)[1] for rules in RULES if rules != NEWEST_RULES]

    def _merge_by(self, rules: int) -> tuple[MergedTree, Folder]:
        first, second = sort_parents(self.view.store, self.view.info.parents)
        tree = base_tree(self.view.store, self._draft, first.oid, second.oid, rules=rules)
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
        """Return the records whose mark may differ from that of the first parent."""
        first, second = self.parents
        known = {slot.key for parent in self.parents for slot in parent.known if first.of(slot) != second.of(slot)}
        is_uniform = (
            not (first.known or second.known)
            and self.view.plain_mark == first.default
            and not self.view.has_other_marks
        )
        if is_uniform:
            return known
        return known.union(*(self._changed_keys(side.root) for side in self.sides))

    def _changed_keys(self, root: Folder) -> set[Key]:
        return {change.key for change in find_labelled_changes(self.view.store, root.oid, self.view.root.oid)}

    def _mark(self, slot: Slot) -> Mark:
        """Return the mark of one facet, by the first of these rules that applies.

        1. The merge commit confirms the record, and its values differ from those of at least one side: the mark of the
           merge commit.
        2. The values differ from the automatic merge: the mark of the side that a review on this machine chose, or else
           that of the merge commit.
        3. One side has the facet's value and mark of the base, and the commit has the values of the other side: the
           mark of the other side.
        4. A verb of this machine merged what it wrote with the tip, and exactly one side has the values: the mark of
           that side. So a document cannot end a confirmation by repeating a record.
        5. Otherwise: the combined mark of both sides.
        """
        values = values_at(self.state, slot.key, slot.facet)
        of_sides = [values_at(side.state, slot.key, slot.facet) for side in self.sides]
        if self.view.covers(slot.key) and any(values != of_side for of_side in of_sides):
            return self.view.mark(*slot)
        if not self._is_expected(slot, values):
            reviewed_mark = self._reviewed_mark(slot, values)
            return reviewed_mark if reviewed_mark is not None else self.view.mark(*slot)
        first, second = (side.value_and_mark(slot) for side in self.sides)
        base = self.base.value_and_mark(slot)
        for mine, theirs in ((first, second), (second, first)):
            if theirs == base and mine is not None and mine[0] == values and mine[1] is not None:
                return mine[1]
        same = [side for side in (first, second) if side is not None and side[0] == values]
        if self._is_of_verb and len(same) == 1 and None not in (first, second, same[0][1]):
            return same[0][1] or ()
        return self._combine_marks(slot)

    @cached_property
    def _is_of_verb(self) -> bool:
        """Whether a verb of this machine made the merge, for example of a document with concurrent changes."""
        return self.view.origin.source == "here" and parse_entry(self.view.info).op not in ("", "merge")

    def _is_expected(self, slot: Slot, values: CoveredValues) -> bool:
        """Return whether the commit has the values that the automatic merge of its parents gives."""
        blob, first, second = (
            blob_at(root, slot.key) for root in (self.view.root, *(side.root for side in self.sides))
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
        """Return whether a record has these values in the tree `root`."""
        blob = blob_at(self.view.root, slot.key)
        return blob == blob_at(root, slot.key) or values == values_at(self.view.state(root), slot.key, slot.facet)

    def _reviewed_mark(self, slot: Slot, values: CoveredValues) -> Mark | None:
        """Return the mark of the side whose values a review on this machine chose; None without such a review."""
        if self.view.origin.source != "here":
            return None
        pairs = (side.value_and_mark(slot) for side in self.sides)
        return next((mark for pair in pairs if pair is not None and pair[0] == values and (mark := pair[1])), None)

    def _combine_marks(self, slot: Slot) -> Mark:
        """Combine the marks of the record on both sides, including its archived and renamed forms."""
        entry = self.state.entry(slot.key)
        keys = {slot.key, other_key(slot.key, entry), *self._renamed_from(slot.key)}
        marks = [
            pair[1]
            for side in self.sides
            for key in sorted(keys)
            if (pair := side.value_and_mark(Slot(key, slot.facet))) is not None and pair[1] is not None
        ]
        return _combine_all(marks) or self.view.mark(*slot)

    def _renamed_from(self, key: Key) -> Iterable[Key]:
        if any(blob_at(side.root, key) is not None for side in self.sides):
            return ()
        merged, _ = self.expected_merge
        return [decision.key for decision in merged.decisions if decision.to == key]


def _merge_many_parents(view: CommitView, parents: Sequence[ProvenanceMarks]) -> ProvenanceMarks:
    """Return the marks at a merge of more than two parents, which baton never makes.

    Records that differ from a parent get the mark of the merge; all others get the marks of all parents.
    """
    result = parents[0].copy()
    roots = [view.parent_root(number) for number in range(len(parents))]
    changed = {change.key for root in roots for change in find_labelled_changes(view.store, root.oid, view.root.oid)}
    for slot in {slot for parent in parents for slot in parent.known}:
        result.set(slot, _combine_all([parent.of(slot) for parent in parents]))
    state = view.state()
    for key in sorted(changed):
        result.drop(key)
        if not is_absent(state, key):
            for facet in facets_of(key):
                result.set(Slot(key, facet), view.mark(key, facet))
    return result


def _combine_all(marks: Sequence[Mark]) -> Mark:
    combined: Mark = marks[0] if marks else ()
    for mark in marks[1:]:
        combined = combine_marks(combined, mark)
    return combined
