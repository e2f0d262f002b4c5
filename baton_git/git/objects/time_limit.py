"""A time limit for reading objects, per thread.

A remote can send commits that take very long to verify, merge or decode. All of this work reads objects, so the limit
is checked at each read. It is safe to stop at any time, because refs are moved last.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from baton_git.core.errors import Rejected


class TimeLimit(threading.local):
    """The time limit of the current thread; initially none."""

    def __init__(self) -> None:
        self.end = math.inf
        self.what = ""

    @contextmanager
    def until(self, end: float, what: str) -> Iterator[None]:
        """Set the limit inside the `with` block: `check` raises after `end` on the monotonic clock.

        `what` names the limited work in the error. An earlier limit of an outer block remains in force.
        """
        before = self.end, self.what
        self.end, self.what = min(end, self.end), what
        try:
            yield
        finally:
            self.end, self.what = before

    def check(self) -> None:
        """Raise Rejected if the time limit has passed."""
        if time.monotonic() > self.end:
            hint = "allow it more time: baton sync --timeout SECONDS"
            raise Rejected(f"{self.what} exceeds the time limit", hint=hint, for_now=True, is_for_sync=True)
