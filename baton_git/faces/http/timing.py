"""A request has its measure: who sends slowly or too much, or asks for what takes too long, is told so."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from baton_git.faces.http.problems import refusal

MAX_BODY = 16 << 20
"""Bytes that a request may have: as many as a document for `baton write`."""
RECEIVE_SECONDS = 30.0
"""How long the whole body of a request may take to arrive."""
ANSWER_SECONDS = 120.0
"""How long an answer may take to begin; a sync may take 60."""
TAKE_SECONDS = 60.0
"""How long whoever listens to a stream may take nothing of it."""

_STREAM = b"text/event-stream"


@dataclass(frozen=True)
class Timed:
    """An application whose requests end. What streams (events) may go on once it has begun."""

    app: ASGIApp
    receive_seconds: float = RECEIVE_SECONDS
    answer_seconds: float = ANSWER_SECONDS
    take_seconds: float = TAKE_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        course = _Course(self, receive, send)
        try:
            async with asyncio.timeout(self.receive_seconds) as course.limit:
                await self.app(scope, course.receive, course.send)
        except TimeoutError:
            if course.has_begun:
                raise
            await self._late(scope, course)(scope, receive, send)

    def _late(self, scope: Scope, course: _Course) -> ASGIApp:
        if course.size > MAX_BODY:
            return too_large(scope["path"])
        if not course.is_received:
            message = f"the request was not complete after {self.receive_seconds:g} seconds"
            return _last(refusal(scope["path"], 408, "too_slow", message))
        message = f"no answer within {self.answer_seconds:g} seconds; what was asked for may still be done"
        return refusal(scope["path"], 503, "busy", message, hint="look before you try again")


def too_large(path: str) -> Response:
    return _last(refusal(path, 413, "limit_exceeded", f"the request is larger than {MAX_BODY:,} bytes"))


def _last(answer: Response) -> Response:
    """The answer after which nothing more is read of the connection."""
    answer.headers["Connection"] = "close"
    return answer


class _Course:
    """How far a request has come. The limit is at first that of receiving, then that of answering, then none."""

    limit: asyncio.Timeout

    def __init__(self, timed: Timed, receive: Receive, send: Send) -> None:
        self._timed, self._receive, self._send = timed, receive, send
        self.size = 0
        self.is_received = False
        self.has_begun = False
        self._is_stream = False

    async def receive(self) -> Message:
        message = await self._receive()
        if self.is_received:
            return message
        self.size += len(message.get("body", b""))
        if self.size > MAX_BODY and not self.has_begun:
            self.limit.reschedule(0)
            await asyncio.sleep(self._timed.receive_seconds)
        if not message.get("more_body", False):
            self._received()
        return message

    def _received(self) -> None:
        self.is_received = True
        if not self.has_begun:
            self.limit.reschedule(asyncio.get_running_loop().time() + self._timed.answer_seconds)

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
        self.limit.reschedule(None)
        self._is_stream = any(name == b"content-type" and kind.startswith(_STREAM) for name, kind in message["headers"])
