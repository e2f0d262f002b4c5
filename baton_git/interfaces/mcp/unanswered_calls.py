"""Keep a server on standard input running after the end of the input until all earlier calls are answered.

The SDK cancels calls at the end of the input: their changes are committed, but the client gets no answer.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import anyio

SECONDS = 30.0
"""Maximum time in seconds to wait for answers after the end of the input."""


class UnansweredCalls:
    """The unanswered requests of the client and of the server, tracked by the messages that pass."""

    def __init__(self) -> None:
        self._of_client: set[Any] = set()
        self._of_server: set[Any] = set()
        self._changed = anyio.Event()

    def note_received(self, message: Any) -> None:
        method, id_ = getattr(message, "method", None), getattr(message, "id", None)
        if method == "notifications/cancelled":
            self._of_client.discard((message.params or {}).get("requestId"))
        elif method is not None and id_ is not None:
            self._of_client.add(id_)
        elif id_ is not None:
            self._of_server.discard(id_)

    def note_sent(self, message: Any) -> None:
        method, id_ = getattr(message, "method", None), getattr(message, "id", None)
        if id_ is None:
            return
        if method is not None:
            self._of_server.add(id_)
        else:
            self._of_client.discard(id_)
        self._changed.set()
        self._changed = anyio.Event()

    async def wait(self) -> None:
        """Wait until the client's calls are answered, at most `SECONDS`.

        Calls for which the server asked the client something cannot be answered any more. For each request of the
        server without a reply, one call may therefore remain unanswered.
        """
        with anyio.move_on_after(SECONDS):
            while len(self._of_client) > len(self._of_server):
                await self._changed.wait()


class _Stream:
    """A wrapper of an SDK stream that records the messages passing through it."""

    def __init__(self, stream: Any, calls: UnansweredCalls) -> None:
        self._stream, self._calls = stream, calls

    def close(self) -> None:
        self._stream.close()

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Received(_Stream):
    """The client's messages. After the last one, the stream waits for unanswered calls (`UnansweredCalls.wait`)."""

    @property
    def last_context(self) -> Any:
        """The context of the sender of the last message."""
        return self._stream.last_context

    async def receive(self) -> Any:
        try:
            item = await self._stream.receive()
        except anyio.EndOfStream:
            await self._calls.wait()
            raise
        self._calls.note_received(getattr(item, "message", None))
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class Sent(_Stream):
    """The messages of the server."""

    async def send(self, item: Any) -> None:
        await self._stream.send(item)
        self._calls.note_sent(item.message)
