"""Group commit: one thread serves the requests of all threads of the process that wait at that moment.

The first thread starts at once. Those that come meanwhile wait; when it is done, the next one serves all that wait.
So a single thread loses nothing, and many share the cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event, Lock
from typing import Final, Generic, TypeVar

Request = TypeVar("Request")

_MOST: Final = 64
"""Most threads that are served together, so that no group takes too long."""


class CommitGroup(Generic[Request]):
    """The queue of the waiting threads; requests and their answers are up to the caller."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: deque[_Waiter[Request]] = deque()
        self._is_busy = False

    @property
    def waiting(self) -> int:
        """How many threads wait to be served."""
        return len(self._waiting)

    def serve(self, request: Request, serve: Callable[[list[Request]], None], wait: float) -> bool:
        """Have a request served by `serve`, called here or by another thread of the queue, in the order they came.

        Returns:
            False if `wait` seconds passed before any thread started to serve them.
        """
        waiter = _Waiter(request)
        with self._lock:
            leads = not self._is_busy
            self._is_busy = True
            if not leads:
                self._waiting.append(waiter)
        if not leads and not self._is_reached(waiter, wait):
            return False
        if not waiter.served:
            self._lead(waiter, serve)
        return True

    def _is_reached(self, waiter: _Waiter[Request], wait: float) -> bool:
        """Whether the thread was served, or leads now; False if it gave up after `wait` seconds."""
        try:
            if not waiter.woken.wait(wait) and self._gives_up(waiter):
                return False
            waiter.woken.wait()
        except BaseException:  # Ctrl-C while we wait: nobody may wait for us
            if not self._gives_up(waiter) and waiter.leads:
                self._hand_on()
            raise
        return True

    def _gives_up(self, waiter: _Waiter[Request]) -> bool:
        """Whether the thread could leave the queue, since nobody had started to serve it."""
        with self._lock:
            if waiter not in self._waiting:
                return False
            self._waiting.remove(waiter)
            return True

    def _lead(self, waiter: _Waiter[Request], serve: Callable[[list[Request]], None]) -> None:
        others: list[_Waiter[Request]] = []
        try:
            with self._lock:
                others += [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST - 1))]
            serve([member.request for member in (waiter, *others)])
        finally:
            for member in others:
                member.served = True
            self._hand_on()
            for member in others:
                member.woken.set()

    def _hand_on(self) -> None:
        """Wake the next thread of the queue as the leader, if there is one."""
        with self._lock:
            following = self._waiting.popleft() if self._waiting else None
            self._is_busy = following is not None
            if following is not None:
                following.leads = True
                following.woken.set()


class _Waiter(Generic[Request]):
    """One waiting thread. If it is woken without being served, it leads."""

    __slots__ = ("leads", "request", "served", "woken")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.woken = Event()
        self.served = False
        self.leads = False
