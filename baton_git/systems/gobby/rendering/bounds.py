"""How much an evaluation may do: steps, time, and the size of every value that it makes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

MAX_STEPS = 50_000
SECONDS = 1.0
MAX_SIZE = 2 * 1024 * 1024
"""Characters and items, all levels counted, of one value."""
MAX_TOTAL = 64 * 1024 * 1024
"""The same, of all values that are made or looked at."""
MAX_RANGE = 10_000
MAX_BITS = 4096
MAX_DIGITS = 20
"""Digits to which a number can be rounded, before or after its point."""
MAX_ITEMS = 100_000
"""Items of a value that is sorted or made into a list."""
MAX_SOUGHT = 200
"""Characters of what is looked for from the end of a text, or taken off its ends: it costs its length for each one."""


class EvaluationLimit(Exception):
    """An evaluation would take more than it may."""


class EvaluationGuard:
    """The account of one evaluation.

    A library can neither be interrupted by a signal nor give up a thread that computes, so nothing is started that
    cannot end soon: each step works on values of bounded size, and steps and time are counted between them.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin the account of another evaluation."""
        self.steps = 0
        self.total = 0
        self.until = time.monotonic() + SECONDS

    def step(self) -> None:
        """Count a step."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise EvaluationLimit(f"it takes more than {MAX_STEPS:,} steps")
        self.check_time()

    def check_time(self) -> None:
        """Raise EvaluationLimit when the time is over."""
        if time.monotonic() > self.until:
            raise EvaluationLimit(f"it takes longer than {SECONDS:g} seconds")

    def admit(self, value: Any) -> Any:
        """Return the value if it is small enough.

        What it contains several times counts several times: that is what printing or comparing it costs.
        """
        self.step()
        size, waiting = 0, [value]
        while waiting:
            item = waiting.pop()
            size += 1
            if isinstance(item, str | bytes):
                size += len(item)
            elif isinstance(item, Mapping):
                waiting += [*item.keys(), *item.values()]
            elif isinstance(item, list | tuple):
                waiting += item
            elif isinstance(item, int):
                size += item.bit_length() // 3
            _check_size(size + len(waiting))
        self.total += size
        if self.total > MAX_TOTAL:
            raise EvaluationLimit(f"all values together are larger than {MAX_TOTAL:,} characters or items")
        return value

    def count_items(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield the values of a loop, each counted as a step."""
        for value in values:
            self.step()
            yield value

    def multiply(self, left: Any, right: Any) -> Any:
        """Return `left * right`, checked before it is made."""
        for text, count in ((left, right), (right, left)):
            if isinstance(text, str | list | tuple) and isinstance(count, int):
                _check_size(len(text) * count)
        if isinstance(left, int) and isinstance(right, int):
            _check_bits(left.bit_length() + right.bit_length())
        return self.admit(left * right)

    def raise_power(self, left: Any, right: Any) -> Any:
        """Return `left ** right`, checked before it is made."""
        if isinstance(left, int) and isinstance(right, int):
            _check_bits(left.bit_length() * right)
        return left**right

    def round_number(self, value: float, precision: int = 0, method: str = "common") -> float:
        """Jinja2's `round`, to few digits only: it computes ten to the power of them."""
        if not isinstance(precision, int) or abs(precision) > MAX_DIGITS:
            raise EvaluationLimit(f"a number can be rounded to {MAX_DIGITS} digits at most")
        if method not in _ROUNDING:
            raise ValueError(f"round goes {', '.join(_ROUNDING)}, not {method!r}"[:200])
        self.admit(value)
        return _ROUNDING[method](value, precision)

    def join(self, values: Iterable[Any], between: Any = "") -> str:
        """Return the texts in one, counted while they are put together."""
        pieces: list[str] = []
        size, comma = 0, self.to_text(between)
        for value in values:
            pieces.append(self.to_text(value))
            size += len(pieces[-1]) + len(comma)
            _check_size(size)
        return str(self.admit(comma.join(pieces)))

    def to_text(self, value: Any) -> str:
        """Return `str(value)`, if the value is small enough."""
        return value if isinstance(value, str) else str(self.admit(value))


def check_count(value: Any) -> None:
    """Raise EvaluationLimit if a value has too many items to be sorted or copied one by one."""
    if hasattr(value, "__len__") and len(value) > MAX_ITEMS:
        raise EvaluationLimit(f"it has more than {MAX_ITEMS:,} items")


def check_sought(*texts: Any) -> None:
    """Raise EvaluationLimit if what is looked for is long."""
    if any(isinstance(text, str | bytes) and len(text) > MAX_SOUGHT for text in texts):
        raise EvaluationLimit(f"what is looked for here has more than {MAX_SOUGHT} characters")


def make_range(*numbers: int) -> range:
    """Return `range`, with few enough items."""
    numbers_between = range(*numbers)
    if len(numbers_between) > MAX_RANGE:
        raise EvaluationLimit(f"a range has more than {MAX_RANGE:,} items")
    return numbers_between


def _check_size(size: int) -> None:
    if size > MAX_SIZE:
        raise EvaluationLimit(f"a value is larger than {MAX_SIZE:,} characters or items")


def _check_bits(bits: int) -> None:
    if bits > MAX_BITS:
        raise EvaluationLimit("a number is too large")


_ROUNDING: dict[str, Callable[[float, int], float]] = {
    "common": round,
    "ceil": lambda value, precision: math.ceil(value * 10**precision) / 10**precision,
    "floor": lambda value, precision: math.floor(value * 10**precision) / 10**precision,
}
