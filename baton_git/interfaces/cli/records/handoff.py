"""Command-line additions to the verbs of handoffs: choose the transcript, and print the facts as text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from baton_git.agents.registry import AGENTS
from baton_git.core.output import flat
from baton_git.core.records.base import parse
from baton_git.core.records.handoff import Facts, Handoff
from baton_git.interfaces.cli.app import App
from baton_git.interfaces.cli.records.handoff_text import FORMATS
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.systems.gobby.verbs import ExtractedHandoff, ShowHandoff, show_handoff

LATEST = "latest"
AUTO = "auto"


def _fill_extraction(app: App, values: Values) -> Values:
    """Add the agent CLI that --agent names, and make paths absolute."""
    folder = {"folder": Path(values["folder"]).absolute()} if "folder" in values else {}
    return {**_fill_latest(app, values), **folder, "cli": _find_cli(app)}


def _find_cli(app: App) -> str | None:
    """Return the agent CLI that --agent names as the writer of the transcript; None to detect it."""
    named = app.settings.options.agent
    if named not in (None, AUTO, *AGENTS):
        raise click.UsageError(f"--agent {named!r}: give {', '.join(sorted(AGENTS))} or {AUTO}")
    return None if named == AUTO else named


def _drop_auto_agent(app: App) -> App:
    """Return the `App` without the agent `auto`, which does not name the acting agent."""
    options = app.settings.options
    if options.agent != AUTO:
        return app
    return replace(app, settings=replace(app.settings, options=options._replace(agent=None)))


def _render_extracted(app: App, result: ExtractedHandoff) -> None:
    app.answer(result.as_data(), FORMATS[result.format](result.extraction.facts))
    if result.written is not None:
        app.tell_write(result.written)
    elif result.kept is not None:
        app.say(f"the handoff {flat(result.kept.id)} is unchanged")


def _fill_latest(app: App, values: Values) -> Values:
    """Remove the id or transcript if it is `latest`, which is the default."""
    return {name: value for name, value in values.items() if value != LATEST or name not in ("id", "transcript")}


def _print_shown(app: App, ws: Workspace, verb_input: ShowHandoff, values: Values) -> None:
    """Print a handoff, as text in the format that `--format` names."""
    result = show_handoff(ws, app.now, verb_input)
    app.answer(result.as_data(), _format_handoff(app, ws, parse(Handoff, result.handoff), values["format_"]))


def _format_handoff(app: App, ws: Workspace, handoff: Handoff, format_: str) -> str:
    place = ws.show_work_tree(handoff.worktree or "")
    origin = (("at", handoff.extracted_at), ("by", handoff.trigger), ("on", handoff.machine), ("in", place))
    head = f"{flat(app.sessions.shorten(handoff.id))}  " + ", ".join(
        f"{word} {flat(text)}" for word, text in origin if text
    )
    facts = Facts.model_dump(handoff.facts.told, mode="json")
    notes = f"### Notes\n{handoff.notes}" if handoff.notes else ""
    return "\n\n".join(part for part in (head, FORMATS[format_](facts), notes) if part)


FORMAT = click.option(
    "--format", "format_", type=click.Choice(list(FORMATS)), default="structured", help="Print sections, or sentences."
)
ADDITIONS = {
    "handoff extract": Addition(
        fill=_fill_extraction,
        acting=_drop_auto_agent,
        render=_render_extracted,
        agent_help="The agent CLI that wrote the transcript. Default: detect it.",
    ),
    "handoff show": Addition([FORMAT], fill=_fill_latest, run=_print_shown),
}
