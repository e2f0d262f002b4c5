"""Records in aligned columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from baton_git.core.output import Styled, terminal_line
from baton_git.interfaces.cli.rendering.styles import Role, join, paint, shows_styles
from baton_git.interfaces.cli.rendering.widths import count_columns, fit, terminal_width

GAP = "  "
NARROWEST = 16
"""Columns that the last column of a table has at least, however narrow the terminal is."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        title: its heading; a column that is empty in every row is left out.
        value: gives the text of a row.
        role: its style, or what gives the style of a row.
        right: whether its texts end at the same column, as numbers do.
    """

    title: str
    value: Callable[[Any], object]
    role: Role | Callable[[Any], Role] = Role.PLAIN
    right: bool = False


def render_table(
    rows: Sequence[Any], columns: Sequence[Column], *, headings: bool = True, width: int | None = None
) -> Styled:
    """Return the rows as lines with aligned columns; without rows, nothing.

    On a terminal the last column is cut so that each row takes one line. Elsewhere it is whole, so that what reads the
    output gets everything.

    Args:
        headings: whether the first line names the columns.
        width: columns to fit into; None: those of the terminal, if standard output is one.
    """
    texts = [[_text_of(column.value(row)) for column in columns] for row in rows]
    shown = [index for index in range(len(columns)) if any(line[index] for line in texts)]
    if not shown:
        return Styled("")
    styled = shows_styles()
    titles = [columns[index].title.upper() if headings else "" for index in shown]
    sizes = [
        max(count_columns(title), *(count_columns(line[index]) for line in texts))
        for title, index in zip(titles, shown, strict=True)
    ]
    room = terminal_width() if width is None else width
    if room is not None:
        sizes[-1] = min(sizes[-1], max(room - sum(sizes[:-1]) - len(GAP) * (len(sizes) - 1), NARROWEST))
    lines = [_join_cells(titles, [Role.DIM] * len(shown), sizes, [False] * len(shown), styled)] if headings else []
    for row, line in zip(rows, texts, strict=True):
        roles = [_role_of(columns[index], row) for index in shown]
        cells = [line[index] for index in shown]
        lines.append(_join_cells(cells, roles, sizes, [columns[index].right for index in shown], styled))
    return join(lines, "\n")


def _text_of(value: object) -> str:
    return "" if value is None else terminal_line(str(value))


def _role_of(column: Column, row: Any) -> Role:
    return column.role if isinstance(column.role, Role) else column.role(row)


def _join_cells(
    cells: Sequence[str], roles: Sequence[Role], sizes: Sequence[int], to_right: Sequence[bool], styled: bool
) -> Styled:
    """Return one line; nothing follows the text of its last column."""
    parts: list[str] = []
    last = max((index for index, cell in enumerate(cells) if cell), default=0)
    for index, (cell, role, size, right) in enumerate(zip(cells, roles, sizes, to_right, strict=True)):
        if index > last:
            break
        text = fit(cell, size) if index == len(cells) - 1 else cell
        padding = " " * (size - count_columns(text))
        painted = paint(text, role, styled=styled)
        after = padding if index < last and not right else ""
        parts.append(join([GAP if index else "", padding if right else "", painted, after]))
    return join(parts)
