"""Command-line additions to `show`: show a record of any kind as well as a revision, and print both as text."""

from __future__ import annotations

import click

from baton_git.core.errors import Ambiguous, InvalidArgument, NotFound
from baton_git.core.verb import Result
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.common_command import find_completer
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.records.details import find_exact, find_record, show_record
from baton_git.verbs.revisions.log import OneRevision, show

REVISION = "revision or record"


def _show(app: App, ws: Workspace, verb_input: OneRevision, values: Values) -> Result:
    """Show the revision or record that the text names. A revision takes precedence over the beginning of an id.

    Raises:
        Ambiguous: the text names a revision and is the id of a record.
        NotFound: the text names neither.
    """
    text, at = verb_input.revision, values.get("at")
    if at is not None:
        return show_record(ws, app.now, text, at=at)
    tip = ws.branch.read()
    if tip.commit is None:
        return show(ws, app.now, verb_input)
    records, revision = find_exact(tip.state, text), _find_revision(ws, text)
    if records and revision:
        names = [revision, *(f"{key.kind}/{key.id}" for key in records)]
        raise Ambiguous(REVISION, text, names, hint="name the record as KIND/ID, or the commit by its id")
    if revision:
        return show(ws, app.now, verb_input)
    try:
        find_record(tip.state, text)
    except NotFound:
        raise NotFound(REVISION, text, hint="baton list shows the records, baton log the revisions") from None
    return show_record(ws, app.now, text)


def _find_revision(ws: Workspace, text: str) -> str:
    """Return the name of the revision that the text names; empty if it names none."""
    try:
        return ws.branch.name_commit(ws.branch.resolve(text))
    except Ambiguous:
        return f"revision {text}"
    except (NotFound, InvalidArgument):
        return ""


AT = click.option(
    "--at",
    metavar="REV|TIME",
    shell_complete=find_completer("at", "show"),
    help="Show the record as it was at this revision or time.",
)
ADDITIONS = {
    "show": Addition(
        (AT,),
        run=_show,
    ),
}
