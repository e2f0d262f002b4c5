"""Command-line additions to the verbs of checkpoints (PAIF): the agent of the settings, a file, and the output."""

from __future__ import annotations

from typing import Any

import click

from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.interfaces.cli.app import INPUT_FILE, App, read_text
from baton_git.interfaces.cli.verb_command import Addition, Values

FILE = click.option(
    "--file",
    "-f",
    type=INPUT_FILE,
    metavar="FILE",
    help="A file with the checkpoint as JSON, as PAIF writes it; - reads standard input.",
)


def _fill_checkpoint(app: App, values: Values) -> Values:
    """Add the fields of the file, if one is given."""
    file = values.get("file")
    return values if file is None else {**values, "more": _body(file), "source": file}


def _body(file: str) -> dict[str, Any]:
    data = json.loads(read_text(file), where=file)
    if not isinstance(data, dict):
        raise InvalidDocument([Fault("", "a checkpoint must be an object")], where=file)
    return data


ADDITIONS = {
    "checkpoint": Addition(
        [FILE], fill=_fill_checkpoint,
        about="The file is the body of a request to PAIF, or a checkpoint in PAIF's format. Options override its "
        "fields.",
    ),
    "restore": Addition(
        about="If the restore cannot be recorded, the text is printed nevertheless, and the exit status is 1.",
    ),
}  # fmt: skip
