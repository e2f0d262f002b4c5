"""`baton rollback` and `baton undo`: back, by a new commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from baton_git.core.errors import NeedsHuman
from baton_git.interfaces.cli.app import App, command, flat
from baton_git.interfaces.cli.printing import ask
from baton_git.interfaces.results.changed import went_back
from baton_git.namespace.revision import WriteResult
from baton_git.verbs.rollback import rollback_record, rollback_session, rollback_to, undo_revision

Result = TypeVar("Result")


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

        def back(person: str | None) -> WriteResult:
            if of_session is not None:
                return rollback_session(ws, app.now, of_session, person)
            if record is not None:
                return rollback_record(ws, app.now, record, revision, person)
            return rollback_to(ws, app.now, str(revision), person)

        done = _asking(app, back)
    if done.changes:
        to = (
            f"without session {of_session}"
            if of_session
            else f"{record or 'everything'} as at {revision}"
            if revision
            else ""
        )
        app.say(f"gone back: {flat(to or f'{record} as before its last change')}")
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
        done, entry = _asking(app, lambda person: undo_revision(ws, app.now, revision, person))
    _tell(app, done)
    if done.changes:
        app.say(f"taken back: {entry.subject}")
    else:
        app.say(f"there is nothing to take back of: {entry.subject} (baton log shows the others; baton undo REV)")


def _asking(app: App, act: Callable[[str | None], Result]) -> Result:
    """What `act` gives; where it takes a person, one is asked at the terminal.

    Raises:
        NeedsHuman: there is no terminal, or the answer is no.
    """
    try:
        return act(None)
    except NeedsHuman as error:
        if not app.can_ask_person():
            raise
        app.say(f"{error}.")
        typed = ask("Type yes to confirm it")
        if typed.strip().lower() != "yes":
            raise
    return act(app.person)


def _tell(app: App, done: WriteResult) -> None:
    app.answer(went_back(done), "")
    app.told(done)


COMMANDS = {"rollback": rollback_command, "undo": undo_command}
