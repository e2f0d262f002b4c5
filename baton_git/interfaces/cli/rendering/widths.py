"""How many columns of a terminal a text takes."""

from __future__ import annotations

import shutil
import sys
from unicodedata import category, east_asian_width

from baton_git.core.output import terminal_line

ELLIPSIS = "…"
DEFAULT_WIDTH = 80


def terminal_width() -> int | None:
    """Return the columns of the terminal that standard output is; None where it is none."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns if sys.stdout.isatty() else None


def count_columns(text: str) -> int:
    """Return the columns of a text without styles; wide characters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(char: str) -> int:
    if category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def fit(text: str, width: int) -> str:
    """Return a text that takes at most `width` columns, ending with `…` where it was cut."""
    if count_columns(text) <= width:
        return text
    kept, room = [], max(width, 1) - 1
    for char in text:
        room -= _columns_of(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept).rstrip() + ELLIPSIS


def fit_terminal(text: str, taken: int) -> str:
    """Return a text on one line, cut to the columns that a terminal has left; whole where there is none."""
    line, width = terminal_line(text), terminal_width()
    return line if width is None else fit(line, width - taken)
