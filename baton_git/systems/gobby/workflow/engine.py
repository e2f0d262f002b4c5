"""Runs the workflows of one event: triggers → conditions → actions.

What fails is named in the outcome, and the next goes on: no fault in a workflow may keep a session from its work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton_git.core.errors import BatonError
from baton_git.systems.gobby.rendering import condition
from baton_git.systems.gobby.workflow.actions import ACTIONS
from baton_git.systems.gobby.workflow.definition import Step, Trigger, Workflow
from baton_git.systems.gobby.workflow.effects import Event, SessionInfo, WorkflowActions
from baton_git.systems.gobby.workflow.event_run import Outcome, Ran, Run, Starter


def run_event(
    event: Event,
    session: SessionInfo,
    workflows: Sequence[Workflow],
    effects: WorkflowActions,
    variables: Mapping[str, Any],
    starter: Starter,
    *,
    dry_run: bool = False,
) -> Outcome:
    """What comes of `event`.

    Args:
        workflows: those that run, in their order.
        variables: those of the session.
        dry_run: conditions are evaluated and actions planned, but nothing is done: neither `effects` nor `starter` are
            called, and only the variables of the outcome change.
    """
    run = Run(event, session, effects, starter, dry_run, dict(variables))
    for workflow in workflows:
        run.workflow = workflow
        for trigger in workflow.at(event.name):
            _trigger(run, trigger)
    return Outcome(
        tuple(run.injected), run.block, tuple(run.ran), tuple(run.problems), run.variables, tuple(run.skipped)
    )


def _trigger(run: Run, trigger: Trigger) -> None:
    if not _holds(run, trigger.when, trigger.path):
        return
    for step in trigger.steps:
        if run.block is not None:
            run.skipped.append(f"{run.workflow.name}: {step.path}: {step.action}, as the event is blocked")
        elif _holds(run, step.when, step.path, step.action):
            _do(run, step)


def _holds(run: Run, when: str, path: str, what: str = "trigger") -> bool:
    try:
        holds = condition(when, run.names(when))
    except BatonError as error:
        run.problems.append(f"workflow {run.workflow.name}: {path}.when: {error}")
        return False
    if not holds:
        run.skipped.append(f"{run.workflow.name}: {path}: {what}, as this does not hold: {' '.join(when.split())}")
    return holds


def _do(run: Run, step: Step) -> None:
    try:
        result = ACTIONS[step.action](run, step.arguments)
    except Exception as error:  # noqa: BLE001
        # The boundary of an action: whatever it meets in the world, the next one goes on, and it is told as it is.
        said = str(error) if isinstance(error, BatonError) else f"{type(error).__name__}: {error}"
        result = {"error": said}
    run.ran.append(Ran(run.workflow.name, step.path, step.action, result))
    if "error" in result:
        run.problems.append(f"workflow {run.workflow.name}: {step.path}: {step.action}: {result['error']}")
    run.results.update({key: value for key, value in result.items() if key != "error"})
