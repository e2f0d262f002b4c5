"""`baton identity`: init, show, check."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import click

from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, StoreError
from baton_git.interfaces.cli.app import App, command, flat, group, read_text
from baton_git.interfaces.cli.error_handler import FAILED, UNKNOWN, failed
from baton_git.interfaces.context.paif import agent_of
from baton_git.systems.paif.identities import Held, check_text, check_words, init_identity, show_identity

TEXTS = {
    "purpose": ("purpose", "statement"), "value": ("values", "primary"), "tone": ("voice", "tone"),
    "created_by": ("origin", "created_by"), "genesis": ("origin", "genesis_event"),
    "parent_agent": ("lineage", "parent_agent"), "custodian": ("lineage", "human_custodian"),
}  # fmt: skip
LISTS = {
    "domain": ("purpose", "domains"), "constraint": ("purpose", "constraints"), "secondary": ("values", "secondary"),
    "never": ("values", "non_negotiables"), "quirk": ("voice", "quirks"), "taboo": ("voice", "taboo_phrases"),
}  # fmt: skip
"""By option, the part of the identity and its field."""


@command("init", short_help="Set, once and for all, who an agent is.")
@click.option(
    "--file", "-f", "file", metavar="FILE", help="PAIF's identity as YAML, JSON or TOML; - reads standard input."
)
@click.option("--purpose", metavar="TEXT", help="What the agent is for.")
@click.option("--domain", metavar="TEXT", multiple=True, help="Where it works; may be given again.")
@click.option("--constraint", metavar="TEXT", multiple=True, help="What it keeps to; may be given again.")
@click.option("--value", metavar="TEXT", help="What matters most to it.")
@click.option("--secondary", metavar="TEXT", multiple=True, help="A further value; may be given again.")
@click.option("--never", metavar="TEXT", multiple=True, help="What it never gives up; may be given again.")
@click.option("--tone", metavar="TEXT", help="How it speaks.")
@click.option("--quirk", metavar="TEXT", multiple=True, help="What is typical of it; may be given again.")
@click.option("--taboo", metavar="PHRASE", multiple=True, help="What it never says, instead of PAIF's own list.")
@click.option("--created-by", metavar="WHO", help="human:NAME or agent:NAME.")
@click.option("--genesis", metavar="TEXT", help="What it was created for or at.")
@click.option("--parent-agent", metavar="NAME", help="The agent that it was made from.")
@click.option("--custodian", metavar="NAME", help="The person who answers for it.")
def init(app: App, file: str | None, **given: Any) -> None:
    """Set, once and for all, who an agent is: nobody can change it afterwards.

    The file has `immutable:` and `mutable:`, as PAIF's identity.yaml, or the immutable part alone; the options count
    more. Without any taboos the phrases that PAIF documents are taboo.

    \b
    baton identity init --agent zero --purpose "Keep the memory of the lab" --created-by human:Ada
    baton identity init --agent zero --file identity.yaml
    """
    document = _read(file) if file is not None else {}
    wanted = {place: given[name] for name, place in TEXTS.items() if given[name] is not None}
    wanted |= {place: list(given[name]) for name, place in LISTS.items() if given[name]}
    if file is None and not wanted:
        raise click.UsageError("say who the agent is: --purpose TEXT, or --file FILE")
    _check_said(given)
    agent = agent_of(app)
    with app.workspace() as ws:
        app.made(init_identity(ws, app.now, agent, _with(document, wanted), where=file or ""))


def _check_said(given: dict[str, Any]) -> None:
    """Raises InvalidArgument for an option that says nothing: what is immutable could not be mended."""
    for name, value in given.items():
        texts = [value] if isinstance(value, str) else value or ()
        if any(not text.strip() for text in texts):
            raise InvalidArgument(f"--{name.replace('_', '-')} says nothing", hint="leave it out, or say something")


def _with(document: dict[str, Any], wanted: dict[tuple[str, str], Any]) -> dict[str, Any]:
    """The document with what the options say, in its immutable part."""
    inside = document.get("immutable", {}) if "immutable" in document else document
    if not wanted or not isinstance(inside, dict):
        return document
    parts = dict(inside)
    for (part, field), value in wanted.items():
        before = parts.get(part, {})
        if isinstance(before, dict):
            parts[part] = {**before, field: value}
    return {**document, "immutable": parts} if "immutable" in document else parts


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


@command("show", short_help="Print who an agent is.")
def show(app: App) -> None:
    """Print who an agent is, and how it has grown.

    \b
    baton identity show --agent zero
    baton identity show --agent zero --json | jq .immutable.purpose
    """
    agent = agent_of(app)
    with app.workspace() as ws:
        identity = show_identity(ws, agent)
    if app.json:
        app.answer({"agent": agent, **identity.model_dump(mode="json", exclude={"id"})}, "")
        return
    from baton_git.systems.paif import restore_text

    state = identity.mutable.state
    lines = [agent]
    for part in restore_text.list_sections(identity, None):
        lines += [f"{part.title}:", *(f"  {line}" for line in part.lines)] if part.lines else []
    if identity.immutable is None:
        lines.append("nobody has said yet who it is: baton identity init")
    last = f", last {flat(state.last_session_at)}" if state.last_session_at else ""
    lines.append(f"restored {state.accumulated_experience} times{last}")
    counts = state.drift_checks
    lines.append(f"drift checks since the last checkpoint: {counts.passed} passed, {counts.failed} failed")
    app.answer(None, "\n".join(lines))


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
    return checked(app, lambda: agent_of(app), text, count=not no_count)


def checked(app: App, agent_named: Callable[[], str | None], text: str, *, count: bool) -> int | None:
    """Says what a check found, and gives its exit status: drift must not be mistaken for a check that failed."""
    try:
        agent = agent_named()
        words = read_text("-") if text == "-" else text
        if agent is None:
            return _told(app, None, check_words(words))
        with app.workspace() as ws:
            held = check_text(ws, app.now, agent, words, count=count)
    except BatonError as error:
        status = failed(error)
        return UNKNOWN if status == FAILED else status
    except OSError as error:
        failed(StoreError(f"{error.filename or 'the repository'}: {error.strerror or error}"))
        return UNKNOWN
    return _told(app, agent, held)


def _told(app: App, agent: str | None, held: Held) -> int | None:
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


COMMANDS = {"identity": group("identity", "Who an agent is, and whether it still speaks so.", [init, show, check])}
