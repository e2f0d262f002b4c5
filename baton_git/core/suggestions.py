"""Suggestions for mistyped names."""

from __future__ import annotations

from collections.abc import Iterable


def find_near_names(name: str, names: Iterable[str], limit: int = 1) -> list[str]:
    """Return at most `limit` of `names` that resemble `name`, the closest first."""
    from difflib import get_close_matches  # imported here because most processes never need it

    return get_close_matches(name, list(names), limit)
