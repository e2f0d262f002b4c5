"""Review of remote changes: a person accepts or rejects them record by record, and may stop in between.

A rejection is permanent: the files of accepted and rejected records count as part of the merge base, so a record comes
up again only if the remote changes it again. After the last decision, a merge commit or a fast-forward makes all remote
commits part of the local history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from baton_git.core import diff, layout
from baton_git.core.errors import Busy, Corrupt, NotAllowed, NotFound, Unsettled, WriteFailed
from baton_git.core.names import Namespace, Oid, parse_oid
from baton_git.core.output import one_line
from baton_git.core.state import complete_id
from baton_git.git.files import durable_files
from baton_git.git.store import Edit, Folder, ObjectDraft, TreeEntry
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import REJECTED, read_revision_number
from baton_git.namespace.file_merge import KIND, describe_modes, is_change_of_form
from baton_git.namespace.ingest.trees import find_unsafe_files
from baton_git.namespace.merge_commit import base_tree, create_merge_commit, merge_trees
from baton_git.namespace.review.subjects import find_subject
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.tracking_refs import (
    count_commits,
    encode_remote,
    is_waiting,
    list_tracked_lanes,
    set_ref,
    tracking_refs_of,
)


class ReviewDecisions(NamedTuple):
    """The decisions so far.

    Attributes:
        files: by path, the remote's files of all accepted and rejected records; None for a file that it deleted.
        rejected: the ids of the rejected records.
    """

    files: dict[str, Edit]
    rejected: tuple[str, ...]


@dataclass(frozen=True)
class ReviewState:
    """The file with the decisions about one remote's changes to one namespace."""

    path: Path

    @classmethod
    def of(cls, common_dir: Path, remote: str, namespace: Namespace) -> ReviewState:
        return cls(common_dir / "baton" / "review" / encode_remote(remote) / f"{namespace.component}.json")

    def load(self, theirs: Folder) -> ReviewDecisions:
        """Return the decisions about the tree `theirs`; empty if there is no file.

        Raises:
            Corrupt: the file cannot be read. Ignoring that would show rejected records again.
        """
        try:
            data = json.loads(self.path.read_bytes())
            files = {path: None if pair is None else TreeEntry(parse_oid(pair[0]), False, int(pair[1]))
                     for path, pair in data["files"].items()}  # fmt: skip
            # An archived record in a bundle may not exist as a blob of its own; the entry of the tree can be read.
            entries = {path: theirs.entry_at(path) for path in files}
            files = {path: entries[path] if entries[path] == entry else entry for path, entry in files.items()}
            return ReviewDecisions(dict(files), tuple(map(str, data["refused"])))
        except FileNotFoundError:
            return ReviewDecisions({}, ())
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise Corrupt(str(self.path), f"cannot be read ({error})", hint="remove it and review again") from error

    def save(self, files: Mapping[str, Edit], rejected: Collection[str]) -> None:
        """Store the decisions.

        Raises:
            WriteFailed: writing to disk failed.
        """
        entries = {
            path: [entry.oid, entry.mode] if isinstance(entry, TreeEntry) else None for path, entry in files.items()
        }
        data = json.dumps({"files": entries, "refused": list(dict.fromkeys(rejected))}, indent=1).encode()
        with durable_files.writing(f"the decisions of a review in {self.path}"):
            durable_files.make_folder(self.path.parent)
            durable_files.replace_file(self.path, data, mode=0o644)

    def forget(self) -> None:
        """Delete the file.

        Raises:
            WriteFailed: writing to disk failed.
        """
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise WriteFailed(f"{self.path}: {error.strerror}", hint="remove it by hand") from error


_ATTEMPTS = 20
"""Maximum number of attempts; an attempt fails if another writer moves the branch."""
Trailers = tuple[tuple[str, str], ...]


class WaitingRecord(NamedTuple):
    """A changed record or other file of the remote, the changes that accepting it would make, and its files."""

    kind: str
    id: str
    changes: tuple[diff.RecordChange, ...]
    paths: frozenset[str]


class ReviewQueue(NamedTuple):
    """The waiting changes up to the remote commit `theirs`, and the number of waiting commits.

    Attributes:
        withheld: why the records are without their changes; empty if they have them.
    """

    theirs: Oid
    items: tuple[WaitingRecord, ...]
    commits: int
    withheld: str = ""


class ReviewResult(NamedTuple):
    """The result of a review: the ids of accepted and rejected records, the number still waiting, the local tip, and
    what became of changed modes of record files, described for people."""

    accepted: tuple[str, ...]
    rejected: tuple[str, ...]
    remaining: int
    commit: Oid | None
    notes: tuple[str, ...] = ()


def load_review_queue(branch: Branch, remote: str) -> ReviewQueue | None:
    """Return the waiting changes; None if there are none.

    Raises:
        Corrupt: a commit, a tree or the file with earlier decisions cannot be read.
    """
    if not is_waiting(branch, remote):
        return None
    return _Review(branch, remote).build_queue()


def count_waiting_records(branch: Branch, remote: str) -> int:
    """Return how many records wait, without merging them as `load_review_queue` does.

    Raises:
        Corrupt: a commit, a tree or the file with earlier decisions cannot be read.
    """
    return _Review(branch, remote).count() if is_waiting(branch, remote) else 0


class ReviewChoice(NamedTuple):
    """The records to accept and those to reject.

    Attributes:
        accept, reject: ids, or unique prefixes of ids, of the records to accept and to reject. At most one of the two
            may be None, which stands for all records that the other does not name.
        shown: the remote commit that the person has seen; None to skip the check for newer commits.
    """

    accept: Collection[str] | None
    reject: Collection[str] | None
    shown: Oid | None = None


def resolve_review(
    branch: Branch, remote: str, stamp: CommitStamp, choice: ReviewChoice, *,
    check: Callable[[WaitingRecord], None] = lambda item: None, confirmed: Trailers = (),
) -> ReviewResult:  # fmt: skip
    """Accept and reject waiting records.

    Args:
        check: called with each record to accept, before anything is written; it may raise an error to stop the review.
        confirmed: the trailers for confirmations by a person.

    Raises:
        NotFound: nothing waits, or no waiting record has a given id.
        Ambiguous: several waiting records have ids that begin with a given text.
        Unsettled: newer commits were fetched than the person has seen.
        NotAllowed: an accepted file is not allowed in a namespace, or too many files changed.
        Busy: other writers moved the branch at every attempt.
        Corrupt, WriteFailed: under the same conditions as `Store.publish`.
    """
    for _ in range(_ATTEMPTS):
        review = _Review(branch, remote)
        if choice.shown not in (None, review.theirs):
            raise Unsettled(f"newer changes of {remote} were fetched meanwhile", hint="look at them: baton review")
        chosen = _resolve_choice(review.build_queue().items, choice)
        for item in chosen.accepted:
            check(item)
        if review.local is None:
            branch.create(stamp)
            continue
        result = review.carry_out(chosen, stamp, confirmed)
        if result is not None:
            return result
    raise Busy(f"{branch.namespace}: others kept writing here", hint="try again")


class _ChosenRecords(NamedTuple):
    accepted: tuple[WaitingRecord, ...]
    rejected: tuple[WaitingRecord, ...]
    remaining: tuple[WaitingRecord, ...]


def _resolve_choice(items: tuple[WaitingRecord, ...], choice: ReviewChoice) -> _ChosenRecords:
    named = (choice.accept, choice.reject)
    accept, reject = (None if ids is None else [_complete_id(items, id_) for id_ in ids] for ids in named)
    rejected = [item for item in items if (item.id not in (accept or ()) if reject is None else item.id in reject)]
    accepted = [item for item in items if item not in rejected and (accept is None or item.id in accept)]
    remaining = [item for item in items if item not in accepted and item not in rejected]
    return _ChosenRecords(tuple(accepted), tuple(rejected), tuple(remaining))


def _complete_id(items: tuple[WaitingRecord, ...], text: str) -> str:
    """Return the id of the waiting record with the id or unique prefix `text`.

    Raises:
        NotFound, Ambiguous: no waiting record has such an id, or several have.
    """
    ids = {item.id for item in items}
    id_ = text if text in ids else complete_id(ids, text, "waiting record")
    if id_ is None:
        raise NotFound("waiting record", text, hint="to list the waiting records: baton review")
    return id_


class _Review:
    """The state of a review at the current tip of the local branch.

    Raises:
        NotFound: no commits of the remote wait.
        Corrupt: a commit, a tree or the file with earlier decisions cannot be read.
    """

    def __init__(self, branch: Branch, remote: str) -> None:
        store = branch.store
        theirs, self.local = store.tip(tracking_refs_of(branch, remote).incoming), branch.tip()
        if theirs is None or not is_waiting(branch, remote):
            raise NotFound("waiting change", remote, hint="to fetch new changes: baton sync")
        self.branch, self.store, self.theirs = branch, store, theirs
        self.seen = tracking_refs_of(branch, remote).seen
        self.has_lanes = bool(list_tracked_lanes(branch, remote))
        self.memory = ReviewState.of(store.repository.common_dir, remote, branch.namespace)
        self.draft = store.draft()
        self.ours_tree = store.commit(self.local).tree if self.local else self.draft.tree(None, layout.ROOT_FILES)
        self.theirs_tree = store.commit(theirs).tree
        base = base_tree(store, self.draft, self.local, theirs) if self.local else self.ours_tree
        self.decided = self.memory.load(self.draft.folder(self.theirs_tree))
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
        differing = set(layout.differing_paths(roots[0], roots[1]))
        for path in differing:
            # A file and the folder in whose place it is are decided together, because no tree can have both.
            above = (path[: match.start()] for match in re.finditer("/", path))
            subject = find_subject(next((name for name in above if name in differing), path), states)
            if not is_change_of_form(path, self.draft.folder(self.ours_tree), roots[1]):
                groups.setdefault(subject, set()).add(path)
        return groups

    def build_queue(self) -> ReviewQueue:
        items = [self._make_item(name, paths) for name, paths in sorted(self._group_paths().items())]
        shown = tuple(item for item in items if item.changes or item.kind == KIND)
        return ReviewQueue(self.theirs, shown, count_commits(self.store, self.theirs, self.local))

    def _make_item(self, name: tuple[str, str], paths: set[str]) -> WaitingRecord:
        draft = self.draft.on_top()
        tree = self._merge_paths(draft, paths)
        before, after = (layout.state_of(draft.folder(tree_id)) for tree_id in (self.ours_tree, tree))
        return WaitingRecord(*name, tuple(diff.diff(before, after)), frozenset(paths))

    def _merge_paths(self, draft: ObjectDraft, paths: Collection[str]) -> Oid:
        """Merge only these remote files into the local tree."""
        root = self.draft.folder(self.theirs_tree)
        others = set(layout.differing_paths(self.draft.folder(self.base), root)) - set(paths)
        base = draft.tree(self.base, {path: root.entry_at(path) for path in others})
        return merge_trees(draft, base, self.ours_tree, self.theirs_tree).tree

    def carry_out(self, chosen: _ChosenRecords, stamp: CommitStamp, confirmed: Trailers) -> ReviewResult | None:
        """Carry out a choice; return None if another writer moved the local branch.

        Raises:
            NotAllowed: an accepted file is not allowed in a namespace, or too many files changed.
        """
        self._check(chosen.accepted)
        is_plain = not (chosen.remaining or chosen.rejected or self.decided.rejected or self.decided.files or confirmed)
        rejected = (*self.decided.rejected, *(item.id for item in chosen.rejected))
        if is_plain:
            new_tip = self._accept_all(stamp)
        elif chosen.remaining and not chosen.accepted:
            new_tip = self.local
        else:
            new_tip = self._accept_some(chosen, rejected, stamp, confirmed)
        if new_tip is None:
            return None
        self._remember_choice(chosen, rejected, stamp)
        ids = [tuple(item.id for item in items) for items in (chosen.accepted, chosen.rejected)]
        notes = self._describe_modes(chosen, new_tip)
        return ReviewResult(ids[0], ids[1], len(chosen.remaining), new_tip, notes)

    def _describe_modes(self, chosen: _ChosenRecords, new_tip: Oid) -> tuple[str, ...]:
        """Describe what became of the changed modes of the accepted files; with the last decision, of all others, too,
        because files of which only the mode changed never wait."""
        accepted, rejected = (
            {path for item in items for path in item.paths} for items in (chosen.accepted, chosen.rejected)
        )
        after = self.store.folder(self.store.commit(new_tip).tree)
        base, *sides = (self.draft.folder(tree) for tree in (self.base, self.ours_tree, self.theirs_tree))
        is_last = not chosen.remaining
        return describe_modes(
            base, sides, after, is_meant=lambda path: path in accepted or (is_last and path not in rejected)
        )

    def _check(self, accepted: Collection[WaitingRecord]) -> None:
        """Raise NotAllowed if an accepted file is unsafe (`find_unsafe_files`)."""
        base, ours, theirs = (self.draft.folder(tree) for tree in (self.base, self.ours_tree, self.theirs_tree))
        faults = dict(find_unsafe_files(ours, theirs, base=base))
        for item in accepted:
            for path in sorted(item.paths & faults.keys()):
                raise NotAllowed(f"{path} {faults[path]}", hint=f"baton review --reject {item.id}")

    def _accept_all(self, stamp: CommitStamp) -> Oid | None:
        """Accept everything, like a sync without review; return the new tip, or None if the branch has moved."""
        assert self.local is not None
        if self.store.is_ancestor(self.local, self.theirs):
            moved = self.branch.advance(self.store.draft(), self.local, self.theirs, stamp, by="caller")
            return self.theirs if moved else None
        joined = create_merge_commit(self.store, self.local, self.theirs)
        moved = self.branch.advance(joined.draft, self.local, joined.commit, stamp, by="caller")
        return joined.commit if moved else None

    def _accept_some(
        self, chosen: _ChosenRecords, rejected: Collection[str], stamp: CommitStamp, confirmed: Trailers
    ) -> Oid | None:
        """Accept some records; return the new tip, or None if the branch has moved.

        If no records are left, the new commit is a merge commit, so that the remote commits become part of the history.
        Otherwise the ledger records the new commit as received from the remote.
        """
        assert self.local is not None
        draft = self.draft.on_top()
        tree = self._merge_paths(draft, {path for item in chosen.accepted for path in item.paths})
        # While records wait, the remote's commits are no part of the history: a merge would accept them all.
        parents = (self.local,) if chosen.remaining else (self.local, self.theirs)
        infos = [self.store.commit(parent) for parent in parents]
        ids = ", ".join(item.id for item in chosen.accepted) or "nothing"
        subject = f"review: {one_line(ids, 120)} accepted"
        trailers = () if chosen.remaining else tuple((REJECTED, id_) for id_ in dict.fromkeys(rejected))
        revision = 1 + max(read_revision_number(self.store, info) for info in infos)
        draft.objects.update({oid: raw for oid, raw in self.draft.objects.items() if oid not in draft.objects})
        commit = self.branch.draft_commit(draft, tree, parents, revision, subject, stamp, (*confirmed, *trailers))
        # The text is the remote's although the commit is made here, so it must not count as written on this machine.
        source = next(self.branch.ledger.sources_of(self.theirs), None) if chosen.remaining else None
        moved = self.branch.advance(draft, self.local, commit, stamp, by="caller", source=source)
        return commit if moved else None

    def _remember_choice(self, chosen: _ChosenRecords, rejected: Collection[str], stamp: CommitStamp) -> None:
        """Store the decisions. If no records are left, forget the decisions and advance the tracking ref instead."""
        if not chosen.remaining:
            self.memory.forget()
            if not self.has_lanes:  # with lanes, the remote's branch is behind `theirs`; the sync has noted its tip
                set_ref(self.store, self.seen, self.theirs, stamp)
            return
        root = self.draft.folder(self.theirs_tree)
        paths = [path for item in (*chosen.accepted, *chosen.rejected) for path in item.paths]
        files: Mapping[str, Edit] = {**self.decided.files, **{path: root.entry_at(path) for path in paths}}
        self.memory.save(files, rejected)
