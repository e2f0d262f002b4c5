"""uvicorn's connection with limits, so that a client cannot hold it open without sending a request."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
"""Maximum time in seconds to receive the request line and headers, or the rest of a body that is not read."""
HEAD_BYTES = 64 << 10
"""Maximum size in bytes of the request line and headers, checked after each read from the socket."""


class Connection(HttpToolsProtocol):
    """A connection with limits for time and size of headers, which uvicorn's own protocol does not have."""

    _deadline: asyncio.TimerHandle | None = None
    _in_head = False
    _head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The headers are too large.")
        elif self._deadline is None and self._is_idle():
            self._start_deadline()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head = True, 0
        if self._deadline is None:
            self._start_deadline()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._cancel_deadline()
        super().on_headers_complete()

    def timeout_keep_alive_handler(self) -> None:
        self._close()

    def _is_idle(self) -> bool:
        """Return whether no request is in progress and no keep-alive timeout is running."""
        return (self.cycle is None or self.cycle.response_complete) and self.timeout_keep_alive_task is None

    def _start_deadline(self) -> None:
        self._deadline = self.loop.call_later(HEAD_SECONDS, self._close)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        """Close the connection, without waiting for a client that has not read the last response."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        elif not self.transport.is_closing():
            self.transport.close()
