"""Command-line additions to `baton read` and `baton write`: read the document from a file, and print messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from baton_git.core.codecs import json as strict_json
from baton_git.core.errors import LimitExceeded, Stale
from baton_git.core.output import flat
from baton_git.interfaces.cli.app import INPUT_FILE, App, read_bytes
from baton_git.interfaces.cli.error_handler import CONFLICT
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.systems.session_baton.documents import describe_conflict, read_document

if TYPE_CHECKING:
    from baton_git.systems.session_baton.written_documents import NewDocument

MAX_BYTES = 16 * 1024 * 1024
"""Maximum size of a document in bytes."""


def _fill_document(app: App, values: Values) -> Values:
    """Add the document in the file."""
    file = values.pop("file")
    text = read_bytes(file)
    if len(text) > MAX_BYTES:
        raise LimitExceeded("the document", len(text), MAX_BYTES, "bytes")
    return {**values, "baton": strict_json.loads(text, where=file), "source": file}


def _print_written(app: App, ws: Workspace, verb_input: NewDocument, values: Values) -> None:
    """Write a document; if its expected revision is no longer the newest, print the current state and exit with 3."""
    from baton_git.systems.session_baton.written_documents import write  # imports merging, which a read does not need

    try:
        result = write(ws, app.now, verb_input)
    except Stale as error:
        app.answer_json(describe_conflict(error.namespace, error.expected, read_document(ws)))
        app.say(f"baton: {error}", f"       {error.hint}")
        click.get_current_context().exit(CONFLICT)
    app.answer_json(result.as_data())
    app.tell_write(result.written)
    app.say(*(flat(f"filled in: {field.path} = {field.value}") for field in result.filled))


FILE = click.option(
    "--file",
    "-f",
    required=True,
    type=INPUT_FILE,
    metavar="FILE",
    help="The document; - reads standard input.",
)
ADDITIONS = {
    "write": Addition(
        [FILE], fill=_fill_document, run=_print_written,

    ),
}  # fmt: skip
