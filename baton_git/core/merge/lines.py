"""Merge two changed versions of a text by lines.

The algorithm is that of Khanna, Kunal and Pierce, "A Formal Investigation of Diff3" (2007). Lines of the base that both
sides still have are stable; each chunk between two stable lines is taken from the side that changed it. Merge commits
must be identical on every machine, so lines are compared with the standard library's `difflib` and its default
settings; other diff algorithms align some texts differently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

Lines = Sequence[bytes]


def merge_lines(base: Lines, ours: Lines, theirs: Lines) -> list[bytes] | None:
    """Return the merged lines; None if both sides changed the same lines differently.

    Swapping the sides gives the same result.
    """
    merged: list[bytes] = []
    starts = (0, 0, 0)
    for ends in _stable_lines(base, ours, theirs):
        sides = (text[start:end] for text, start, end in zip((base, ours, theirs), starts, ends, strict=True))
        chunk = _merge_chunk(*sides)
        if chunk is None:
            return None
        merged += chunk
        merged += base[ends[0] : ends[0] + 1]
        starts = (ends[0] + 1, ends[1] + 1, ends[2] + 1)
    return merged


def _stable_lines(base: Lines, ours: Lines, theirs: Lines) -> Iterator[tuple[int, int, int]]:
    """Yield the indexes of each stable line in the three texts, then the lengths of the texts."""
    in_theirs = dict(_matching_lines(base, theirs))
    for line, in_ours in _matching_lines(base, ours):
        if line in in_theirs:
            yield line, in_ours, in_theirs[line]
    yield len(base), len(ours), len(theirs)


def _matching_lines(base: Lines, side: Lines) -> Iterator[tuple[int, int]]:
    for block in SequenceMatcher(None, base, side).get_matching_blocks():
        yield from zip(range(block.a, block.a + block.size), range(block.b, block.b + block.size), strict=True)


def _merge_chunk(base: Lines, ours: Lines, theirs: Lines) -> Lines | None:
    if ours in (base, theirs):
        return theirs
    return ours if theirs == base else None
