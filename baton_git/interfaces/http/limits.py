"""Limits on the size and time of a request, and on wrong tokens of one address."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton_git.interfaces.http.responses import refusal

# --- limits on the size of a request and on the time it takes to receive, answer and stream


MAX_BODY = 16 << 20
"""Maximum size of a request body in bytes, the same as for a document given to `baton write`."""
RECEIVE_SECONDS = 30.0
"""Maximum time in seconds to receive a body, from the moment the application starts to read it."""
ANSWER_SECONDS = 120.0
"""Maximum time in seconds from the last received part of a request until its response begins; a sync may take 60."""
TAKE_SECONDS = 60.0
"""Maximum time in seconds for a client to take one event of a stream; after that, the connection is closed."""

_STREAM = b"text/event-stream"


@dataclass(frozen=True)
class TimeLimits:
    """ASGI middleware that limits the size and time of each request. An event stream may last as long as its client
    reads it."""

    app: ASGIApp
    receive_seconds: float = RECEIVE_SECONDS
    answer_seconds: float = ANSWER_SECONDS
    take_seconds: float = TAKE_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        progress = _Progress(self, receive, send, has_body=_has_body(scope))
        try:
            async with asyncio.timeout(None) as progress.limit:
                try:
                    await self.app(scope, progress.receive, progress.send)
                finally:
                    progress.stop_timer()
        except TimeoutError:
            if progress.has_begun:
                raise
            await self._answer_timeout(scope, progress)(scope, receive, send)

    def _answer_timeout(self, scope: Scope, progress: _Progress) -> ASGIApp:
        if progress.size > MAX_BODY:
            return too_large(scope["path"])
        if progress.is_waiting:
            message = f"the request was not complete after {self.receive_seconds:g} seconds"
            return _close_after(refusal(scope["path"], 408, "too_slow", message))
        message = f"no answer within {self.answer_seconds:g} seconds; the request may still be carried out"
        return refusal(scope["path"], 503, "busy", message, hint="check the current state before you try again")


def too_large(path: str) -> Response:
    return _close_after(refusal(path, 413, "limit_exceeded", f"the request is larger than {MAX_BODY:,} bytes"))


def _close_after(answer: Response) -> Response:
    """Make the connection close after this response."""
    answer.headers["Connection"] = "close"
    return answer


def _has_body(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0").strip(b"0 ") != b""


class _Progress:
    """The progress of one request.

    While the application waits for the body, the time limit is that of receiving; at all other times until the response
    begins, it is that of answering. After that, only the sending of each event of a stream is limited.

    A request has one timer, which may ring too early and is then set again: to move the timer at each step takes 15 µs
    of the 200 µs of a cached read.
    """

    limit: asyncio.Timeout

    def __init__(self, timed: TimeLimits, receive: Receive, send: Send, *, has_body: bool) -> None:
        self._timed, self._receive, self._send = timed, receive, send
        self.size = 0
        self.is_waiting = False
        self.has_begun = False
        self._is_received = not has_body
        self._is_stream = False
        self._receive_until: float | None = None
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._until = now + timed.answer_seconds
        self._set_timer(min(self._until, now + timed.receive_seconds))

    async def receive(self) -> Message:
        if self._is_received:
            return await self._receive()
        message = await self._receive_body()
        self.size += len(message.get("body", b""))
        if self.size > MAX_BODY and not self.has_begun:
            self.limit.reschedule(0)
            await asyncio.sleep(self._timed.receive_seconds)
        self._is_received = not message.get("more_body", False)
        return message

    async def _receive_body(self) -> Message:
        if self._receive_until is None:
            self._receive_until = self._loop.time() + self._timed.receive_seconds
        self.is_waiting = True
        self._limit_to(self._receive_until)
        message = await self._receive()
        self.is_waiting = False
        self._limit_to(self._loop.time() + self._timed.answer_seconds)
        return message

    def _limit_to(self, when: float) -> None:
        self._until = when
        if when < self._rings_at and not self.has_begun:
            self.stop_timer()
            self._set_timer(when)

    def _set_timer(self, when: float) -> None:
        self._rings_at = when
        self._timer = self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        if self._until > self._loop.time():
            self._set_timer(self._until)
        else:
            self.limit.reschedule(0)

    def stop_timer(self) -> None:
        self._timer.cancel()

    async def send(self, message: Message) -> None:
        if not self.has_begun:
            self._begin(message)
        if not self._is_stream:
            await self._send(message)
            return
        async with asyncio.timeout(self._timed.take_seconds):
            await self._send(message)

    def _begin(self, message: Message) -> None:
        self.has_begun = True
        self.stop_timer()
        self._is_stream = any(name == b"content-type" and kind.startswith(_STREAM) for name, kind in message["headers"])


# --- rate limit for wrong tokens, by client address. A valid token is always accepted, even from a limited address
# Forwarding headers are not trusted, so behind a proxy all clients have the same address. Therefore the token is
# compared first, and only wrong tokens are counted. The limit bounds the size of logs and responses; the length of the
# token protects against guessing.


FREE = 5
"""Number of wrong tokens from one address before the limit applies."""
LONGEST = 15.0
"""Maximum waiting time in seconds."""
FORGOTTEN = 300.0
"""Seconds without a wrong token after which an address is forgotten."""
ADDRESSES = 10_000


class Attempts:
    """The wrong tokens by address, in this process. At most `ADDRESSES` addresses are remembered.

    `clock` returns monotonic seconds.
    """

    def __init__(self, free: int = FREE, clock: Callable[[], float] = time.monotonic) -> None:
        self._free = free
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of remembered addresses."""
        return len(self._wrong)

    def note_wrong(self, address: str) -> float:
        """Count a wrong token, unless the address must still wait. Return the seconds to wait; 0 if it was counted."""
        now = self._clock()
        with self._lock:
            count, last = self._wrong.get(address, (0, now))
            wait = last + _pause(count - self._free) - now
            if wait > 0:
                return wait
            if now - last > FORGOTTEN:
                count = 0
            self._wrong[address] = (count + 1, now)
            self._wrong.move_to_end(address)
            while len(self._wrong) > ADDRESSES:
                self._wrong.popitem(last=False)
        return 0.0


def _pause(more: int) -> float:
    """Return the waiting time in seconds after `more` wrong tokens beyond the free ones."""
    return 0.0 if more < 0 else min(LONGEST, 2.0 ** min(more, 10))
