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
        sessions = import_ecc(ws, app.now, path)
    app.answer([_describe_session(session) for session in sessions], "")
    for session in sessions:
        _tell_session(app, session)
    places = dict.fromkeys(session.checked_out_at for session in sessions if session.checked_out_at is not None)
    app.say(*(flat(CHECKED_OUT.format(place)) for place in places))
    return FAILED if any(session.why for session in sessions) else None


def _describe_session(session: ImportedRecording) -> dict[str, Any]:
    if session.why:
        return {"ok": False, "id": session.id, "why": session.why}
    return {
        "ok": True,
        "id": session.id,
        "added": session.added,
        "revision": session.version and session.version.number,
    }


def _tell_session(app: App, session: ImportedRecording) -> None:
    if session.why:
        app.say(
            flat(
                f"baton: {session.why}" if session.why.startswith(session.id) else f"baton: {session.id}: {session.why}"
            )
        )
    elif session.version is None:
        app.say(flat(f"{session.id}: nothing new"))
    elif not session.added:
        app.say(flat(f"{session.id}: its latest stands again (revision {session.version.number})"))
    else:
        app.say(flat(f"{session.id}: {session.added} new (revision {session.version.number})"))
    for key, redaction in session.redactions:
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
    refused = [{"id": refusal.id, "why": refusal.why} for refusal in done.refused]
    app.answer({"files": [show_path(path) for path in done.written], "refused": refused}, "")
    app.say(*(f"wrote {flat(show_path(path))}" for path in done.written))
    app.say(*(flat(f"baton: {refusal.id} was not written: {refusal.why}") for refusal in done.refused))
    app.say(*dict.fromkeys(f"       {flat(refusal.hint)}" for refusal in done.refused if refusal.hint))
    return FAILED if refused else None
