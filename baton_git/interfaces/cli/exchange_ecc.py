"""`baton import ecc` and `baton export ecc`: ECC's recordings of sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from baton_git.git.files.atomic_files import show_path
from baton_git.interfaces.cli.app import CHECKED_OUT, App, command, flat
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.systems.ecc.recordings import ImportedRecording, export_ecc, import_ecc


@command("ecc", short_help="ECC's recordings of sessions: one file, or a folder of them.")
@click.argument("path", type=click.Path(path_type=Path))
def import_command(app: App, path: Path) -> int | None:
    """Take over ECC's recordings of sessions (ecc.session.recording.v1): one file, or a folder of them.

    Each snapshot of a history becomes a version, in the order of the file. Importing again adds nothing.

    \b
    baton import ecc /tmp/ecc-session-recordings
    baton import ecc recordings/claude-history/a1b2c3d4.json
    """
    with app.workspace() as ws:
        found = import_ecc(ws, app.now, path)
    app.answer([_data(one) for one in found], "")
    for one in found:
        _tell(app, one)
    places = dict.fromkeys(one.checked_out_at for one in found if one.checked_out_at is not None)
    app.say(*(flat(CHECKED_OUT.format(place)) for place in places))
    return FAILED if any(one.why for one in found) else None


def _data(one: ImportedRecording) -> dict[str, Any]:
    if one.why:
        return {"ok": False, "id": one.id, "why": one.why}
    return {"ok": True, "id": one.id, "added": one.added, "revision": one.version and one.version.number}


def _tell(app: App, one: ImportedRecording) -> None:
    if one.why:
        app.say(flat(f"baton: {one.why}" if one.why.startswith(one.id) else f"baton: {one.id}: {one.why}"))
    elif one.version is None:
        app.say(flat(f"{one.id}: nothing new"))
    elif not one.added:
        app.say(flat(f"{one.id}: its latest stands again (revision {one.version.number})"))
    else:
        app.say(flat(f"{one.id}: {one.added} new (revision {one.version.number})"))
    for key, redaction in one.redactions:
        app.say(flat(f"redacted: {redaction.kind} in {key}, {redaction.path}"))


@command("ecc", short_help="The recorded sessions, as ECC keeps them.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--id", "id_", metavar="ID", help="Only this session: ADAPTER/SESSION, or a unique beginning.")
@click.option("--force", is_flag=True, help="Write over files that have more than this namespace.")
def export_command(app: App, folder: Path, id_: str | None, force: bool) -> int | None:
    """Write the recorded sessions as ECC keeps them: FOLDER/ADAPTER/SESSION.json, the latest and the history.

    A file that has anything this namespace lacks is left as it is and named; import it first.

    \b
    baton export ecc /tmp/ecc-session-recordings
    baton export ecc recordings --id claude-history/a1b2c3d4
    """
    with app.workspace() as ws:
        done = export_ecc(ws, folder, id_, force=force)
    refused = [{"id": one.id, "why": one.why} for one in done.refused]
    app.answer({"files": [show_path(path) for path in done.written], "refused": refused}, "")
    app.say(*(f"wrote {flat(show_path(path))}" for path in done.written))
    app.say(*(flat(f"baton: {one.id} was not written: {one.why}") for one in done.refused))
    app.say(*dict.fromkeys(f"       {flat(one.hint)}" for one in done.refused if one.hint))
    return FAILED if refused else None
