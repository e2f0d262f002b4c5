"""Keep a server on standard input going until the calls that came before its end are answered.

The SDK ends calls when the input does: what they changed is kept, and nobody hears of it.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import anyio

SECONDS = 30.0
"""How long an answer may take after the end of the input."""


class UnansweredCalls:
    """Which requests of the client wait for an answer, and which of the server, as seen in the messages."""

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
        """Wait for the answers, but not for those that need one of the client first, which can come no more."""
        with anyio.move_on_after(SECONDS):
            while len(self._of_client) > len(self._of_server):
                await self._changed.wait()


class _Stream:
    """A stream of the SDK, with what passes through it noted."""

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
    """What the client sends; its end comes when the calls before it are answered."""

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
    """What the server sends."""

    async def send(self, item: Any) -> None:
        await self._stream.send(item)
        self._calls.note_sent(item.message)
