"""A time limit for all that one thread reads, whoever reads it: checking, planning, merging and decoding alike.

What a remote sent decides how much there is to read. Everything that works on it reads objects, so this is the one
place where it can be stopped; nothing is stored half, since refs move last.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from baton_git.core.errors import Rejected


class TimeLimit(threading.local):
    """Each thread has its own; there is none at first."""

    def __init__(self) -> None:
        self.end = math.inf
        self.what = ""

    @contextmanager
    def until(self, end: float, what: str) -> Iterator[None]:
        """Inside, `check` raises once the monotonic clock is past `end`."""
        before = self.end, self.what
        self.end, self.what = min(end, self.end), what
        try:
            yield
        finally:
            self.end, self.what = before

    def check(self) -> None:
        """Raises Rejected once the time is over."""
        if time.monotonic() > self.end:
            raise Rejected(f"{self.what} takes too long for now", hint="baton sync gives it more time", for_now=True)
