"""Command-line additions to the verb `mine`: the home directory, a progress line, and the output."""

from __future__ import annotations

from dataclasses import replace

import click

from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError
from baton_git.core.output import count_noun, flat
from baton_git.interfaces.cli.app import App, at_terminal
from baton_git.interfaces.cli.printing import agrees, progress_line
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sessions.mining import Mine, MineResult, count_new, describe_doubtful, describe_mined, mine


def _fill(app: App, values: Values) -> Values:
    agent = app.settings.options.agent
    if agent is not None and agent not in AGENTS:
        raise click.UsageError(f"--agent {agent!r}: give {', '.join(AGENTS)}")
    return {**values, **({"agent": agent} if agent else {})}


def _drop_agent(app: App) -> App:
    """Return the `App` without the agent of --agent, which selects transcripts and is not the acting agent."""
    return replace(app, settings=replace(app.settings, options=app.settings.options._replace(agent=None)))


def _run(app: App, ws: Workspace, verb_input: Mine, values: Values) -> MineResult:
    is_new = ws.branch.read().commit is None
    with progress_line("reading transcripts (bytes)") as line:
        result = mine(replace(ws, progress=line.advance), app.now, verb_input)
    if result.doubtful and not verb_input.dry_run and not app.json and at_terminal():
        app.say(*describe_doubtful(result))
        if agrees(f"Import {count_noun(len(result.doubtful), 'doubtful session')}, too?"):
            taken = [item.id for item in result.doubtful]
            with progress_line("reading transcripts (bytes)") as line:
                more = mine(replace(ws, progress=line.advance), app.now, verb_input.model_copy(update={"take": taken}))
            result = more.model_copy(update={"imported": [*more.imported, *result.imported]})
    if is_new and result.commit is not None:
        app.tell_new_namespace(result.namespace)
    return result


def offer_mining(app: App) -> None:
    """If transcripts of earlier sessions exist, offer to import them: ask at a terminal, else print the command."""
    with app.workspace() as ws:
        verb_input = Mine()
        try:
            number = count_new(ws, app.now, verb_input)
        except BatonError as error:
            app.say(f"baton: transcripts of earlier sessions: {flat(str(error))}")
            return
        if not number:
            return
        sessions = count_noun(number, "earlier session")
        if app.json or not at_terminal():
            app.say(f"{sessions} of this repository left transcripts on this machine; to import them: baton mine")
        elif agrees(f"{sessions} of this repository left transcripts on this machine. Import them?"):
            app.say(*describe_mined(_run(app, ws, verb_input, {})))


ADDITIONS = {
    "mine": Addition(

        fill=_fill, run=_run, acting=_drop_agent,
        agent_help="Import only the transcripts of this agent CLI.",
    )
}  # fmt: skip
