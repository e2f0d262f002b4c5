"""Lay out text in columns of a fixed width: measure, cut and wrap it, and format rows as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from unicodedata import category, east_asian_width

from baton_git.core.isolation import Failure, isolate
from baton_git.core.output import Styled, terminal_line
from baton_git.core.styles import Column, Role, join, paint

ELLIPSIS = "…"
_STYLE = re.compile(r"\x1b\[(\d*)m")
_MARK = re.compile("[\U000e0020-\U000e007f]")
"""Zero-width characters that replace the style codes of `Styled` text while it is cut; text cannot contain them."""

NARROWEST_TEXT = 20
"""Minimum width of a text after a prefix, in columns, even if the terminal is narrower."""
RESET = "\x1b[0m"


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


def fit_line(text: str, width: int | None) -> str:
    """Return a text on one line, cut to `width` columns; None for no limit."""
    line = terminal_line(text)
    return line if width is None else fit(line, width)


def wrap_after(prefix: str, text: str, width: int | None) -> Styled:
    """Return a text after a prefix, wrapped to `width` columns (None for no limit); further lines begin in the same
    column as the first one."""
    indent = count_columns(_mark_styles(prefix))
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


# --- tables

GAP = "  "
NARROWEST = 14
"""To make room for the last column, the others are cut, but not below this width (in characters of the terminal)."""
WANTED = 24
"""The other columns are cut until the last one has this width, or all of its text fits."""
LEAST = 16
"""If less room than this is left for the last column, and its text does not fit, it is printed on lines of its own."""
INDENT = " " * 4
"""Indentation of the last column on a line of its own."""


class _Layout(NamedTuple):
    """The layout of a table.

    Attributes:
        sizes: the width of each column.
        below: whether the last column is printed on lines of its own, below the others.
    """

    sizes: list[int]
    below: bool = False


def render_table(
    rows: Sequence[Any], columns: Sequence[Column], *, headings: bool = True, width: int | None = None
) -> Styled:
    """Return the rows as lines with aligned columns; empty if no cell has text.

    To fit the maximum width, wide columns are cut, and the last one is cut, wrapped, or printed on lines of its own.
    Without a maximum, nothing is cut, and each row is one line.

    Args:
        headings: whether the first line has the titles of the columns.
        width: the maximum width in columns; None for no limit.
    """
    texts = [[_make_cell(column, row) for column in columns] for row in rows]
    shown = [index for index in range(len(columns)) if any(line[index] for line in texts)]
    if not shown:
        return Styled("")
    kept = [columns[index] for index in shown]
    titles = [column.title.upper() if headings else "" for column in kept]
    cells = [[line[index] for index in shown] for line in texts]
    sizes = [max(map(count_columns, texts_of_column)) for texts_of_column in zip(titles, *cells, strict=True)]
    layout = _plan_layout(sizes, kept, width)
    lines: list[Styled] = []
    if headings:
        lines += _format_row(titles if not layout.below else [*titles[:-1], ""], [Role.DIM] * len(kept), kept, layout)
    for row, line in zip(rows, cells, strict=True):
        roles = [_choose_role(column, row) for column in kept]
        lines += _format_row(line, roles, kept, layout)
    return join(lines, "\n")


def _make_cell(column: Column, row: Any) -> str:
    """Return the text of a cell. If it cannot be made, it says so, and the rest of the table is not affected."""
    value = isolate(lambda: column.value(row))
    if isinstance(value, Failure):
        return terminal_line(value.describe())
    return "" if value is None else terminal_line(str(value))


def _choose_role(column: Column, row: Any) -> Role:
    if isinstance(column.role, Role):
        return column.role
    choose = column.role
    role = isolate(lambda: choose(row))
    return Role.PLAIN if isinstance(role, Failure) else role


def _plan_layout(sizes: list[int], columns: Sequence[Column], room: int | None) -> _Layout:
    """Return the layout for columns with texts of these widths; `room` is the maximum width, None for no limit."""
    gaps = len(GAP) * (len(sizes) - 1)
    if room is None or sum(sizes) + gaps <= room:
        return _Layout(sizes)
    *others, last = sizes
    wanted = last if columns[-1].role is Role.ID else min(last, WANTED)
    others = _cut_sizes(others, columns, room - gaps - wanted, is_last_resort=False)
    rest = room - gaps - sum(others)
    if rest >= min(last, LEAST):
        return _Layout([*others, min(last, rest)])
    others = _cut_sizes(sizes[:-1], columns, room - gaps + len(GAP), is_last_resort=True)
    return _Layout([*others, room - len(INDENT)], below=bool(others))


def _cut_sizes(sizes: list[int], columns: Sequence[Column], room: int, *, is_last_resort: bool) -> list[int]:
    """Return the sizes, with the widest column cut repeatedly until all fit; columns of ids only as a last resort."""
    sizes = list(sizes)
    while sum(sizes) > room:
        cuttable = [
            index
            for index, size in enumerate(sizes)
            if size > NARROWEST and (is_last_resort or columns[index].role is not Role.ID)
        ]
        if not cuttable:
            break
        sizes[max(cuttable, key=sizes.__getitem__)] -= 1
    return sizes


def _format_row(
    cells: Sequence[str], roles: Sequence[Role], columns: Sequence[Column], layout: _Layout
) -> Iterator[Styled]:
    """Yield the lines of a row."""
    *others, last = (_fit_cell(*cell) for cell in zip(cells, columns, layout.sizes, strict=True))
    line = [lines[0] for lines in others]
    if not layout.below:
        yield _join_cells([*line, last.pop(0)], roles, columns, layout.sizes)
    else:
        yield _join_cells(line, roles, columns, layout.sizes)
    offset = len(INDENT) if layout.below else sum(layout.sizes[:-1]) + len(GAP) * len(line)
    for text in filter(None, last):
        yield join([" " * offset, paint(text, roles[-1])])


def _fit_cell(cell: str, column: Column, size: int) -> list[str]:
    return wrap(cell, size) if column.wraps else [fit(cell, size)]


def _join_cells(cells: Sequence[str], roles: Sequence[Role], columns: Sequence[Column], sizes: Sequence[int]) -> Styled:
    """Return one line, without trailing spaces."""
    parts: list[str] = []
    last = max((index for index, cell in enumerate(cells) if cell), default=0)
    for index, (cell, role, column, size) in enumerate(zip(cells[: last + 1], roles, columns, sizes, strict=False)):
        padding = " " * (size - count_columns(cell))
        before, after = (padding, "") if column.right else ("", padding if index < last else "")
        parts.append(join([GAP if index else "", before, paint(cell, role), after]))
    return join(parts)
