"""Revert commits: compute the state without their changes, but with all later changes."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from baton_git.core.kinds import KINDS
from baton_git.core.layout import records_of
from baton_git.core.merge import (
    Decision,
    apply,
    are_different_records,
    clear_counts,
    decide,
    remove_reverted_entries,
    same,
)
from baton_git.core.merge.decisions import frame_json
from baton_git.core.merge.lineages import replace_id
from baton_git.core.names import Oid
from baton_git.core.records.base import Archived, Beside, Part, Record, merge_rule, parse
from baton_git.core.records.lineage import Session
from baton_git.core.sessions import restore_contexts
from baton_git.core.state import Entry, Key, State
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry, find_undone, load_entry
from baton_git.namespace.merge_commit import base_tree


def revert(branch: Branch, state: State, commits: Sequence[LogEntry]) -> State:
    """Return `state` without the changes of these commits of the branch. Values that were changed again since are kept.

    If some of the commits are on only one side of a merge, the merge is repeated without them, and the difference
    between the two merges is applied to `state`. This is the only way to find out what a commit contributed to a record
    that both sides created.
    """
    reverted = {entry.commit for entry in commits}
    entries = list(_iterate_down_to(branch.history(), reverted))
    return _Reverter(branch, find_undone(entries)).revert(state, entries, reverted)


def _iterate_down_to(newest_first: Iterable[LogEntry], commits: Collection[Oid]) -> Iterator[LogEntry]:
    """Yield the history, newest first, until all of these commits have been yielded."""
    missing = set(commits)
    for entry in newest_first:
        yield entry
        missing.discard(entry.commit)
        if not missing:
            return


class _MergeSide(NamedTuple):
    """One side of a merge: its state, and its commits that the other side does not have, newest first."""

    state: State
    entries: Sequence[LogEntry]

    def commits(self) -> set[Oid]:
        return {entry.commit for entry in self.entries}


class _Reverter(NamedTuple):
    """Reverts commits of one branch. `undone` are the commits that were already undone."""

    branch: Branch
    undone: Container[str]

    def revert(self, state: State, newest_first: Sequence[LogEntry], commits: Collection[Oid]) -> State:
        remaining = set(commits)
        for entry in newest_first:
            if entry.commit in remaining and entry.parents:
                before = self.branch.past_revision_at(entry.parents[0]).state
                state = _apply_difference(state, self.branch.past_revision_at(entry.commit).state, before)
            elif remaining and len(entry.parents) == 2:
                state, reverted = self._remerge(state, entry.parents, remaining)
                remaining -= reverted
        return state

    def _remerge(self, state: State, parents: Sequence[Oid], commits: Collection[Oid]) -> tuple[State, set[Oid]]:
        """Revert the commits that only one side of a merge has, by repeating the merge without them.

        Returns:
            The new state, and the reverted commits.
        """
        sides = [self._load_side(parents[0], parents[1]), self._load_side(parents[1], parents[0])]
        one_sided = {commit for side in sides for commit in side.commits() if commit in commits}
        if one_sided:
            base = self._base(parents)
            before, decisions = _merge(base, [self._state_without(side, set()) for side in sides])
            after, _ = _merge(base, [self._state_without(side, one_sided) for side in sides])
            state = _apply_difference(state, before, _with_ids(before, after, decisions))
        return state, one_sided

    def _load_side(self, side: Oid, opposite: Oid) -> _MergeSide:
        store = self.branch.store
        entries = [load_entry(store, info) for info in store.only_in(side, opposite)]
        return _MergeSide(self.branch.past_revision_at(side).state, entries)

    def _base(self, parents: Sequence[Oid]) -> State:
        draft = self.branch.store.draft()
        tree = base_tree(self.branch.store, draft, parents[0], parents[1])
        return State() if tree is None else records_of(draft.folder(tree))

    def _state_without(self, side: _MergeSide, commits: Collection[Oid]) -> State:
        """Return a side's state without these commits, and without the commits that were undone after the merge."""
        undone_before = find_undone(side.entries)
        undone_after = {commit for commit in side.commits() if commit in self.undone and commit not in undone_before}
        commits = undone_after | side.commits().intersection(commits)
        return self._replace(undone=undone_before).revert(side.state, side.entries, commits)


def _merge(base: State, sides: Sequence[State]) -> tuple[State, Sequence[Decision]]:
    decisions = decide(base, *sides)
    return apply(sides[0], decisions), decisions


def _with_ids(before: State, after: State, decisions: Sequence[Decision]) -> State:
    """Return `after` with the new ids that the merge gave to records whose id was taken."""
    for decision in decisions:
        if decision.action == "rekey" and decision.to is not None and after.entry(decision.to) is None:
            named, entry = before.entry(decision.to), after.entry(decision.key)
            if (
                isinstance(named, Part)
                and isinstance(entry, Part)
                and not are_different_records(decision.key.kind, named, entry)
            ):
                after = State(
                    after.source,
                    {
                        **after.edits,
                        decision.key: None,
                        decision.to: replace_id(entry, decision.to.id, decision.key.id),
                    },
                )
    return after


def _apply_difference(state: State, before: State, after: State) -> State:
    """Apply the difference between `before` and `after` to `state`, except to values that were changed since."""
    closings = _merge_closings(state, before, after)
    ours, base, theirs = (_reopen(side, closings) for side in (state, before, after))
    theirs = _keep_evidence(ours, base, _keep_changed(ours, base, theirs))
    wanted = [
        _take_off_entries(decision, base, ours, theirs)
        for decision in decide(base, ours, theirs, prefer="ours")
        if decision.action != "rekey" and decision.key.kind != Session.kind
    ]
    return restore_contexts(_close(apply(ours, wanted, record_conflicts=False), closings, state), before, after)


def _merge_closings(state: State, before: State, after: State) -> dict[Key, Part]:
    """Decide for each archived record whether it is archived in the result, and with which time and reason.

    A merge follows a record into the archive, but not out of it. Therefore these records are reopened before the
    merge, and archived after it as decided here.

    Returns:
        By the live key of each record, the entry that decides. It is the one in `after`, or the one in `state` if the
        record was archived or reopened since. If this entry is live, the record stays live.
    """
    closings = {}
    for key in {key._replace(archived=False) for key in before.differing(after)}:
        now, was, then = (_only_entry(side, key) for side in (state, before, after))
        if now is None or was is None or then is None:
            continue
        if any(isinstance(entry, Archived) for entry in (now, was, then)):
            closings[key] = then if frame_json(now) == frame_json(was) else now
    return closings


def _only_entry(state: State, key: Key) -> Part | None:
    """Return the record at a key if it is either live or archived there; None if both or neither."""
    live, archived = state.entry(key), state.entry(key._replace(archived=True))
    if archived is None:
        return live if isinstance(live, Part) else None
    if live is not None or not isinstance(archived, Archived) or archived.record.get("id") != key.id:
        return None
    return archived


def _reopen(state: State, keys: Iterable[Key]) -> State:
    """Return the state with the records at these live keys moved out of the archive."""
    edits: dict[Key, Entry | None] = {}
    for key in keys:
        closed = key._replace(archived=True)
        entry = state.entry(closed)
        if isinstance(entry, Archived):
            edits |= {key: parse(KINDS[key.kind].model, entry.record), closed: None}
    return State(state.source, {**state.edits, **edits})


def _close(state: State, closings: Mapping[Key, Part], before: State) -> State:
    """Archive records like the entries in `closings`. A record that is archived alike in `before` keeps that entry."""
    edits: dict[Key, Entry | None] = {}
    for key, closing in closings.items():
        closed = key._replace(archived=True)
        record, previous = state.entry(key), before.entry(closed)
        if isinstance(closing, Archived) and isinstance(record, Part):
            entry = closing.replace(record=record.as_data())
            edits |= {key: None, closed: previous if same(entry, previous) else entry}
    return State(state.source, {**state.edits, **edits})


def _take_off_entries(decision: Decision, before: State, state: State, after: State) -> Decision:
    """Return the decision without the list entries that `before` has and `after` lacks.

    A merge of such lists, which keep only the newest entries, would not remove them.
    """
    sides = [side.entry(decision.key) for side in (before, state, after)]
    records = [side for side in sides if isinstance(side, Record)]
    if decision.action != "merge" or not isinstance(decision.result, Record) or len(records) < len(sides):
        return decision
    return decision._replace(result=remove_reverted_entries(decision.result, *records))


def _keep_changed(state: State, before: State, after: State) -> State:
    """Return `after` without the differences that would discard later work.

    A record that `after` lacks is kept if it was changed since; only its counts are reverted. Records that were removed
    or created again since stay as they are.
    """
    kept = {
        key: clear_counts(entry)
        for key, entry in _list_removed(before, after)
        if isinstance(now := state.entry(key), Record)
        and not same(now, entry)
        and not are_different_records(key.kind, now, entry)
    }
    already_added = {key: None for key, _ in _list_removed(after, before) if isinstance(state.entry(key), Record)}
    gone = {key: before.entry(key) for key in before.differing(after) if _is_gone(state, before, key)}
    return State(after.source, {**after.edits, **kept, **already_added, **gone})


def _is_gone(state: State, before: State, key: Key) -> bool:
    """Return whether a record of `before` is missing from `state`, live and archived."""
    keys = (key._replace(archived=False), key._replace(archived=True))
    return any(before.entry(each_key) is not None for each_key in keys) and not any(map(state.entry, keys))


def _keep_evidence(state: State, before: State, after: State) -> State:
    """Return `after` with fields of `before` where `state` has newer evidence for them, so that they are not reverted.

    An example is the status of a loop that was checked again since.
    """
    kept = {}
    for key in before.differing(after):
        entries = [side.entry(key) for side in (state, before, after)]
        records = [entry for entry in entries if isinstance(entry, Record)]
        if len(records) == len(entries) and (fields := _list_newer_evidence(*records[:2])):
            kept[key] = records[2].replace(**{name: getattr(records[1], name) for name in fields})
    return State(after.source, {**after.edits, **kept}) if kept else after


def _list_newer_evidence(now: Record, before: Record) -> list[str]:
    """Return the names of the fields of evidence that differ, each with the field whose value it supports."""
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
        keys = (key, key._replace(archived=True))
        if isinstance(entry, Record) and all(after.entry(each_key) is None for each_key in keys):
            yield key, entry
