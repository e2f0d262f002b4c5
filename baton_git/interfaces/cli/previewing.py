"""Preview changes: `--dry-run`, and the confirmation before a change of many records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

from baton_git.core.diff import RecordChange
from baton_git.core.errors import NotAllowed
from baton_git.core.kinds import KINDS
from baton_git.core.output import Styled, count_noun, one_line
from baton_git.core.records.lineage import Session
from baton_git.core.state import SHAPE, State
from baton_git.core.verb import VerbFunction
from baton_git.interfaces.cli.app import App, require_terminal
from baton_git.interfaces.cli.printing import agrees
from baton_git.interfaces.cli.revisions.change_lines import LINES, format_changes
from baton_git.namespace.results import Preview
from baton_git.namespace.workspace import Workspace

WIDE = 10
"""A change of more records than this, or of all records, must be confirmed at a terminal or with --yes."""

YES = click.option(
    "--yes",
    "-y",
    is_flag=True,
    default=None,
    help=f"Do not ask before a change of more than {WIDE} records or of all of them; needed if there is no terminal.",
)
"""The option of commands that ask before a change of many records."""


def render_preview(app: App, preview: Preview) -> None:
    """Print what a change would do: the changed records to stdout, a summary to stderr."""
    files = [Styled(f"      {one_line(path, 120)}") for path in preview.files]
    app.answer(preview.as_data(), LINES.join([*format_changes(preview.written.changes), *files]))
    extent = describe_extent(preview.written.changes, preview.files)
    app.say(f"{extent}; nothing was written (--dry-run)", *preview.notes)


def describe_extent(changes: Sequence[RecordChange], files: Sequence[str] = ()) -> str:
    """Return the number of records that would change, by action: `3 records would change: 2 removed, 1 changed`."""
    changes = _leave_out_sessions(changes)
    numbers = {"record": len(changes), "other file": len(files)}
    counts = [count_noun(number, noun) for noun, number in numbers.items() if number]
    actions = Counter(change.action for change in changes)
    how = ", ".join(f"{count} {action}" for action, count in actions.most_common())
    return f"{' and '.join(counts) or 'nothing'} would change{': ' if how else ''}{how}"


def confirm_wide_change(app: App, ws: Workspace, verb: VerbFunction[Any, Any], verb_input: Any) -> None:
    """Ask for confirmation at a terminal if a verb would change many records; ask again if the state changed meanwhile.

    Raises:
        NotAllowed: the person did not confirm.
        UsageError: there is no terminal to ask at.
    """
    while not verb_input.dry_run:
        planned = verb(ws, app.now, verb_input.model_copy(update={"dry_run": True})).written
        confirm_extent(app, planned.changes, planned.before.state)
        if ws.branch.store.tip(ws.branch.ref) == planned.before.commit:
            return
        app.say("the state was changed by somebody else in the meantime")


def confirm_extent(app: App, changes: Sequence[RecordChange], state: State) -> None:
    """Ask for confirmation at a terminal if changes to `state` concern many records.

    Raises:
        NotAllowed: the person did not confirm.
        UsageError: there is no terminal to ask at.
    """
    if not is_wide(changes, state):
        return
    app.say(f"{describe_extent(changes)} (--dry-run shows which)")
    require_terminal()
    if not agrees("Continue?"):
        raise NotAllowed("nothing was changed")


def is_wide(changes: Sequence[RecordChange], state: State) -> bool:
    """Return whether changes concern more than `WIDE` records, or all records of a namespace with several."""
    changed = _leave_out_sessions(changes)
    record_count = sum(len(state.ids(kind)) for kind in KINDS if kind != Session.kind)
    return len(changed) > WIDE or 1 < sum(change.action != "added" for change in changed) >= record_count


def _leave_out_sessions(changes: Sequence[RecordChange]) -> list[RecordChange]:
    return [change for change in changes if change.kind not in (SHAPE.kind, Session.kind)]
