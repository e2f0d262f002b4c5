"""Requests that write, taken together: while one lot is on its way to the disk the next one gathers, by namespace.

With a thread for each of eight writers half of the time went into handing over the interpreter from one to another.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import anyio
from anyio.to_thread import run_sync
from starlette.responses import Response

Write = TypeVar("Write")
Answer = Response | Exception

MOST = 16
"""How many requests are written together, so that nobody waits for a very long row."""
NAMESPACES = 8
"""How many namespaces are written to side by side; who comes then waits, and readers do not wait for them."""


class WriteBatcher(Generic[Write]):
    """Batches the write requests of one event loop for `write_all`, run in a thread, once at a time per namespace.

    A batch is whatever has arrived when a thread is free; no request waits for others to come.
    """

    def __init__(self, write_all: Callable[[Sequence[Write]], Sequence[Answer]]) -> None:
        self._write_all = write_all
        self._threads = anyio.CapacityLimiter(NAMESPACES)
        self._waiting: dict[str, deque[tuple[Write, asyncio.Future[Response]]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def answer(self, namespace: str, write: Write) -> Response:
        """Return the response to one request, or raise its error."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Response] = loop.create_future()
        waiting = self._waiting.get(namespace)
        if waiting is not None:
            waiting.append((write, answer))
        else:
            waiting = self._waiting[namespace] = deque([(write, answer)])
            task = loop.create_task(self._serve(namespace, waiting))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await answer

    async def _serve(self, namespace: str, waiting: deque[tuple[Write, asyncio.Future[Response]]]) -> None:
        try:
            while waiting:
                batch = [waiting.popleft() for _ in range(min(len(waiting), MOST))]
                await self._write([item for item in batch if not item[1].done()])  # done: nobody is there any more
        finally:
            del self._waiting[namespace]
            for _, answer in waiting:
                answer.cancel()

    async def _write(self, batch: Sequence[tuple[Write, asyncio.Future[Response]]]) -> None:
        results: Sequence[Answer]
        try:
            results = await run_sync(self._write_all, [write for write, _ in batch], limiter=self._threads)
        except Exception as error:  # noqa: BLE001  whoever waits raises it
            results = [error] * len(batch)
        except BaseException:
            for _, answer in batch:
                answer.cancel()
            raise
        for (_, answer), result in zip(batch, results, strict=True):
            _set_result(answer, result)


def _set_result(answer: asyncio.Future[Response], result: Answer) -> None:
    if answer.done():
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)
