"""Format operations as a table: revision, time, verb, number of records, author, whether undone, and subject."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from baton_git.core.output import Styled
from baton_git.core.state import SHAPE
from baton_git.core.styles import Column, Role
from baton_git.core.times import format_minute, relative_time, to_local
from baton_git.interfaces.cli.app import App
from baton_git.verbs.revisions.commit_lines import describe_author, expand_subject
from baton_git.verbs.revisions.history import Shown, is_undo


def render_operations(app: App, operations: Sequence[Shown]) -> Styled:
    """Return the table of operations. On a terminal their times are relative."""
    relative = sys.stdout.isatty()

    def describe_time(shown: Shown) -> str:
        when = shown.entry.time
        return relative_time(when, app.now) if relative else format_minute(to_local(when))

    columns = [
        Column("rev", lambda shown: shown.entry.revision or shown.entry.commit[:10], Role.ID, right=True),
        Column("when", describe_time, Role.DIM),
        Column("verb", lambda shown: shown.entry.op.removesuffix("-merge").replace("-", " ") or "by hand"),
        Column("records", _count_records, right=True),
        Column("who", lambda shown: describe_author(app.reader, shown.entry.author, shown.entry.agent)),
        Column("", _describe_undoing, Role.WARNING),
        Column("what", lambda shown: expand_subject(app.reader, shown), wraps=True),
    ]
    return app.reader.table(operations, columns)


def _count_records(shown: Shown) -> int:
    return sum(change.kind not in (SHAPE.kind, "session") for change in shown.changes)


def _describe_undoing(shown: Shown) -> str:
    if not shown.is_undone:
        return ""
    return "redone" if is_undo(shown.entry) else "undone"
