"""Measure, cut and wrap text by the columns that it takes in a terminal."""

from __future__ import annotations

import re
import shutil
import sys
from unicodedata import category, east_asian_width

from baton_git.core.output import Styled, terminal_line

ELLIPSIS = "…"
DEFAULT_WIDTH = 80
_STYLE = re.compile(r"\x1b\[(\d*)m")
_MARK = re.compile("[\U000e0020-\U000e007f]")
"""Zero-width characters that replace the style codes of `Styled` text while it is cut; text cannot contain them."""

NARROWEST_TEXT = 20
"""Minimum width of a text after a prefix, in columns, even if the terminal is narrower."""
RESET = "\x1b[0m"


def terminal_width() -> int | None:
    """Return the width of the terminal in columns; None if stdout is not a terminal."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns if sys.stdout.isatty() else None


def count_columns(text: str) -> int:
    """Return the width of a text without styles: two columns for wide characters, none for combining ones."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(char: str) -> int:
    if category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def fit(text: str, width: int) -> str:
    """Return a text cut to at most `width` columns; a cut text ends with `…`."""
    if count_columns(text) <= width:
        return text
    kept = _take_beginning(text, width - 1) if width > 1 else ""
    return (kept if count_columns(kept) < width else "").rstrip() + ELLIPSIS


def wrap(text: str, width: int | None) -> list[str]:
    """Return a text as lines of at most `width` columns, broken at spaces; a word that is longer than a line is split.

    Args:
        width: the maximum width; None for a single line.
    """
    if width is None or count_columns(text) <= width:
        return [text]
    lines, rest = [], text
    while count_columns(rest) > width:
        whole = _take_beginning(rest, width)
        space = rest.rfind(" ", 1, len(whole) + 1)
        end = space if space > 0 and rest[:space].strip() else len(whole)
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return [*lines, rest] if rest else lines


def _take_beginning(text: str, width: int) -> str:
    """Return the beginning of a text that fits into `width` columns; at least one character."""
    room = width
    for number, char in enumerate(text):
        room -= _columns_of(char)
        if room < 0:
            return text[: max(number, 1)]
    return text


def fit_terminal(text: str, taken: int) -> str:
    """Return a text on one line, cut to the width of the terminal minus `taken` columns.

    The text is not cut if stdout is not a terminal.
    """
    line, width = terminal_line(text), terminal_width()
    return line if width is None else fit(line, width - taken)


def wrap_after(prefix: str, text: str) -> Styled:
    """Return a text after a prefix, wrapped on a terminal; further lines begin in the same column as the first one."""
    width, indent = terminal_width(), count_columns(_mark_styles(prefix))
    room = None if width is None else max(width - indent, NARROWEST_TEXT)
    lines = [line for part in text.splitlines() or [""] for line in wrap(terminal_line(part), room)]
    return Styled("").join([prefix, Styled(f"\n{' ' * indent}").join(lines)])


def fit_styled(text: Styled, width: int | None) -> Styled:
    """Return a styled line cut to `width` columns; None for no limit."""
    if width is None:
        return text
    marked = _mark_styles(text)
    cut = fit(marked, width)
    return _restore_styles(cut if cut == marked else f"{cut}{_mark_styles(RESET)}")


def wrap_styled(text: Styled, width: int | None, indent: str) -> Styled:
    """Return a styled line wrapped to `width` columns, with all lines but the first indented; None for no limit."""
    marked = _mark_styles(text)
    first = wrap(marked, width)[0]
    rest = marked[len(first) :].lstrip()
    return _restore_styles(f"\n{indent}".join([first, *(wrap(rest, width and width - len(indent)) if rest else ())]))


def _mark_styles(text: str) -> str:
    return _STYLE.sub(lambda match: chr(0xE0020 + int(match[1] or 0)), text)


def _restore_styles(text: str) -> Styled:
    return Styled(_MARK.sub(lambda match: f"\x1b[{ord(match[0]) - 0xE0020}m", text))
