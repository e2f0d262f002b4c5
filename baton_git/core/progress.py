"""Tell how far long work has come, whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Progress = Callable[[int, int], None]
"""Is told how much is done, and how much there is to do."""


def ignore_progress(done: int, whole: int) -> None:
    """Show nothing."""


def track(items: Sequence[Item], progress: Progress) -> Iterator[Item]:
    """Yield the items, and tell of each that was worked on."""
    for number, item in enumerate(items, start=1):
        yield item
        progress(number, len(items))
