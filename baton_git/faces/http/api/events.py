"""Changes as they happen, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.sse import format_sse_event
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from baton_git.errors import BatonError
from baton_git.faces.http.api.refusals import refusals
from baton_git.faces.http.api.shapes import COMMIT
from baton_git.faces.http.changes import changes
from baton_git.faces.http.problems import refusal, told
from baton_git.faces.http.site import Site
from baton_git.names import Namespace

EVENTS = "text/event-stream"
MOST = 64
"""Streams at a time: each looks at the refs by itself."""
HEARTBEAT = 15.0
"""Seconds after which a stream in which nothing happens says that it is still there."""
EXAMPLE = f"""\
event: current
id: {COMMIT}
data: {{"namespace": "project:x", "revision": 12, "commit": "{COMMIT}", "missed": false}}

event: change
id: {COMMIT}
data: {{"namespace": "project:x", "revision": 13, "commit": "{COMMIT}", "time": "2026-06-17T12:30:00Z", \
"op": "loop-verify", "session": "2026-06-17-003", "agent": "claude", "subject": "OL-7k3f9q verified"}}
"""


class Places:
    """How many streams there may be, and are."""

    def __init__(self, most: int = MOST) -> None:
        self.free = most


def router(site: Site) -> APIRouter:
    """The stream of changes."""
    routes = APIRouter(tags=["events"], responses=refusals())
    places = Places()
    content = {EVENTS: {"schema": {"type": "string"}, "example": EXAMPLE}}

    @routes.get("/v1/events", response_class=Response,
                responses={200: {"description": "Events, until somebody ends it.", "content": content}})  # fmt: skip
    async def events(
        namespace: Annotated[
            str | None, Query(description="All of them if it is left out.", examples=["project:x"])
        ] = None,
        last_event_id: Annotated[str | None, Header(description="A commit: what came after it is told first.")] = None,
    ) -> Response:
        """Every change, whoever makes it: `current` says where things stand, then comes a `change` for each commit.

        The id of an event is its commit; who comes back with it in Last-Event-ID is told what it missed. `missed` in
        `current` says that this is too much to be told: read the state anew.
        """
        if namespace is not None:
            Namespace(namespace)
        return Stream(site, namespace, last_event_id, places)

    return routes


class Stream(StreamingResponse):
    """The events of one listener; it ends when that goes away, and when the server does."""

    def __init__(self, site: Site, namespace: str | None, since: str | None, places: Places) -> None:
        super().__init__(_events(site, namespace, since), headers={"X-Accel-Buffering": "no"}, media_type=EVENTS)
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._places.free <= 0:
            answer = refusal(scope["path"], 503, "busy", "too many listen for changes", hint="end another stream first")
            await answer(scope, receive, send)
            return
        self._places.free -= 1
        sending = asyncio.create_task(self.stream_response(send))
        leaving = asyncio.create_task(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._places.free += 1
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)


async def _events(site: Site, namespace: str | None, since: str | None) -> AsyncIterator[bytes]:
    async with aclosing(changes(site, namespace, since)) as source:
        coming = asyncio.ensure_future(anext(source, None))
        try:
            while True:
                done, _ = await asyncio.wait({coming}, timeout=HEARTBEAT)
                if not done:
                    yield format_sse_event(comment="still here")
                    continue
                one = coming.result()
                if one is None:
                    return
                yield format_sse_event(event=one.event, id=one.commit, data_str=json.dumps(one.as_data()))
                coming = asyncio.ensure_future(anext(source, None))
        except BatonError as error:
            yield format_sse_event(event="problem", data_str=json.dumps(told(error)))
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
