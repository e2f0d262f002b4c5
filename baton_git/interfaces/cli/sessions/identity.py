"""Command-line additions to the verbs of identities (PAIF): a file, the exit status of a check, and the output."""

from __future__ import annotations

import functools
from pathlib import PurePath
from typing import Any

import click

from baton_git.core.errors import BatonError, Fault, InvalidDocument, StoreError
from baton_git.core.output import count_times
from baton_git.core.records.base import parse
from baton_git.interfaces.cli.app import INPUT_FILE, App, flat, group, read_text
from baton_git.interfaces.cli.error_handler import FAILED, UNKNOWN, report_error
from baton_git.interfaces.cli.lazy import make_list_command
from baton_git.interfaces.cli.verb_command import Addition, Values, verb_command
from baton_git.systems.paif.identity_verbs import CheckedIdentity, ShownIdentity
from baton_git.systems.paif.records.identity import Identity
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


def _render_shown(app: App, result: ShownIdentity) -> None:
    """Print an identity."""
    data = result.as_data()
    app.answer(data, "" if app.json else "\n".join(_describe(data)))


def _describe(data: dict[str, Any]) -> list[str]:
    from baton_git.systems.paif import restore_text

    identity = parse(Identity, {"id": data["agent"], **{name: data[name] for name in data if name != "agent"}})
    state = identity.mutable.state
    lines = [identity.id]
    for part in restore_text.list_sections(identity, None):
        lines += [f"{part.title}:", *(f"  {line}" for line in part.lines)] if part.lines else []
    if identity.immutable is None:
        lines.append("the agent has no identity yet; to set it: baton identity init")
    last = f", last {flat(state.last_session_at)}" if state.last_session_at else ""
    lines.append(f"restored {count_times(state.accumulated_experience)}{last}")
    counts = state.drift_checks
    lines.append(f"drift checks since the last checkpoint: {counts.passed} passed, {counts.failed} failed")
    return lines


def fill_checked(app: App, values: Values) -> Values:
    """Read the text from standard input, if it is -."""
    return {**values, "text": read_text("-")} if values["text"] == "-" else values


def _render_checked(app: App, result: CheckedIdentity) -> int | None:
    """Print the result of a check; return exit status 1 on drift, 5 if the result could not be counted."""
    check = result.check
    phrases = [f"  {flat(phrase)}" for phrase in result.phrases]
    lines = [f"⚠️ {check.drift.alert}", *phrases, "", check.prompt] if result.drift else ["no drift"]
    app.answer(result.as_data(), "\n".join(lines))
    if check.uncounted is not None:
        app.say(f"baton: the result was not counted: {flat(str(check.uncounted))}")
        return UNKNOWN
    return FAILED if result.drift else None


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
    fill=fill_checked, render=_render_checked,
    about="If TEXT is -, it is read from standard input.\n\nExit status: 1 if the text drifts, 5 if it could not be "
    "checked, or the result could not be counted.",
)  # fmt: skip
ADDITIONS = {
    "identity init": Addition(
        [FILE], fill=_fill_identity,
        about="The file has `immutable:` and `mutable:`, like PAIF's identity.yaml, or only the fields of the "
        "immutable part. Options override its fields.",
    ),
    "identity show": Addition(render=_render_shown),
    "identity check": CHECK,
}  # fmt: skip
DERIVED = {name: verb_command(verb, ADDITIONS[name]) for name, verb in verbs_of("identity").items()}
exit_unknown_on_errors(DERIVED["identity check"])
COMMANDS = {
    "identity": group(
        "identity",
        "Set an agent's identity, and check whether texts drift from it.",
        [make_list_command("identity"), *DERIVED.values()],
    )
}
