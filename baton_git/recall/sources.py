"""Update the index from the branch of a namespace and the stored turns of sessions."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Set
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from baton_git.agents.turn_store import TurnStore, turns_folder
from baton_git.core import layout
from baton_git.core.errors import Corrupt
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.names import Oid
from baton_git.core.records.base import Archived, Part, Record, parse
from baton_git.core.records.lineage import Session as SessionRecord
from baton_git.core.state import SHAPE, Key, State, Unreadable
from baton_git.core.times import from_seconds, iso, parse_time_or_none
from baton_git.git.store import CommitInfo, Folder, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry, load_entry
from baton_git.recall.index import RecallIndex, Session
from baton_git.recall.passages import DIGEST, SHARED_TURNS
from baton_git.recall.record_passages import split_record, split_said
from baton_git.recall.turn_sources import RECORDS, SAID, TURNS, list_files, mark_folders, put_changed, remove_gone

EARLY = "early"
"""The mark of a record that is indexed before the commit that wrote it is known."""
MOST_EARLY = 1_000
"""Maximum number of records that one update indexes before their commits."""
_SKIPPED_KINDS = frozenset({SHAPE.kind, "conflict"})


MOST_AT_ONCE = 3_000
"""Maximum number of commits and files that one update of an index on the disk reads: the first recall in a namespace
of 10,000 commits took 30 times as long as in a small one."""

MOST_SECONDS = 0.5
"""Processor time after which such an update begins no further older commit: one may bring 100,000 files."""


class _Work:
    """What an update may still do.

    Attributes:
        end: the end of its time, by the monotonic clock.
        left: the number of commits and files that it may still read.
        until: the processor time of this thread from which no older commit is begun.
        sessions: those whose turns are indexed.
    """

    sessions: Set[Session] = frozenset()

    def __init__(self, seconds: float | None, left: float) -> None:
        self.end = time.monotonic() + (math.inf if seconds is None else seconds)
        self.left = left
        self.until = time.thread_time() + (math.inf if left == math.inf else MOST_SECONDS)

    @property
    def is_done(self) -> bool:
        return self.left <= 0 or time.monotonic() > self.end

    @property
    def is_long(self) -> bool:
        return time.thread_time() > self.until


def update_index(index: RecallIndex, branch: Branch, seconds: float | None = None) -> bool:
    """Add new commits of the branch and new turns to the index, and remove deleted turns.

    At first, the newest commits are indexed; each further update adds older ones, until all are indexed. Meanwhile,
    live records of commits that are not indexed yet are indexed without the commit that wrote them, and
    `RecallIndex.pending` says what is missing.

    Args:
        index: the index to update.
        branch: the branch of the namespace.
        seconds: the maximum time of the update; what is indexed by then is kept. None: no limit.

    Returns:
        Whether the newest commits, and all turns, are indexed.

    Raises:
        Busy: another process's update did not finish in time.
        Corrupt: the branch cannot be read.
    """
    store = TurnStore(turns_folder(branch.store.repository.common_dir))
    tip, group, folders = branch.tip(), group_of(branch), mark_folders(store.folder, index.opened)
    is_current = index.mark(group) == (tip or "")
    if is_current and folders and index.mark(TURNS) == folders:
        return True
    marks = dict(list_files(store.folder))
    if is_current and not folders and index.source_marks(TURNS) == marks:
        return True
    work = _Work(seconds, MOST_AT_ONCE if index.is_stored else math.inf)
    with index.changing():
        if not _update_turns(index, store, marks, work) or not _update_records(index, branch, tip, work):
            return False
        index.set_mark(TURNS, folders)
    return True


def _update_turns(index: RecallIndex, store: TurnStore, marks: Mapping[str, str], work: _Work) -> bool:
    """Add, replace and remove the turns of sessions. Return False if some are left.

    Args:
        marks: the marks of all files of turns, by name.
    """
    if remove_gone(index, marks):  # what digests repeat of them has to be indexed again, which is as rare as it is long
        index.remove_groups(f"*{RECORDS}*")
    if not put_changed(index, store.folder, marks, work.end):
        return False
    work.sessions = index.list_sessions(TURNS)
    return True


def group_of(branch: Branch) -> str:
    """Return the name of the group of sources (see `index`) for the records of a branch."""
    return f"{RECORDS}{branch.ref}"


_CUT = "-"
"""The suffix of a stored commit that is at the boundary of the history."""


class _Progress(NamedTuple):
    """The commits of a branch that are indexed: `newest` and all its ancestors, except for `left` and its ancestors.

    `cut` are commits at the boundary of the history: they are indexed, and their ancestors are when they are here.
    While some are left or cut, the group has no mark, so that an older program does not take its index for a complete
    one.
    """

    newest: str
    left: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()

    @classmethod
    def load(cls, index: RecallIndex, group: str) -> _Progress:
        newest = index.mark(group)
        parts = [] if newest else index.mark(f"part of {group}").split()
        if not parts:
            return cls(newest)
        cut = tuple(part.removesuffix(_CUT) for part in parts[1:] if part.endswith(_CUT))
        return cls(parts[0], tuple(part for part in parts[1:] if not part.endswith(_CUT)), cut)

    def save(self, index: RecallIndex, group: str) -> None:
        rest = (*self.left, *(f"{commit}{_CUT}" for commit in self.cut))
        index.set_mark(group, "" if rest else self.newest)
        index.set_mark(f"part of {group}", " ".join((self.newest, *rest)) if rest else "")

    def continue_at(self, store: Store) -> _Progress:
        """Return the progress in which the commits that are no longer at the boundary are left."""
        here = tuple(commit for commit in self.cut if not store.boundary.has(Oid(commit)))
        return self._replace(left=(*self.left, *here), cut=tuple(set(self.cut) - set(here)))


def _update_records(index: RecallIndex, branch: Branch, tip: Oid | None, work: _Work) -> bool:
    """Add the records of the commits that are not indexed. Return False if new commits are left."""
    group, store = group_of(branch), branch.store
    done = _Progress.load(index, group).continue_at(store)
    if done.newest and (tip is None or not _follows(branch, Oid(done.newest), tip)):
        index.remove_group(group)
        done = _Progress("")
    if tip is None or (done.newest == tip and not done.left):
        done.save(index, group)
        return True
    if not done.newest:
        done = _Progress(tip, (tip,))
    elif done.newest != tip:
        done = _add_new(index, branch, tip, done, work)
    is_current = done.newest == tip
    if is_current and done.left:
        done = _add_older(index, branch, done, work)
        _describe_left(index, store, done)
        if done.left:
            _add_early(index, branch, store.folder(store.commit(tip).tree), work)
    done.save(index, group)
    return is_current


def _add_new(index: RecallIndex, branch: Branch, tip: Oid, done: _Progress, work: _Work) -> _Progress:
    """Add the records of all commits since the last update, oldest first."""
    commits = _list_commits(index, branch.store, tip, [Oid(done.newest)])
    is_complete = not index.unread
    for info in reversed(commits):
        if work.is_done:
            index.pending = "the newest commits are not indexed yet"
            return done
        is_complete = _add_commit(index, branch, info, work) and is_complete
        if is_complete:
            done = done._replace(newest=info.oid)
    return done


def _add_older(index: RecallIndex, branch: Branch, done: _Progress, work: _Work) -> _Progress:
    """Add the records of the commits that are left, newest first."""
    newest = branch.store.folder(branch.store.commit(Oid(done.newest)).tree)
    left, cut, visited = set(done.left), set(done.cut), set[str]()
    try:
        for info in branch.store.log(*map(Oid, done.left)):
            if work.is_done or (visited and work.is_long):
                break
            visited.add(info.oid)
            if not _add_commit(index, branch, info, work, newest):
                break
            left.discard(info.oid)
            left.update(set(info.parents) - visited)
            if branch.store.boundary.has(info.oid):
                cut.add(info.oid)
    except Corrupt as error:
        index.unread = str(error)
        for commit in sorted(left - visited):  # all records of a commit whose parent cannot be read
            with suppress(Corrupt):
                _add_commit(index, branch, branch.store.commit(Oid(commit)), work)
    return done._replace(left=tuple(sorted(left)), cut=tuple(sorted(cut)))


def _describe_left(index: RecallIndex, store: Store, done: _Progress) -> None:
    """Say in the index which commits are left, unless they cannot be read."""
    if done.left and not index.unread:
        last = max(store.commit(Oid(commit)).time for commit in done.left)
        index.pending = f"the commits until {iso(from_seconds(last))[:10]} are not indexed yet"


def _add_early(index: RecallIndex, branch: Branch, root: Folder, work: _Work) -> None:
    """Add live records whose commits are not indexed yet: they matter more than what was before them.

    It is not known yet which commit wrote them. They are added again when that commit is indexed.
    """
    group, left = group_of(branch), MOST_EARLY
    source = layout.TreeSource(root, branch.store.memory)
    for kind in (kind for kind in ALL_KINDS if kind not in _SKIPPED_KINDS):
        for id_ in sorted(source.ids(kind)):
            key = Key(kind, id_)
            path = layout.path_of(key)
            blob = find_blob(root, path)
            name = _name_source(root, key, path, blob) if blob is not None else None
            if blob is None or name is None or index.source_mark(group, name) is not None:
                continue
            _put_record(index, branch, name, EARLY, _Version(root, key, path, blob, None), work)
            left -= 1
            if not left:
                return


def _list_commits(index: RecallIndex, store: Store, tip: Oid, known: list[Oid]) -> list[CommitInfo]:
    """Return the new commits; if one of them cannot be read, some of them, but at least the tip."""
    commits: list[CommitInfo] = []
    try:
        commits.extend(store.only_in(tip, *known))
    except Corrupt as error:
        index.unread = str(error)
        return commits or [store.commit(tip)]
    return commits


def _follows(branch: Branch, known: Oid, tip: Oid) -> bool:
    """Whether the known commit is an ancestor of the tip; False if the known commit no longer exists."""
    try:
        return branch.store.is_ancestor(known, tip)
    except Corrupt:
        return False


def _add_commit(
    index: RecallIndex, branch: Branch, info: CommitInfo, work: _Work, newest: Folder | None = None
) -> bool:
    """Add the records that a commit changed, or all of its records if its parent cannot be read.

    Args:
        newest: the newest tree that is indexed, if the commit is older than all commits that are indexed. Of versions
            with the same content, the oldest counts, whatever the order in which commits are indexed.

    Returns:
        Whether the commit and its parent could be read.
    """
    store, group = branch.store, group_of(branch)
    entry = load_entry(store, info)
    root = store.folder(info.tree)
    others = _list_other_parents(store, info)
    work.left -= 1
    try:
        before = store.folder(store.commit(info.parents[0]).tree) if info.parents else None
        paths, is_complete = list(layout.differing_paths(root, before)), True
    except Corrupt as error:
        index.unread = str(error)
        paths, is_complete = _list_all_paths(root), False
    for path in paths:
        key = layout.key_at(path)
        if key is None or key.kind in _SKIPPED_KINDS:
            continue
        blob, is_replaced = find_blob(root, path), _is_replaced(key)
        is_taken = blob is not None and any(find_blob(other, path) == blob for other in others)
        if is_taken and (newest is not None or not is_replaced or index.source_mark(group, path) == blob):
            continue  # a commit of that parent's history wrote it, and says where it came from
        if is_replaced and newest is None:
            index.remove_source(group, path)
            index.remove_source(group, f"{path}{SAID}")
        name = _name_source(root, key, path, blob) if blob is not None else None
        if blob is None or name is None or (is_replaced and newest is not None and find_blob(newest, path) != blob):
            continue
        is_known = index.source_mark(group, name) not in (None, EARLY)
        if not is_known or (newest is not None and not is_replaced):
            # What a merge made of several versions is of nobody for sure, though the merge was made here.
            author = None if others and is_replaced else entry
            _put_record(index, branch, name, blob, _Version(root, key, path, blob, author), work)
            work.left -= 1
    return is_complete


def _list_other_parents(store: Store, info: CommitInfo) -> list[Folder]:
    """Return the trees of all parents of a merge but the first, as far as they can be read."""
    trees: list[Folder] = []
    for parent in info.parents[1:]:
        with suppress(Corrupt):
            trees.append(store.folder(store.commit(parent).tree))
    return trees


def _list_all_paths(root: Folder) -> list[str]:
    """Return the paths of a tree's files; none if it cannot be read."""
    try:
        return list(layout.paths_below(root))
    except Corrupt:
        return []


def _name_source(root: Folder, key: Key, path: str, blob: str) -> str | None:
    """Return the name of the source for a version of a record; None for a session that has not set a context.

    Of sessions, only the contexts are indexed. A context is one source, in all versions of the record that have it.
    """
    if key.kind != SessionRecord.kind:
        return path if _is_replaced(key) else f"{path} {blob}"
    folder, _, name = path.rpartition("/")
    for part in folder.split("/"):
        root = root.folder(part)
    try:
        content = root.read(name)
    except Corrupt:  # nothing of it can be quoted
        return None
    if content is None or b"context_at" not in content:  # most versions; parsing one would take ten times as long
        return None
    entry = layout.decode(key, path, content)
    session = parse(SessionRecord, entry.record) if isinstance(entry, Archived) else entry
    if not isinstance(session, SessionRecord) or not session.context or not session.context_at:
        return None
    return f"{layout.path_of(Key(key.kind, session.id))} {session.context_at}"


def _is_replaced(key: Key) -> bool:
    """Whether only the newest version of a record is indexed: true for the kinds that sessions leave for later ones."""
    return ALL_KINDS[key.kind].left_behind


class _Version(NamedTuple):
    """A version of a record, and the commit that wrote it; None if that is not known yet."""

    root: Folder
    key: Key
    path: str
    blob: str
    entry: LogEntry | None


def _put_record(index: RecallIndex, branch: Branch, name: str, mark: str, version: _Version, work: _Work) -> None:
    """Add a version of a record as a source, and what it repeats from turns that are not stored here as another one."""
    key, group = version.key, group_of(branch)
    record = State(layout.TreeSource(version.root, branch.store.memory)).entry(key)
    if record is None or isinstance(record, Unreadable):
        index.put_source(group, name, mark, ())
        return
    where = _describe(branch, record, version)
    index.put_source(group, name, mark, split_record(key, record, **where))
    session = (where["namespace"], where["agent"], where["session"])
    if key.kind in (DIGEST, SHARED_TURNS) and session not in work.sessions:
        index.put_source(group, f"{name}{SAID}", mark, split_said(key, record, **where))


def _describe(branch: Branch, record: Part, version: _Version) -> dict[str, str]:
    """Return the fields of the passages of a record."""
    _, key, path, blob, entry = version
    agent = session = ""
    if entry is not None:
        agent, session = entry.agent or "", entry.session or ""
    if ALL_KINDS[key.kind].parts == 2:  # `<agent>/<session>`
        id_ = record.record.get("id") if isinstance(record, Archived) else key.id
        agent, _, session = str(id_ or key.id).partition("/")
    return {
        "namespace": branch.namespace.text, "session": session, "agent": agent, "path": path, "blob": blob,
        "time": _time_of(record, entry), "commit": entry.commit if entry is not None else "",
        "branch": _branch_of(record) if key.kind in (DIGEST, SHARED_TURNS) else "",
    }  # fmt: skip


def _branch_of(record: Part) -> str:
    """Return the branch that was checked out in the session of a digest."""
    branch = record.record.get("branch") if isinstance(record, Archived) else getattr(record, "branch", None)
    return branch if isinstance(branch, str) else ""


def find_context_time(record: Part) -> datetime | None:
    """Return when a session, live or archived, set its context."""
    at = record.record.get("context_at") if isinstance(record, Archived) else getattr(record, "context_at", None)
    return parse_time_or_none(at) if isinstance(at, str) else None


def _time_of(record: Part, entry: LogEntry | None) -> str:
    """Return the time of a context, of the session that another record is about, or of the record's commit.

    A session is found under the day on which it began or, in records of older versions, last worked: that of the commit
    may be the day on which its transcript was imported.
    """
    data = record.record if isinstance(record, Archived) else vars(record)
    texts = (data.get(name) for name in ("started", "extracted_at", "recorded_at"))
    times = (parse_time_or_none(text) for text in texts if isinstance(text, str))
    started = find_context_time(record) or next((time for time in times if time is not None), None)
    if started is None and entry is None and isinstance(record, Record):
        started = parse_time_or_none(getattr(record, record.dated, None)) if record.dated else None
    time = started or (entry.time if entry is not None else None)
    return iso(time) if time is not None else ""


def find_blob(root: Folder, path: str) -> str | None:
    """Return the blob id of a file in a tree, or None if there is no such file."""
    *folders, name = path.split("/")
    for folder in folders:
        root = root.folder(folder)
    item = root.entries().get(name)
    return item.oid if item is not None and not item.is_folder else None
