"""`baton workflow`: list, check, show, allow, enable and run workflows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from baton_git.agents.registry import AGENTS
from baton_git.core.codecs import json
from baton_git.core.errors import Fault, InvalidDocument
from baton_git.core.output import count_noun, flat, terminal_line
from baton_git.core.styles import Column, Role
from baton_git.interfaces.cli.app import App, at_terminal, command, group, read_text
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.interfaces.cli.printing import agrees
from baton_git.interfaces.context.system_settings import DISABLED, ENABLED, read_list, workflow_folders
from baton_git.systems.gobby.workflow.definition import ALIASES, EVENTS, Event, SessionInfo, parse_workflow
from baton_git.systems.gobby.workflow.event_run import ActionRun, EventOutcome
from baton_git.systems.gobby.workflow.files import WorkflowFile, pick_workflow
from baton_git.systems.gobby.workflows import (
    allow_workflow,
    disallow_workflow,
    find_project_workflow,
    list_workflows,
    run_event,
)


@command("list", short_help="List the workflows, and which of them run here.")
def list_command(app: App) -> None:
    """List the workflows of the project, your own and baton's, and which of them run here.

    A workflow of the project is `not allowed` until you have looked at it and allowed it. Until then, your own or
    baton's workflow of the same name runs.

    \b
    baton workflow list
    """
    with app.workspace() as ws:
        workflows, problems = list_workflows(ws, workflow_folders(app))
    app.answer(
        [_describe_workflow(workflow) for workflow in workflows],
        app.reader.table(workflows, WORKFLOW_COLUMNS, headings=False),
    )
    app.say(*(flat(problem) for problem in problems))
    for workflow in workflows:
        app.say(
            *(
                flat(f"{workflow.name}: {warning}")
                for warning in (workflow.workflow.warnings if workflow.workflow else ())
            )
        )
        if workflow.state == "not allowed":
            app.say(f"to look at {flat(workflow.name)} and allow it: baton workflow allow {flat(workflow.name)}")


@command("check", short_help="Check the file of a workflow.")
@click.argument("file", metavar="FILE|-")
def check_command(app: App, file: str) -> None:
    """Check the file of a workflow: its structure, its events and actions, and every condition and template.

    \b
    baton workflow check .baton/workflows/release.yaml
    """
    workflow = parse_workflow(read_text(file), name=Path(file).stem, where=terminal_line(file))
    data = {
        "name": workflow.name,
        "events": sorted({trigger.event for trigger in workflow.triggers}),
        "warnings": list(workflow.warnings),
    }
    app.answer(data, f"{workflow.name}: {count_noun(len(workflow.triggers), 'trigger')}")
    app.say(*(flat(warning) for warning in workflow.warnings))


@command("show", short_help="Print the file of a workflow.")
@click.argument("name")
def show_command(app: App, name: str) -> None:
    """Print the file of the workflow of this name that runs here, or of the project's if none runs.

    \b
    baton workflow show session-handoff
    """
    with app.workspace() as ws:
        workflow = pick_workflow(list_workflows(ws, workflow_folders(app))[0], name)
    app.answer({**_describe_workflow(workflow), "text": workflow.text}, "\n".join(_escape_lines(workflow.text)))
    app.say(flat(f"{workflow.tier}, {workflow.state}: {workflow.path}"))


@command("allow", short_help="Allow a workflow of the project on this machine.")
@click.argument("name")
def allow_command(app: App, name: str) -> int | None:
    """Show a workflow of the project, and allow it to run on this machine until its file changes.

    At a terminal, you are asked for confirmation. An agent cannot allow a workflow.

    \b
    baton workflow allow release
    """
    with app.workspace() as ws:
        folders = workflow_folders(app)
        workflow = find_project_workflow(ws, folders, name)
        app.say(f"the workflow in {flat(str(workflow.path))}:", *(f"  {line}" for line in _escape_lines(workflow.text)))
        app.say(*(flat(action) for action in _list_actions(workflow)))
        app.refuse_agents(f"a person must allow it at a terminal: baton workflow allow {flat(name)}")
        if at_terminal() and not agrees("Allow?"):
            app.answer({"name": name, "allowed": False}, "")
            return FAILED
        fresh = allow_workflow(ws, app.now, workflow)
    app.answer({"name": workflow.name, "digest": workflow.digest, "allowed": fresh}, "")
    app.say(f"{'allowed' if fresh else 'already allowed'}: {flat(str(workflow.path))}")
    return None


@command("disallow", short_help="Withdraw the approval of a workflow.")
@click.argument("name")
def disallow_command(app: App, name: str) -> None:
    """Withdraw the approval of the project's workflow of this name, so that it no longer runs on this machine.

    \b
    baton workflow disallow release
    """
    with app.workspace() as ws:
        workflow = pick_workflow(list_workflows(ws, workflow_folders(app))[0], name, "project")
        withdrawn = disallow_workflow(ws, workflow)
    app.answer({"name": workflow.name, "digest": workflow.digest, "withdrawn": withdrawn}, "")
    app.say(f"{'no longer allowed' if withdrawn else 'was not allowed'}: {flat(str(workflow.path))}")


def _escape_lines(text: str) -> list[str]:
    """Return the lines of a file with non-printing characters made visible, except tabs."""
    return ["\t".join(terminal_line(part) for part in line.split("\t")) for line in text.rstrip("\n").split("\n")]


def _list_actions(workflow: WorkflowFile) -> list[str]:
    triggers = workflow.workflow.triggers if workflow.workflow else ()
    return [f"at {trigger.event} it runs {step.action}" for trigger in triggers for step in trigger.steps]


def _switch(app: App, name: str, into: str, out_of: str) -> None:
    """Move a name from one list of the repository's own configuration to another."""
    with app.workspace() as ws:
        pick_workflow(list_workflows(ws, workflow_folders(app))[0], name)
    names, others = read_list(app, into), read_list(app, out_of)
    if name not in names:
        app.settings.repository_config.set(into, ",".join([*names, name]))
    if name in others:
        app.settings.repository_config.set(out_of, ",".join(listed for listed in others if listed != name))


@command("enable", short_help="Enable a workflow in this repository.")
@click.argument("name")
def enable_command(app: App, name: str) -> None:
    """Enable a workflow in this repository (git config baton.enabledWorkflows).

    A workflow of the project must be allowed too: baton workflow allow.

    \b
    baton workflow enable autonomous-loop
    """
    _switch(app, name, ENABLED, DISABLED)
    app.answer({"name": name, "enabled": True}, "")
    app.say(f"enabled: {flat(name)}")


@command("disable", short_help="Disable a workflow in this repository.")
@click.argument("name")
def disable_command(app: App, name: str) -> None:
    """Disable a workflow in this repository (git config baton.disabledWorkflows).

    \b
    baton workflow disable session-handoff
    """
    _switch(app, name, DISABLED, ENABLED)
    app.answer({"name": name, "enabled": False}, "")
    app.say(f"disabled: {flat(name)}")


@command("run", short_help="Run the workflows for an event.")
@click.argument("event", type=click.Choice([*EVENTS, *ALIASES]), metavar="EVENT")
@click.option("--data", default="{}", metavar="JSON|@FILE", help="The data of the event, as the agent CLI sends it.")
@click.option(
    "--cli", type=click.Choice(list(AGENTS)), default="claude", show_default=True, help="The agent CLI of the session."
)
@click.option("--dry-run", is_flag=True, help="Only show the actions that would run.")
def run_command(app: App, event: str, data: str, cli: str, dry_run: bool) -> int | None:
    """Run the actions of the workflows for an event of the acting session.

    EVENT is on_session_start, on_session_end, on_pre_compact, on_after_agent, on_prompt_submit or on_stop.

    Exit status: 1 if there was a problem, such as a failed action.

    \b
    baton workflow run on_session_start --data '{"source": "compact"}' --dry-run
    """
    from baton_git.interfaces.hook.workflow_actions import actions_for_session  # slow to import; few commands need it

    fields = _parse_fields(data)
    happened = Event(ALIASES.get(event, event), fields)
    with app.workspace() as ws:
        session = SessionInfo(ws.session, cli, str(ws.folder) if ws.folder else None)
        actions = actions_for_session(ws, app.now, session)
        outcome = run_event(ws, app.now, happened, session, actions, workflow_folders(app), dry_run=dry_run)
        workflows, _ = list_workflows(ws, workflow_folders(app))
    lines = _format_outcome(outcome)
    app.answer(_outcome_data(outcome), "\n".join(lines))
    if not lines and not outcome.problems:
        app.say("no workflow that runs here has an action for this event")
    for file in workflows:
        if file.state == "not allowed" and happened.name in _describe_workflow(file)["events"]:
            app.say(f"{flat(file.name)} is not allowed, so it does not run: baton workflow allow {flat(file.name)}")
    app.say(*(flat(problem) for problem in outcome.problems))
    return FAILED if outcome.problems else None


def _parse_fields(data: str) -> dict[str, Any]:
    text, where = (read_text(data[1:]), data[1:]) if data.startswith("@") else (data, "--data")
    fields = json.loads(text, where=where)
    if not isinstance(fields, dict):
        raise InvalidDocument([Fault("", "is not an object")], where=where)
    return fields


def _describe_workflow(file: WorkflowFile) -> dict[str, Any]:
    workflow = file.workflow
    return {
        "name": file.name,
        "state": file.state,
        "tier": file.tier,
        "path": str(file.path),
        "digest": file.digest,
        "priority": workflow.priority if workflow else None,
        "description": workflow.description if workflow else "",
        "events": sorted({trigger.event for trigger in workflow.triggers}) if workflow else [],
        "problem": file.problem,
    }


WORKFLOW_COLUMNS = (
    Column("workflow", lambda file: file.name, Role.ID),
    Column("state", lambda file: file.state),
    Column("from", lambda file: file.tier),
    Column("about", lambda file: flat(file.workflow.description if file.workflow else file.problem), wraps=True),
)


def _outcome_data(outcome: EventOutcome) -> dict[str, Any]:
    return {
        "ran": [action._asdict() for action in outcome.ran],
        "skipped": list(outcome.skipped),
        "injected": [
            {
                "source": injected.source,
                "text": injected.text,
                "sections": [section._asdict() for section in injected.sections],
            }
            for injected in outcome.injected
        ],
        "block": outcome.block,
        "problems": list(outcome.problems),
        "variables": dict(outcome.variables),
    }


def _format_outcome(outcome: EventOutcome) -> list[str]:
    lines = [f"{action.workflow}  {action.path}  {action.action}: {_format_result(action)}" for action in outcome.ran]
    lines += [f"skipped  {workflow}" for workflow in outcome.skipped]
    for injected in outcome.injected:
        lines += [f"injected  {injected.source}", *_format_injected(injected.text, injected.sections)]
    return [flat(line) for line in lines]


def _format_result(ran: ActionRun) -> str:
    return ", ".join(f"{key} {value}" for key, value in ran.result.items() if value is not None)[:500]


def _format_injected(text: str | None, sections: Sequence[Any]) -> list[str]:
    if text is not None:
        return [f"  {line}" for line in text.splitlines()]
    return [f"  {line}" for section in sections for line in (f"## {section.title}", *section.lines)]


COMMANDS = {
    "workflow": group(
        "workflow",
        "Workflows: actions that run at events of agent sessions.",
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
