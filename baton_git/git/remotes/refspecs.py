"""Refs by pattern: `refs/heads/baton/*` there is `refs/baton-incoming/origin/*` here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from baton_git.core.errors import InvalidArgument


def check(wants: Mapping[str, str]) -> None:
    """Raises InvalidArgument unless both sides are full names of refs, with one `*` each or none."""
    for there, here in wants.items():
        stars = there.count("*"), here.count("*")
        if not (there.startswith("refs/") and here.startswith("refs/")) or stars not in {(0, 0), (1, 1)}:
            raise InvalidArgument(f"cannot fetch {there!r} to {here!r}: not two full names of refs or two patterns")


def star_of(pattern: str, ref: str) -> str | None:
    """What the `*` of the pattern stands for in this ref; "" for a pattern without one; None when it does not match."""
    start, star, end = pattern.partition("*")
    if not star:
        return "" if ref == pattern else None
    fits = len(ref) > len(start) + len(end) and ref.startswith(start) and ref.endswith(end)
    return ref[len(start) : len(ref) - len(end)] if fits else None


def fill_pattern(pattern: str, star: str) -> str:
    return pattern.replace("*", star)


def matches(wants: Mapping[str, str], refs: Iterable[str]) -> dict[str, str]:
    """By those of `refs` (of the remote) that are wanted, the local ref."""
    matched = ((ref, here, star_of(there, ref)) for ref in refs for there, here in wants.items())
    return {ref: fill_pattern(here, star) for ref, here, star in matched if star is not None}
