"""`baton workflow`: list, check, show, allow, disallow, enable, disable, run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from baton_git.agents.registry import AGENTS
from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.core.output import terminal_line
from baton_git.interfaces.cli.app import App, at_terminal, command, flat, group, read_text
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.interfaces.cli.printing import agrees
from baton_git.interfaces.context.workflows import DISABLED, ENABLED, read_list, workflow_folders
from baton_git.systems.gobby.workflow.definition import ALIASES, EVENTS, parse_workflow
from baton_git.systems.gobby.workflow.effects import Event, SessionInfo
from baton_git.systems.gobby.workflow.event_run import ActionRun, EventOutcome
from baton_git.systems.gobby.workflow.files import WorkflowFile, pick_workflow
from baton_git.systems.gobby.workflows import (
    allow_workflow,
    disallow_workflow,
    find_project_workflow,
    list_workflows,
    run_event,
)


@command("list", short_help="Which workflows there are, and which of them run.")
def list_command(app: App) -> None:
    """Which workflows there are: the project's, yours and those that baton brings; and which of them run here.

    One that is `not allowed` came with the project and runs when you have looked at it and allowed it; until then the
    one of its name that you have, or that baton brings, runs.

    \b
    baton workflow list
    """
    with app.workspace() as ws:
        found, problems = list_workflows(ws, workflow_folders(app))
    app.answer([_data(one) for one in found], "\n".join(_line(one) for one in found))
    app.say(*(flat(one) for one in problems))
    for one in found:
        app.say(*(flat(f"{one.name}: {said}") for said in (one.workflow.warnings if one.workflow else ())))
        if one.state == "not allowed":
            app.say(f"look at it, then: baton workflow allow {flat(one.name)}")


@command("check", short_help="Check the file of a workflow.")
@click.argument("file", metavar="FILE|-")
def check_command(app: App, file: str) -> None:
    """Check the file of a workflow: its form, its events and actions, and every condition and template.

    \b
    baton workflow check .baton/workflows/release.yaml
    """
    made = parse_workflow(read_text(file), name=Path(file).stem, where=terminal_line(file))
    data = {"name": made.name, "events": sorted({one.event for one in made.triggers}), "warnings": list(made.warnings)}
    app.answer(data, f"{made.name}: {len(made.triggers)} triggers")
    app.say(*(flat(one) for one in made.warnings))


@command("show", short_help="Print a workflow as it stands in its file.")
@click.argument("name")
def show_command(app: App, name: str) -> None:
    """Print a workflow as it stands in its file: the one of this name that runs, else the project's.

    \b
    baton workflow show session-handoff
    """
    with app.workspace() as ws:
        found = pick_workflow(list_workflows(ws, workflow_folders(app))[0], name)
    app.answer({**_data(found), "text": found.text}, "\n".join(_lines(found.text)))
    app.say(flat(f"{found.tier}, {found.state}: {found.path}"))


@command("allow", short_help="Let a workflow of the project run on this machine.")
@click.argument("name")
def allow_command(app: App, name: str) -> int | None:
    """Let a workflow of the project run on this machine, exactly as it is shown; when the file changes, anew.

    At a terminal you are asked. While an agent is known to be acting nothing is allowed: it is for you to look at.

    \b
    baton workflow allow release
    """
    with app.workspace() as ws:
        folders = workflow_folders(app)
        found = find_project_workflow(ws, folders, name)
        app.say(f"what would run, from {flat(str(found.path))}:", *(f"  {one}" for one in _lines(found.text)))
        app.say(*(flat(f"it may: {one}") for one in _deeds_of(found)))
        app.refuse_agents(f"a person looks at it and allows it at a terminal: baton workflow allow {flat(name)}")
        if at_terminal() and not agrees("Allow?"):
            app.answer({"name": name, "allowed": False}, "")
            return FAILED
        fresh = allow_workflow(ws, app.now, found)
    app.answer({"name": found.name, "digest": found.digest, "allowed": fresh}, "")
    app.say(f"{'allowed' if fresh else 'was allowed already'}: {flat(str(found.path))}")
    return None


@command("disallow", short_help="Withdraw what allow has allowed.")
@click.argument("name")
def disallow_command(app: App, name: str) -> None:
    """Withdraw what baton workflow allow has allowed: the project's workflow of this name runs here no more, until it
    is allowed anew.

    \b
    baton workflow disallow release
    """
    with app.workspace() as ws:
        found = pick_workflow(list_workflows(ws, workflow_folders(app))[0], name, "project")
        withdrawn = disallow_workflow(ws, found)
    app.answer({"name": found.name, "digest": found.digest, "withdrawn": withdrawn}, "")
    app.say(f"{'allowed no more' if withdrawn else 'was not allowed'}: {flat(str(found.path))}")


def _lines(text: str) -> list[str]:
    """The file's lines, with everything that does not print made visible; tabs and ends of lines as they are."""
    return ["\t".join(terminal_line(part) for part in line.split("\t")) for line in text.rstrip("\n").split("\n")]


def _deeds_of(found: WorkflowFile) -> list[str]:
    triggers = found.workflow.triggers if found.workflow else ()
    return [f"{trigger.event}: {step.action}" for trigger in triggers for step in trigger.steps]


def _switch(app: App, name: str, into: str, out_of: str) -> None:
    """Keeps the name in one list of the repository's own, untracked configuration, and takes it out of the other."""
    with app.workspace() as ws:
        pick_workflow(list_workflows(ws, workflow_folders(app))[0], name)
    config = app.settings.repository.config()
    names, others = read_list(app, into), read_list(app, out_of)
    if name not in names:
        config.set(into, ",".join([*names, name]))
    if name in others:
        config.set(out_of, ",".join(one for one in others if one != name))


@command("enable", short_help="Switch a workflow on in this repository.")
@click.argument("name")
def enable_command(app: App, name: str) -> None:
    """Switch a workflow on in this repository (git config baton.enabledWorkflows). One of the project must be allowed
    as well.

    \b
    baton workflow enable autonomous-loop
    """
    _switch(app, name, ENABLED, DISABLED)
    app.answer({"name": name, "enabled": True}, "")
    app.say(f"enabled: {flat(name)}")


@command("disable", short_help="Switch a workflow off in this repository.")
@click.argument("name")
def disable_command(app: App, name: str) -> None:
    """Switch a workflow off in this repository (git config baton.disabledWorkflows).

    \b
    baton workflow disable session-handoff
    """
    _switch(app, name, DISABLED, ENABLED)
    app.answer({"name": name, "enabled": False}, "")
    app.say(f"disabled: {flat(name)}")


@command("run", short_help="Run what the workflows have for an event.")
@click.argument("event", type=click.Choice([*EVENTS, *ALIASES]), metavar="EVENT")
@click.option("--data", default="{}", metavar="JSON|@FILE", help="What the agent's CLI says of the event.")
@click.option("--cli", type=click.Choice(list(AGENTS)), default="claude", show_default=True, help="Whose session.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
def run_command(app: App, event: str, data: str, cli: str, dry_run: bool) -> int | None:
    """Run what the workflows have for an event of the acting session: on_session_start, on_session_end,
    on_pre_compact, on_after_agent, on_prompt_submit or on_stop.

    Exit status 1 when something failed.

    \b
    baton workflow run on_session_start --data '{"source": "compact"}' --dry-run
    """
    from baton_git.interfaces.hook.workflow_actions import (
        actions_for_session,  # it is much to load, and few commands need it
    )

    said = _given(data)
    happened = Event(ALIASES.get(event, event), said)
    with app.workspace() as ws:
        session = SessionInfo(ws.session, cli, str(ws.folder) if ws.folder else None)
        actions = actions_for_session(ws, app.now, session)
        outcome = run_event(ws, app.now, happened, session, actions, workflow_folders(app), dry_run=dry_run)
    app.answer(_outcome_data(outcome), "\n".join(_told(outcome)))
    app.say(*(flat(one) for one in outcome.problems))
    return FAILED if outcome.problems else None


def _given(data: str) -> dict[str, Any]:
    text, where = (read_text(data[1:]), data[1:]) if data.startswith("@") else (data, "--data")
    said = json.loads(text, where=where)
    if not isinstance(said, dict):
        raise InvalidDocument([Fault("", "is not an object")], where=where)
    return said


def _data(one: WorkflowFile) -> dict[str, Any]:
    workflow = one.workflow
    return {
        "name": one.name,
        "state": one.state,
        "tier": one.tier,
        "path": str(one.path),
        "digest": one.digest,
        "priority": workflow.priority if workflow else None,
        "description": workflow.description if workflow else "",
        "events": sorted({trigger.event for trigger in workflow.triggers}) if workflow else [],
        "problem": one.problem,
    }


def _line(one: WorkflowFile) -> str:
    about = one.workflow.description if one.workflow else one.problem
    return "  ".join((f"{flat(one.name):<20}", f"{one.state:<11}", f"{one.tier:<8}", flat(about)[:200])).rstrip()


def _outcome_data(outcome: EventOutcome) -> dict[str, Any]:
    return {
        "ran": [one._asdict() for one in outcome.ran],
        "skipped": list(outcome.skipped),
        "injected": [
            {"source": one.source, "text": one.text, "sections": [section._asdict() for section in one.sections]}
            for one in outcome.injected
        ],
        "block": outcome.block,
        "problems": list(outcome.problems),
        "variables": dict(outcome.variables),
    }


def _told(outcome: EventOutcome) -> list[str]:
    lines = [f"{one.workflow}  {one.path}  {one.action}: {_in_words(one)}" for one in outcome.ran]
    lines += [f"skipped  {one}" for one in outcome.skipped]
    for injected in outcome.injected:
        lines += [f"injected  {injected.source}", *_shown(injected.text, injected.sections)]
    return [flat(one) for one in lines]


def _in_words(ran: ActionRun) -> str:
    return ", ".join(f"{key} {value}" for key, value in ran.result.items() if value is not None)[:500]


def _shown(text: str | None, sections: Sequence[Any]) -> list[str]:
    if text is not None:
        return [f"  {line}" for line in text.splitlines()]
    return [f"  {line}" for section in sections for line in (f"## {section.title}", *section.lines)]


COMMANDS = {
    "workflow": group(
        "workflow",
        "Workflows: what happens at the events of agents' sessions.",
        [
            list_command,
            check_command,
            show_command,
            allow_command,
            disallow_command,
            enable_command,
            disable_command,
            run_command,
        ],
    )
}
