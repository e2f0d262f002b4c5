"""Reverting commits: the state without them, with what came after them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from baton_git.core.layout import state_of
from baton_git.core.merge import Decision, apply, are_two, decide, same, take_off_entries, without_counts
from baton_git.core.merge.id_assignment import with_id
from baton_git.core.names import Oid
from baton_git.core.records.base import Part, Record, merge_rule
from baton_git.core.records.lineage import Session
from baton_git.core.records.merge_rules import Beside
from baton_git.core.state import Key, State
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry, find_undone, load_entry
from baton_git.namespace.merge_commit import base_tree


def revert(branch: Branch, state: State, commits: Sequence[LogEntry]) -> State:
    """Return `state` without these commits of the branch; a value that was changed again since stays.

    A merge that has some of the commits on one side only is made again without them, and the difference goes to
    `state`. Only that tells what a commit added to a record that both sides made.
    """
    reverted = {entry.commit for entry in commits}
    entries = list(_down_to(branch.history(), reverted))
    return _Reverter(branch, find_undone(entries)).revert(state, entries, reverted)


def _down_to(newest_first: Iterable[LogEntry], commits: Collection[Oid]) -> Iterator[LogEntry]:
    """Yield the history down to the last of the commits."""
    missing = set(commits)
    for entry in newest_first:
        yield entry
        missing.discard(entry.commit)
        if not missing:
            return


class _Line(NamedTuple):
    """One side of a merge: its state, and the commits that only this side has, newest first."""

    state: State
    entries: Sequence[LogEntry]

    def commits(self) -> set[Oid]:
        return {entry.commit for entry in self.entries}


class _Reverter(NamedTuple):
    """Reverts commits of one branch. `undone` are the commits that were taken back before."""

    branch: Branch
    undone: Collection[str]

    def revert(self, state: State, newest_first: Sequence[LogEntry], commits: Collection[Oid]) -> State:
        left = set(commits)
        for entry in newest_first:
            if entry.commit in left and entry.parents:
                before = self.branch.revision_at(entry.parents[0]).state
                state = _carry_over(state, self.branch.revision_at(entry.commit).state, before)
            elif left and len(entry.parents) == 2:
                state, reverted = self._remerge(state, entry.parents, left)
                left -= reverted
        return state

    def _remerge(self, state: State, parents: Sequence[Oid], commits: Collection[Oid]) -> tuple[State, set[Oid]]:
        """Return the state with what a merge makes without those of the commits that only one side has; and these."""
        lines = [self._line(parents[0], parents[1]), self._line(parents[1], parents[0])]
        apart = {commit for line in lines for commit in line.commits() if commit in commits}
        if apart:
            base = self._base(parents)
            before, decisions = _merge(base, [self._without(line, set()) for line in lines])
            after, _ = _merge(base, [self._without(line, apart) for line in lines])
            state = _carry_over(state, before, _with_ids(before, after, decisions))
        return state, apart

    def _line(self, side: Oid, opposite: Oid) -> _Line:
        store = self.branch.store
        return _Line(
            self.branch.revision_at(side).state, [load_entry(store, info) for info in store.only_in(side, opposite)]
        )

    def _base(self, parents: Sequence[Oid]) -> State:
        draft = self.branch.store.draft()
        tree = base_tree(self.branch.store, draft, parents[0], parents[1])
        return State() if tree is None else state_of(draft.folder(tree))

    def _without(self, line: _Line, commits: Collection[Oid]) -> State:
        """Return a line's state without these commits, and without those that were taken back after the merge."""
        out = find_undone(line.entries)
        undone = {commit for commit in line.commits() if commit in self.undone} - out
        commits = undone | line.commits().intersection(commits)
        return self._replace(undone=out).revert(line.state, line.entries, commits)


def _merge(base: State, sides: Sequence[State]) -> tuple[State, Sequence[Decision]]:
    decisions = decide(base, *sides)
    return apply(sides[0], decisions), decisions


def _with_ids(before: State, after: State, decisions: Sequence[Decision]) -> State:
    """Return `after` with the ids that the merge gave to records whose own id was taken."""
    for decision in decisions:
        if decision.action == "rekey" and decision.to is not None and after.entry(decision.to) is None:
            named, entry = before.entry(decision.to), after.entry(decision.key)
            if isinstance(named, Part) and isinstance(entry, Part) and not are_two(decision.key.kind, named, entry):
                after = State(
                    after.source,
                    {**after.edits, decision.key: None, decision.to: with_id(entry, decision.to.id, decision.key.id)},
                )
    return after


def _carry_over(state: State, before: State, after: State) -> State:
    """Return `state` with what leads from `before` to `after`; what was changed otherwise since stays."""
    after = _keep_evidence(state, before, _keep_changed(state, before, after))
    wanted = [
        _take_off_entries(decision, before, state, after)
        for decision in decide(before, state, after, prefer="ours")
        if decision.action != "rekey" and decision.key.kind != Session.kind
    ]
    return apply(state, wanted, record_conflicts=False)


def _take_off_entries(decision: Decision, before: State, state: State, after: State) -> Decision:
    """Return the decision with its result without the recent entries that only `before` has: a merge keeps them."""
    sides = [side.entry(decision.key) for side in (before, state, after)]
    records = [side for side in sides if isinstance(side, Record)]
    if decision.action != "merge" or not isinstance(decision.result, Record) or len(records) < len(sides):
        return decision
    return decision._replace(result=take_off_entries(decision.result, *records))


def _keep_changed(state: State, before: State, after: State) -> State:
    """Return `after` without what would change the work of others since.

    It keeps the records that it lacks and that others changed: only what they counted goes. Records that others removed
    or made anew stay as they are.
    """
    kept = {
        key: without_counts(entry)
        for key, entry in _list_removed(before, after)
        if isinstance(now := state.entry(key), Record) and not same(now, entry) and not are_two(key.kind, now, entry)
    }
    made = {key: None for key, _ in _list_removed(after, before) if isinstance(state.entry(key), Record)}
    gone = {key: before.entry(key) for key in before.differing(after) if _is_gone(state, before, key)}
    return State(after.source, {**after.edits, **kept, **made, **gone})


def _is_gone(state: State, before: State, key: Key) -> bool:
    """Whether a record of `before` is nowhere in `state`."""
    places = (key._replace(archived=False), key._replace(archived=True))
    return any(before.entry(place) is not None for place in places) and not any(map(state.entry, places))


def _keep_evidence(state: State, before: State, after: State) -> State:
    """Return `after` with the status of `before` wherever newer evidence stands for it: of a loop, a later check."""
    kept = {}
    for key in before.differing(after):
        entries = [side.entry(key) for side in (state, before, after)]
        records = [entry for entry in entries if isinstance(entry, Record)]
        if len(records) == len(entries) and (fields := _list_newer_evidence(*records[:2])):
            kept[key] = records[2].replace(**{name: getattr(records[1], name) for name in fields})
    return State(after.source, {**after.edits, **kept}) if kept else after


def _list_newer_evidence(now: Record, before: Record) -> list[str]:
    """Return the fields of evidence that changed, and those that each of them is the evidence for."""
    rules = {name: merge_rule(type(now), name) for name in type(now).model_fields}
    return [
        field
        for name, rule in rules.items()
        if isinstance(rule, Beside) and getattr(now, name) != getattr(before, name)
        for field in (name, rule.field)
    ]


def _list_removed(before: State, after: State) -> Iterator[tuple[Key, Record]]:
    for key in before.differing(after):
        entry = before.entry(key)
        places = (key, key._replace(archived=True))
        if isinstance(entry, Record) and all(after.entry(place) is None for place in places):
            yield key, entry
