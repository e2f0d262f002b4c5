"""Command-line additions to the verbs of protocol runs (KAIROS): KEY=VALUE arguments, the copy of a run in the work
tree, and the output."""

from __future__ import annotations

from typing import Any

import click

from baton_git.core.errors import StepConflict
from baton_git.core.output import flat
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.systems.kairos import codec as kairos
from baton_git.systems.kairos.handover_verbs import (
    StepHandover,
    SteppedHandover,
    format_run,
    step_handover,
)

VALUES = click.argument("values", nargs=-1, metavar="[KEY=VALUE]…")


def _fill_step(app: App, values: Values) -> Values:
    """Add the run that --session names, and the partial state from the KEY=VALUE arguments."""
    state: dict[str, Any] = {}
    for pair in values.get("values", ()):
        key, equals, text = pair.partition("=")
        if not equals:
            raise click.UsageError(f"{flat(pair)[:60]!r} is not KEY=VALUE")
        if key in state or key in values.get("unset", ()):
            raise click.UsageError(f"the key {flat(key)[:60]!r} is given twice")
        state[key] = kairos.parse_value(text)
    return {**values, "state": state}


def _run_step(app: App, ws: Workspace, verb_input: StepHandover, values: Values) -> SteppedHandover:
    """Record a step of a run; on a conflict print the current state of the run (with --json it is in the error)."""
    try:
        return step_handover.verb.run(ws, app.now, verb_input)
    except StepConflict as error:
        if error.current is not None and not app.json:
            app.answer(None, format_run(error.current))
        raise


ADDITIONS = {"handover step": Addition([VALUES], fill=_fill_step, run=_run_step)}
