"""Map remote refs to local refs by pattern, for example `refs/heads/baton/*` to `refs/baton-incoming/origin/*`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from baton_git.core.errors import InvalidArgument


def check(wants: Mapping[str, str]) -> None:
    """Raise InvalidArgument unless both sides are full ref names, each with one `*` or both without."""
    for remote_ref, local_ref in wants.items():
        stars = remote_ref.count("*"), local_ref.count("*")
        if not (remote_ref.startswith("refs/") and local_ref.startswith("refs/")) or stars not in {(0, 0), (1, 1)}:
            raise InvalidArgument(
                f"cannot fetch {remote_ref!r} to {local_ref!r}: both must be full ref names, or both patterns"
            )


def match_star(pattern: str, ref: str) -> str | None:
    """Return the part of `ref` that the `*` of the pattern matches ("" without a `*`), or None if it does not match."""
    start, star, end = pattern.partition("*")
    if not star:
        return "" if ref == pattern else None
    fits = len(ref) > len(start) + len(end) and ref.startswith(start) and ref.endswith(end)
    return ref[len(start) : len(ref) - len(end)] if fits else None


def fill_pattern(pattern: str, star: str) -> str:
    return pattern.replace("*", star)


def matches(wants: Mapping[str, str], refs: Iterable[str]) -> dict[str, str]:
    """Return a mapping of the matching remote refs in `refs` to their local refs."""
    matched = ((ref, local_ref, match_star(remote_ref, ref)) for ref in refs for remote_ref, local_ref in wants.items())
    return {ref: fill_pattern(local_ref, star) for ref, local_ref, star in matched if star is not None}
