"""Preview changes: `--dry-run`, and the confirmation before a change of many records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from baton_git.core.diff import RecordChange
from baton_git.core.errors import NotAllowed
from baton_git.core.state import State
from baton_git.core.verb import VerbFunction
from baton_git.interfaces.cli.app import App, require_terminal
from baton_git.interfaces.cli.printing import agrees
from baton_git.namespace.extent import WIDE, describe_extent, is_wide
from baton_git.namespace.workspace import Workspace

YES = click.option(
    "--yes",
    "-y",
    is_flag=True,
    default=None,
    help=f"Do not ask before a change of more than {WIDE} records or of all of them; needed if there is no terminal.",
)
"""The option of commands that ask before a change of many records."""


def confirm_wide_change(app: App, ws: Workspace, verb: VerbFunction[Any, Any], verb_input: Any) -> None:
    """Ask for confirmation at a terminal if a verb would change many records; ask again if the state changed meanwhile.

    Raises:
        NotAllowed: the person did not confirm.
        UsageError: there is no terminal to ask at.
    """
    while not verb_input.dry_run:
        planned = verb(ws, app.now, verb_input.model_copy(update={"dry_run": True})).written
        confirm_extent(app, planned.changes, planned.before.state)
        if ws.branch.tip() == planned.before.commit:
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
