"""How a result is shown to a person: the text, and the notes on it, as values that an interface prints.

A result says in its method `show` what people read. The method gets a `Reader` and prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from baton_git.core.output import Styled
from baton_git.core.styles import Column

if TYPE_CHECKING:
    from baton_git.core.sessions import SessionNames


class ResultView(NamedTuple):
    """What people read of a result.

    Attributes:
        text: the result itself, without its styles where none can be shown; None for its data as JSON.
        notes: sentences about it, in order; a `WriteResult` stands for the lines about its commit.
        status: how the call ended, if it did not just succeed: the exit status of the command.
        paged: whether a long text is shown in a pager.
    """

    text: str | None = ""
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
