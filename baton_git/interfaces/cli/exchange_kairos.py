"""`baton import kairos` and `baton export kairos`."""

from __future__ import annotations

from pathlib import Path

import click

from baton_git.interfaces.cli.app import App, command, flat
from baton_git.interfaces.cli.handover import RUN_HELP, file_text, tell
from baton_git.systems.kairos import codec as kairos
from baton_git.systems.kairos.handover_files import export_kairos, import_kairos
from baton_git.systems.kairos.handovers import show
from baton_git.systems.kairos.work_tree_copy import Copy


@command("kairos", short_help="From a handover file of KAIROS.")
@click.argument("file", type=click.Path(path_type=Path))
def import_command(app: App, file: Path) -> None:
    """Take over a KAIROS handover file. What is here stays; both are merged. An older copy of ours is no change.

    \b
    baton import kairos kairos-session-handover.txt
    """
    with app.workspace() as ws:
        copy = Copy.at(file, ws.branch.store.repository.common_dir, ws.branch.namespace)
        taken = import_kairos(ws, app.now, copy)
    version = taken.written.revision
    data = {"SESSION_ID": taken.id, "changed": bool(taken.written.changes), "contested": list(taken.contested)}
    app.answer({**data, "commit": version.commit, "revision": version.number}, flat(taken.id))
    tell(app, taken)


@command("kairos", session_help=RUN_HELP, short_help="To a handover file of KAIROS.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--at", metavar="REV|TIME", help="As it was then.")
@click.option("--force", is_flag=True, help="Replace the file, whatever it holds.")
def export_command(app: App, file: Path, at: str | None, force: bool) -> None:
    """Write the run that --session names, or the only one, as a handover file that KAIROS' clients read.

    A file that is there already is replaced if it is one of the same run. FILE - is standard output.

    \b
    baton export kairos kairos-session-handover.txt --session run-1
    """
    run, app = app.settings.run, app.beside_run
    with app.workspace() as ws:
        if str(file) == "-":
            found = show(ws, run, at).handover
            text = kairos.dumps(found.as_data()).decode()
            app.answer({"SESSION_ID": found.id, "path": "-", "text": text}, file_text(found))
            return
        id_ = export_kairos(ws, file, run, at, force=force)
    app.answer({"SESSION_ID": id_, "path": str(file)}, "")
    app.say(f"wrote handover {flat(id_)} to {flat(str(file))}")
