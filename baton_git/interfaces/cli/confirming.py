"""Ask a person at the terminal to confirm what a verb would do."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

import click

from baton_git.core.diff import RecordChange
from baton_git.core.errors import NeedsHuman, NotAllowed, Protected, Unconfirmed
from baton_git.core.output import flat
from baton_git.core.state import State
from baton_git.core.verb import Confirmation, Verb
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


def run_for_person(app: App, ws: Any, verb: Verb[Any, Any], verb_input: Any, *, sign: bool = False) -> Any:
    """Run a verb, and ask the person at the terminal for each confirmation that it needs.

    It needs one for what it declares, for what another person confirmed, and for a change of many records; the last
    one again if the state changed while the person was asked.

    Args:
        sign: whether the person confirms by a signature.

    Raises:
        NeedsHuman: only a person may do it, and nobody confirmed it.
        NotAllowed: the person did not confirm a wide change.
        UsageError: there is no terminal to ask at, or nothing to confirm by a signature.
    """
    if verb.confirm is not None:
        ws = _ask_declared(app, ws, verb, verb.confirm, verb_input, sign=sign)
    while True:
        try:
            with redirect_stdout(sys.stderr):  # adapters of other packages may print
                return verb.run(ws, app.now, verb_input)
        except Unconfirmed as error:
            branch = ws.branch
            tip = branch.store.tip(branch.ref)  # as it stands: the change may be to accept what another program did
            _confirm_effect(app, error.effect)
            if branch.store.tip(branch.ref) == tip:
                verb_input = verb_input.model_copy(update={"yes": True})
            else:
                app.say("the state was changed by somebody else in the meantime")
        except NeedsHuman as error:
            was_asked = verb.confirm is not None and not isinstance(error, Protected)
            if ws is None or ws.confirmed is not None or was_asked:
                raise
            ws = replace(ws, confirmed=app.identify_person(error))


def _ask_declared(
    app: App, ws: Workspace, verb: Verb[Any, Any], confirmation: Confirmation, verb_input: Any, *, sign: bool
) -> Workspace:
    """Return the workspace with the confirmation that a verb declares, if this call needs one and a person gave it."""
    question = confirmation.ask(ws, app.now, verb_input)
    if question is None:
        if sign and not confirmation.always:
            raise click.UsageError("--sign: this call needs no confirmation by a person")
        return ws
    if not sign:
        return replace(ws, confirmed=app.ask_person(question))
    app.say(*question.lines, "")
    return replace(app.sign_as_person(ws), confirmed=question.confirm(app.person, "signature"))


def confirm_extent(app: App, changes: Sequence[RecordChange], state: State) -> None:
    """Ask for confirmation at a terminal if changes to `state` concern many records.

    Raises:
        NotAllowed: the person did not confirm.
        UsageError: there is no terminal to ask at.
    """
    if not is_wide(changes, state):
        return
    _confirm_effect(app, describe_extent(changes))


def _confirm_effect(app: App, effect: str) -> None:
    app.say(flat(f"{effect} (--dry-run shows which)"))
    require_terminal()
    if not agrees("Continue?"):
        raise NotAllowed("nothing was changed")
