"""Report the progress of long operations, independently of how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Progress = Callable[[int, int], None]
"""Called with the number of finished items and the total number."""


def ignore_progress(done: int, whole: int) -> None:
    """Do nothing; the `Progress` of callers that show none."""


def track(items: Sequence[Item], progress: Progress) -> Iterator[Item]:
    """Yield the items, and report each one to `progress` when the next is requested."""
    for number, item in enumerate(items, start=1):
        yield item
        progress(number, len(items))
