"""Integrate accepted commits into the local branch, by fast-forward or by a deterministic merge.

A merge that will be pushed is only proposed first: the local branch moves to it once the remote has it. Otherwise each
push that another machine overtakes would leave a merge commit in the history for ever. With 16 machines at work, that
were 6 to 8 commits for each write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from baton_git.core import diff, layout
from baton_git.core.diff import title_of
from baton_git.core.errors import Busy
from baton_git.core.kinds import KINDS, LABELLED
from baton_git.core.merge.lineages import compare_side
from baton_git.core.names import Oid
from baton_git.core.records.base import Record
from baton_git.core.state import Key, State, find_new_unreadable
from baton_git.git.store import ObjectDraft, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import parse_entry, read_revision_number
from baton_git.namespace.file_merge import describe_merged_modes
from baton_git.namespace.history import is_root
from baton_git.namespace.merge_commit import create_merge_commit, merge_trees
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.actions import BranchTips
from baton_git.namespace.sync.tracking_refs import count_commits, create_backup

_ATTEMPTS = 50
"""Maximum number of attempts; an attempt fails if another writer moves the branch."""


@dataclass(frozen=True)
class Integration:
    """The result of an integration: the new tip of the local branch, and messages for people about the merge.

    Attributes:
        received: number of commits of the remote that were new to the local branch, without the merge commit.
        conflicts: the ids of new conflict records.
        renamed: the new ids of records whose id was taken, by old id.
        problems: unreadable records and changed immutable fields, described for people.
        notes: what became of changed modes of record files, described for people.
        checked_out_at: a work tree that has the branch checked out.
    """

    tip: Oid | None
    received: int = 0
    conflicts: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    checked_out_at: str | None = None


class Proposal(NamedTuple):
    """A commit with the local tip and a remote commit that no ref points to yet."""

    tip: Oid
    step: _Step

    @property
    def commit(self) -> Oid:
        return self.step.commit

    @property
    def draft(self) -> ObjectDraft:
        return self.step.draft


def propose(branch: Branch, accepted: Oid | None, unstored: ObjectDraft | None = None) -> Proposal | None:
    """Make the commit that `integrate` would move to, without storing it; None if the remote has it already.

    Args:
        unstored: the exposed draft with the commits of `accepted` that are not stored, if any.

    Raises:
        Stale: the branch may only be written from another tip.
        Corrupt: an object that the merge needs cannot be read.
    """
    tip = branch.tip()
    step = _plan_step(branch.store, tip, accepted, unstored)
    if tip is None or step is None or (step.commit == accepted and unstored is None):
        return None
    branch.claim(tip)
    return Proposal(tip, step)


def integrate(
    branch: Branch, accepted: Oid | None, tips: BranchTips, stamp: CommitStamp, proposal: Proposal | None = None,
    *, is_sent: bool = False, unstored: ObjectDraft | None = None,
) -> Integration:  # fmt: skip
    """Merge `accepted` into the local branch; with None, only check the local commits. Others may write meanwhile.

    Args:
        proposal: a merge with `accepted` that was proposed before; it is used if the local branch has not moved.
        is_sent: whether the remote has the proposal, so that it must be integrated even if the local branch moved.
        unstored: see `propose`.

    Raises:
        Busy: other writers moved the branch at every attempt.
        Corrupt, WriteFailed: under the same conditions as `Store.publish`.
    """
    integration = Integration(tips.local, problems=_find_own_problems(branch, tips))
    for _ in range(_ATTEMPTS):
        tip = branch.tip()
        if proposal is not None and (is_sent or proposal.tip == tip):
            step = _plan_step_from(branch.store, tip, proposal)
        else:
            step = _plan_step(branch.store, tip, accepted, unstored)
        if step is None:
            # if the remote has the proposal, another sync of this machine has just fetched it
            if proposal is None or not is_sent:
                return replace(integration, tip=tip)
            return replace(integration, tip=tip, conflicts=proposal.step.conflicts, renamed=proposal.step.renamed)
        # Writers go on while the merge is computed; if one was faster, the merge is made again on its tip.
        if branch.advance(step.draft, tip, step.commit, stamp, by="sync"):
            assert accepted is not None
            received = count_commits(branch.store, accepted, tips.local)
            notes = describe_merged_modes(branch.store, tip, accepted, step.commit)
            return _describe_step(branch, replace(integration, received=received, notes=notes), tip, step)
    raise Busy(f"{branch.namespace}: others kept writing here", hint="try again")


def preview_integration(
    branch: Branch, accepted: Oid | None, unstored: ObjectDraft | None = None
) -> list[diff.RecordChange]:
    """Return the changes that `integrate` would make now."""
    tip = branch.tip()
    step = _plan_step(branch.store, tip, accepted, unstored)
    return _compare(branch, tip, step.draft, step.tree) if step is not None else []


def preview_reset(branch: Branch, tips: BranchTips) -> list[diff.RecordChange]:
    """Return the changes that `reset_to_theirs` would make now."""
    draft = branch.store.draft()
    return _compare(branch, tips.local, draft, _put_unsent_on_theirs(branch.store, draft, tips))


def _compare(branch: Branch, tip: Oid | None, draft: ObjectDraft, tree: Oid) -> list[diff.RecordChange]:
    before = branch.revision_at(tip).state if tip is not None else State()
    return diff.diff(before, State(layout.TreeSource(draft.folder(tree))))


@dataclass(frozen=True)
class _Step:
    """The next tip of the local branch. If it is a new commit, `draft` contains it."""

    draft: ObjectDraft
    commit: Oid
    tree: Oid
    conflicts: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)


def _plan_step(
    store: Store, tip: Oid | None, accepted: Oid | None, unstored: ObjectDraft | None = None
) -> _Step | None:
    """Return the fast-forward or merge to do; None if the branch already contains `accepted`."""
    if accepted is None or (tip is not None and store.is_ancestor(accepted, tip)):
        return None
    draft = store.draft()
    if unstored is not None:
        draft.take_over(unstored)
    # the root commit is part of every namespace, also if the fetched history ends before it
    if tip is None or is_root(store, tip) or store.is_ancestor(tip, accepted):
        return _Step(draft, accepted, store.commit(accepted).tree)
    joined = create_merge_commit(store, tip, accepted)
    draft.take_over(joined.draft)
    conflicts = tuple(conflict.id for conflict in joined.conflicts)
    return _Step(draft, joined.commit, joined.tree, conflicts, joined.renamed_ids)


def _plan_step_from(store: Store, tip: Oid | None, proposal: Proposal) -> _Step | None:
    """Return the next step like `_plan_step`, by way of a proposal."""
    if proposal.tip == tip:
        return proposal.step
    with store.expose(proposal.draft):
        step = _plan_step(store, tip, proposal.commit, proposal.draft)
    if step is None:
        return None
    return replace(
        step, conflicts=(*proposal.step.conflicts, *step.conflicts), renamed={**proposal.step.renamed, **step.renamed}
    )


def _describe_step(branch: Branch, integration: Integration, tip: Oid | None, step: _Step) -> Integration:
    before = branch.revision_at(tip).state if tip is not None else State()
    # The archive of a new branch may have 100,000 records, and is not read: baton doctor reads it.
    problems = tuple(_find_problems(before, branch.revision_at(step.commit).state, archived=tip is not None))
    checkout = branch.store.find_checkout(branch.ref)
    return replace(
        integration, tip=step.commit, conflicts=step.conflicts, renamed=step.renamed,
        problems=(*integration.problems, *problems), checked_out_at=str(checkout) if checkout else None,
    )  # fmt: skip


def _find_problems(before: State, after: State, *, archived: bool = True) -> Iterator[str]:
    """Describe the records that became unreadable and the immutable fields that changed."""
    unreadable = find_new_unreadable(before, after, archived=archived)
    yield from (f"{record.path}: cannot be read: {record.why}" for record in unreadable)
    for key in sorted(before.differing(after) if archived else before.differing_live(after)):
        for breach in diff.find_breaches(key, before.entry(key), after.entry(key)):
            yield f"{key.display_name}: {breach.field} {diff.WHY}, but was changed"


def _find_own_problems(branch: Branch, tips: BranchTips) -> tuple[str, ...]:
    """Describe the problems that local hand-made commits caused since the remote was last seen."""
    store, tip = branch.store, tips.local
    since = tips.seen or tips.theirs
    if tip is None or tip == since:
        return ()
    known = [since] if since is not None else []
    if all(parse_entry(info).op for info in store.only_in(tip, *known)):
        return ()
    base = _base(store, since, tip)
    before = branch.revision_at(base).state if base is not None else State()
    return tuple(_find_problems(before, branch.revision_at(tip).state))


def _base(store: Store, left: Oid | None, right: Oid) -> Oid | None:
    return next(iter(store.merge_bases(left, right)), None) if left is not None else None


def reset_to_theirs(branch: Branch, tips: BranchTips, stamp: CommitStamp) -> tuple[Oid, str]:
    """Reset the local branch to the rewritten remote branch, with unsent changes on top.

    Returns:
        The new tip, and the backup ref for the old tip.

    Raises:
        Busy: another writer moved the local branch.
    """
    store = branch.store
    assert tips.local is not None
    assert tips.theirs is not None
    backup = create_backup(branch, tips.local, stamp)
    info = store.commit(tips.theirs)
    new, draft = info.oid, store.draft()
    tree = _put_unsent_on_theirs(store, draft, tips)
    if tree != info.tree:
        subject = "Unsent changes, on top of the rewritten remote branch"
        new = branch.draft_commit(draft, tree, (new,), read_revision_number(store, info) + 1, subject, stamp, ())
    if not branch.advance(draft, tips.local, new, stamp, by="caller"):
        raise Busy(
            f"{branch.namespace}: another process wrote here meanwhile", hint="run baton sync --settle theirs again"
        )
    return new, backup


def _put_unsent_on_theirs(store: Store, draft: ObjectDraft, tips: BranchTips) -> Oid:
    """Merge the unsent local changes into the rewritten remote branch; return the tree."""
    assert tips.local is not None
    assert tips.theirs is not None
    assert tips.seen is not None
    base = store.commit(_base(store, tips.seen, tips.local) or tips.seen).tree
    return merge_trees(draft, base, store.commit(tips.theirs).tree, store.commit(tips.local).tree).tree


# --- the records of this machine that a sync removed, or that shared their id with a record of the remote


class SharedId(NamedTuple):
    """An id that two records had; one of them has a new id now.

    Attributes:
        kept: the key with the shared id.
        moved: the key with the new id.
        is_ours_moved: whether the record that was on this machine before has the new id.
    """

    kept: Key
    moved: Key
    is_ours_moved: bool

    def describe(self, state: State, remote: str) -> str:
        """Return one line that says which record has which id in a state."""
        ours, theirs = (self.moved, self.kept) if self.is_ours_moved else (self.kept, self.moved)
        return (
            f"two records had the id {self.kept.id}: the one that was here{_quote_title(state, ours)} has the id "
            f"{ours.id} now, and the one from {remote}{_quote_title(state, theirs)} has {theirs.id}"
        )


def _quote_title(state: State, key: Key) -> str:
    entry = state.entry(key)
    return f' ("{title_of(key.kind, entry.as_data())}")' if isinstance(entry, Record) else ""


def find_shared_ids(old: State, new: State, assigned: Mapping[str, str]) -> list[SharedId]:
    """Return the ids that two records had, from the states before and after a sync.

    Args:
        assigned: the ids that the merge of this sync assigned, by old id.
    """
    moves = compare_side(old, new).moves
    ours = {key: new_key for key, new_key in moves.items() if key.id != new_key.id and key.archived == new_key.archived}
    keys = [Key(kind, id_) for id_ in assigned for kind in KINDS]
    theirs = {key: key._replace(id=assigned[key.id]) for key in keys if new.entry(key) is not None}
    return [SharedId(key, new_key, key in ours) for key, new_key in sorted({**theirs, **ours}.items())]


def list_removed(old: State, new: State, assigned: Mapping[str, str]) -> list[str]:
    """Return the ids of the records with a provenance that are neither live nor archived any more.

    Args:
        assigned: the ids that the merge of this sync assigned, by old id.
    """
    changed = {Key(key.kind, key.id) for key in old.differing(new) if key.kind in LABELLED and not key.archived}
    return sorted(
        key.id
        for key in changed
        if key.id in old.ids(key.kind)
        and key.id not in {*new.ids(key.kind), *new.ids(key.kind, archived=True), *assigned}
    )
