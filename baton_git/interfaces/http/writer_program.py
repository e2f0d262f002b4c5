"""The program of a writer process (see `writer_processes`)."""

from __future__ import annotations

import gc
import signal
import socket
from collections import deque
from contextlib import suppress
from typing import Any

from baton_git.core.errors import BatonError
from baton_git.interfaces.http.documents import write_together
from baton_git.interfaces.http.site import Site, log_to_stderr
from baton_git.interfaces.http.writer_processes import ResponseParts, WriterAnswers, encode_message, take_messages

LOCK_SECONDS = 0.1
"""Seconds that a process waits for the lock of a ref, while all its other namespaces wait; then the server waits."""
VALUES_BYTES, OBJECTS_BYTES = 8 << 20, 4 << 20
"""Limits on the cached values and objects of one process, half and a quarter of the usual ones: there are several
processes, and each has a part of the namespaces."""
NEW_OBJECTS = 10_000
"""Number of new objects after which Python looks for cycles. A write makes several hundred objects and hardly any
cycles; with the usual 700, to look for them takes a twentieth of the time of a write."""
TOGETHER = 64
"""Maximum number of documents that a process writes together, which limits how long this takes."""


def main() -> None:
    """Write the documents that arrive at standard input, a socket, until the server closes it."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends when the server has ended, after its last write
    log_to_stderr()
    with socket.socket(fileno=0) as server, suppress(BatonError, ConnectionError):
        inbox = _Inbox(server)
        setup = next(iter(inbox.take(1)), None)
        if setup is None:  # the server has ended already
            return
        site = Site(setup.options, may_create=setup.may_create, is_guarded=setup.is_guarded)
        due = _Due()
        site.store.tidied_by = due.set
        site.store.locks.wait = LOCK_SECONDS
        site.store.memory.room = VALUES_BYTES
        site.store.objects.limit_cache(OBJECTS_BYTES)
        gc.freeze()  # what is imported stays
        gc.set_threshold(NEW_OBJECTS)
        server.sendall(encode_message(str(site.repository.common_dir)))
        while requests := inbox.take(TOGETHER):
            responses = write_together(site, [request for _, request in requests])
            answers = {
                number: None if one is None else ResponseParts(one.status_code, one.raw_headers, bytes(one.body))
                for (number, _), one in zip(requests, responses, strict=True)
            }
            server.sendall(encode_message(WriterAnswers(answers, due.take())))
        site.close()


class _Due:
    """Whether packs are due to be merged, which the server has done."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> bool:
        self._is_set = True
        return True

    def take(self) -> bool:
        is_set, self._is_set = self._is_set, False
        return is_set


class _Inbox:
    """The messages that arrive at a socket."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self._received = bytearray()
        self._waiting: deque[Any] = deque()

    def take(self, most: int) -> list[Any]:
        """Wait for a message, and return all that have arrived, at most `most`; none if the other end has closed."""
        while not self._waiting:
            if not self._receive(0):
                return []
        while len(self._waiting) < most and self._receive(socket.MSG_DONTWAIT):
            pass
        return [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]

    def _receive(self, flags: int) -> bool:
        try:
            data = self._server.recv(1 << 18, flags)
        except BlockingIOError:
            return False
        self._received += data
        self._waiting.extend(take_messages(self._received))
        return bool(data)


if __name__ == "__main__":
    main()
