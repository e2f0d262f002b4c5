"""What each session saw last, from a local index that saves walking the history.

The index of a namespace is the file `baton/last-seen/<namespace>.json` in git's common directory. It holds a commit
and, for each of the most recent sessions, what that session had seen up to this commit. Newer commits are added to the
index step by step: in memory each time, in the file now and then. If the file is lost or its commit is no longer in the
history, the history is walked.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.core.errors import BatonError
from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import hold_flock
from baton_git.git.store import CommitInfo
from baton_git.git.store.history import in_order
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry

_SEES_ALL = ("boot", "write")
"""Verbs after which a session has seen everything that its commit is based on."""
KEPT = 64
"""Maximum number of sessions in an index: those with the newest commits."""
EVERY = 32
"""The index file is rewritten once it is this many commits behind, or if it lacks the session; until then it is brought
up to date in memory."""
OWN = 64
"""A session is left out of the index if it made more commits than this since it last saw everything."""
_WEIGHT = 500
"""Weight of a session of an index in the store's cache, in bytes."""
STEPS = 2_000
"""If the index is more commits behind than this, the history is walked for one session instead, which is cheaper."""


class LastSeen(NamedTuple):
    """What the history says about a session.

    Attributes:
        base: the session's last boot or its last written document; the session saw everything in this commit.
        own: the later commits of the session, oldest first.
        others: whether other sessions made commits after `base`.
        last: the newest commit of the session.
    """

    base: Oid | None = None
    own: tuple[Oid, ...] = ()
    others: bool = False
    last: Oid | None = None

    def after(self, entry: LogEntry, session: str) -> LastSeen:
        """Return what the history says about the session after one more commit."""
        if entry.session != session:
            return self if self.others else self._replace(others=True)
        if entry.op in _SEES_ALL:
            return LastSeen(entry.commit, (), False, entry.commit)
        if len(entry.parents) == 1:
            return self._replace(own=(*self.own, entry.commit), last=entry.commit)
        return self._replace(others=True, last=entry.commit)  # a merge contains commits that the session has not seen


def find_last_seen(branch: Branch, tip: Oid, session: str) -> LastSeen | None:
    """Return what the history up to `tip` says about a session; None if the session made no commit."""
    sessions, behind = _find_sessions(branch, tip)
    memory, key = branch.store.memory, _memory_key(branch)
    if session in sessions and behind < EVERY:
        memory.put(key, IndexInMemory(Index(tip, sessions), behind), _WEIGHT * len(sessions))
        return sessions[session]
    last = sessions.get(session) or walk_history(branch, tip, session)
    if last is not None:
        sessions[session] = last
    kept = [(name, seen) for name, seen in sessions.items() if len(seen.own) <= OWN]
    index = Index(tip, dict(kept[-KEPT:]))
    memory.put(key, IndexInMemory(index, 0), _WEIGHT * len(index.sessions))
    _write(_find_file(branch), index)
    return last


def _find_file(branch: Branch) -> Path:
    return branch.store.repository.common_dir / "baton" / "last-seen" / f"{branch.namespace.component}.json"


def _find_sessions(branch: Branch, tip: Oid) -> tuple[dict[str, LastSeen], int]:
    """Return what the index says up to `tip`, and how many commits its file is behind; nothing if it is of no use.

    The index in memory, up to the last tip that was asked for, is used if that is in the history of `tip`; else that
    in the file.
    """
    recent: IndexInMemory | None = branch.store.memory.get(_memory_key(branch))
    fresh = _list_commits_since(branch, tip, recent.known) if recent is not None else None
    if recent is not None and fresh is not None:
        return _advance_sessions(recent.known, fresh), recent.behind + len(fresh)
    index = _read(_find_file(branch))
    fresh = _list_commits_since(branch, tip, index) if index is not None else None
    return (_advance_sessions(index, fresh), len(fresh)) if index is not None and fresh is not None else ({}, 0)


def _memory_key(branch: Branch) -> tuple[str, str]:
    return "last-seen", branch.ref


class Index(NamedTuple):
    """What the history up to `tip` says about each session; the session with the newest commit comes last."""

    tip: Oid
    sessions: Mapping[str, LastSeen]


class IndexInMemory(NamedTuple):
    """An index in memory; `behind` is the number of its commits that the file does not have."""

    known: Index
    behind: int


def _advance_sessions(index: Index, fresh: Sequence[LogEntry]) -> dict[str, LastSeen]:
    """Return the sessions of an index after the commits `fresh`, which are given newest first."""
    sessions = dict(index.sessions)
    for entry in reversed(fresh):
        if entry.session in sessions:
            sessions[entry.session] = sessions.pop(entry.session)
        elif entry.session is not None and entry.op in _SEES_ALL:
            sessions[entry.session] = LastSeen()
        sessions = {name: seen.after(entry, name) for name, seen in sessions.items()}
    return sessions


def _list_commits_since(branch: Branch, tip: Oid, index: Index) -> list[LogEntry] | None:
    """Return the commits since the index, children first; None if there are too many or its tip is not an ancestor."""
    known = {commit for seen in index.sessions.values() for commit in (seen.base, seen.last, *seen.own)} | {index.tip}
    waiting, met, commits = deque([tip]), {tip}, dict[Oid, CommitInfo]()
    while waiting:
        oid = waiting.popleft()
        if oid in known:
            continue
        if len(commits) >= STEPS:
            return None
        commits[oid] = branch.store.commit(oid)
        waiting.extend(parent for parent in commits[oid].parents if parent not in met)
        met.update(commits[oid].parents)
    if index.tip not in met:
        return None
    return [branch.load_entry(info.oid) for info in in_order(commits.values())]


def walk_history(branch: Branch, tip: Oid, session: str) -> LastSeen | None:
    """Return what the history says about a session, without the index; None if the session made no commit."""
    own: list[LogEntry] = []
    others = False
    for entry in branch.history(tip):
        if entry.session != session:
            others = True
            continue
        own.append(entry)
        if entry.op in _SEES_ALL:
            break
    if not own:
        return None
    seen = LastSeen()
    for entry in reversed(own):
        seen = seen.after(entry, session)
    return seen._replace(others=seen.others or others)


# --- the file


def _read(file: Path) -> Index | None:
    """Read an index; None if the file is missing or invalid."""
    try:
        data = json.loads(durable_files.content(file))
        return Index(Oid(data["tip"]), {str(name): _parse_last_seen(data) for name, data in data["sessions"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, BatonError):
        return None


def _parse_last_seen(data: Any) -> LastSeen:
    base, own, others, last = data
    return LastSeen(Oid(base) if base else None, tuple(map(Oid, own)), bool(others), Oid(last) if last else None)


def _write(file: Path, index: Index) -> None:
    """Replace the index file, unless another process is writing it or writing to disk fails."""
    with hold_flock(f"{file}.lock", 0.0) as alone:
        if alone:
            durable_files.save_derived(file, json.dumps(index._asdict()).encode())
