"""Rate limit for wrong tokens, by client address. A valid token is always accepted, even from a limited address.

Forwarding headers are not trusted, so behind a proxy all clients have the same address. Therefore the token is
compared first, and only wrong tokens are counted. The limit bounds the size of logs and responses; the length of the
token protects against guessing.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

FREE = 5
"""Number of wrong tokens from one address before the limit applies."""
LONGEST = 15.0
"""Maximum waiting time in seconds."""
FORGOTTEN = 300.0
"""Seconds without a wrong token after which an address is forgotten."""
ADDRESSES = 10_000


class Attempts:
    """The wrong tokens by address, in this process. At most `ADDRESSES` addresses are remembered.

    `clock` returns monotonic seconds.
    """

    def __init__(self, free: int = FREE, clock: Callable[[], float] = time.monotonic) -> None:
        self._free = free
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of remembered addresses."""
        return len(self._wrong)

    def note_wrong(self, address: str) -> float:
        """Count a wrong token, unless the address must still wait. Return the seconds to wait; 0 if it was counted."""
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
    """Return the waiting time in seconds after `more` wrong tokens beyond the free ones."""
    return 0.0 if more < 0 else min(LONGEST, 2.0 ** min(more, 10))
