"""Limit the steps, the time and the size of values of an evaluation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

MAX_STEPS = 50_000
SECONDS = 1.0
MAX_SIZE = 2 * 1024 * 1024
"""Maximum size of one value in characters and items, including nested ones."""
MAX_TOTAL = 64 * 1024 * 1024
"""Maximum total size of all values that are created or read, in characters and items."""
MAX_RANGE = 10_000
MAX_BITS = 4096
MAX_DIGITS = 20
"""Maximum number of digits to which a number can be rounded, before or after the decimal point."""
MAX_ITEMS = 100_000
"""Maximum number of items of a value that is sorted or converted to a list."""
MAX_SOUGHT = 200
"""Maximum length of the argument of `strip`, `rfind` and similar methods, whose cost per character grows with it."""


class EvaluationLimit(Exception):
    """An evaluation would exceed a limit."""


class EvaluationGuard:
    """The counters of one evaluation.

    A library can neither interrupt a computation with a signal nor abandon a busy thread. Therefore each step works
    on values of bounded size, and the limits of steps and time are checked between steps.
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Reset the counters for another evaluation."""
        self.steps = 0
        self.total = 0
        self.until = time.monotonic() + SECONDS

    def step(self) -> None:
        """Count a step. Raises EvaluationLimit if it exceeds the limit of steps or of time."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise EvaluationLimit(f"it takes more than {MAX_STEPS:,} steps")
        self.check_time()

    def check_time(self) -> None:
        """Raise EvaluationLimit if the time limit is exceeded."""
        if time.monotonic() > self.until:
            raise EvaluationLimit(f"it takes longer than {SECONDS:g} seconds")

    def admit(self, value: Any) -> Any:
        """Count a step, and return the value. Raises EvaluationLimit if it, or all values together, are too large.

        An item that occurs several times counts each time, as it does when the value is printed or compared.
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
        """Return `left * right`; check its size before computing it."""
        for text, count in ((left, right), (right, left)):
            if isinstance(text, str | list | tuple) and isinstance(count, int):
                _check_size(len(text) * count)
        if isinstance(left, int) and isinstance(right, int):
            _check_bits(left.bit_length() + right.bit_length())
        return self.admit(left * right)

    def raise_power(self, left: Any, right: Any) -> Any:
        """Return `left ** right`; check its size before computing it."""
        if isinstance(left, int) and isinstance(right, int):
            _check_bits(left.bit_length() * right)
        return left**right

    def round_number(self, value: float, precision: int = 0, method: str = "common") -> float:
        """Apply Jinja2's `round` with a bounded precision, because it computes `10 ** precision`."""
        if not isinstance(precision, int) or abs(precision) > MAX_DIGITS:
            raise EvaluationLimit(f"a number can be rounded to {MAX_DIGITS} digits at most")
        if method not in _ROUNDING:
            raise ValueError(f"round accepts {', '.join(_ROUNDING)}, not {method!r}"[:200])
        self.admit(value)
        return _ROUNDING[method](value, precision)

    def join(self, values: Iterable[Any], between: Any = "") -> str:
        """Join the texts, and check the size while joining."""
        pieces: list[str] = []
        size, separator = 0, self.to_text(between)
        for value in values:
            pieces.append(self.to_text(value))
            size += len(pieces[-1]) + len(separator)
            _check_size(size)
        return str(self.admit(separator.join(pieces)))

    def to_text(self, value: Any) -> str:
        """Return `str(value)`. Raises EvaluationLimit if a value other than a text is too large."""
        return value if isinstance(value, str) else str(self.admit(value))


def check_count(value: Any) -> None:
    """Raise EvaluationLimit if a value has too many items to be sorted or copied."""
    if hasattr(value, "__len__") and len(value) > MAX_ITEMS:
        raise EvaluationLimit(f"it has more than {MAX_ITEMS:,} items")


def check_sought(*texts: Any) -> None:
    """Raise EvaluationLimit if a text to search for is too long."""
    if any(isinstance(text, str | bytes) and len(text) > MAX_SOUGHT for text in texts):
        raise EvaluationLimit(f"the text to search for has more than {MAX_SOUGHT} characters")


def make_range(*numbers: int) -> range:
    """Return a `range` with a bounded number of items. Raises EvaluationLimit if it has more."""
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
