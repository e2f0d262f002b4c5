"""The commit log of a namespace: subjects and trailers of its commits, read back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from baton_git.core import diff, layout
from baton_git.core.names import Oid
from baton_git.core.state import State
from baton_git.core.times import from_seconds
from baton_git.git.store import CommitInfo, Store

CONFIRMED = "Baton-Confirmed"
"""The trailer of a commit in which a person confirmed records: how and by whom."""
CONFIRMS = "Baton-Confirms"
"""The trailer that names a confirmed record: its kind and id, in the notation of `Key`."""
CLIENT = "Baton-Client"
"""The trailer of a commit whose writer nobody knows; its value is `UNAUTHENTICATED`."""
UNAUTHENTICATED = "unauthenticated"
UNAUTHENTICATED_AUTHOR = "unauthenticated client <unauthenticated@localhost>"
"""The author of what a server without a token writes for whoever sends a request."""
VOUCHES = "Baton-Vouches"
"""The trailer that names a record that a person confirmed as it is, whatever the commit changes in it."""
VERSION = "Baton-Version"
"""The trailer of a commit that begins a session: the version of baton that made the commit."""
UNDOES = "Baton-Undoes"
"""The trailer that names an undone commit."""
RESTORES = "Baton-Restores"
"""The trailer of a rollback that names the commit whose values it restores."""
REJECTED = "Baton-Rejected"
"""The trailer of a commit that ends a review: the id of a record whose change was rejected."""
MERGE_RULES = "Baton-Merge-Rules"
"""The trailer of a merge commit: the version of the merge rules that it was made with."""
MERGE_SUBJECT = "Merge concurrent changes"
"""The subject of merge commits. It never changes, because commit ids depend on it; see `describe_merge`."""

_TRAILER = re.compile(r"^(Baton-[A-Za-z]+): (.*)$", re.MULTILINE)
_REVISION = re.compile(r"[0-9]{1,9}")
_REVERTS = re.compile(r"^This reverts commit ([0-9a-f]{7,64})", re.MULTILINE)
"""The line that `git revert` writes; with `--reference` the id is abbreviated."""


class LogEntry(NamedTuple):
    """One commit of the log.

    Attributes:
        op: the verb that made the commit; empty for a commit made by hand.
        revision: the revision number in the trailer; None if there is no such trailer, or, for display, if several
            commits share the number.
        trailers: all trailers of baton, as pairs of name and value.
        reverts: the commits that a message of `git revert` names as reverted; ids may be abbreviated.
    """

    commit: Oid
    parents: tuple[Oid, ...]
    tree: Oid
    time: datetime
    author: str
    subject: str
    op: str
    session: str | None
    agent: str | None
    machine: str | None
    revision: int | None
    trailers: tuple[tuple[str, str], ...] = ()
    reverts: tuple[str, ...] = ()

    def trailer_values(self, name: str) -> list[str]:
        """Return the values of a trailer."""
        return [value for trailer, value in self.trailers if trailer == name]

    def rejected_ids(self) -> list[str]:
        """Return the ids of the records whose changes were rejected in this review."""
        return self.trailer_values(REJECTED)

    def undone_commits(self) -> list[str]:
        """Return the ids of the commits that this commit undoes, as `baton undo` or `git revert` wrote them."""
        return [*self.trailer_values(UNDOES), *self.reverts]


def confirmation_trailers(how: str, by: str, *records: str) -> tuple[tuple[str, str], ...]:
    """Return the trailers of a commit in which a person confirmed records, given in the notation of `Key`."""
    return ((CONFIRMED, f"{how}, by {by}"), *((CONFIRMS, record) for record in records))


def parse_entry(info: CommitInfo) -> LogEntry:
    """Parse the subject and trailers of a commit."""
    subject, _, body = info.message.partition("\n")
    trailers = tuple(_TRAILER.findall(body))
    values = dict(trailers)
    revision = values.get("Baton-Revision", "")
    return LogEntry(
        info.oid, info.parents, info.tree, from_seconds(info.time), info.author, subject,
        values.get("Baton-Op", ""), values.get("Baton-Session"), values.get("Baton-Agent"), values.get("Baton-Machine"),
        int(revision) if _REVISION.fullmatch(revision) else None, trailers, tuple(_REVERTS.findall(body)),
    )  # fmt: skip


def load_entry(store: Store, info: CommitInfo) -> LogEntry:
    """Return the log entry of a commit of `store`, cached in its memory."""
    return store.memory.get_or_make(("log entry", info.oid), lambda: parse_entry(info), 4 * len(info.message))


def describe_merge(store: Store, entry: LogEntry) -> LogEntry:
    """Return the entry with a subject that describes the changes of a merge; other entries are returned unchanged.

    The changes are those against the first parent. Older merge commits already have a descriptive subject.
    """
    if entry.subject != MERGE_SUBJECT or not entry.parents:
        return entry

    def describe() -> str:
        trees = (store.commit(entry.parents[0]).tree, entry.tree)
        before, after = (State(layout.TreeSource(store.folder(tree))) for tree in trees)
        return f"merge: {diff.commit_subject(diff.diff(before, after))}"

    return entry._replace(subject=store.memory.get_or_make(("merge subject", entry.commit), describe, 200))


class UndoneCommits(Container[str]):
    """The commits that later commits undo, by the ids in their messages, which `git revert --reference` abbreviates."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._abbreviations: tuple[str, ...] = ()

    def __contains__(self, commit: object) -> bool:
        return isinstance(commit, str) and (commit in self._ids or commit.startswith(self._abbreviations))

    def add_from(self, entry: LogEntry) -> bool:
        """Add the commits that `entry` undoes, and return False; if `entry` is undone itself, only return True.

        Pass the entries newest first, because a commit that was undone undoes nothing.
        """
        if entry.commit in self:
            return True
        for commit in entry.undone_commits():
            if len(commit) == len(entry.commit):
                self._ids.add(commit)
            else:
                self._abbreviations += (commit,)
        return False


def find_undone(newest_first: Iterable[LogEntry]) -> UndoneCommits:
    """Return the undone commits. A commit that was itself undone undoes nothing."""
    undone = UndoneCommits()
    for entry in newest_first:
        undone.add_from(entry)
    return undone


def read_revision_number(store: Store, info: CommitInfo) -> int:
    """Return the revision number of a commit.

    The number is in a trailer. A commit made by hand has no trailer; its number is one more than the largest number
    of its parents.
    """
    own = load_entry(store, info).revision
    return own if own is not None else _count_revision(store, info.oid)


def _count_revision(store: Store, commit: Oid) -> int:
    numbers: dict[Oid, int] = {}
    waiting = [commit]
    while waiting:
        entry = load_entry(store, store.commit(waiting[-1]))
        missing = [] if entry.revision is not None else [parent for parent in entry.parents if parent not in numbers]
        if missing:
            waiting += missing
            continue
        counted = 1 + max((numbers[parent] for parent in entry.parents), default=-1) if entry.revision is None else 0
        numbers[waiting.pop()] = counted if entry.revision is None else entry.revision
    return numbers[commit]


def find_numbered(store: Store, tip: Oid, number: int) -> list[LogEntry]:
    """Return the commits that have the revision number `number`, latest first.

    There may be several if machines worked independently. Since a commit's number is larger than those of its parents,
    only commits with larger numbers are read.
    """
    matches, seen, waiting = [], {tip}, [store.commit(tip)]
    while waiting:
        info = waiting.pop()
        if read_revision_number(store, info) == number:
            matches.append(load_entry(store, info))
        parents = [store.commit(parent) for parent in info.parents if parent not in seen]
        onward = [parent for parent in parents if _may_lead_to(store, parent, number)]
        seen.update(parent.oid for parent in onward)
        waiting += onward
    return sorted(matches, key=lambda entry: (entry.time, entry.commit), reverse=True)


def _may_lead_to(store: Store, info: CommitInfo, number: int) -> bool:
    """Return whether this commit or an ancestor may have `number`.

    A commit whose own number is wrong, because it is not larger than that of each parent, may lead to any number.
    """
    own = read_revision_number(store, info)
    return own >= number or any(read_revision_number(store, store.commit(parent)) >= own for parent in info.parents)


def hide_shared_numbers(store: Store, newest_first: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """Yield the entries of a history; entries that share a revision number get the number None.

    Numbers repeat only between a fork and the merge that ends it, so the history is read ahead no further than that.
    """
    stretch: list[LogEntry] = []
    seen: set[Oid] = set()
    ahead: set[Oid] = set()
    for entry in newest_first:
        stretch.append(entry)
        seen.add(entry.commit)
        ahead.discard(entry.commit)
        ahead.update(parent for parent in entry.parents if parent not in seen)
        if len(ahead) <= 1:
            yield from _hide_repeated_numbers(store, stretch)
            stretch = []
    yield from _hide_repeated_numbers(store, stretch)


def _hide_repeated_numbers(store: Store, stretch: Sequence[LogEntry]) -> Iterator[LogEntry]:
    if len(stretch) == 1:
        yield stretch[0]
        return
    numbers = [read_revision_number(store, store.commit(entry.commit)) for entry in stretch]
    times = Counter(numbers)
    for entry, number in zip(stretch, numbers, strict=True):
        yield entry if times[number] == 1 else entry._replace(revision=None)
