"""A time limit for conversations of dulwich, which has none: at the end of it every connection is cut."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self


class Watch:
    """Cuts what is under it after `seconds`, from a thread of its own; lets go of everything at the end of the `with`.

    A blocked read then returns, so that `passed` tells why something failed. A limit per read would not do: a server
    can send a byte a second for ever.
    """

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._deadline = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._cuts: list[Callable[[], None]] = []
        self._closes: list[Callable[[], object]] = []
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    @property
    def left(self) -> float:
        """Seconds; a little when none is left, since 0 stands for "no limit" with sockets."""
        return max(0.01, self._deadline - time.monotonic())

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for close in reversed(self._closes):  # still watched: a program may take its time to end
            with suppress(OSError):
                close()
        self._timer.cancel()
        self._timer.join()

    def socket(self, sock: socket.socket) -> socket.socket:
        """The same socket, under the watch. A second descriptor of it is cut: TLS may have taken over the first."""
        twin = sock.dup()
        self.closing(twin.close)
        self.closing(lambda: _let_go(sock))
        self._under(lambda: twin.shutdown(socket.SHUT_RDWR))
        return sock

    def process(self, process: subprocess.Popen[bytes]) -> None:
        """Puts a process that leads its group under the watch; it is killed at the end in any case."""
        self.closing(lambda: _end(process))
        self._under(lambda: _kill(process))

    def closing(self, close: Callable[[], object]) -> None:
        """Calls `close` at the end; those that came last come first."""
        self._closes.append(close)

    def looked_up(self, host: str, port: int | None) -> None:
        """Resolves the name: the only thing that nothing can cut, so it is waited for elsewhere.

        Raises:
            OSError: it does not resolve, or not in time.
        """
        answer: list[OSError | None] = []

        def look() -> None:
            try:
                socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                answer.append(None)
            except (OSError, UnicodeError) as error:
                answer.append(error if isinstance(error, OSError) else OSError(f"could not resolve {host!r}"))

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        thread.join(self.left)
        if not answer:
            raise TimeoutError(f"could not resolve {host!r} in time")
        if answer[0] is not None:
            raise answer[0]

    def _under(self, cut: Callable[[], None]) -> None:
        with self._lock:
            self._cuts.append(cut)
            late = self.passed
        if late:
            cut()

    def _cut(self) -> None:
        with self._lock:
            self.passed = True
            cuts = list(self._cuts)
        for cut in cuts:
            with suppress(OSError):
                cut()


def _let_go(sock: socket.socket) -> None:
    """Closes it, also when some forgotten reader still holds it open."""
    if sock.fileno() >= 0:
        os.close(sock.detach())


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):  # what could not be flushed is of no interest any more
                pipe.close()
