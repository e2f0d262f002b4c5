"""The record to which a changed file belongs, and the changes of this machine that a review elsewhere rejected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from baton_git.core import layout
from baton_git.core.names import Oid
from baton_git.core.output import count_noun, one_line
from baton_git.core.records.base import Archived
from baton_git.core.records.conflict import Conflict
from baton_git.core.records.lineage import Session
from baton_git.core.records.work_items import Rule
from baton_git.core.state import HEAD, SHAPE, State
from baton_git.git.store import CommitInfo
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry, load_entry
from baton_git.namespace.file_merge import KIND

# --- the record under which a changed file is reviewed


def find_subject(path: str, states: Sequence[State]) -> tuple[str, str]:
    """Return the kind and the id of the record under which a file is reviewed; for a rule, those of its pattern.

    Args:
        states: the states that may have the file, in the order in which they are searched.
    """
    key = layout.key_at(path)
    if key is None:
        return KIND, path
    if key in (HEAD, SHAPE):
        return HEAD.kind, HEAD.kind
    if key.kind == Session.kind:
        return Session.kind, "sessions"
    entries = (state.entry(key) for state in states)
    entry = next((entry for entry in entries if entry is not None), None)
    if isinstance(entry, Conflict):
        return entry.record_kind, entry.record_id
    id_ = str(entry.record.get("id", key.id)) if isinstance(entry, Archived) else key.id
    return ("pattern" if key.kind == Rule.kind else key.kind), id_


# --- the changes of this machine that somebody rejected in a review on another machine


_MAX_COMMITS = 1000
"""Maximum number of commits among which rejections are sought."""
_NAMED = 5
"""Maximum number of ids that a description names."""


class RejectedChanges(NamedTuple):
    """A review commit, and the ids of the records of which it rejected changes that were made on this machine."""

    review: LogEntry
    ids: tuple[str, ...]

    def describe(self) -> str:
        """Return one line: how many changes, who rejected them according to the commit, and how to see them."""
        by = one_line(self.review.author.partition(" <")[0], 60) or "an unnamed author"
        named = ", ".join(self.ids[:_NAMED]) + (", …" if len(self.ids) > _NAMED else "")
        is_single = len(self.ids) == 1
        pronoun, verb = ("it", "was") if is_single else ("them", "were")
        reviewed, review = self.review.parents[1], self.review.commit
        return (
            f"{count_noun(len(self.ids), 'change')} made here {verb} rejected in a review by {by}: {named} "
            f"(baton log --record {self.ids[0]} and baton diff {reviewed[:10]} {review[:10]} show {pronoun})"
        )


def find_rejected_changes(branch: Branch, before: Oid, after: Oid) -> list[RejectedChanges]:
    """Return the reviews among the commits that `after` adds to `before` which rejected changes of this machine.

    The trailers of a commit from elsewhere may name any id. An id counts only if a commit of this machine that the
    review was about changed the record, and the review's state of the record differs from the reviewed one.

    Raises:
        Corrupt: a commit or a tree cannot be read.
    """
    reviews = (load_entry(branch.store, info) for info in islice(branch.store.only_in(after, before), _MAX_COMMITS))
    rejections = (
        RejectedChanges(review, _list_rejected(branch, review))
        for review in reviews
        if len(review.parents) == 2 and review.rejected_ids() and not branch.ledger.is_made_here(review.commit)
    )
    return [rejected for rejected in rejections if rejected.ids]


def _list_rejected(branch: Branch, review: LogEntry) -> tuple[str, ...]:
    ours, theirs = review.parents
    undone = set(_list_changed(branch, theirs, review.commit))
    claimed = undone.intersection(review.rejected_ids())
    if not claimed:
        return ()
    reviewed = islice(branch.store.only_in(theirs, ours), _MAX_COMMITS)
    own = [info for info in reviewed if len(info.parents) < 2 and branch.ledger.is_made_here(info.oid)]
    changed = {id_ for info in own for id_ in _list_changed_by(branch, info)}
    return tuple(sorted(claimed & changed))


def _list_changed_by(branch: Branch, info: CommitInfo) -> Iterator[str]:
    return _list_changed(branch, info.parents[0], info.oid) if info.parents else iter(())


def _list_changed(branch: Branch, before: Oid, after: Oid) -> Iterator[str]:
    """Yield the ids of the records under which the differing files of two commits are reviewed."""
    roots = [branch.store.folder(branch.store.commit(commit).tree) for commit in (after, before)]
    states = [layout.records_of(root) for root in roots]
    for path in layout.differing_paths(roots[0], roots[1]):
        yield find_subject(path, states)[1]
