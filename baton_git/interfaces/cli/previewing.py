"""What a change would do, before it is made: `--dry-run`, and the question before a wide change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from baton_git.core.diff import RecordChange
from baton_git.core.errors import NotAllowed
from baton_git.core.kinds import KINDS
from baton_git.core.output import Styled, one_line
from baton_git.core.records.lineage import Session
from baton_git.core.state import SHAPE, State
from baton_git.core.verb import VerbFunction
from baton_git.interfaces.cli.app import App, at_terminal
from baton_git.interfaces.cli.printing import agrees
from baton_git.interfaces.cli.revisions.change_lines import LINES, change_lines
from baton_git.namespace.results import Preview
from baton_git.namespace.workspace import Workspace

WIDE = 10
"""A change of more records than this is confirmed at a terminal."""

YES = click.option("--yes", "-y", is_flag=True, default=None, help="Do not ask before a wide change.")
"""For commands that ask before a wide change."""


def render_preview(app: App, preview: Preview) -> None:
    """Print what a change would do: the records on standard output, a summary on standard error."""
    lines = [
        *change_lines(preview.written.changes),
        *(Styled(f"      {one_line(path, 120)}") for path in preview.files),
    ]
    app.answer(preview.as_data(), LINES.join(lines))
    app.say(f"{describe_extent(preview)}; nothing was written (--dry-run)", *preview.notes)


def describe_extent(preview: Preview) -> str:
    """Return how many records a change would change, and how: `3 records would change: 2 removed, 1 changed`."""
    changes = _records(preview.written.changes)
    if not changes and not preview.files:
        return "nothing would change"
    actions = Counter(change.action for change in changes)
    how = ", ".join(f"{count} {action}" for action, count in actions.most_common())
    files = f"{'and ' if changes else ''}{_count(len(preview.files), 'other file')}" if preview.files else ""
    what = " ".join(part for part in (_count(len(changes), "record") if changes else "", files) if part)
    return f"{what} would change{': ' if how else ''}{how}"


def check_wide(app: App, ws: Workspace, verb: VerbFunction[Any, Any], asked: Any) -> None:
    """Ask at a terminal before a change of more than `WIDE` records, or of all there are.

    Raises:
        NotAllowed: the person says no.
    """
    if asked.dry_run or not at_terminal():
        return
    preview = verb(ws, app.now, asked.model_copy(update={"dry_run": True}))
    if not is_wide(preview):
        return
    app.say(f"{describe_extent(preview)} (--dry-run shows which)")
    if not agrees("Go on?"):
        raise NotAllowed("nothing was changed")


def is_wide(preview: Preview) -> bool:
    """Return whether a change concerns more than `WIDE` records, or all of several."""
    changed = len(_records(preview.written.changes))
    return changed > WIDE or 1 < changed >= _count_live(preview.written.before.state)


def _records(changes: Sequence[RecordChange]) -> list[RecordChange]:
    return [change for change in changes if change.kind not in (SHAPE.kind, Session.kind)]


def _count_live(state: State) -> int:
    return sum(len(state.ids(kind)) for kind in KINDS if kind != Session.kind)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
