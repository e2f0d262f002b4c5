"""Read the history: which records changed, when, and by whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from baton_git.core import diff
from baton_git.core.errors import Corrupt, NotFound
from baton_git.core.kinds import KINDS
from baton_git.core.layout import path_of
from baton_git.core.names import Oid
from baton_git.core.sessions import is_named
from baton_git.core.state import Key, State, complete_id
from baton_git.core.times import parse_moment, shift
from baton_git.git.store import TreeEntry
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.operations import Operation, list_operations


class Shown(NamedTuple):
    """One commit and its changes.

    Attributes:
        is_undone: whether a later commit undid it; only set when operations are listed.
        unreadable: why the changes, or the `format.toml` of the commit, cannot be read; empty if they can.
    """

    entry: LogEntry
    changes: tuple[diff.RecordChange, ...]
    is_undone: bool = False
    unreadable: str = ""


SKEW = timedelta(days=7)
"""`log --since` stops at a commit that is older than the given time by more than this.

It does not stop at the first older commit, because the clocks of machines differ.
"""


class Filter(NamedTuple):
    """The commits that a log shows. A field that is None does not restrict them."""

    record: str | None = None
    session: str | None = None
    agent: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: str | None = None
    """A commit id: show only the commits that follow it in the log."""
    ops: bool = False
    """Show only operations, without automatic commits."""


def read_log(
    ws: Workspace, wanted: Filter | None = None, limit: int | None = None, *, skip: int = 0, at: Revision | None = None
) -> Iterator[Shown]:
    """Yield the commits that pass the filter, newest first, with their changes.

    If the filter names a record, only the commits that changed it and the reviews that rejected one of its changes are
    yielded, without the changes of other records.

    Args:
        limit: maximum number of commits.
        skip: number of matching commits to leave out first.
        at: the revision to begin with; None for the newest.

    Raises:
        NotFound: the history does not have the commit `wanted.after`.
    """
    wanted = wanted or Filter()
    paths = _paths_of(wanted.record) if wanted.record is not None else []
    tip = (at or ws.branch.read()).commit
    if tip is None:
        return
    count = 0
    log = ws.branch.log(tip)
    operations = list_operations(ws, log) if wanted.ops else (Operation(entry, is_undone=False) for entry in log)
    for entry, is_undone in _skip_to(operations, wanted.after):
        if wanted.since is not None and entry.time < wanted.since:
            if entry.time < shift(wanted.since, -SKEW):
                return
            continue
        if not _matches(entry, wanted) or (paths and not _is_about(ws, entry, wanted.record, paths)):
            continue
        count += 1
        if count <= skip:
            continue
        changes, unreadable = read_changes(ws, entry)
        yield Shown(entry, tuple(_select_changes(changes, wanted.record)), is_undone, unreadable)
        if limit is not None and count >= skip + limit:
            return


def _select_changes(changes: Iterable[diff.RecordChange], record: str | None) -> Iterator[diff.RecordChange]:
    return (change for change in changes if record is None or change.id == record)


def _skip_to(operations: Iterator[Operation], commit: str | None) -> Iterator[Operation]:
    """Skip the operations up to and including `commit`; skip none if it is None."""
    if commit is not None and all(operation.entry.commit != commit for operation in operations):
        raise NotFound("commit", commit, hint="to list the commits: baton log")
    return operations


def parse_optional_moment(text: str | None, *, end: bool = False) -> datetime | None:
    """Parse a date or time that a user entered; return None for None.

    A date without a time means the beginning of that day, or with `end` its end.

    Raises:
        InvalidArgument: `text` is not a date or time.
    """
    return None if text is None else parse_moment(text, end_of_day=end)


def _matches(entry: LogEntry, wanted: Filter) -> bool:
    return (
        (wanted.session is None or is_named(entry.session, wanted.session))
        and (wanted.agent is None or entry.agent == wanted.agent)
        and (wanted.until is None or entry.time <= wanted.until)
    )


def _paths_of(record: str) -> list[str]:
    """Return the possible paths of a record with this id: of each kind, live and archived."""
    return [path_of(Key(kind, record, archived)) for kind in KINDS for archived in (False, True)]


def _is_about(ws: Workspace, entry: LogEntry, record: str | None, paths: Sequence[str]) -> bool:
    """Return whether a commit changed a record, or is a review that rejected a change of the record."""
    return record in entry.rejected_ids() or _touches(ws, entry, paths)


def _touches(ws: Workspace, entry: LogEntry, paths: Sequence[str]) -> bool:
    """Return whether one of the files differs between the commit and its first parent, or may do so: a tree cannot be
    read."""
    if ws.branch.store.is_cut(entry.commit):
        return False
    try:
        before = files_at(ws, ws.branch.store.commit(entry.parents[0]).tree, paths) if entry.parents else {}
        return files_at(ws, entry.tree, paths) != before
    except Corrupt:
        return True


def files_at(ws: Workspace, tree: Oid, paths: Sequence[str]) -> dict[str, TreeEntry]:
    """Return by path those of `paths` that are files in a tree."""
    root = ws.branch.store.folder(tree)
    files = {}
    for path in paths:
        *folders, name = path.split("/")
        folder = root
        for folder_name in folders:
            folder = folder.folder(folder_name)
        item = folder.entries().get(name)
        if item is not None and not item.is_folder:
            files[path] = item
    return files


def full_id(ws: Workspace, text: str) -> str:
    """Complete a unique prefix of a live record's id, or else of an archived one's.

    Other texts are returned unchanged, because the history may have a record with that id.

    Raises:
        Ambiguous: several records have ids that begin with `text`.
    """
    state = ws.branch.read().state
    ids = {id_ for kind in KINDS for id_ in state.ids(kind)}
    if text in ids or any(state.entry(Key(kind, text, archived=True)) is not None for kind in KINDS):
        return text
    closed = (id_ for kind in KINDS for id_ in state.ids(kind, archived=True))
    return complete_id(ids, text, "record") or complete_id(set(closed), text, "record") or text


def read_changes(ws: Workspace, entry: LogEntry) -> tuple[list[diff.RecordChange], str]:
    """Return the changes of a commit against its first parent, and why they or its `format.toml` cannot be read.

    There are no changes if the parent is beyond the boundary of the history. One old commit that cannot be read does
    not hide the others: it is told as that.
    """
    branch = ws.branch
    if branch.store.is_cut(entry.commit):
        return [], ""  # else each record would seem to be new, and to be made by whoever made this commit
    try:
        after = branch.past_revision_at(entry.commit)
        before = branch.past_revision_at(entry.parents[0]).state if entry.parents else State()
        return diff.diff(before, after.state), "" if after.fault is None else str(after.fault)
    except Corrupt as error:
        return [], str(error)


def read_commit(ws: Workspace, revision: str) -> Shown:
    """Return the commit that `revision` names (see `Branch.resolve`) with its changes."""
    entry = ws.branch.load_shown_entry(ws.branch.resolve(revision))
    changes, unreadable = read_changes(ws, entry)
    return Shown(entry, tuple(changes), unreadable=unreadable)


class Compared(NamedTuple):
    before: Revision
    after: Revision
    changes: tuple[diff.RecordChange, ...]


def compare(ws: Workspace, a: str, b: str | None = None) -> Compared:
    """Compare two revisions; `b` is the newest one if it is None."""
    before, after = ws.branch.read(a), ws.branch.read(b)
    return Compared(before, after, tuple(diff.diff(before.state, after.state)))
