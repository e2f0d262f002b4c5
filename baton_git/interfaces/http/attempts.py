"""Limits wrong tokens by client address. A right token always gets in, whatever others at that address have tried.

Behind a proxy all clients have one address, since nothing that a request says of itself is believed. So the token is
compared first, and only a wrong one is counted. That keeps logs and answers small; what makes guessing hopeless is a
long token.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

FREE = 5
"""Wrong tokens of one address that are answered as such."""
LONGEST = 15.0
"""Seconds that one is told to wait at most."""
FORGOTTEN = 300.0
"""Seconds without a wrong token after which an address is forgotten."""
ADDRESSES = 10_000


class Attempts:
    """Wrong tokens by address, in this process. Each costs the same, and at most `ADDRESSES` are remembered.

    `clock` gives seconds and never goes back.
    """

    def __init__(self, free: int = FREE, clock: Callable[[], float] = time.monotonic) -> None:
        self._free = free
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """How many addresses are remembered."""
        return len(self._wrong)

    def note_wrong(self, address: str) -> float:
        """Counts a wrong token; gives the seconds after which another one is looked at as such, 0 for now."""
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
    """Seconds after a wrong token that was `more` than are free."""
    return 0.0 if more < 0 else min(LONGEST, 2.0 ** min(more, 10))
