"""`baton validate` and `baton schema`."""

from __future__ import annotations

from pathlib import Path

import click

from baton_git.core.kinds import KINDS, SINGLETONS
from baton_git.interfaces.cli.app import App, command, flat, read_bytes
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.interfaces.cli.printing import write, write_json
from baton_git.interfaces.results import validation as answers
from baton_git.verbs.schemas import SCHEMAS, make_schema
from baton_git.verbs.validation import ValidatedFile, validate_branch, validate_text


@command("validate")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]…")
@click.option(
    "--kind",
    type=click.Choice(["baton", "ecc_session", *KINDS, *SINGLETONS]),
    help="What the files are; else by their names.",
)
@click.option("--at", metavar="REV|TIME", help="The branch as it was, when no file is named.")
def validate_command(app: App, files: tuple[Path, ...], kind: str | None, at: str | None) -> int | None:
    """Check files (documents, or the stored files of records), or the whole branch when none is named.

    Exit status 1 when something is wrong.

    \b
    baton validate baton.json
    baton validate open_loops/OL-7k3f9q.toml
    baton validate snapshot.json --kind ecc_session
    baton validate
    """
    if kind is not None and not files:
        raise click.UsageError("--kind says what a FILE is; name one")
    if files:
        checked = [validate_text(str(file), read_bytes(str(file)), kind) for file in files]
    else:
        with app.workspace() as ws:
            checked = list(validate_branch(ws, at))
            version = ws.branch.read(at)
            for claim in ws.judgement(version).find_unvouched(version.state):
                app.say(f"claim: {flat(str(claim.key))}: {flat(claim.text)}")
    faulty = [file for file in checked if file.faults]
    app.answer([answers.checked(file) for file in checked], "\n".join(_list_faults(faulty)))
    app.say(f"{len(checked)} file{'' if len(checked) == 1 else 's'} checked, {len(faulty)} with faults")
    return FAILED if faulty else None


def _list_faults(faulty: list[ValidatedFile]) -> list[str]:
    return [flat(f"{file.path}: {fault}") for file in faulty for fault in file.faults]


@click.command("schema")
@click.argument("kind", required=False, type=click.Choice(SCHEMAS))
@click.option("--json", "as_json", is_flag=True, help="The kinds as JSON too; a schema always is.")
def schema_command(kind: str | None, as_json: bool) -> None:
    """Print the JSON Schema of a kind of record, or the kinds that there are.

    \b
    baton schema
    baton schema open_loop > open_loop.schema.json
    """
    if kind is not None or as_json:
        write_json(make_schema(kind) if kind is not None else SCHEMAS)
    else:
        write("\n".join(SCHEMAS))


COMMANDS = {"validate": validate_command, "schema": schema_command}
