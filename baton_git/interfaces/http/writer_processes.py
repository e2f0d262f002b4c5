"""Processes that write documents of session-baton's API for a server under load.

All threads of a Python process together use one processor, so a server that writes in threads cannot use a second one,
and its writers slow down its readers. A writer process has no threads: it takes all requests that wait, writes them
together (`documents`), and answers them. What it cannot write at once, because a branch is locked or has moved,
it leaves to a thread of the server, so that no namespace waits for another one. Each namespace belongs to one process,
which has its state in memory. The processes start when writes overlap; without them, and for large documents, the
server writes in a thread. A branch moves only from the value that its writer has read, so this is correct whoever
writes.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, NamedTuple

from starlette.responses import Response

from baton_git.interfaces.context.settings import CommonOptions
from baton_git.interfaces.http.documents import WRITE, DocumentWrite
from baton_git.interfaces.http.operations import INLINE_BYTES
from baton_git.interfaces.http.responses import refusal
from baton_git.interfaces.http.site import Site

OVERLAPPING = 3
"""Number of writes at the same time from which on the processes are started."""
RETRY_SECONDS = 60.0
"""Seconds after the end of a process until it is started again."""
STOP_SECONDS = 2.0
"""Seconds that a process has to finish its writes when the server stops."""
PROGRAM = "baton_git.interfaces.http.writer_program"
"""The module that a process runs."""
_KEPT_NAMESPACES = 10_000
_LENGTH = 4


Write = Callable[[DocumentWrite], Awaitable[Response]]


class Setup(NamedTuple):
    """The first message to a process: the arguments of its `Site`."""

    options: CommonOptions
    may_create: bool
    is_guarded: bool


class ResponseParts(NamedTuple):
    """The parts of a response."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


class WriterAnswers(NamedTuple):
    """The responses to requests that were written together, by the numbers of the requests.

    Attributes:
        responses: None for a document that the server must write, such as one whose branch is locked.
        due: whether packs are due to be merged, which the server has done by its own process for that.
    """

    responses: Mapping[int, ResponseParts | None]
    due: bool


class WriterProcesses:
    """The writer processes of a server, at most `count`. To be used from its event loop only."""

    def __init__(self, site: Site, count: int) -> None:
        self._site = site
        self._writers = [_Writer(site) for _ in range(count)]
        self._places: OrderedDict[str, int] = OrderedDict()
        self._active = 0

    async def write(self, request: DocumentWrite, size: int, otherwise: Write) -> Response:
        """Let a process write a document of `size` bytes, or the server itself by calling `otherwise`."""
        self._active += 1
        try:
            writer = self._choose(request.namespace) if size <= INLINE_BYTES and self._writers else None
            response = await writer.write(request) if writer is not None else None
            return response if response is not None else await otherwise(request)
        finally:
            self._active -= 1

    def _choose(self, namespace: str) -> _Writer | None:
        """Return the process of a namespace if it is ready. Start all processes if writes overlap."""
        place = self._places.get(namespace)
        if place is None:
            counts = [list(self._places.values()).count(number) for number in range(len(self._writers))]
            place = counts.index(min(counts))
            if len(self._places) >= _KEPT_NAMESPACES:
                self._places.popitem(last=False)
            self._places[namespace] = place
        if self._active >= OVERLAPPING:
            for writer in self._writers:
                writer.start()
        chosen = self._writers[place]
        return chosen if chosen.is_ready else None

    async def close(self) -> None:
        """End the processes once they have finished their writes; kill one that takes too long."""
        for writer in self._writers:
            await writer.close()


class _Writer(asyncio.Protocol):
    """One process, and the connection to it."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._process: subprocess.Popen[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._starting: asyncio.Task[None] | None = None
        self._ended_at: float | None = None
        self._waiting: dict[int, asyncio.Future[Response | None]] = {}
        self._number = 0
        self._received = bytearray()
        self.is_ready = False

    def start(self) -> None:
        """Start the process unless it runs, or has ended a short time ago."""
        if self._starting is not None or (
            self._ended_at is not None and time.monotonic() - self._ended_at < RETRY_SECONDS
        ):
            return
        self._starting = asyncio.get_running_loop().create_task(self._start())

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603  our own program; it takes a millisecond
                    [sys.executable, "-P", "-m", PROGRAM], stdin=theirs.fileno(), stdout=subprocess.DEVNULL, bufsize=0,
                    start_new_session=True,  # so that Ctrl-C reaches only the server
                )  # fmt: skip
            except OSError:
                ours.close()
                self._starting, self._ended_at = None, time.monotonic()
                return
        self._received.clear()
        transport, _ = await asyncio.get_running_loop().create_connection(lambda: self, sock=ours)
        self._transport = transport
        site = self._site
        setup = Setup(site.options, site.may_create, bool(site.token or site.page_token))
        transport.write(encode_message(setup))

    async def write(self, request: DocumentWrite) -> Response | None:
        """Return the process's response; None if it leaves the write to the server. If the process ends meanwhile, the
        response says that it may have been written."""
        assert self._transport is not None
        self._number += 1
        answer: asyncio.Future[Response | None] = asyncio.get_running_loop().create_future()
        number = self._number
        self._waiting[number] = answer
        self._transport.write(encode_message((number, request)))
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)

    def data_received(self, data: bytes) -> None:
        self._received += data
        for message in take_messages(self._received):
            if not isinstance(message, WriterAnswers):  # the repository that it serves
                self.is_ready = message == str(self._site.repository.common_dir)
                continue
            for number, answer in message.responses.items():
                waiting = self._waiting.get(number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(None if answer is None else _make_response(answer))
            if message.due:
                asyncio.get_running_loop().run_in_executor(None, self._site.merge_packs)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_ready, self._starting, self._ended_at = False, None, time.monotonic()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(
                    refusal(
                        WRITE, 503, "busy", "the process that wrote the document has ended; it may have been written",
                        hint="check the current state before you try again",
                    )
                )  # fmt: skip
        process, self._process = self._process, None
        if process is not None:
            asyncio.get_running_loop().run_in_executor(None, _reap, process)

    async def close(self) -> None:
        process, self._process = self._process, None
        if self._transport is not None:
            self._transport.close()
        if process is not None:
            await asyncio.get_running_loop().run_in_executor(None, _reap, process)


def _make_response(answer: ResponseParts) -> Response:
    response = Response(answer.body, answer.status)
    response.raw_headers = answer.headers
    return response


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def encode_message(message: object) -> bytes:
    """Return a message between the server and a process as bytes."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return len(data).to_bytes(_LENGTH, "big") + data


def take_messages(received: bytearray) -> Iterator[Any]:
    """Yield the complete messages that were received, and remove them."""
    while len(received) >= _LENGTH:
        end = _LENGTH + int.from_bytes(received[:_LENGTH], "big")
        if len(received) < end:
            return
        message = pickle.loads(received[_LENGTH:end])  # noqa: S301  written by our own process
        del received[:end]
        yield message
