"""Suggestions for mistyped names."""

from __future__ import annotations

from collections.abc import Iterable

MIN_RATIO = 0.65
"""The least similarity (0 to 1, see `difflib`) of a suggestion; with 0.6, `nope` would suggest `reopen`."""


def find_near_names(name: str, names: Iterable[str], limit: int = 1) -> list[str]:
    """Return at most `limit` of `names` that resemble `name`, the closest first."""
    from difflib import get_close_matches  # imported here because most processes never need it

    return get_close_matches(name, list(names), limit, MIN_RATIO)
