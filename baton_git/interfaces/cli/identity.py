"""`baton identity check`, and what the command line adds to the verbs of identities."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import click

from baton_git.core.errors import BatonError, Fault, InvalidDocument, StoreError
from baton_git.core.records.base import parse
from baton_git.interfaces.cli.app import App, command, flat, group, read_text
from baton_git.interfaces.cli.error_handler import FAILED, UNKNOWN, report_error
from baton_git.interfaces.cli.verb_command import Addition, Values, verb_command
from baton_git.interfaces.context.paif import agent_of, fill_agent
from baton_git.systems.paif.identities import Held, check_text, check_words
from baton_git.systems.paif.identity_verbs import ShownIdentity
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


@command("check", short_help="Hold a text against an agent's identity.")
@click.argument("text")
@click.option("--no-count", is_flag=True, help="Do not count it.")
def check(app: App, text: str, no_count: bool) -> int | None:
    """Hold a text against an agent's identity: exit status 1 when it says what the agent never would.

    TEXT - is read from standard input. The result is counted, and goes with the agent's next checkpoint. Exit status
    5 says that the text could not be checked, or the result not be counted.

    \b
    baton identity check --agent zero "How can I help you today?"
    """
    return render_check(app, lambda: agent_of(app), text, count=not no_count)


def render_check(app: App, agent_named: Callable[[], str | None], text: str, *, count: bool) -> int | None:
    """Says what a check found, and gives its exit status: drift must not be mistaken for a check that failed."""
    try:
        agent = agent_named()
        words = read_text("-") if text == "-" else text
        if agent is None:
            return _describe_result(app, None, check_words(words))
        with app.workspace() as ws:
            held = check_text(ws, app.now, agent, words, count=count)
    except BatonError as error:
        status = report_error(error)
        return UNKNOWN if status == FAILED else status
    except OSError as error:
        report_error(StoreError(f"{error.filename or 'the repository'}: {error.strerror or error}"))
        return UNKNOWN
    return _describe_result(app, agent, held)


def _describe_result(app: App, agent: str | None, held: Held) -> int | None:
    drift = held.drift
    data = {
        "agent": agent,
        "drift": bool(drift),
        "categories": list(drift.categories),
        "phrases": list(drift.phrases),
        "realignment": held.prompt if drift else None,
        "counted": held.written is not None,
    }
    phrases = [f"  {flat(phrase)}" for phrase in drift.phrases]
    lines = [f"⚠️ {drift.alert}", *phrases, "", held.prompt] if drift else ["no drift"]
    app.answer(data, "\n".join(lines))
    if held.uncounted is not None:
        app.say(f"baton: the result was not counted: {flat(str(held.uncounted))}")
        return UNKNOWN
    return FAILED if drift else None


FILE = click.option(
    "--file", "-f", metavar="FILE", help="PAIF's identity as YAML, JSON or TOML; - reads standard input."
)
ADDITIONS = {
    "identity init": Addition(
        [FILE], fill=_fill_identity,
        about="The file has `immutable:` and `mutable:`, as PAIF's identity.yaml, or the immutable part alone; the "
        "options count more.",
    ),
    "identity show": Addition(fill=fill_agent, render=_render_shown),
}  # fmt: skip
DERIVED = [verb_command(verb, ADDITIONS[name]) for name, verb in verbs_of("identity").items()]
COMMANDS = {"identity": group("identity", "Who an agent is, and whether it still speaks so.", [*DERIVED, check])}
