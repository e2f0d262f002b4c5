"""`baton rollback` and `baton undo`: back, by a new commit."""

from __future__ import annotations

import click

from baton_git.branch import Written
from baton_git.faces.cli.app import App, command
from baton_git.operations.history import rollback, rollback_record, rollback_session, undo


@command("rollback")
@click.argument("revision", required=False, metavar="[REV|TIME]")
@click.option("--record", metavar="ID", help="Only this record: as at REV, or before its last change.")
@click.option("--of-session", metavar="ID", help="Take back what this session did, and keep what others did since.")
def rollback_command(app: App, revision: str | None, record: str | None, of_session: str | None) -> None:
    """Go back: to a revision or time, for one record, or without what one session did.

    It makes a new revision, so nothing is lost, and baton undo takes it back.

    \b
    baton rollback 12
    baton rollback --record OL-7k3f9q
    baton rollback --of-session 2026-06-17-003
    """
    if of_session is not None and (revision or record):
        raise click.UsageError("--of-session goes alone")
    if not (revision or record or of_session):
        raise click.UsageError("say where to: a revision or time, --record ID, or --of-session ID")
    with app.workspace() as ws:
        if of_session is not None:
            done = rollback_session(ws, app.now, of_session)
        elif record is not None:
            done = rollback_record(ws, app.now, record, revision)
        else:
            done = rollback(ws, app.now, str(revision))
    _tell(app, done)


@command("undo")
@click.argument("revision", required=False, metavar="[REV]")
def undo_command(app: App, revision: str | None) -> None:
    """Take one revision back, the newest when none is named, and keep what came after it.

    A value that was changed again since stays as it is. Undoing twice is redoing.

    \b
    baton undo
    baton undo 12
    """
    with app.workspace() as ws:
        done, entry = undo(ws, app.now, revision)
    _tell(app, done)
    app.say(f"taken back: {entry.subject}")


def _tell(app: App, done: Written) -> None:
    data = {
        "commit": done.version.commit,
        "revision": done.version.revision,
        "changes": [one.as_data() for one in done.changes],
    }
    app.answer(data, "")
    app.told(done)


COMMANDS = {"rollback": rollback_command, "undo": undo_command}
