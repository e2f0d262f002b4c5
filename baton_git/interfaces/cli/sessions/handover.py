"""Command-line additions to the verbs of protocol runs (KAIROS): KEY=VALUE arguments, the copy of a run in the work
tree, and the output."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from baton_git.core.errors import StepConflict
from baton_git.core.output import flat
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.machine import Machine
from baton_git.namespace.workspace import Workspace
from baton_git.systems.kairos import codec as kairos
from baton_git.systems.kairos.handover_verbs import (
    StepHandover,
    SteppedHandover,
    format_run,
    step_handover,
)

RUN_HELP = "The SESSION_ID of the run. BATON_SESSION sets only the acting session, never the run."

FILE = click.option(
    "--file",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The copy of the run in the work tree. Default: git config baton.handoverFile.",
)
VALUES = click.argument("values", nargs=-1, metavar="[KEY=VALUE]…")


def _fill_run(app: App, values: Values) -> Values:
    """Add the run that --session names, if any."""
    run = app.settings.run
    return values if run is None else {**values, "session": run}


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
    return {**_fill_run(app, values), "state": state}


def _run_step(app: App, ws: Workspace, verb_input: StepHandover, values: Values) -> SteppedHandover:
    """Record a step of a run; on a conflict print the current state of the run (with --json it is in the error)."""
    try:
        return step_handover.verb.run(ws, app.now, verb_input)
    except StepConflict as error:
        if error.current is not None and not app.json:
            app.answer(None, format_run(error.current))
        raise


def _for_protocol_run(app: App) -> App:
    return app.for_protocol_run


def _use_named_copy(machine: Machine, values: Values) -> Machine:
    """Return the machine with the copy that --file names."""
    file = values.get("file")
    return machine if file is None else replace(machine, find_handover_file=lambda: file)


ADDITIONS = {
    "handover step": Addition(
        [VALUES, FILE], about="KEY=VALUE sets a key of the partial state; VALUE is JSON, or else text.",
        fill=_fill_step, run=_run_step, machine=_use_named_copy, acting=_for_protocol_run, session_help=RUN_HELP,
    ),
    "handover resume": Addition(
        [FILE], fill=_fill_run, machine=_use_named_copy,
        acting=_for_protocol_run, session_help=RUN_HELP,
    ),
    "handover clear": Addition(
        [FILE], fill=_fill_run, machine=_use_named_copy,
        acting=_for_protocol_run, session_help=RUN_HELP,
    ),
    "handover show": Addition(
        [FILE], fill=_fill_run, machine=_use_named_copy,
        acting=_for_protocol_run, session_help=RUN_HELP,
    ),
}  # fmt: skip
