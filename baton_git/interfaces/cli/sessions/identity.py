"""Command-line additions to the verbs of identities (PAIF): a file, the exit status of a check, and the output."""

from __future__ import annotations

import functools
from pathlib import PurePath
from typing import Any

import click

from baton_git.core.errors import BatonError, Fault, InvalidDocument, StoreError
from baton_git.interfaces.cli.app import INPUT_FILE, App, group, read_text
from baton_git.interfaces.cli.error_handler import FAILED, UNKNOWN, report_error
from baton_git.interfaces.cli.lazy import make_list_command
from baton_git.interfaces.cli.verb_command import NOTHING, Addition, Values, verb_command
from baton_git.verbs.table import verbs_of


def _fill_identity(app: App, values: Values) -> Values:
    """Add the identity in the file, if one is given."""
    file = values.get("file")
    return values if file is None else {**values, "document": _read(file), "source": file}


def _read(file: str) -> dict[str, Any]:
    """Return the table in a file, parsed as the suffix of its name says; without a known suffix, as JSON, TOML or YAML.

    Raises:
        InvalidDocument: the file cannot be parsed, or is not a table.
    """
    text = read_text(file)
    loaders = _loaders()
    suffix = PurePath(file).suffix.lower()
    for name in [suffix] if suffix in loaders else [".json", ".toml", ".yaml"]:
        try:
            data = loaders[name](text, file)
        except InvalidDocument:
            if name in (suffix, ".yaml"):
                raise
            continue
        if isinstance(data, dict):
            return data
    raise InvalidDocument([Fault("", "an identity must be a table")], where=file)


def _loaders() -> dict[str, Any]:
    from baton_git.core.codecs import json, toml, yaml

    def of_yaml(text: str, file: str) -> Any:
        return yaml.loads(text, where=file)

    return {
        ".json": lambda text, file: json.loads(text, where=file),
        ".toml": lambda text, file: toml.loads(text.encode(), where=file),
        ".yaml": of_yaml,
        ".yml": of_yaml,
    }


def fill_checked(app: App, values: Values) -> Values:
    """Read the text from standard input, if it is -."""
    return {**values, "text": read_text("-")} if values["text"] == "-" else values


def exit_unknown_on_errors(check: click.Command) -> click.Command:
    """Make a command exit with 5 instead of 1 after an error, because status 1 means that its check failed."""
    run = check.callback
    assert run is not None

    @functools.wraps(run)
    def run_check(**values: Any) -> int | None:
        try:
            return run(**values)  # type: ignore[no-any-return]  # a callback of click
        except BatonError as error:
            status = report_error(error)
            return UNKNOWN if status == FAILED else status
        except OSError as error:
            report_error(StoreError(f"{error.filename or 'the repository'}: {error.strerror or error}"))
            return UNKNOWN

    check.callback = run_check
    return check


FILE = click.option(
    "--file",
    "-f",
    type=INPUT_FILE,
    metavar="FILE",
    help="PAIF's identity as YAML, JSON or TOML; - reads standard input.",
)
CHECK = Addition(
    fill=fill_checked,
    about="If TEXT is -, it is read from standard input.\n\nExit status: 1 if the text drifts, 5 if it could not be "
    "checked, or the result could not be counted.",
)  # fmt: skip
ADDITIONS = {
    "identity init": Addition(
        [FILE], fill=_fill_identity,
        about="The file has `immutable:` and `mutable:`, like PAIF's identity.yaml, or only the fields of the "
        "immutable part. Options override its fields.",
    ),
    "identity check": CHECK,
}  # fmt: skip
DERIVED = {name: verb_command(verb, ADDITIONS.get(name, NOTHING)) for name, verb in verbs_of("identity").items()}
exit_unknown_on_errors(DERIVED["identity check"])
COMMANDS = {
    "identity": group(
        "identity",
        "Set an agent's identity, and check whether texts drift from it.",
        [make_list_command("identity"), *DERIVED.values()],
    )
}
