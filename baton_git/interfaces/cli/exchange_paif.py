"""`baton import paif` and `baton export paif`."""

from __future__ import annotations

from pathlib import Path

import click

from baton_git.git.files.atomic_files import show_path
from baton_git.interfaces.cli.app import App, command, flat
from baton_git.interfaces.cli.error_handler import FAILED


@command("paif", short_help="From its folder of checkpoints.")
@click.argument("path", type=click.Path(path_type=Path))
def import_command(app: App, path: Path) -> int | None:
    """Take over PAIF's checkpoints as they are: of all agents, of one, or a single file.

    What is here stays; importing again adds nothing. With --agent only that agent's are taken over. A file that does
    not fit is named, and the others are taken over all the same.

    \b
    baton import paif ~/.memory-bridge/checkpoints
    baton import paif ~/.memory-bridge/checkpoints/zero
    """
    from baton_git.systems.paif.exchange import import_paif

    with app.workspace() as ws:
        done = import_paif(ws, app.now, path, agent=app.settings.agent if app.settings.options.agent else None)
    version = done.written.revision
    data = {
        "ok": not done.refused,
        "new": done.new,
        "known": done.known,
        "refused": [{"where": refusal.where, "why": refusal.why} for refusal in done.refused],
        "commit": version.commit,
        "revision": version.number,
    }
    app.answer(data, "")
    if done.new:
        app.tell_write(done.written)
    app.say(f"{done.new} new, {done.known} known already, {len(done.refused)} refused")
    app.say(*(f"baton: {flat(refusal.where)}: {flat(refusal.why)}" for refusal in done.refused))
    return FAILED if done.refused else None


@command("paif", short_help="To its folder of checkpoints.")
@click.argument("folder", type=click.Path(path_type=Path))
def export_command(app: App, folder: Path) -> None:
    """Write the checkpoints as PAIF keeps them, FOLDER/<agent>/checkpoint-<time>.json, those in the archive too.

    With --agent only that agent's; into FOLDER itself when that is called like the agent. A file that is there
    already and says something else is left alone. A file that was imported comes back with the same content (as JSON
    values; line breaks and the order of keys may differ).

    \b
    baton export paif ~/.memory-bridge/checkpoints
    baton export paif ~/.memory-bridge/checkpoints/zero --agent zero
    """
    from baton_git.systems.paif.exchange import export_paif

    with app.workspace() as ws:
        paths = export_paif(ws, folder, agent=app.settings.agent if app.settings.options.agent else None)
    app.answer({"path": str(folder), "files": [str(path) for path in paths]}, "")
    app.say(f"{len(paths)} checkpoint{'' if len(paths) == 1 else 's'} in {flat(show_path(folder))}")
