"""The limits on the nesting of JSON from outside, checked in the text before it is parsed, and on integers.

This module uses only the standard library, because hooks import it.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Final

# The limit of Python's parser depends on the version: 3.11 stops at its recursion limit (1,000 levels, less those of
# the callers), 3.12 and 3.13 at 10,000, and 3.14 at the end of the stack.
MAX_LEVELS = 200
"""Maximum levels. A fifth of Python's recursion limit, so that any caller can process such a value recursively."""

_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = dict.fromkeys(b"[{", 1) | dict.fromkeys(b"]}", -1)


class NestedTooDeep(ValueError):
    """JSON text has more than `MAX_LEVELS` levels of arrays and objects."""

    def __init__(self) -> None:
        super().__init__(f"nested deeper than {MAX_LEVELS} levels")


def check_nesting(text: str) -> None:
    """Check the nesting of JSON text, in linear time. The text need not be valid JSON.

    Raises:
        NestedTooDeep: the text has more than `MAX_LEVELS` levels.
    """
    if text.count("[") + text.count("{") > MAX_LEVELS and count_levels(text) > MAX_LEVELS:
        raise NestedTooDeep


def count_levels(text: str) -> int:
    """Return how deeply arrays and objects are nested in JSON text; brackets in strings do not count."""
    source = text.encode("utf-8", "surrogatepass")
    without_escapes = source.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = without_escapes.translate(None, _OTHERS).replace(b'""', b"")
    outside_strings = b"".join(marks.split(b'"')[::2])
    return max(accumulate(map(_STEPS.__getitem__, outside_strings)), default=0)


# Python refuses to convert integers of more than 4,300 digits to decimal, but such integers can result from hexadecimal
# notation or from adding two shorter ones. Therefore codecs check integers after reading and before writing, and merges
# check sums.
MAX_DIGITS: Final = 4300
"""Maximum decimal digits of an integer."""

TOO_LONG: Final = f"is an integer of more than {MAX_DIGITS:,} digits"

_BEYOND: Final = 10**MAX_DIGITS


def is_writable(number: int) -> bool:
    """Whether an integer has at most `MAX_DIGITS` digits."""
    return -_BEYOND < number < _BEYOND
