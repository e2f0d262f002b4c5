"""The limit on the integers in a record.

Python refuses to convert integers of more than 4,300 digits to decimal, but such integers can result from hexadecimal
notation or from adding two shorter ones. Therefore codecs check integers after reading and before writing, and merges
check sums.
"""

from __future__ import annotations

from typing import Final

MAX_DIGITS: Final = 4300
"""Maximum decimal digits of an integer."""

TOO_LONG: Final = f"is an integer of more than {MAX_DIGITS:,} digits"

_BEYOND: Final = 10**MAX_DIGITS


def is_writable(number: int) -> bool:
    """Whether an integer has at most `MAX_DIGITS` digits."""
    return -_BEYOND < number < _BEYOND
