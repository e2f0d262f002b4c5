"""The parts of what is shown on a terminal: text in a role, and the columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, NamedTuple

from baton_git.core.output import Styled, style


class Role(Enum):
    """The role of a piece of text; the value is its SGR code."""

    PLAIN = ""
    HEADING = "1"
    DIM = "2"
    BAD = "31"
    GOOD = "32"
    WARNING = "33"
    ID = "36"


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


def paint(text: str, role: Role) -> str:
    """Return the text in the style of its role."""
    return style(text, role.value) if role.value and text else text


def join(parts: Iterable[str], separator: str = "") -> Styled:
    """Return the parts joined to one `Styled` text."""
    return Styled(separator).join(parts)
