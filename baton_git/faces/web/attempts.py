"""Whoever guesses the token must wait, longer each time.

Behind a proxy all browsers have one address, since nothing that a request says of itself is believed. So nobody waits
long: a guesser must not lock the others out, and a long token is not guessed at four attempts in a minute.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock

FREE = 5
"""Attempts of one address that nobody has to wait for."""
LONGEST = 15.0
"""Seconds that one waits at most."""
FORGOTTEN = 300.0
"""Seconds without an attempt after which an address is forgotten."""
ADDRESSES = 10_000


class Attempts:
    """Failed attempts by address, in this process."""

    def __init__(self) -> None:
        self._failed: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = Lock()

    def begin(self, address: str) -> float:
        """Notes an attempt as failed; gives the seconds to wait before it may be made, 0 when it may be made now."""
        now = time.monotonic()
        with self._lock:
            count, last = self._failed.get(address, (0, now))
            wait = last + _pause(count) - now
            if wait > 0:
                return wait
            if now - last > FORGOTTEN:
                count = 0
            self._failed[address] = (count + 1, now)
            self._failed.move_to_end(address)
            while len(self._failed) > ADDRESSES:
                self._failed.popitem(last=False)
        return 0.0

    def succeeded(self, address: str) -> None:
        with self._lock:
            self._failed.pop(address, None)


def _pause(count: int) -> float:
    return 0.0 if count < FREE else min(LONGEST, 2.0 ** min(count - FREE, 10))
