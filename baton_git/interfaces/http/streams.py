"""Streams of events, which end with their client or the server, and a limit on their number."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from baton_git.core.output import one_line
from baton_git.interfaces.http.responses import refusal

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
