"""Looking back: what changed, when, and by whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from baton_git.core import diff
from baton_git.core.errors import NotFound
from baton_git.core.kinds import KINDS
from baton_git.core.layout import path_of
from baton_git.core.names import Oid
from baton_git.core.natural_times import parse_moment
from baton_git.core.state import Key, State, complete_id
from baton_git.git.store import TreeEntry
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.operations import Operation, list_operations


class Shown(NamedTuple):
    """One commit and what it changed. `is_undone`: of an operation, whether a later one took it back."""

    entry: LogEntry
    changes: tuple[diff.RecordChange, ...]
    is_undone: bool = False


SKEW = timedelta(days=7)
"""How far a commit's clock may be behind those of older commits for `log --since` to find these."""


class Filter(NamedTuple):
    """Which commits a log shows; what is None does not matter."""

    record: str | None = None
    session: str | None = None
    agent: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: str | None = None
    """A commit: only what stands after it in the log."""
    ops: bool = False
    """Only operations: not what was saved or merged without anybody asking."""


def read_log(
    ws: Workspace, wanted: Filter | None = None, limit: int | None = None, *, skip: int = 0, at: Revision | None = None
) -> Iterator[Shown]:
    """The commits that pass the filter, newest first and without the first `skip`, with what each changed.

    Of a record that the filter names, only its own changes.

    Args:
        at: the version whose history it is; None: the newest.
    """
    wanted = wanted or Filter()
    paths = _paths_of(wanted.record) if wanted.record is not None else []
    tip = (at or ws.branch.read()).commit
    if tip is None:
        return
    count = 0
    log = ws.branch.log(tip)
    operations = list_operations(ws, log) if wanted.ops else (Operation(entry, is_undone=False) for entry in log)
    for entry, is_undone in _standing_after(operations, wanted.after):
        if wanted.since is not None and entry.time < wanted.since:
            if entry.time < wanted.since - SKEW:
                return
            continue
        if not _matches(entry, wanted) or (paths and not _touches(ws, entry, paths)):
            continue
        count += 1
        if count <= skip:
            continue
        changes = changes_of(ws, entry)
        yield Shown(entry, tuple(_select_changes(changes, wanted.record)), is_undone)
        if limit is not None and count >= skip + limit:
            return


def _select_changes(changes: Iterable[diff.RecordChange], record: str | None) -> Iterator[diff.RecordChange]:
    return (change for change in changes if record is None or change.id == record)


def _standing_after(operations: Iterator[Operation], commit: str | None) -> Iterator[Operation]:
    """The operations that stand after a commit; all of them where none is named."""
    if commit is not None and all(operation.entry.commit != commit for operation in operations):
        raise NotFound("commit", commit, hint="to list the commits: baton log")
    return operations


def moment(text: str | None, *, end: bool = False) -> datetime | None:
    """An ISO date or time that somebody wrote; of a date its beginning or its end.

    Raises:
        InvalidArgument: it is none.
    """
    return None if text is None else parse_moment(text, end_of_day=end)


def _matches(entry: LogEntry, wanted: Filter) -> bool:
    return (
        (wanted.session is None or entry.session == wanted.session)
        and (wanted.agent is None or entry.agent == wanted.agent)
        and (wanted.until is None or entry.time <= wanted.until)
    )


def _paths_of(record: str) -> list[str]:
    """Where a record of this id may stand, of whatever kind, live or closed."""
    return [path_of(Key(kind, record, archived)) for kind in KINDS for archived in (False, True)]


def _touches(ws: Workspace, entry: LogEntry, paths: Sequence[str]) -> bool:
    """Whether one of the files is not the same in the commit and in its first parent."""
    before = files_at(ws, ws.branch.store.commit(entry.parents[0]).tree, paths) if entry.parents else {}
    return files_at(ws, entry.tree, paths) != before


def files_at(ws: Workspace, tree: Oid, paths: Sequence[str]) -> dict[str, TreeEntry]:
    """By path, the files of a tree among `paths`."""
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
    """The id that `text` is, or that alone begins so among the live records; else `text`, for what history may have.

    Raises:
        Ambiguous: several begin so.
    """
    state = ws.branch.read().state
    ids = {id_ for kind in KINDS for id_ in state.ids(kind)}
    if text in ids or any(state.entry(Key(kind, text, archived=True)) is not None for kind in KINDS):
        return text
    return complete_id(ids, text, "record") or text


def changes_of(ws: Workspace, entry: LogEntry) -> list[diff.RecordChange]:
    """What a commit changed, compared with its first parent."""
    before = ws.branch.revision_at(entry.parents[0]).state if entry.parents else State()
    return diff.diff(before, ws.branch.revision_at(entry.commit).state)


def read_commit(ws: Workspace, revision: str) -> Shown:
    """The commit that `revision` names (as in `Branch.resolve`), with what it changed."""
    entry = ws.branch.shown_entry(ws.branch.resolve(revision))
    return Shown(entry, tuple(changes_of(ws, entry)))


class Compared(NamedTuple):
    before: Revision
    after: Revision
    changes: tuple[diff.RecordChange, ...]


def compare(ws: Workspace, a: str, b: str | None = None) -> Compared:
    """What leads from one version to another, the newest one when `b` is None."""
    before, after = ws.branch.read(a), ws.branch.read(b)
    return Compared(before, after, tuple(diff.diff(before.state, after.state)))
