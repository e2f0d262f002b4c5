"""The changes of namespaces as they happen, and the streams of server-sent events that send them."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, ClassVar

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from baton_git.core.errors import BatonError, InvalidName
from baton_git.core.names import Namespace, Oid, parse_oid
from baton_git.core.output import one_line
from baton_git.core.times import iso
from baton_git.interfaces.http.acting import describe_parameter
from baton_git.interfaces.http.openapi import refusals
from baton_git.interfaces.http.operations import Arguments, HttpOperation, declare
from baton_git.interfaces.http.responses import describe_problem, refusal
from baton_git.interfaces.http.site import Site
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry, describe_merge, parse_entry, read_revision_number
from baton_git.namespace.results import COMMIT

# --- the changes of namespaces as they happen, whichever process makes them, found by polling the refs


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


# --- streams of events, which end with their client or the server, and a limit on their number


EVENTS = "text/event-stream"
MOST = 64
"""Maximum number of concurrent streams of the API and the page together; each of them polls the refs."""

log = logging.getLogger("baton.http")


class StreamLimit:
    """Limits the number of open streams; `free` counts how many more may be opened."""

    def __init__(self, most: int = MOST) -> None:
        self.free = most


class Stream(StreamingResponse):
    """The events for one client; ends when the client disconnects or the server shuts down."""

    def __init__(self, lines: AsyncIterator[str | bytes], stream_limit: StreamLimit) -> None:
        super().__init__(lines, headers={"X-Accel-Buffering": "no"}, media_type=EVENTS)
        self._limit = stream_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._limit.free <= 0:
            answer = refusal(
                scope["path"], 503, "busy", "too many event streams are open", hint="close another stream first"
            )
            await answer(scope, receive, send)
            return
        self._limit.free -= 1
        sending = asyncio.create_task(self.stream_response(send))
        leaving = asyncio.create_task(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._limit.free += 1
            for task in (sending, leaving):
                task.cancel()
            for ended in await asyncio.gather(sending, leaving, return_exceptions=True):
                if isinstance(ended, Exception) and not isinstance(ended, TimeoutError):
                    log.error("a bug in baton itself: the stream of %s", one_line(scope["path"], 1000), exc_info=ended)


# --- the stream of changes, as server-sent events


HEARTBEAT = 15.0
"""Seconds without a change after which a stream sends a comment, so that the connection is kept."""
EXAMPLE = f"""\
event: current
id: {COMMIT}
data: {{"namespace": "project:x", "revision": 12, "commit": "{COMMIT}", "missed": false}}

event: change
id: {COMMIT}
data: {{"namespace": "project:x", "revision": 13, "commit": "{COMMIT}", "time": "2026-06-17T12:30:00Z", \
"op": "loop-verify", "session": "2026-06-17-003", "agent": "claude", "subject": "OL-7k3f9q verified"}}
"""


PARAMETERS = (
    describe_parameter("namespace", "query", "The namespace to watch. Default: all namespaces.", "project:x"),
    describe_parameter("last-event-id", "header", "A commit; the changes after it are sent first."),
)


def events_operation(stream_limit: StreamLimit) -> HttpOperation:
    """Return the operation that sends the stream of changes."""

    async def events(arguments: Arguments) -> Response:
        """Send every change, whoever makes it: first `current` with the current revision, then a `change` for each
        commit.

        The id of an event is its commit. A client that reconnects with this id in Last-Event-ID gets the changes
        that it missed. If these are too many, `missed` in `current` is true, and the client should read the state
        again. Such a `current` is also sent in the middle of a stream, in place of more than 500 new commits of a
        namespace that are found at once.
        """
        request = arguments.request
        namespace = request.query_params.get("namespace")
        if namespace is not None:
            Namespace(namespace)
        return Stream(stream_events(arguments.site, namespace, request.headers.get("last-event-id")), stream_limit)

    content = {EVENTS: {"schema": {"type": "string"}, "example": EXAMPLE}}
    until_closed = {"description": "Events, until the client or the server closes the stream.", "content": content}
    responses = refusals() | {200: until_closed}
    return declare("GET", "/v1/events", events, "events", parameters=PARAMETERS, responses=responses)


async def stream_events(site: Site, namespace: str | None, since: str | None) -> AsyncIterator[bytes]:
    """Yield the changes as server-sent events, with comments while nothing changes."""
    async with aclosing(changes(site, namespace, since)) as source:
        next_event = asyncio.ensure_future(anext(source, None))
        try:
            while True:
                done, _ = await asyncio.wait({next_event}, timeout=HEARTBEAT)
                if not done:
                    yield b": still here\n\n"
                    continue
                event = next_event.result()
                if event is None:
                    return
                yield _format_event(event.event, event.as_data(), event.commit)
                next_event = asyncio.ensure_future(anext(source, None))
        except BatonError as error:
            yield _format_event("problem", describe_problem(error))
        finally:
            next_event.cancel()
            await asyncio.gather(next_event, return_exceptions=True)


def _format_event(event: str, data: Any, id_: str | None = None) -> bytes:
    lines = [f"event: {event}", f"data: {json.dumps(data)}", *([f"id: {id_}"] if id_ is not None else [])]
    return ("\n".join(lines) + "\n\n").encode()
