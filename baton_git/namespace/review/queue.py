"""Review of remote changes by a person, record by record: accepted or rejected.

A rejection is permanent: decided files count as part of the merge base, so that only a later change of the same record
comes up again. When nothing is left, a merge commit records that all remote commits are known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from baton_git.core import diff, layout
from baton_git.core.errors import Busy, NotAllowed, NotFound, Unsettled
from baton_git.core.names import Oid
from baton_git.core.output import one_line
from baton_git.core.records.archive import Archived
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.rule import Rule
from baton_git.core.state import HEAD, SHAPE, State, complete_id
from baton_git.git.store import Edit, ObjectDraft
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import revision_of
from baton_git.namespace.file_merge import KIND, entry_at
from baton_git.namespace.ingest.trees import find_unsafe_files
from baton_git.namespace.merge_commit import base_tree, create_merge_commit, merge_trees
from baton_git.namespace.review.state import ReviewState
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.ahead_behind import count_commits, is_waiting
from baton_git.namespace.sync.tracking_refs import set_ref, tracking_refs_of

_ATTEMPTS = 20
Trailers = tuple[tuple[str, str], ...]


class WaitingRecord(NamedTuple):
    """One changed record (or file) of the remote, what accepting it would change, and its files."""

    kind: str
    id: str
    changes: tuple[diff.RecordChange, ...]
    paths: frozenset[str]


class ReviewQueue(NamedTuple):
    """The waiting changes up to one remote commit."""

    theirs: Oid
    items: tuple[WaitingRecord, ...]
    commits: int


class ReviewResult(NamedTuple):
    """The result of a review: ids of records, how many are left, and the local tip."""

    taken: tuple[str, ...]
    refused: tuple[str, ...]
    left: int
    commit: Oid | None


def load_review_queue(branch: Branch, remote: str) -> ReviewQueue | None:
    """Return the waiting changes; None when there are none.

    Raises:
        Corrupt: something cannot be read.
    """
    if not is_waiting(branch, remote):
        return None
    return _Review(branch, remote).waiting()


def count_waiting_records(branch: Branch, remote: str) -> int:
    """Return how many records wait, without merging them as `load_review_queue` does.

    Raises:
        Corrupt: something cannot be read.
    """
    return _Review(branch, remote).count() if is_waiting(branch, remote) else 0


class ReviewChoice(NamedTuple):
    """Which records to accept and to reject, by their ids; None means all that are not named otherwise.

    Attributes:
        shown: the remote commit that the person has seen.
    """

    take: Collection[str] | None
    refuse: Collection[str] | None
    shown: Oid | None = None


def resolve_review(
    branch: Branch, remote: str, stamp: CommitStamp, choice: ReviewChoice, *,
    check: Callable[[WaitingRecord], None] = lambda item: None, confirmed: Trailers = (),
) -> ReviewResult:  # fmt: skip
    """Accept and reject waiting records.

    Args:
        check: raises for a record that must not be accepted, given its changes on the current tip.
        confirmed: the trailers of what a person confirmed.

    Raises:
        NotFound: no waiting record has such an id.
        Unsettled: newer commits were fetched than were shown.
        Busy: others kept writing here.
        Corrupt, WriteFailed: as in `Store.publish`.
    """
    for _ in range(_ATTEMPTS):
        review = _Review(branch, remote)
        if choice.shown not in (None, review.theirs):
            raise Unsettled(f"more came from {remote} meanwhile", hint="look at it again: baton review")
        chosen = _chosen(review.waiting().items, choice)
        for item in chosen.taken:
            check(item)
        if review.local is None:
            branch.create(stamp)
            continue
        done = review.carry_out(chosen, stamp, confirmed)
        if done is not None:
            return done
    raise Busy(f"{branch.namespace}: others kept writing here", hint="try again")


class _ChosenRecords(NamedTuple):
    taken: tuple[WaitingRecord, ...]
    refused: tuple[WaitingRecord, ...]
    left: tuple[WaitingRecord, ...]


def _chosen(items: tuple[WaitingRecord, ...], choice: ReviewChoice) -> _ChosenRecords:
    named = (choice.take, choice.refuse)
    take, refuse = (None if ids is None else [_full(items, id_) for id_ in ids] for ids in named)
    refused = [item for item in items if (item.id not in (take or ()) if refuse is None else item.id in refuse)]
    taken = [item for item in items if item not in refused and (take is None or item.id in take)]
    left = [item for item in items if item not in taken and item not in refused]
    return _ChosenRecords(tuple(taken), tuple(refused), tuple(left))


def _full(items: tuple[WaitingRecord, ...], text: str) -> str:
    """Return the id of the waiting record that `text` names, or is a unique prefix of.

    Raises:
        NotFound, Ambiguous: there is none, or there are several.
    """
    ids = {item.id for item in items}
    id_ = text if text in ids else complete_id(ids, text, "waiting record")
    if id_ is None:
        raise NotFound("waiting record", text, hint="baton review shows what waits")
    return id_


class _Review:
    """The state of a review at the current tip of the local branch."""

    def __init__(self, branch: Branch, remote: str) -> None:
        store = branch.store
        theirs, self.local = store.tip(tracking_refs_of(branch, remote).incoming), store.tip(branch.ref)
        if theirs is None or not is_waiting(branch, remote):
            raise NotFound("waiting change", remote, hint="baton sync fetches what is new")
        self.branch, self.store, self.theirs = branch, store, theirs
        self.seen = tracking_refs_of(branch, remote).seen
        self.memory = ReviewState.of(store.repository.common_dir, remote, branch.namespace)
        self.draft = store.draft()
        self.ours_tree = store.commit(self.local).tree if self.local else self.draft.tree(None, layout.ROOT_FILES)
        self.theirs_tree = store.commit(theirs).tree
        base = base_tree(store, self.draft, self.local, theirs) if self.local else self.ours_tree
        self.decided = self.memory.load()
        self.base = self.draft.tree(base, self.decided.files)

    def count(self) -> int:
        roots = [self.draft.folder(tree) for tree in (self.ours_tree, self.theirs_tree)]
        differing = set(layout.differing_paths(roots[0], roots[1]))
        return sum(1 for paths in self._group_paths().values() if paths & differing)

    def _group_paths(self) -> dict[tuple[str, str], set[str]]:
        """Return the files that the remote changed, by kind and id of their record."""
        roots = [self.draft.folder(tree) for tree in (self.base, self.theirs_tree)]
        states = [layout.state_of(root) for root in reversed(roots)]
        groups: dict[tuple[str, str], set[str]] = {}
        for path in layout.differing_paths(roots[0], roots[1]):
            groups.setdefault(self._about(path, states), set()).add(path)
        return groups

    def waiting(self) -> ReviewQueue:
        items = [self._item(name, paths) for name, paths in sorted(self._group_paths().items())]
        shown = tuple(item for item in items if item.changes or item.kind == KIND)
        return ReviewQueue(self.theirs, shown, count_commits(self.store, self.theirs, self.local))

    def _about(self, path: str, states: list[State]) -> tuple[str, str]:
        """Return kind and id of the record that a file belongs to: a rule counts as its pattern."""
        key = layout.key_at(path)
        if key is None:
            return KIND, path
        if key in (HEAD, SHAPE):
            return HEAD.kind, HEAD.kind
        if key.kind == Session.kind:
            return Session.kind, "sessions"
        entry = next((entry_ for state in states if (entry_ := state.entry(key)) is not None), None)
        if isinstance(entry, Conflict):
            return entry.record_kind, entry.record_id
        id_ = str(entry.record.get("id", key.id)) if isinstance(entry, Archived) else key.id
        return ("pattern" if key.kind == Rule.kind else key.kind), id_

    def _item(self, name: tuple[str, str], paths: set[str]) -> WaitingRecord:
        draft = self.draft.on_top()
        tree = self._merge_paths(draft, paths)
        before, after = (layout.state_of(draft.folder(tree_id)) for tree_id in (self.ours_tree, tree))
        return WaitingRecord(*name, tuple(diff.diff(before, after)), frozenset(paths))

    def _merge_paths(self, draft: ObjectDraft, paths: Collection[str]) -> Oid:
        """Merge only these remote files into the local tree."""
        root = self.draft.folder(self.theirs_tree)
        others = set(layout.differing_paths(self.draft.folder(self.base), root)) - set(paths)
        base = draft.tree(self.base, {path: entry_at(root, path) for path in others})
        return merge_trees(draft, base, self.ours_tree, self.theirs_tree).tree

    def carry_out(self, chosen: _ChosenRecords, stamp: CommitStamp, confirmed: Trailers) -> ReviewResult | None:
        """Carry out a choice; None when the local branch moved meanwhile.

        Raises:
            NotAllowed: an accepted file is not allowed in a branch.
        """
        self._check(chosen.taken)
        is_plain = not (chosen.left or chosen.refused or self.decided.refused or self.decided.files or confirmed)
        refused = (*self.decided.refused, *(item.id for item in chosen.refused))
        if is_plain:
            done = self._take_all(stamp)
        elif chosen.left and not chosen.taken:
            done = self.local
        else:
            done = self._take_some(chosen, refused, stamp, confirmed)
        if done is None:
            return None
        self._remember(chosen, refused, stamp)
        ids = [tuple(item.id for item in items) for items in (chosen.taken, chosen.refused)]
        return ReviewResult(ids[0], ids[1], len(chosen.left), done)

    def _check(self, taken: Collection[WaitingRecord]) -> None:
        """Raise NotAllowed for accepted files that are links or have unsafe names."""
        faults = dict(find_unsafe_files(self.draft.folder(self.ours_tree), self.draft.folder(self.theirs_tree)))
        for item in taken:
            for path in sorted(item.paths & faults.keys()):
                raise NotAllowed(f"{path} {faults[path]}", hint=f"baton review --reject {item.id}")
        if "" in faults:
            raise NotAllowed(faults[""], hint="ask who sent it")

    def _take_all(self, stamp: CommitStamp) -> Oid | None:
        """Accept everything, as a sync without review does."""
        assert self.local is not None
        if self.store.is_ancestor(self.local, self.theirs):
            moved = self.branch.advance(self.store.draft(), self.local, self.theirs, stamp)
            return self.theirs if moved else None
        joined = create_merge_commit(self.store, self.local, self.theirs)
        return joined.commit if self.branch.advance(joined.draft, self.local, joined.commit, stamp) else None

    def _take_some(
        self, chosen: _ChosenRecords, refused: Collection[str], stamp: CommitStamp, confirmed: Trailers
    ) -> Oid | None:
        """Accept some records; once nothing is left, as a merge, so that the remote commits count as known.

        Partly accepted content is still recorded as received from the remote.
        """
        assert self.local is not None
        draft = self.draft.on_top()
        tree = self._merge_paths(draft, {path for item in chosen.taken for path in item.paths})
        parents = (self.local,) if chosen.left else (self.local, self.theirs)
        infos = [self.store.commit(parent) for parent in parents]
        ids = ", ".join(item.id for item in chosen.taken) or "nothing"
        subject = f"review: {one_line(ids, 120)} taken over"
        trailers = () if chosen.left else tuple(("Baton-Rejected", id_) for id_ in dict.fromkeys(refused))
        revision = 1 + max(revision_of(self.store, info) for info in infos)
        draft.objects.update({oid: raw for oid, raw in self.draft.objects.items() if oid not in draft.objects})
        commit = self.branch.seal(draft, tree, parents, revision, subject, stamp, (*confirmed, *trailers))
        source = next(self.branch.ledger.sources_of(self.theirs), None) if chosen.left else None
        return commit if self.branch.advance(draft, self.local, commit, stamp, source=source) else None

    def _remember(self, chosen: _ChosenRecords, refused: Collection[str], stamp: CommitStamp) -> None:
        if not chosen.left:
            self.memory.forget()
            set_ref(self.store, self.seen, self.theirs, stamp)
            return
        root = self.draft.folder(self.theirs_tree)
        paths = [path for item in (*chosen.taken, *chosen.refused) for path in item.paths]
        files: Mapping[str, Edit] = {**self.decided.files, **{path: entry_at(root, path) for path in paths}}
        self.memory.save(files, refused)
