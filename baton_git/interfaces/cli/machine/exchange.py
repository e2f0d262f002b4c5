"""Command-line additions to `import` and `export`: options, and messages about each imported or exported item."""

from __future__ import annotations

from dataclasses import replace

import click

from baton_git.core.names import Namespace
from baton_git.interfaces.cli.app import SIGN, App
from baton_git.interfaces.cli.machine.imported_rules import confirm_rules
from baton_git.interfaces.cli.verb_command import Addition, Values, render
from baton_git.namespace.workspace import Workspace
from baton_git.systems.kairos import codec as kairos
from baton_git.systems.kairos.handover_verbs import (
    ExportedHandover,
    ExportHandover,
    export_handover,
    format_handover_file,
)
from baton_git.systems.kairos.handovers import find_run
from baton_git.systems.session_baton.exchange import (
    ImportBatons,
    import_session_baton,
)

# --- KAIROS


def _export_handover(app: App, ws: Workspace, verb_input: ExportHandover, values: Values) -> ExportedHandover | None:
    """Write the handover file; for `-`, print it and return None."""
    if str(verb_input.file) != "-":
        return export_handover(ws, app.now, verb_input)
    run = find_run(ws, verb_input.session, verb_input.at).handover
    text = kairos.dumps(run.as_data()).decode()
    app.answer(ExportedHandover(SESSION_ID=run.id, path="-", text=text).as_data(), format_handover_file(run))
    return None


# --- session-baton


def _import_batons(app: App, ws: Workspace, verb_input: ImportBatons, values: Values) -> None:
    """Import batons, print the result for each, and ask a person to confirm the rules that a person approved there."""
    result = import_session_baton(ws, app.now, verb_input)
    status = render(app, result)
    for baton in result.batons:
        if baton.approved:
            branch = replace(ws.branch, namespace=Namespace(baton.namespace))
            confirm_rules(app, replace(ws, branch=branch), baton.approved, sign=bool(values.get("sign")))
    click.get_current_context().exit(status or 0)


ADDITIONS = {
    "import session-baton": Addition(
        [SIGN],
        run=_import_batons,
    ),
    "export kairos": Addition(run=_export_handover),
}
