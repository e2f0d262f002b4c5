"""Report the progress of long operations, independently of how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Progress = Callable[[int, int], None]
"""Called with the number of finished items and the total number."""


def ignore_progress(done: int, total: int) -> None:
    """Do nothing: the `Progress` for callers that do not show progress."""


def track(items: Sequence[Item], progress: Progress) -> Iterator[Item]:
    """Yield the items. Each item counts as finished when the next one is requested, and is then reported."""
    for number, item in enumerate(items, start=1):
        yield item
        progress(number, len(items))
