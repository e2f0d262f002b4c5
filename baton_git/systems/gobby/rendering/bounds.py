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


class TooMuch(Exception):
    """An evaluation would take more than it may."""


class Guard:
    """The account of one evaluation.

    A library can neither be interrupted by a signal nor give up a thread that computes, so nothing is started that
    cannot end soon: each step works on values of bounded size, and steps and time are counted between them.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.total = 0
        self.until = time.monotonic() + SECONDS

    def step(self, count: int = 1) -> None:
        self.steps += count
        if self.steps > MAX_STEPS:
            raise TooMuch(f"it takes more than {MAX_STEPS:,} steps")
        self.tick()

    def tick(self) -> None:
        """Looks at the time."""
        if time.monotonic() > self.until:
            raise TooMuch(f"it takes longer than {SECONDS:g} seconds")

    def held(self, value: Any) -> Any:
        """The value, when it is small enough.

        What stands in it several times counts several times: that is what printing or comparing it costs.
        """
        self.step()
        self._fits(value)
        return value

    def _fits(self, value: Any) -> None:
        size, waiting = 0, [value]
        while waiting:
            one = waiting.pop()
            size += 1
            if isinstance(one, str | bytes):
                size += len(one)
            elif isinstance(one, Mapping):
                waiting += [*one.keys(), *one.values()]
            elif isinstance(one, list | tuple):
                waiting += one
            elif isinstance(one, int):
                size += one.bit_length() // 3
            if size + len(waiting) > MAX_SIZE:
                raise TooMuch(f"a value is larger than {MAX_SIZE:,} characters or items")
        self.total += size
        if self.total > MAX_TOTAL:
            raise TooMuch(f"all values together are larger than {MAX_TOTAL:,} characters or items")

    def each(self, values: Iterable[Any]) -> Iterator[Any]:
        """The values of a loop, each counted."""
        for one in values:
            self.step()
            yield one

    def times(self, left: Any, right: Any) -> Any:
        """`left * right`, judged before it is made."""
        for text, count in ((left, right), (right, left)):
            if isinstance(text, str | list | tuple) and isinstance(count, int) and len(text) * count > MAX_SIZE:
                raise TooMuch(f"a value is larger than {MAX_SIZE:,} characters or items")
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > MAX_BITS:
            raise TooMuch("a number is too large")
        return self.held(left * right)

    def power(self, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > MAX_BITS:
            raise TooMuch("a number is too large")
        return left**right

    def rounded(self, value: float, precision: int = 0, method: str = "common") -> float:
        """Jinja2's `round`, to few enough digits: ten to the power of them is made."""
        if not isinstance(precision, int) or abs(precision) > MAX_DIGITS:
            raise TooMuch(f"a number can be rounded to {MAX_DIGITS} digits at most")
        if method not in _ROUNDED:
            raise ValueError(f"round goes {', '.join(_ROUNDED)}, not {method!r}"[:200])
        self.held(value)
        return _ROUNDED[method](value, precision)

    def few(self, value: Any) -> Any:
        """The value, when it has few enough items to be sorted or copied one by one."""
        if hasattr(value, "__len__") and len(value) > MAX_ITEMS:
            raise TooMuch(f"it has more than {MAX_ITEMS:,} items")
        return value

    def sought(self, *texts: Any) -> None:
        """Refuses to look for what is long."""
        if any(isinstance(one, str | bytes) and len(one) > MAX_SOUGHT for one in texts):
            raise TooMuch(f"what is looked for here has more than {MAX_SOUGHT} characters")

    def least(self, *values: Any) -> Any:
        """`min` of values or of one list, without a function of the text's own: that could take all over again."""
        return min(*values)

    def greatest(self, *values: Any) -> Any:
        """`max`, as `least`."""
        return max(*values)

    def joined(self, values: Iterable[Any], between: Any = "") -> str:
        """The texts in one, counted while they are put together."""
        pieces: list[str] = []
        size, comma = 0, self.text(between)
        for one in values:
            pieces.append(self.text(one))
            size += len(pieces[-1]) + len(comma)
            if size > MAX_SIZE:
                raise TooMuch(f"a value is larger than {MAX_SIZE:,} characters or items")
        return str(self.held(comma.join(pieces)))

    def text(self, value: Any) -> str:
        """`str(value)`, of what is small enough."""
        return value if isinstance(value, str) else str(self.held(value))

    def span(self, *numbers: int) -> range:
        """`range`, with few enough items."""
        found = range(*numbers)
        if len(found) > MAX_RANGE:
            raise TooMuch(f"a range has more than {MAX_RANGE:,} items")
        return found


_ROUNDED: dict[str, Callable[[float, int], float]] = {
    "common": round,
    "ceil": lambda value, precision: math.ceil(value * 10**precision) / 10**precision,
    "floor": lambda value, precision: math.floor(value * 10**precision) / 10**precision,
}
