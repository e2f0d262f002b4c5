"""Commits made by hand that restore an older revision without saying so: usually an accident.

When baton moves a branch that a work tree has checked out, the files there become outdated, and `git commit -a` commits
the outdated files: what was written in between is gone from the newest revision, although nobody meant it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise, takewhile
from typing import NamedTuple

from baton_git.core import layout
from baton_git.core.errors import NewerLayout
from baton_git.core.names import Oid
from baton_git.core.state import Unreadable
from baton_git.git.store import CommitInfo, Folder
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry, find_undone, load_entry

DEPTH = 500
"""Maximum number of older revisions that are searched for the one that a hand-made commit restores."""
RECENT = 50
"""Number of revisions among which a silent revert is told, until it is undone or was sent to a remote."""
_OP = "\nBaton-Op: "
"""Every commit that baton makes has this in its message; one made by hand may have it, too."""
_SENT = "refs/baton-remotes/"


class Revert(NamedTuple):
    """A commit made by hand that took changes back.

    Attributes:
        commit: that commit.
        older: the revision that it restores, or, for the records of the lost ones, the revision before them.
        lost: the revisions before the commit of which it took all changes back beside changes of its own, newest first;
            empty if it restores `older` as a whole.
        records: the ids of the records that these had changed.
    """

    commit: Oid
    older: LogEntry
    lost: tuple[LogEntry, ...] = ()
    records: tuple[str, ...] = ()


def find_recent_reverts(branch: Branch, tip: Oid | None) -> list[Revert]:
    """Return the silent reverts among the newest revisions, newest first.

    One that is on a remote was shown to a person at the sync that sent it, or was accepted from there.

    Raises:
        Corrupt: a commit or a tree cannot be read.
    """
    if tip is None:
        return []
    infos = list(islice(branch.store.log(tip, first_parent=True), RECENT))
    if all(_OP in info.message for info in infos):
        return []
    restoring = find_reverts(branch, tip, infos)
    found = [Revert(commit, older) for commit, older in restoring.items()]
    found += _find_lost_writes(branch, tip, [info for info in infos if info.oid not in restoring])
    refs = branch.store.refs(_SENT)
    sent = [oid for ref, oid in refs.items() if ref.endswith(f"/{branch.namespace.component}")]
    return [
        revert
        for revert in found
        if not any(branch.store.is_stored(oid) and branch.store.is_ancestor(revert.commit, oid) for oid in sent)
    ]


def find_reverts(branch: Branch, tip: Oid, infos: Sequence[CommitInfo]) -> dict[Oid, LogEntry]:
    """Return the hand-made ones of these commits, newest first, that silently revert others, each with the older
    revision that it restores.

    Commits that were undone, commits whose changes are no longer in effect, and commits that only revert other silent
    reverts are left out.
    """
    if all(_OP in info.message for info in infos):
        return {}
    entries = [load_entry(branch.store, info) for info in infos]
    undone = find_undone(entries)
    by_hand = [entry.commit for entry in entries if not entry.op and entry.commit not in undone]
    reverts = {commit: older for commit in by_hand if (older := _find_restored(branch, commit)) is not None}
    harmful = {commit: older for commit, older in reverts.items() if not _reverts_only(branch, commit, older, reverts)}
    return {commit: older for commit, older in harmful.items() if _is_in_effect(branch, commit, tip)}


def _find_lost_writes(branch: Branch, tip: Oid, infos: Sequence[CommitInfo]) -> Iterator[Revert]:
    """Yield the hand-made commits that took back all changes of the write before, beside changes of their own.

    `git commit -a` does that after an edit in a work tree with outdated files. A sync does not stop for them, because
    somebody who removes records by hand may well remove the newest one among others.
    """
    entries = [load_entry(branch.store, info) for info in infos]
    undone = find_undone(entries)
    for entry in entries:
        if entry.op or len(entry.parents) != 1 or entry.commit in undone or _names_revert(branch, entry):
            continue
        behind = list(islice(branch.history(entry.parents[0], first_parent=True), RECENT))
        lost: list[LogEntry] = []
        paths: set[str] = set()
        new, now = (branch.store.folder(tree) for tree in (entry.tree, branch.store.commit(tip).tree))
        for write, older in pairwise(behind):
            old = branch.store.folder(older.tree)
            written = set(layout.differing_paths(old, branch.store.folder(write.tree)))
            if not write.op or len(write.parents) != 1 or not _has_same(old, new, written, all):
                break
            lost.append(write)
            paths |= written
        if lost and _has_same(new, now, paths, any):
            ids = {key.id for path in paths if (key := layout.key_at(path)) is not None}
            yield Revert(entry.commit, branch.load_entry(lost[-1].parents[0]), tuple(lost), tuple(sorted(ids)))


def _has_same(ours: Folder, theirs: Folder, paths: Collection[str], quantify: Callable[[Iterable[bool]], bool]) -> bool:
    """Return whether all or any of the paths have the same content in two trees."""
    return quantify(ours.entry_at(path) == theirs.entry_at(path) for path in paths)


def _find_restored(branch: Branch, commit: Oid) -> LogEntry | None:
    """Return the older revision whose files a hand-made commit restores silently; None if there is none.

    A commit does not restore silently if its message names the reverted commit, like the message of `git revert`, or if
    all that it changes was bad before.
    """
    first, *before = islice(branch.history(commit, first_parent=True), DEPTH)
    older = next((entry for entry in before[1:] if entry.tree == first.tree), None)
    if older is None or _names_revert(branch, first) or _repairs(branch, before[0], first):
        return None
    return older


def _names_revert(branch: Branch, entry: LogEntry) -> bool:
    """Return whether the commit's message names an ancestor that it reverts, like the message of `git revert`."""
    behind = islice(branch.history(entry.commit), 1, DEPTH) if entry.reverts else ()
    return any(older.commit.startswith(entry.reverts) for older in behind)


def _repairs(branch: Branch, before: LogEntry, after: LogEntry) -> bool:
    """Return whether all that a commit changes was bad before: unreadable records, and the files of the root commit
    without what they need."""
    try:
        bad = branch.past_revision_at(before.commit)
    except NewerLayout:
        return False  # whoever restores an older tree there may revert what a newer baton wrote
    ours, theirs = (branch.store.folder(entry.tree) for entry in (before, after))
    bad_files = {layout.FORMAT_FILE} if bad.fault is not None else set()
    if layout.lacks_attributes(ours):
        bad_files.add(layout.ATTRIBUTES_FILE)
    keys = [layout.key_at(path) for path in layout.differing_paths(ours, theirs) if path not in bad_files]
    return all(key is not None and isinstance(bad.state.entry(key), Unreadable) for key in keys)


def _reverts_only(branch: Branch, commit: Oid, older: LogEntry, silent_reverts: Collection[Oid]) -> bool:
    """Return whether all commits that a commit reverts, which are those after `older`, are silent reverts."""
    before = islice(branch.history(commit, first_parent=True), 1, None)
    return all(
        entry.commit in silent_reverts for entry in takewhile(lambda entry: entry.commit != older.commit, before)
    )


def _is_in_effect(branch: Branch, commit: Oid, tip: Oid) -> bool:
    """Return whether any change of a commit is still in effect at the tip; also True if that is unknown."""
    from baton_git.core.merge import apply, decide  # only here: a start without such a commit does not need the merge

    infos = [branch.store.commit(commit_id) for commit_id in (branch.store.commit(commit).parents[0], commit, tip)]
    try:
        before, after, now = (branch.past_revision_at(info.oid).state for info in infos)
    except NewerLayout:
        return True
    if apply(now, decide(after, now, before, prefer="ours"), record_conflicts=False) is not now:
        return True
    roots = [branch.store.folder(info.tree) for info in infos]
    paths = [path for path in layout.differing_paths(roots[0], roots[1]) if layout.key_at(path) is None]
    return any(roots[1].entry_at(path) == roots[2].entry_at(path) for path in paths)
