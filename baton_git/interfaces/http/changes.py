"""The changes of namespaces as they happen, whichever process makes them, found by polling the refs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, ClassVar

from starlette.concurrency import run_in_threadpool

from baton_git.core.errors import InvalidName
from baton_git.core.names import Namespace, Oid, parse_oid
from baton_git.core.times import iso
from baton_git.interfaces.http.site import Site
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry, describe_merge, parse_entry, read_revision_number

POLL_EVERY = 0.4
"""Seconds between two polls of the refs; ten times the duration of a poll if that is longer."""
BACKLOG = 500
"""Maximum number of commits of one namespace reported at once.

If a client that reconnects missed more, or a poll finds more, none of them is reported, and `Current.missed` is true.
"""


@dataclass(frozen=True)
class Current:
    """The current tip: the first event of every stream, sent again when a namespace was removed, and in place of
    changes that are too many to report.

    Attributes:
        namespace: None if all namespaces are watched; then `commit` and `revision` are None as well. The event of a
            removed namespace names it.
        commit: None also if the namespace does not exist.
        missed: whether changes since the client's last event are not reported; then the client should reload the state.
    """

    event: ClassVar[str] = "current"

    namespace: str | None
    commit: Oid | None = None
    revision: int | None = None
    missed: bool = False

    def as_data(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Change:
    """One commit on a namespace, and the number of its revision."""

    event: ClassVar[str] = "change"

    namespace: str
    entry: LogEntry
    revision: int

    @property
    def commit(self) -> Oid:
        return self.entry.commit

    def as_data(self) -> dict[str, Any]:
        entry = self.entry
        return {
            "namespace": self.namespace, "revision": self.revision, "commit": entry.commit, "time": iso(entry.time),
            "op": entry.op, "session": entry.session, "agent": entry.agent, "subject": entry.subject,
        }  # fmt: skip


async def changes(
    site: Site, namespace: str | None = None, since: str | None = None
) -> AsyncGenerator[Current | Change, None]:
    """Yield the current tip, then the new commits of each namespace, oldest first, until the server shuts down.

    Args:
        namespace: the namespace to watch; None for all.
        since: a commit that the client has; later commits are yielded too. If all namespaces are watched, commits of
            the other namespaces are yielded if their time is later than that of this commit.

    Raises:
        InvalidName: `namespace` is not a valid name.
        StoreError: the repository cannot be read.
    """
    watch = _Watch(site, namespace)
    for event in await run_in_threadpool(watch.begin, since):
        yield event
    while not site.ending.is_set():
        await asyncio.sleep(watch.pause)
        for event in await run_in_threadpool(watch.poll):
            yield event


class _Watch:
    """The tips of the watched namespaces at the last poll."""

    def __init__(self, site: Site, namespace: str | None) -> None:
        self._site = site
        self._namespace = Namespace(namespace).text if namespace is not None else None
        self._known: dict[str, Oid] = {}
        self.pause = POLL_EVERY

    def begin(self, since: str | None) -> list[Current | Change]:
        self._known = self._tips()
        current = self._read_current(self._known.get(self._namespace or ""))
        if since is None:
            return [current]
        missed = self._find_missed(since)
        if missed is None:
            return [replace(current, missed=True)]
        return [current, *missed]

    def poll(self) -> list[Current | Change]:
        """Return the changes since the last poll."""
        began = time.monotonic()
        tips = self._tips()
        moved = {name: tip for name, tip in tips.items() if self._known.get(name) != tip}
        events: list[Current | Change] = [Current(name) for name in self._known if name not in tips]
        for name, tip in moved.items():
            events += self._find_new(name, tip, self._known.get(name))
        self._known = tips
        self.pause = max(POLL_EVERY, 10 * (time.monotonic() - began))
        return events

    def _tips(self) -> dict[str, Oid]:
        if self._namespace is not None:
            tip = self._site.tip(self._namespace)
            return {self._namespace: tip} if tip is not None else {}
        with self._site.work() as ws:
            refs = ws.branch.store.refs(ws.branch.prefix)
            named = ((ws.branch.find_sibling(ref), tip) for ref, tip in refs.items())
            return {str(branch.namespace): tip for branch, tip in named if branch is not None}

    def _read_current(self, commit: Oid | None) -> Current:
        if self._namespace is None or commit is None:
            return Current(self._namespace)
        with self._site.work(self._namespace) as ws:
            store = ws.branch.store
            return Current(self._namespace, commit, read_revision_number(store, store.commit(commit)))

    def _find_new(self, name: str, tip: Oid, known: Oid | None) -> Sequence[Current | Change]:
        """Return the new commits of a namespace; if its branch was reset to an older commit, only that commit.

        If there are more than `BACKLOG`, return one event instead, whose `missed` is true.
        """
        with self._site.work(name) as ws:
            new = list(islice(ws.branch.store.only_in(tip, *([known] if known else [])), BACKLOG + 1))
            if len(new) > BACKLOG:
                return [replace(self._read_current(tip), missed=True)]
            entries = [parse_entry(info) for info in new or [ws.branch.store.commit(tip)]]
            return _build_changes(ws.branch, reversed(entries))

    def _find_missed(self, text: str) -> list[Change] | None:
        """Return the changes after a commit; None if the commit is unknown or they are too many."""
        try:
            since = parse_oid(text)
        except InvalidName:
            return None
        new: list[Change] = []
        is_known = False
        for name, tip in self._known.items():
            with self._site.work(name) as ws:
                entries, is_own = _find_after(ws.branch, since, tip)
                if len(entries) > BACKLOG or (self._namespace is not None and not is_own):
                    return None
                is_known = is_known or is_own
                new += _build_changes(ws.branch, reversed(entries))
        return sorted(new, key=lambda change: change.entry.time) if is_known else None


def _find_after(branch: Branch, since: Oid, tip: Oid) -> tuple[list[LogEntry], bool]:
    """Return the entries after a commit, newest first, and whether the branch contains this commit.

    For a commit of another branch, the entries with a later time are returned; for an unknown commit, none.
    """
    store = branch.store
    if not store.has(since):
        return [], False
    if store.is_ancestor(since, tip):
        return [parse_entry(info) for info in islice(store.only_in(tip, since), BACKLOG + 1)], True
    then = parse_entry(store.commit(since)).time
    newest = islice(branch.history(tip), BACKLOG + 1)
    return [entry for entry in newest if entry.time > then], False


def _build_changes(branch: Branch, entries: Iterable[LogEntry]) -> list[Change]:
    store, name = branch.store, str(branch.namespace)
    described = (describe_merge(store, entry) for entry in entries)
    return [Change(name, entry, read_revision_number(store, store.commit(entry.commit))) for entry in described]
