"""The changes of namespaces as they happen, whichever process made them: the refs are looked at again and again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, ClassVar

from fastapi.concurrency import run_in_threadpool

from baton_git.core.errors import InvalidName
from baton_git.core.names import Namespace, Oid, parse_oid
from baton_git.core.times import iso
from baton_git.interfaces.http.site import Site
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry, parse_entry, revision_of

LOOK_EVERY = 0.4
"""Seconds between two looks at the refs; where a look takes long, ten times as long as it takes."""
BACKLOG = 500
"""Commits of one namespace that are told at once; whoever missed more reads the state anew."""


@dataclass(frozen=True)
class Current:
    """Where things stand: first of all, and again when a namespace was removed.

    Attributes:
        namespace: None where all are watched; `commit` and `revision` are None then as well.
        commit: None too where the namespace does not exist.
        missed: whether something happened since the asker's last event that is not told; it should read anew.
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
    """First where things stand, then every commit as it comes, the older before the newer; it ends with the server.

    Args:
        namespace: None: all of them.
        since: a commit that the asker knows: what came after it is told too. Where all are watched, what other
            namespaces got after its time.

    Raises:
        InvalidName: this can be no namespace.
        StoreError: the repository cannot be read.
    """
    watch = _Watch(site, namespace)
    for one in await run_in_threadpool(watch.begin, since):
        yield one
    while not site.ending.is_set():
        await asyncio.sleep(watch.pause)
        for one in await run_in_threadpool(watch.look):
            yield one


class _Watch:
    """What is known of the namespaces that are watched."""

    def __init__(self, site: Site, namespace: str | None) -> None:
        self._site = site
        self._namespace = Namespace(namespace).text if namespace is not None else None
        self._known: dict[str, Oid] = {}
        self.pause = LOOK_EVERY

    def begin(self, since: str | None) -> list[Current | Change]:
        self._known = self._tips()
        place = self._place(self._known.get(self._namespace or ""))
        if since is None:
            return [place]
        told = self._since(since)
        if told is None:
            return [replace(place, missed=True)]
        return [place, *told]

    def look(self) -> list[Current | Change]:
        """What happened since the last look."""
        began = time.monotonic()
        tips = self._tips()
        moved = {name: tip for name, tip in tips.items() if self._known.get(name) != tip}
        found: list[Current | Change] = [Current(name) for name in self._known if name not in tips]
        for name, tip in moved.items():
            found += self._came(name, tip, self._known.get(name))
        self._known = tips
        self.pause = max(LOOK_EVERY, 10 * (time.monotonic() - began))
        return found

    def _tips(self) -> dict[str, Oid]:
        if self._namespace is not None:
            tip = self._site.tip(self._namespace)
            return {self._namespace: tip} if tip is not None else {}
        with self._site.work() as ws:
            refs = ws.branch.store.refs(ws.branch.prefix)
            named = ((ws.branch.sibling(ref), tip) for ref, tip in refs.items())
            return {str(branch.namespace): tip for branch, tip in named if branch is not None}

    def _place(self, commit: Oid | None) -> Current:
        if self._namespace is None or commit is None:
            return Current(self._namespace)
        with self._site.work(self._namespace) as ws:
            store = ws.branch.store
            return Current(self._namespace, commit, revision_of(store, store.commit(commit)))

    def _came(self, name: str, tip: Oid, known: Oid | None) -> list[Change]:
        """The commits that are new; of a branch that was set back, the one where it stands now."""
        with self._site.work(name) as ws:
            new = list(islice(ws.branch.store.only_in(tip, *([known] if known else [])), BACKLOG))
            entries = [parse_entry(info) for info in new or [ws.branch.store.commit(tip)]]
            return _told(ws.branch, reversed(entries))

    def _since(self, text: str) -> list[Change] | None:
        """What came after a commit; None where nobody can say, or it is too much."""
        try:
            since = parse_oid(text)
        except InvalidName:
            return None
        found: list[Change] = []
        is_known = False
        for name, tip in self._known.items():
            with self._site.work(name) as ws:
                entries, is_own = _after(ws.branch, since, tip)
                if len(entries) > BACKLOG or (self._namespace is not None and not is_own):
                    return None
                is_known = is_known or is_own
                found += _told(ws.branch, reversed(entries))
        return sorted(found, key=lambda one: one.entry.time) if is_known else None


def _after(branch: Branch, since: Oid, tip: Oid) -> tuple[list[LogEntry], bool]:
    """What a branch got after a commit, newest first, and whether that is one of its own; else the clock decides."""
    store = branch.store
    if not store.has(since):
        return [], False
    if store.is_ancestor(since, tip):
        return [parse_entry(info) for info in islice(store.only_in(tip, since), BACKLOG + 1)], True
    then = parse_entry(store.commit(since)).time
    newest = islice(branch.history(tip), BACKLOG + 1)
    return [one for one in newest if one.time > then], False


def _told(branch: Branch, entries: Iterable[LogEntry]) -> list[Change]:
    store, name = branch.store, str(branch.namespace)
    return [Change(name, one, revision_of(store, store.commit(one.commit))) for one in entries]
