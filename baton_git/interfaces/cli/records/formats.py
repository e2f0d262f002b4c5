"""Command-line additions to `baton validate` and `baton schema`: validate given files, and list the kinds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from baton_git.core.kinds import KINDS, SINGLETONS, find_kind
from baton_git.interfaces.cli.app import App, read_bytes
from baton_git.interfaces.cli.verb_command import Addition, Values, render_view
from baton_git.verbs.upkeep.schemas import SCHEMAS
from baton_git.verbs.upkeep.validation import ValidatedFile, show_files, validate_text


def _validate_files(app: App, values: Values) -> Values:
    """If files are given, validate them and exit; else return the values, to validate the branch."""
    files, kind = values.pop("files", ()), values.pop("kind", None)
    if files:
        checked = [validate_text(str(file), read_bytes(str(file)), kind) for file in files]
        click.get_current_context().exit(_print_files(app, checked, [file.as_data() for file in checked]))
    if kind is not None:
        raise click.UsageError("--kind goes with FILE; name a file")
    return values


def _print_files(app: App, files: Sequence[ValidatedFile], data: Any) -> int:
    """Print the faults of files, or `data` with --json; return the exit status."""
    return render_view(app, show_files(files), data) or 0


class SchemaName(click.Choice[str]):
    """The name of a schema; a kind can have any of its names (`loop`, `follow-ups`)."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(value if value in SCHEMAS else find_kind(value) or value, param, ctx)


FILES = (
    click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]…"),
    click.option(
        "--kind",
        type=click.Choice(["baton", "ecc_session", *KINDS, *SINGLETONS]),
        help="The kind of the files. Default: derived from their names.",
    ),
)
ADDITIONS = {
    "validate": Addition(
        FILES, fill=_validate_files,

    ),
    "schema": Addition(
        [click.argument("kind", required=False, type=SchemaName(SCHEMAS), metavar="[KIND]")]
    ),
}  # fmt: skip
