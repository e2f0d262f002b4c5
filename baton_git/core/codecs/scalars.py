"""Which integers a record may hold: those that every reader and writer of its formats can give back.

Python refuses to write an integer of more than 4,300 digits in decimal, yet reads one in hexadecimal and adds two
that are shorter. So every codec asks here, when it has read a number and before it writes one, and so does a merge.
"""

from __future__ import annotations

from typing import Final

MAX_DIGITS: Final = 4300
"""Decimal digits that an integer may have."""

TOO_LONG: Final = f"is an integer of more than {MAX_DIGITS:,} digits"

_BEYOND: Final = 10**MAX_DIGITS


def is_writable(number: int) -> bool:
    """Whether an integer has at most `MAX_DIGITS` digits."""
    return -_BEYOND < number < _BEYOND
