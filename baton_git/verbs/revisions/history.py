"""Read the history: which records changed, when, and by whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from baton_git.core import diff, layout
from baton_git.core.errors import Corrupt, NotAllowed, NotFound
from baton_git.core.kinds import KINDS
from baton_git.core.layout import path_of
from baton_git.core.names import Oid
from baton_git.core.records.lineage import Session
from baton_git.core.sessions import SessionNames, is_named
from baton_git.core.state import Key, State, Unreadable, complete_id
from baton_git.core.times import parse_moment, shift
from baton_git.git.store import TreeEntry
from baton_git.namespace.commit_log import LogEntry, UndoneCommits
from baton_git.namespace.folding import FOLD
from baton_git.namespace.revision import Revision
from baton_git.namespace.workspace import Workspace

UNDO, REDO = "undo", "redo"
"""The verbs of commits that undo an operation, and that reapply an undone one."""
AUTOMATIC = frozenset({"boot", FOLD, "handoff-extract", "merge", "root"})
"""The verbs of automatic commits."""
WRAP = "wrap"
"""The verb of the commit that ends a session."""
ENDING = frozenset({WRAP, UNDO, REDO})
"""The verbs of the commits whose undo also restores the records of sessions."""

SEARCHED = 1000
"""Number of newest operations that `find_redoable` searches for an undo, so that its error can name that undo."""


class Operation(NamedTuple):
    """One operation. `is_undone`: a later commit undid it and is not undone itself."""

    entry: LogEntry
    is_undone: bool


def list_operations(
    ws: Workspace, newest_first: Iterable[LogEntry], wanted: Callable[[LogEntry], bool] = lambda entry: True
) -> Iterator[Operation]:
    """Yield the operations among these commits, newest first.

    Args:
        newest_first: the commits of a history, beginning with its tip.
        wanted: selects commits by their metadata. It is called before the changes of a commit are read, which is slow.
    """
    undone = UndoneCommits()
    sides: set[Oid] = set()
    for entry in newest_first:
        is_undone = undone.add_from(entry)
        if entry.op not in ("", "merge"):
            sides.update(entry.parents[1:])  # a verb's own commits, which it merged with concurrent ones
        if entry.commit not in sides and wanted(entry) and _is_operation(ws, entry):
            yield Operation(entry, is_undone)


def _is_operation(ws: Workspace, entry: LogEntry) -> bool:
    if not entry.parents or entry.op in AUTOMATIC or (not entry.op and len(entry.parents) > 1):
        return False
    if is_undo(entry) or is_redo(entry):
        return True  # the undo of a wrap may change only the record of a session
    store = ws.branch.store
    try:
        before = store.folder(store.commit(entry.parents[0]).tree)
        keys = [layout.key_at(path) for path in layout.differing_paths(before, store.folder(entry.tree))]
        if any(key is None or key.kind != Session.kind for key in keys):
            return True
        old, new = (ws.branch.past_revision_at(commit).state for commit in (entry.parents[0], entry.commit))
    except Corrupt:
        return True  # what it changed is unknown; it is listed as that, and the older operations after it
    return any(key is not None and _changes_session(old.entry(key), new.entry(key)) for key in keys)


def _changes_session(old: object, new: object) -> bool:
    """Return whether a session gets another context, or its record can or cannot be read any more."""
    times = [side.context_at if isinstance(side, Session) else None for side in (old, new)]
    return times[0] != times[1] or isinstance(old, Unreadable) or isinstance(new, Unreadable)


def find_undoable(ws: Workspace) -> Iterator[LogEntry]:
    """Yield the operations that are not undone, newest first, whoever made them (see `refuse_others`).

    Raises:
        NotFound: the namespace does not exist.
        NotAllowed: no operation is left. This is raised after the last one was yielded.
    """
    _check_exists(ws)
    yield from _list_standing(ws)
    raise NotAllowed("nothing is left to undo", hint="to list the operations: baton log --ops")


def refuse_others(ws: Workspace, newest: LogEntry) -> None:
    """Refuse to undo the newest operation without its number if it is not the caller's own.

    Raises:
        NotAllowed: somebody else made it. The hint names it, and the caller's own newest operation.
    """
    if is_own(ws, newest):
        return
    mine = next(_list_standing(ws, lambda entry: is_own(ws, entry)), None)
    whose = "of yours" if ws.actor.session is None else f"of session {SessionNames().shorten(ws.actor.session)}"
    what, owner = f"{name_commit(newest)} ({newest.subject})", describe_owner(newest)
    theirs = f"baton undo {make_commit_argument(newest)} undoes it all the same"
    if mine is None:
        raise NotAllowed(f"no change {whose} is left to undo: {what} was made by {owner}", hint=theirs)
    own = f"baton undo {make_commit_argument(mine)} undoes the newest change {whose} ({mine.subject})"
    raise NotAllowed(f"{what}, made by {owner}, is newer than any change {whose}", hint=f"{own}; {theirs}")


def _list_standing(ws: Workspace, wanted: Callable[[LogEntry], bool] = lambda entry: True) -> Iterator[LogEntry]:
    """Yield the operations that are not undone, without undos and redos."""
    operations = list_operations(ws, ws.branch.log(), wanted)
    return (entry for entry, is_undone in operations if not (is_undone or is_undo(entry) or is_redo(entry)))


def find_redoable(ws: Workspace) -> LogEntry:
    """Return the newest undo of the caller (see `is_own`) that is not undone.

    Raises:
        NotFound: the namespace does not exist.
        NotAllowed: no undo is left to redo, or a newer operation follows the undo.
    """
    _check_exists(ws)
    operations = list_operations(ws, ws.branch.log(), lambda entry: not is_redo(entry) and is_own(ws, entry))
    own = (entry for entry, is_undone in operations if not is_undone)
    newer: LogEntry | None = None
    for entry in islice(own, SEARCHED):
        if is_undo(entry) and newer is not None:
            raise NotAllowed(
                f"{name_commit(newer)} ({newer.subject}) was made after the undo in {name_commit(entry)}",
                hint=f"baton undo {make_commit_argument(entry)} undoes that undo and keeps newer changes",
            )
        if is_undo(entry):
            return entry
        newer = newer or entry
    raise NotAllowed("nothing is left to redo", hint="to list the operations: baton log --ops")


def is_undo(entry: LogEntry) -> bool:
    """Return whether a commit undoes an operation."""
    return entry.op == UNDO and bool(entry.undone_commits())


def is_redo(entry: LogEntry) -> bool:
    """Return whether a commit undoes an undo."""
    return entry.op == REDO and bool(entry.undone_commits())


def name_commit(entry: LogEntry) -> str:
    """Return a readable name of a commit: `revision 7`, or `commit ID` if it has no number of its own."""
    return f"{'commit' if entry.revision is None else 'revision'} {make_commit_argument(entry)}"


def make_commit_argument(entry: LogEntry) -> str:
    """Return the command-line argument that names a commit: its number, or its id if it has no number of its own."""
    return entry.commit[:10] if entry.revision is None else str(entry.revision)


def _check_exists(ws: Workspace) -> None:
    if ws.branch.tip() is None:
        raise NotFound("namespace", str(ws.branch.namespace), hint="baton init creates it")


def is_own(ws: Workspace, entry: LogEntry) -> bool:
    """Return whether the caller made an operation: in the current session, or without one if there is none.

    Two operations cross the border of a session. Its wrap ends it, so who undoes the wrap is outside of the session;
    and the undo of the wrap continues it, so who redoes the wrap is in the session again.
    """
    session = ws.actor.session
    if session is None:
        return _is_same_person(ws, entry) and (entry.session is None or entry.op == WRAP)
    if entry.session is None and is_undo(entry) and _is_same_person(ws, entry):
        undone = entry.undone_commits()[0]
        return len(undone) == len(entry.commit) and is_named(ws.branch.load_entry(Oid(undone)).session, session)
    return is_named(entry.session, session)


def _is_same_person(ws: Workspace, entry: LogEntry) -> bool:
    """Return whether this machine's person, or the agent that calls, made a commit. One made by hand has no machine."""
    actor = ws.actor
    is_here = ws.is_own_machine(entry.machine) or (not entry.op and entry.machine is None)
    return is_here and (entry.author, entry.agent) == (actor.author, actor.agent if entry.op else None)


def describe_owner(entry: LogEntry) -> str:
    """Return who made an operation: its session, or its author, and the agent and the machine if they are known."""
    who = (
        f"session {SessionNames().shorten(entry.session)}"
        if entry.session is not None
        else entry.author.partition(" <")[0]
    )
    agent = f" ({entry.agent})" if entry.agent is not None else ""
    return f"{who}{agent}{f' on {entry.machine}' if entry.machine is not None else ''}"


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
