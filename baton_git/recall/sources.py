"""Update the index from the branch of a namespace and the stored turns of sessions."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from baton_git.agents.turn_store import TurnStore, turns_folder
from baton_git.core import layout
from baton_git.core.errors import BatonError, Corrupt
from baton_git.core.kinds import ALL_KINDS
from baton_git.core.names import Oid, decode
from baton_git.core.records.base import Part
from baton_git.core.state import SHAPE, Key, State, Unreadable
from baton_git.core.times import iso, parse_time_or_none
from baton_git.git.store import CommitInfo, Folder, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry, load_entry
from baton_git.recall.index import RecallIndex
from baton_git.recall.passages import Passage, split_record, split_turns

TURNS = "turns"
_SKIPPED_KINDS = frozenset({SHAPE.kind, "session", "conflict"})


def update_index(index: RecallIndex, branch: Branch, seconds: float | None = None) -> bool:
    """Add new commits of the branch and new turns to the index, and remove deleted turns.

    Args:
        index: the index to update.
        branch: the branch of the namespace.
        seconds: the maximum time of the update; what is indexed by then is kept. None: no limit.

    Returns:
        Whether the index is up to date.

    Raises:
        Busy: another process's update did not finish in time.
        Corrupt: the branch cannot be read.
    """
    store = TurnStore(turns_folder(branch.store.repository.common_dir))
    marks = dict(_list_files(store.folder))
    tip = branch.tip()
    if index.mark(group_of(branch)) == (tip or "") and index.source_marks(TURNS) == marks:
        return True
    end = time.monotonic() + (math.inf if seconds is None else seconds)
    with index.changing():
        if not _update_records(index, branch, tip, end):
            return False
        known = index.source_marks(TURNS)
        for name in known.keys() - marks.keys():
            index.remove_source(TURNS, name)
        for name, mark in marks.items():
            if known.get(name) != mark:
                if time.monotonic() > end:
                    return False
                index.put_source(TURNS, name, mark, _read_turns(store, name))
    return True


def _list_files(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of stored turns as `<agent>/<name>`, each with a mark made of its size and modification time."""
    for agent in _scan(folder):
        for file in _scan(Path(agent.path)) if agent.is_dir() else ():
            with suppress(FileNotFoundError):
                status = file.stat()
                yield f"{agent.name}/{file.name}", f"{status.st_size} {status.st_mtime_ns}"


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read_turns(store: TurnStore, name: str) -> Iterator[Passage]:
    agent, _, file = name.partition("/")
    try:
        turns = store.load(decode(agent), decode(file.removesuffix(".jsonl")))
    except BatonError:  # not written by baton, or deleted meanwhile; read again when it changes
        return
    if turns is not None:
        yield from split_turns(turns)


def group_of(branch: Branch) -> str:
    """Return the name of the group of sources (see `index`) for the records of a branch."""
    return f"records of {branch.ref}"


def _update_records(index: RecallIndex, branch: Branch, tip: Oid | None, end: float) -> bool:
    """Add the records of all commits since the last update, oldest first. Return False if time ran out."""
    group, store = group_of(branch), branch.store
    known = index.mark(group)
    if known == (tip or ""):
        return True
    if known and (tip is None or not _follows(branch, Oid(known), tip)):
        index.remove_group(group)
        known = ""
    commits = _list_commits(index, store, tip, [Oid(known)] if known else []) if tip is not None else []
    is_complete = not index.unread
    for info in reversed(commits):
        if time.monotonic() > end:
            return False
        is_complete = _add_commit(index, branch, group, info) and is_complete
        if is_complete:
            index.set_mark(group, info.oid)
    if is_complete:
        index.set_mark(group, tip or "")
    return True


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


def _add_commit(index: RecallIndex, branch: Branch, group: str, info: CommitInfo) -> bool:
    """Add the records that a commit changed, or all of its records if its parent cannot be read.

    Returns:
        Whether the commit and its parent could be read.
    """
    store = branch.store
    entry = load_entry(store, info)
    root = store.folder(info.tree)
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
        blob = find_blob(root, path)
        if _is_replaced(key):
            index.remove_source(group, path)
        if blob is not None and not index.has_source(group, name := path if _is_replaced(key) else f"{path} {blob}"):
            index.put_source(group, name, blob, _read_record(branch, root, key, path, blob, entry))
    return is_complete


def _list_all_paths(root: Folder) -> list[str]:
    """Return the paths of a tree's files; none if it cannot be read."""
    try:
        return list(layout.paths_below(root))
    except Corrupt:
        return []


def _is_replaced(key: Key) -> bool:
    """Whether only the newest version of a record is indexed: true for the kinds that sessions leave for later ones."""
    return ALL_KINDS[key.kind].left_behind


def _read_record(branch: Branch, root: Folder, key: Key, path: str, blob: str, entry: LogEntry) -> Iterator[Passage]:
    record = State(layout.TreeSource(root, branch.store.memory)).entry(key)
    if record is None or isinstance(record, Unreadable):
        return
    agent, session = entry.agent or "", entry.session or ""
    if ALL_KINDS[key.kind].parts == 2 and not key.archived:  # `<agent>/<session>`
        agent, _, session = key.id.partition("/")
    yield from split_record(
        key, record, namespace=branch.namespace.text, session=session, agent=agent, path=path, blob=blob,
        time=_time_of(record, entry.time), commit=entry.commit,
    )  # fmt: skip


def _time_of(record: Part, committed: datetime) -> str:
    """Return the start of the session that a record is about, or else the time of the record's commit."""
    started = parse_time_or_none(getattr(record, "started", None))
    return iso(started or committed)


def find_blob(root: Folder, path: str) -> str | None:
    """Return the blob id of a file in a tree, or None if there is no such file."""
    *folders, name = path.split("/")
    for folder in folders:
        root = root.folder(folder)
    item = root.entries().get(name)
    return item.oid if item is not None and not item.is_folder else None
