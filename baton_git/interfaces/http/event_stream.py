"""The stream of changes, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.responses import Response

from baton_git.core.errors import BatonError
from baton_git.core.names import Namespace
from baton_git.interfaces.http.acting import describe_parameter
from baton_git.interfaces.http.changes import changes
from baton_git.interfaces.http.openapi import refusals
from baton_git.interfaces.http.operations import Arguments, HttpOperation, declare
from baton_git.interfaces.http.responses import describe_problem
from baton_git.interfaces.http.site import Site
from baton_git.interfaces.http.streams import EVENTS, Stream, StreamLimit
from baton_git.namespace.results import COMMIT

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
