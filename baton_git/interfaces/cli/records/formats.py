"""Command-line additions to `baton validate` and `baton schema`: validate given files, and list the kinds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from baton_git.core.kinds import KINDS, SINGLETONS, find_kind
from baton_git.core.output import count_noun
from baton_git.interfaces.cli.app import App, flat, read_bytes
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.interfaces.cli.printing import write
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.verbs.upkeep.schemas import SCHEMAS, KindSchema
from baton_git.verbs.upkeep.validation import ValidatedBranch, ValidatedFile, validate_text


def _validate_files(app: App, values: Values) -> Values:
    """If files are given, validate them and exit; else return the values, to validate the branch."""
    files, kind = values.pop("files", ()), values.pop("kind", None)
    if files:
        checked = [validate_text(str(file), read_bytes(str(file)), kind) for file in files]
        click.get_current_context().exit(_print_files(app, checked, [file.as_data() for file in checked]))
    if kind is not None:
        raise click.UsageError("--kind goes with FILE; name a file")
    return values


def _render_branch(app: App, result: ValidatedBranch) -> int:
    for claim in result.claims:
        app.say(f"claim: {flat(claim.record)}: {flat(claim.text)}")
    return _print_files(app, result.files, result.as_data())


def _print_files(app: App, files: Sequence[ValidatedFile], data: Any) -> int:
    """Print the faults of files, or `data` with --json; return the exit status."""
    faulty = [file for file in files if file.faults]
    lines = [flat(f"{file.path}: {fault}") for file in faulty for fault in file.faults]
    app.answer(data, "\n".join(lines))
    app.say(f"{count_noun(len(files), 'file')} checked, {len(faulty)} with faults")
    return FAILED if faulty else 0


def _render_schema(app: App, result: KindSchema) -> None:
    if result.kinds and not app.json:
        write("\n".join(result.kinds))
    else:
        app.answer_json(result.as_data())


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
        FILES, fill=_validate_files, render=_render_branch,
        about="With FILE, validate files instead: documents, or files of records. Exit status: 1 if a file is invalid.",
    ),
    "schema": Addition(
        [click.argument("kind", required=False, type=SchemaName(SCHEMAS), metavar="[KIND]")], render=_render_schema
    ),
}  # fmt: skip
