"""The uvicorn server that runs the application, with limits on its connections."""

from __future__ import annotations

import asyncio
import resource
import socket
from functools import cache

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from baton_git.interfaces.http.site import Site

# --- uvicorn's connection with limits, so that a client cannot hold it open without sending a request


HEAD_SECONDS = 10.0
"""Maximum time in seconds to receive the request line and headers, or the rest of a body that is not read."""
HEAD_BYTES = 64 << 10
"""Maximum size in bytes of the request line and headers, checked after each read from the socket."""


MAX_REQUESTS = 500
"""Maximum number of requests that are handled at the same time; further ones get status 503."""
_SPARE_FILES = 200
"""Number of files that the process may open besides its connections: packs, refs, and connections accepted at once."""


@cache
def count_allowed_connections() -> int:
    """Return the maximum number of connections, idle ones included, which the limit on open files leaves."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = 1 << 16 if soft == resource.RLIM_INFINITY else soft
    return max(files - _SPARE_FILES, files // 2)


class Connection(HttpToolsProtocol):
    """A connection with limits for time and size of headers, and on the number of requests and of idle connections.

    uvicorn's `limit_concurrency` counts idle connections as well: 500 of them made every request fail with status 503.
    """

    active_at = 0.0
    _deadline: asyncio.TimerHandle | None = None
    _in_head = False
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.active_at = self.loop.time()
        self._start_deadline()
        if len(self.connections) > count_allowed_connections():
            self._close_oldest_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self.active_at = self.loop.time()
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The headers are too large.")
        if self._deadline is None and (self._in_head or self._is_idle()):
            self._start_deadline()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head = True, 0

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._cancel_deadline()
        self.limit_concurrency = MAX_REQUESTS if len(self.tasks) >= MAX_REQUESTS else None
        super().on_headers_complete()

    def timeout_keep_alive_handler(self) -> None:
        self.close()

    def _is_idle(self) -> bool:
        """Return whether no request is in progress and no keep-alive timeout is running."""
        return self.has_no_request() and self.timeout_keep_alive_task is None

    def has_no_request(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _close_oldest_idle(self) -> None:
        """Close the connection that has been idle for the longest time; a client with a later request reconnects."""
        others = [other for other in self.connections if isinstance(other, Connection) and other is not self]
        idle = [other for other in others if other.has_no_request() and not other.transport.is_closing()]
        if idle:
            min(idle, key=lambda other: other.active_at).close()

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self.close)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def close(self) -> None:
        """Close the connection, without waiting for a client that has not read the last response."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        elif not self.transport.is_closing():
            self.transport.close()


# --- the uvicorn server that runs the application and ends event streams at shutdown


class Server(uvicorn.Server):
    """A uvicorn server that ends event streams before it shuts down; uvicorn alone would wait for them forever."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self._site = site

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._site.ending.set()
        await super().shutdown(sockets)
