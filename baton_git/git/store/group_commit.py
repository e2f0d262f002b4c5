"""Threads of one process that want the same thing done: one of them does it for all that wait at that moment.

Nobody waits for company. Who comes first begins at once; who comes meanwhile waits, and when the first is done, the
next in line takes all others that stand there with it. So one thread alone loses nothing, and many share the cost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Event, Lock
from typing import Final, Generic, TypeVar

Request = TypeVar("Request")

_MOST: Final = 64
"""How many threads are served in one go, so that nobody waits for a very long line."""


class CommitGroup(Generic[Request]):
    """Where the threads stand; what they want is theirs to say, and so is where an answer goes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting: deque[_Waiter[Request]] = deque()
        self._is_busy = False

    def serve(self, wishes: Sequence[Request], serve: Callable[[list[Request]], None], wait: float) -> bool:
        """Whether `wishes` were served: by `serve`, which is called here or by another thread of the line, in which all
        are in the order in which they came; False when `wait` seconds passed before anybody began with them.
        """
        place = _Waiter(wishes)
        with self._lock:
            leads = not self._is_busy
            self._is_busy = True
            if not leads:
                self._waiting.append(place)
        if not leads and not self._is_reached(place, wait):
            return False
        if not place.served:
            self._lead(place, serve)
        return True

    def _is_reached(self, place: _Waiter[Request], wait: float) -> bool:
        """Whether the place was served, or leads now; False when it was left after `wait` seconds."""
        try:
            if not place.woken.wait(wait) and self._gives_up(place):
                return False
            place.woken.wait()
        except BaseException:  # Ctrl-C while we wait: nobody may wait for us
            if not self._gives_up(place) and place.leads:
                self._hand_on()
            raise
        return True

    def _gives_up(self, place: _Waiter[Request]) -> bool:
        """Whether the place could be left: nobody had begun with it."""
        with self._lock:
            if place not in self._waiting:
                return False
            self._waiting.remove(place)
            return True

    def _lead(self, place: _Waiter[Request], serve: Callable[[list[Request]], None]) -> None:
        others: list[_Waiter[Request]] = []
        try:
            with self._lock:
                others += [self._waiting.popleft() for _ in range(min(len(self._waiting), _MOST - 1))]
            serve([wish for served in (place, *others) for wish in served.wishes])
        finally:
            for waiting in others:
                waiting.served = True
            self._hand_on()
            for waiting in others:
                waiting.woken.set()

    def _hand_on(self) -> None:
        """The next in line leads; where there is none, whoever comes."""
        with self._lock:
            following = self._waiting.popleft() if self._waiting else None
            self._is_busy = following is not None
            if following is not None:
                following.leads = True
                following.woken.set()


class _Waiter(Generic[Request]):
    """One thread in the line. Woken without being served, it leads."""

    __slots__ = ("leads", "served", "wishes", "woken")

    def __init__(self, wishes: Sequence[Request]) -> None:
        self.wishes = wishes
        self.woken = Event()
        self.served = False
        self.leads = False
