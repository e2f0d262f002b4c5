"""What the command line adds to the verbs of identities: a file, the exit status of a check, and the text."""

from __future__ import annotations

import functools
from pathlib import PurePath
from typing import Any

import click

from baton_git.core.errors import BatonError, Fault, InvalidDocument, StoreError
from baton_git.core.records.base import parse
from baton_git.interfaces.cli.app import INPUT_FILE, App, flat, group, read_text
from baton_git.interfaces.cli.error_handler import FAILED, UNKNOWN, report_error
from baton_git.interfaces.cli.lazy import make_list
from baton_git.interfaces.cli.verb_command import Addition, Values, verb_command
from baton_git.interfaces.context.paif import fill_agent
from baton_git.systems.paif.identity_verbs import CheckedIdentity, ShownIdentity
from baton_git.systems.paif.records.identity import Identity
from baton_git.verbs.table import verbs_of


def _fill_identity(app: App, values: Values) -> Values:
    """Take the identity from the file, where one is named."""
    file = values.get("file")
    filled = fill_agent(app, values)
    return filled if file is None else {**filled, "document": _read(file), "source": file}


def _read(file: str) -> dict[str, Any]:
    """The table that a file says, in the language of its name; without one JSON, else TOML, else YAML."""
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
    raise InvalidDocument([Fault("", "an identity is a table, and this is none")], where=file)


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
    """Print an identity as lines, or as JSON."""
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
        lines.append("nobody has said yet who it is: baton identity init")
    last = f", last {flat(state.last_session_at)}" if state.last_session_at else ""
    lines.append(f"restored {state.accumulated_experience} times{last}")
    counts = state.drift_checks
    lines.append(f"drift checks since the last checkpoint: {counts.passed} passed, {counts.failed} failed")
    return lines


def fill_checked(app: App, values: Values) -> Values:
    """Take the text from standard input, where it is -."""
    return {**values, "text": read_text("-")} if values["text"] == "-" else values


def _render_checked(app: App, result: CheckedIdentity) -> int | None:
    """Print what a check found; the exit status is 1 on drift."""
    held = result.held
    phrases = [f"  {flat(phrase)}" for phrase in result.phrases]
    lines = [f"⚠️ {held.drift.alert}", *phrases, "", held.prompt] if result.drift else ["no drift"]
    app.answer(result.as_data(), "\n".join(lines))
    if held.uncounted is not None:
        app.say(f"baton: the result was not counted: {flat(str(held.uncounted))}")
        return UNKNOWN
    return FAILED if result.drift else None


def exit_unknown_on_errors(check: click.Command) -> click.Command:
    """Have a command whose status 1 says that a check failed exit with 5 where it could not check."""
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
    fill=lambda app, values: fill_agent(app, fill_checked(app, values)), render=_render_checked,
    about="TEXT - is read from standard input. The exit status is 1 when the text drifts, 5 when it could not be "
    "checked or the result not be counted.",
)  # fmt: skip
ADDITIONS = {
    "identity init": Addition(
        [FILE], fill=_fill_identity,
        about="The file has `immutable:` and `mutable:`, as PAIF's identity.yaml, or the immutable part alone; the "
        "options count more.",
    ),
    "identity show": Addition(fill=fill_agent, render=_render_shown),
    "identity check": CHECK,
}  # fmt: skip
DERIVED = {name: verb_command(verb, ADDITIONS[name]) for name, verb in verbs_of("identity").items()}
exit_unknown_on_errors(DERIVED["identity check"])
COMMANDS = {
    "identity": group(
        "identity",
        "Set an agent's identity, and check whether texts drift from it.",
        [make_list("identity"), *DERIVED.values()],
    )
}
