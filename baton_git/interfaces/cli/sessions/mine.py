"""Command-line additions to the verb `mine`: the home directory, a progress line, and the output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import click

from baton_git.agents.registry import AGENTS
from baton_git.core.errors import BatonError
from baton_git.core.natural_times import describe_age
from baton_git.core.output import count_noun
from baton_git.interfaces.cli.app import App, at_terminal, flat
from baton_git.interfaces.cli.printing import agrees, progress_line
from baton_git.interfaces.cli.rendering.styles import Role
from baton_git.interfaces.cli.rendering.table import Column, render_table
from baton_git.interfaces.cli.verb_command import Addition, Values
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sessions.mining import Mine, MineResult, count_new, mine

PROBLEMS_SHOWN = 10
FOLDERS_SHOWN = 5
DOUBTFUL_SHOWN = 10


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
        app.say(*_describe_doubtful(result))
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
            app.say(*_describe(_run(app, ws, verb_input, {})))


def _render(app: App, result: MineResult) -> None:
    columns = [
        Column("ended", lambda session: describe_age(session.ended, app.now), Role.DIM),
        Column("goal", lambda session: flat(session.goal or "")),
        Column("id", lambda session: session.id, Role.ID),
    ]
    app.answer(result.as_data(), render_table(result.imported, columns) if result.dry_run else "")
    app.say(*_describe(result))


def _describe(result: MineResult) -> Iterator[str]:
    number = len(result.imported)
    would = "would be " if result.dry_run else ""
    sessions = count_noun(number, "session")
    yield f"{sessions} {would}imported" + (f" (revision {result.revision})" if number and not would else "")
    counts = {
        "already imported": result.known, "still active": result.active, "without prompts or actions": result.empty,
        "of other projects": result.elsewhere,
        "of deleted or unknown folders (to import those of one folder: baton mine --project PATH)": result.unclear,
    }  # fmt: skip
    yield from (f"  {count} {description}" for description, count in counts.items() if count)
    folders = result.unclear_folders
    yield from (f"    {flat(folder)}" for folder in folders[:FOLDERS_SHOWN])
    if len(folders) > FOLDERS_SHOWN:
        yield f"    and {count_noun(len(folders) - FOLDERS_SHOWN, 'more folder')} (--json has all)"
    yield from _describe_doubtful(result)
    if result.secrets:
        yield f"  {count_noun(result.secrets, 'secret was', 'secrets were')} removed"
    yield from (f"  {flat(problem)}" for problem in result.problems[:PROBLEMS_SHOWN])
    if len(result.problems) > PROBLEMS_SHOWN:
        yield f"  and {count_noun(len(result.problems) - PROBLEMS_SHOWN, 'more problem')} (--json has all)"
    for item in result.expiring:
        count = count_noun(item.number, "transcript")
        title, days = AGENTS[item.agent].title, f"{item.kept_days:g} days"
        yield flat(f"{count} will be deleted within 7 days: {title} keeps them for {days} ({item.settings})")


def _describe_doubtful(result: MineResult) -> Iterator[str]:
    if not result.doubtful:
        return
    sessions = count_noun(len(result.doubtful), "session")
    yield f"  {sessions} started in a folder of this repository, but probably worked in another project:"
    for item in result.doubtful[:DOUBTFUL_SHOWN]:
        yield f"    {flat(item.id)}: {flat('; '.join(item.reasons))}"
    if len(result.doubtful) > DOUBTFUL_SHOWN:
        yield f"    and {count_noun(len(result.doubtful) - DOUBTFUL_SHOWN, 'more session')} (--json has all)"
    yield "    to import one: baton mine --take SESSION; all: baton mine --take all"


ADDITIONS = {
    "mine": Addition(
        about="With --agent, only the transcripts of one agent CLI are imported: claude, codex or gemini.",
        fill=_fill, run=_run, acting=_drop_agent, render=_render,
        agent_help="Import only the transcripts of this agent CLI.",
    )
}  # fmt: skip
