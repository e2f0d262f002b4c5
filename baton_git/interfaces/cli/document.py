"""`baton read` and `baton write`: the session-baton document."""

from __future__ import annotations

import click

from baton_git.core.codecs import json as strict_json
from baton_git.core.errors import LimitExceeded, Stale
from baton_git.interfaces.cli.app import App, command, read_bytes
from baton_git.interfaces.cli.error_handler import CONFLICT
from baton_git.interfaces.cli.printing import write_json
from baton_git.interfaces.results.documents import conflict, with_provenance, written
from baton_git.systems.session_baton.documents import read_document

MAX_BYTES = 16 * 1024 * 1024
"""Size that a document may have."""


@command("read")
@click.option("--at", metavar="REV|TIME", help="As it was: a revision, ~N, a commit id, or an ISO date or time.")
def read_command(app: App, at: str | None) -> None:
    """Print the whole state as JSON; `baton` is null for a namespace that does not exist.

    \b
    baton read | jq .baton.open_loops
    baton read --at 2026-06-17
    """
    with app.workspace() as ws:
        found = read_document(ws, at)
        write_json(with_provenance(ws, found))
    for one in found.unreadable:
        app.say(f"baton: {one.path} cannot be read and is left out: {one.why}")


@command("write")
@click.option("--file", "-f", "file", required=True, metavar="FILE", help="The document; - reads standard input.")
@click.option("--expected-revision", type=click.IntRange(0), help="Refuse unless this is still the newest revision.")
def write_command(app: App, file: str, expected_revision: int | None) -> int | None:
    """Write a whole session-baton document, merged with what others wrote since its session last read.

    Records that it leaves out go to the archive. With --expected-revision a write that comes too late exits
    with 3 and prints the current state.

    \b
    baton write --file baton.json
    baton read | jq .baton | … | baton write --file - --expected-revision 12
    """
    from baton_git.systems.session_baton.document_writing import (
        write_document,  # loads merging, for which a read should not pay
    )

    text = read_bytes(file)
    if len(text) > MAX_BYTES:
        raise LimitExceeded("the document", len(text), MAX_BYTES, "bytes")
    data = strict_json.loads(text, where=file)
    with app.workspace() as ws:
        try:
            done = write_document(ws, app.now, data, expected_revision=expected_revision, where=file)
        except Stale as error:
            write_json(conflict(error.namespace, error.expected, read_document(ws)))
            app.say(f"baton: {error}", f"       {error.hint}")
            return CONFLICT
    write_json(written(done))
    app.tell_write(done.written)
    return None


COMMANDS = {"read": read_command, "write": write_command}
