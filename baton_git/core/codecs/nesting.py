"""The limit on the nesting of foreign JSON, looked for in the text, before any parser sees it.

A parser gives up by itself, but each Python at another depth: 3.11 at its recursion limit (1,000 levels, less those
of the callers), 3.12 and 3.13 at 10,000, and 3.14 where the stack ends. Standard library only: hooks use it.
"""

from __future__ import annotations

from itertools import accumulate

MAX_LEVELS = 200
"""A fifth of Python's recursion limit: a value of so many levels can be walked by recursion, whoever calls."""

_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS = dict.fromkeys(b"[{", 1) | dict.fromkeys(b"]}", -1)


class NestedTooDeep(ValueError):
    """JSON text has more than `MAX_LEVELS` levels of arrays and objects."""

    def __init__(self) -> None:
        super().__init__(f"nested deeper than {MAX_LEVELS} levels")


def check_nesting(text: str) -> None:
    """Look for too many levels in JSON text, in linear time; whether it is JSON is left to the parser.

    Raises:
        NestedTooDeep: there are more than `MAX_LEVELS`.
    """
    if text.count("[") + text.count("{") > MAX_LEVELS and count_levels(text) > MAX_LEVELS:
        raise NestedTooDeep


def count_levels(text: str) -> int:
    """How deep the arrays and objects of JSON text are nested; brackets in strings do not count."""
    source = text.encode("utf-8", "surrogatepass")
    without_escapes = source.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = without_escapes.translate(None, _OTHERS).replace(b'""', b"")
    outside_strings = b"".join(marks.split(b'"')[::2])
    return max(accumulate(map(_STEPS.__getitem__, outside_strings)), default=0)
