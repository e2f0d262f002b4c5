"""Format operations as a table: revision, time, verb, number of records, author, whether undone, and subject."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

from baton_git.core.natural_times import relative_time
from baton_git.core.output import Styled, one_line
from baton_git.core.state import SHAPE
from baton_git.core.times import format_minute, to_local
from baton_git.interfaces.cli.rendering.styles import Role
from baton_git.interfaces.cli.rendering.table import Column, render_table
from baton_git.interfaces.cli.revisions.change_lines import expand_subject
from baton_git.verbs.revisions.history import Shown
from baton_git.verbs.revisions.operations import is_undo


def render_operations(operations: Sequence[Shown], now: datetime) -> Styled:
    """Return the table of operations. On a terminal their times are relative."""
    relative = sys.stdout.isatty()

    def describe_time(shown: Shown) -> str:
        when = shown.entry.time
        return relative_time(when, now) if relative else format_minute(to_local(when))

    columns = [
        Column("rev", lambda shown: shown.entry.revision or shown.entry.commit[:10], Role.ID, right=True),
        Column("when", describe_time, Role.DIM),
        Column("verb", lambda shown: shown.entry.op.removesuffix("-merge").replace("-", " ") or "by hand"),
        Column("records", _count_records, right=True),
        Column("who", _describe_author),
        Column("", _describe_undoing, Role.WARNING),
        Column("what", expand_subject),
    ]
    return render_table(operations, columns)


def _count_records(shown: Shown) -> int:
    return sum(change.kind not in (SHAPE.kind, "session") for change in shown.changes)


def _describe_author(shown: Shown) -> str:
    """Return the session, or without one the author, and the agent."""
    name = one_line(shown.entry.session or shown.entry.author.partition(" <")[0], 24)
    return f"{name} ({one_line(shown.entry.agent, 16)})" if shown.entry.agent else name


def _describe_undoing(shown: Shown) -> str:
    if not shown.is_undone:
        return ""
    return "redone" if is_undo(shown.entry) else "undone"
