"""Group commit: one thread serves the requests of all waiting threads of the process.

The first thread starts immediately. Threads that arrive meanwhile wait; when the first is done, the next one serves the
waiting threads, at most `_MOST` at once. So a single thread has no delay, and concurrent threads share the cost of a
write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event, Lock
from typing import Final, Generic, TypeVar

Request = TypeVar("Request")

_MOST: Final = 64
"""Maximum number of threads in a group, which limits how long a group takes."""


class CommitGroup(Generic[Request]):
    """A queue of waiting threads. The caller defines the requests, which also carry their results."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: deque[_Waiter[Request]] = deque()
        self._is_busy = False

    @property
    def waiting(self) -> int:
        """Number of waiting threads."""
        return len(self._waiting)

    def serve(self, request: Request, serve: Callable[[list[Request]], None], wait: float) -> bool:
        """Queue a request until this or another thread passes it to `serve`. Requests are served in order.

        Returns:
            True if the request was served, False if `wait` seconds passed before a thread began to serve it.
        """
        waiter = _Waiter(request)
        with self._lock:
            leads = not self._is_busy
            self._is_busy = True
            if not leads:
                self._waiting.append(waiter)
        if not leads and not self._wait_for_turn(waiter, wait):
            return False
        if waiter.served:
            return True
        others: list[_Waiter[Request]] = []
        try:
            with self._lock:
                others += [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST - 1))]
            serve([member.request for member in (waiter, *others)])
        finally:
            for member in others:
                member.served = True
            self._wake_next()
            for member in others:
                member.woken.set()
        return True

    def _wait_for_turn(self, waiter: _Waiter[Request], wait: float) -> bool:
        """Wait until the thread was served or became the leader; return False if it gave up after `wait` seconds."""
        try:
            if not waiter.woken.wait(wait) and self._leave_queue(waiter):
                return False
            waiter.woken.wait()
        except BaseException:  # Ctrl-C while waiting: other threads must not wait for this one
            if not self._leave_queue(waiter) and waiter.leads:
                self._wake_next()
            raise
        return True

    def _leave_queue(self, waiter: _Waiter[Request]) -> bool:
        """Leave the queue; return False if the request is already being served, or this thread is the leader."""
        with self._lock:
            if waiter not in self._waiting:
                return False
            self._waiting.remove(waiter)
            return True

    def _wake_next(self) -> None:
        """Wake the next thread of the queue as the leader, if there is one."""
        with self._lock:
            following = self._waiting.popleft() if self._waiting else None
            self._is_busy = following is not None
            if following is not None:
                following.leads = True
                following.woken.set()


class _Waiter(Generic[Request]):
    """One waiting thread. If it is woken before its request was served, it is the leader."""

    __slots__ = ("leads", "request", "served", "woken")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.woken = Event()
        self.served = False
        self.leads = False
