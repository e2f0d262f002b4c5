"""How a result is shown to a person: the text, and the notes on it, as values that an interface prints.

A result says in its method `show` what people read. The method gets a `Reader` and prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from baton_git.core.output import Styled, style

if TYPE_CHECKING:
    from baton_git.core.session_names import SessionNames


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


class ResultView(NamedTuple):
    """What people read of a result.

    Attributes:
        text: the result itself. Printed as it is where styles can be shown, else without them.
        notes: sentences about it, in order; a `WriteResult` stands for the lines about its commit.
        status: how the call ended, if it did not just succeed: the exit status of the command.
        paged: whether a long text is shown in a pager.
    """

    text: str = ""
    notes: Sequence[Any] = ()
    status: Literal["ok", "failed", "unknown", "conflict"] = "ok"
    paged: bool = False


@dataclass(frozen=True)
class Reader:
    """For whom a result is shown.

    Attributes:
        now: the time of the call, for ages.
        sessions: the short names of the sessions of the namespace.
        width: the width of the screen in columns; None for no limit.
        find_goals: returns what each of these sessions was asked first, by its id; only those known.
        is_own_machine: tells whether a name is the one of the machine of the reader.
    """

    now: datetime
    sessions: SessionNames
    width: int | None = None
    find_goals: Callable[[Collection[str | None]], Mapping[str, str]] = field(default=lambda ids: {})
    is_own_machine: Callable[[str], bool] = field(default=lambda name: False)

    def table(self, rows: Sequence[Any], columns: Sequence[Column], *, headings: bool = True) -> Styled:
        """Return the rows as lines with aligned columns (see `render_table`)."""
        from baton_git.core.text_layout import render_table  # here and below: only if something is shown

        return render_table(rows, columns, headings=headings, width=self.width)

    def wrap(self, prefix: str, text: str) -> Styled:
        """Return a text after a prefix; further lines begin in the same column as the first one."""
        from baton_git.core.text_layout import wrap_after

        return wrap_after(prefix, text, self.width)

    def fit(self, text: str, taken: int = 0) -> str:
        """Return a text on one line, cut to the width of the screen minus `taken` columns."""
        from baton_git.core.text_layout import fit_line

        return fit_line(text, None if self.width is None else self.width - taken)


def paint(text: str, role: Role) -> str:
    """Return the text in the style of its role."""
    return style(text, role.value) if role.value and text else text


def join(parts: Iterable[str], separator: str = "") -> Styled:
    """Return the parts joined to one `Styled` text."""
    return Styled(separator).join(parts)
