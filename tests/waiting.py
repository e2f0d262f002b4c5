"""Wait for a condition that another thread or process makes true, no longer than necessary."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def until(holds: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Return the value of `holds` once it is true; fail if that takes longer than `seconds`."""
    deadline = time.monotonic() + seconds
    pause = 0.002
    while not (found := holds()):
        assert time.monotonic() < deadline, f"the condition was not met within {seconds} s"
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return found
