"""Format rows as a table with aligned columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from baton_git.core.isolation import Failure, isolate
from baton_git.core.output import Styled, terminal_line
from baton_git.interfaces.cli.rendering.styles import Role, join, paint, shows_styles
from baton_git.interfaces.cli.rendering.widths import count_columns, fit, terminal_width, wrap

GAP = "  "
NARROWEST = 14
"""To make room for the last column, the others are cut, but not below this width (in characters of the terminal)."""
WANTED = 24
"""The other columns are cut until the last one has this width, or all of its text fits."""
LEAST = 16
"""If less room than this is left for the last column, and its text does not fit, it is printed on lines of its own."""
INDENT = " " * 4
"""Indentation of the last column on a line of its own."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: the heading. A column that is empty in every row is left out.
        value: returns the content of a row's cell.
        role: the style, or a function that returns the style of a row's cell. A column of role ID is cut only as a last
            resort.
        right: whether the column is aligned to the right, as numbers are.
        wraps: for the last column: whether long text is wrapped instead of cut.
    """

    title: str
    value: Callable[[Any], object]
    role: Role | Callable[[Any], Role] = Role.PLAIN
    right: bool = False
    wraps: bool = False


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
        width: the maximum width; None for the width of the terminal, if stdout is one.
    """
    texts = [[_make_cell(column, row) for column in columns] for row in rows]
    shown = [index for index in range(len(columns)) if any(line[index] for line in texts)]
    if not shown:
        return Styled("")
    kept = [columns[index] for index in shown]
    titles = [column.title.upper() if headings else "" for column in kept]
    cells = [[line[index] for index in shown] for line in texts]
    sizes = [max(map(count_columns, texts_of_column)) for texts_of_column in zip(titles, *cells, strict=True)]
    layout = _plan_layout(sizes, kept, terminal_width() if width is None else width)
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
        yield join([" " * offset, paint(text, roles[-1], styled=shows_styles())])


def _fit_cell(cell: str, column: Column, size: int) -> list[str]:
    return wrap(cell, size) if column.wraps else [fit(cell, size)]


def _join_cells(cells: Sequence[str], roles: Sequence[Role], columns: Sequence[Column], sizes: Sequence[int]) -> Styled:
    """Return one line, without trailing spaces."""
    styled = shows_styles()
    parts: list[str] = []
    last = max((index for index, cell in enumerate(cells) if cell), default=0)
    for index, (cell, role, column, size) in enumerate(zip(cells[: last + 1], roles, columns, sizes, strict=False)):
        padding = " " * (size - count_columns(cell))
        before, after = (padding, "") if column.right else ("", padding if index < last else "")
        parts.append(join([GAP if index else "", before, paint(cell, role, styled=styled), after]))
    return join(parts)
