"""Streams of events: a limit on their number, and their end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from baton_git.core.output import one_line
from baton_git.interfaces.http.problems import refusal

EVENTS = "text/event-stream"
MOST = 64
"""Maximum number of concurrent streams of the API and the page together; each polls the refs by itself."""

log = logging.getLogger("baton.http")


class Places:
    """The number of open streams, and its limit."""

    def __init__(self, most: int = MOST) -> None:
        self.free = most


class Stream(StreamingResponse):
    """The events for one client; ends when the client disconnects or the server ends."""

    def __init__(self, lines: AsyncIterator[str | bytes], places: Places) -> None:
        super().__init__(lines, headers={"X-Accel-Buffering": "no"}, media_type=EVENTS)
        self._places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._places.free <= 0:
            answer = refusal(scope["path"], 503, "busy", "too many streams are open", hint="close another stream first")
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
            for ended in await asyncio.gather(sending, leaving, return_exceptions=True):
                if isinstance(ended, Exception) and not isinstance(ended, TimeoutError):
                    log.error("a bug in baton itself: the stream of %s", one_line(scope["path"], 1000), exc_info=ended)
