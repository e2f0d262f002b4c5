"""The stream of changes, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.sse import format_sse_event
from starlette.responses import Response

from baton_git.core.errors import BatonError
from baton_git.core.names import Namespace
from baton_git.interfaces.http.api.refusals import refusals
from baton_git.interfaces.http.body import Routes
from baton_git.interfaces.http.changes import changes
from baton_git.interfaces.http.problems import describe_problem
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


def router(site: Site, stream_limit: StreamLimit) -> APIRouter:
    """Return the route of the stream of changes."""
    routes = Routes(tags=["events"], responses=refusals())
    content = {EVENTS: {"schema": {"type": "string"}, "example": EXAMPLE}}

    until_closed = {"description": "Events, until the client or the server closes the stream.", "content": content}

    @routes.get("/v1/events", response_class=Response, responses={200: until_closed})
    async def events(
        namespace: Annotated[
            str | None, Query(description="The namespace to watch. Default: all namespaces.", examples=["project:x"])
        ] = None,
        last_event_id: Annotated[
            str | None, Header(description="A commit; the changes after it are sent first.")
        ] = None,
    ) -> Response:
        """Send every change, whoever makes it: first `current` with the current revision, then a `change` for each
        commit.

        The id of an event is its commit. A client that reconnects with this id in Last-Event-ID gets the changes
        that it missed. If these are too many, `missed` in `current` is true, and the client should read the state
        again. Such a `current` is also sent in the middle of a stream, in place of more than 500 new commits of a
        namespace that are found at once.
        """
        if namespace is not None:
            Namespace(namespace)
        return Stream(stream_events(site, namespace, last_event_id), stream_limit)

    return routes


async def stream_events(site: Site, namespace: str | None, since: str | None) -> AsyncIterator[bytes]:
    """Yield the changes as server-sent events, with comments while nothing changes."""
    async with aclosing(changes(site, namespace, since)) as source:
        next_event = asyncio.ensure_future(anext(source, None))
        try:
            while True:
                done, _ = await asyncio.wait({next_event}, timeout=HEARTBEAT)
                if not done:
                    yield format_sse_event(comment="still here")
                    continue
                event = next_event.result()
                if event is None:
                    return
                yield format_sse_event(event=event.event, id=event.commit, data_str=json.dumps(event.as_data()))
                next_event = asyncio.ensure_future(anext(source, None))
        except BatonError as error:
            yield format_sse_event(event="problem", data_str=json.dumps(describe_problem(error)))
        finally:
            next_event.cancel()
            await asyncio.gather(next_event, return_exceptions=True)
