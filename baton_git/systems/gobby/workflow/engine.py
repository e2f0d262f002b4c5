"""Run the workflows of one event: triggers, then conditions, then actions.

A failure is reported in the outcome, and the next action runs: a fault in a workflow must not stop a session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton_git.core.errors import BatonError
from baton_git.systems.gobby.rendering import evaluate_condition
from baton_git.systems.gobby.workflow.actions import ACTIONS
from baton_git.systems.gobby.workflow.definition import ActionStep, Workflow
from baton_git.systems.gobby.workflow.effects import Event, SessionInfo, WorkflowActions
from baton_git.systems.gobby.workflow.event_run import ActionRun, EventOutcome, EventRun, SessionStarter


def run_workflows(
    event: Event, session: SessionInfo, workflows: Sequence[Workflow], effects: WorkflowActions,
    variables: Mapping[str, Any], start_session: SessionStarter, *, dry_run: bool = False,
) -> EventOutcome:  # fmt: skip
    """Run workflows for one event, in the given order, and return the outcome.

    Args:
        variables: the variables of the session.
        dry_run: evaluate conditions and plan actions without running them. Neither `effects` nor `start_session` is
            called; only the variables of the outcome change.
    """
    run = EventRun(event, session, effects, start_session, dry_run, EventOutcome(variables=dict(variables)))
    for workflow in workflows:
        run.workflow = workflow
        for trigger in workflow.triggers_of(event.name):
            if _holds(run, trigger.when, trigger.path):
                _run_steps(run, trigger.steps)
    return run.outcome


def _run_steps(run: EventRun, steps: Sequence[ActionStep]) -> None:
    for step in steps:
        if run.outcome.block is not None:
            skipped = f"{run.workflow.name}: {step.path}: {step.action}, because the event is blocked"
            run.outcome.skipped.append(skipped)
        elif _holds(run, step.when, step.path, step.action):
            _run_step(run, step)


def _holds(run: EventRun, when: str, path: str, subject: str = "trigger") -> bool:
    try:
        holds = evaluate_condition(when, run.collect_names(when))
    except BatonError as error:
        run.outcome.problems.append(f"workflow {run.workflow.name}: {path}.when: {error}")
        return False
    if not holds:
        why = f"because this is false: {' '.join(when.split())}"
        run.outcome.skipped.append(f"{run.workflow.name}: {path}: {subject}, {why}")
    return holds


def _run_step(run: EventRun, step: ActionStep) -> None:
    try:
        result = ACTIONS[step.action](run, step.arguments)
    except Exception as error:  # noqa: BLE001  any failure of an action is reported, and the next action runs
        result = {"error": str(error) if isinstance(error, BatonError) else f"{type(error).__name__}: {error}"}
    run.outcome.ran.append(ActionRun(run.workflow.name, step.path, step.action, result))
    if "error" in result:
        problem = f"workflow {run.workflow.name}: {step.path}: {step.action}: {result['error']}"
        run.outcome.problems.append(problem)
    run.results.update({key: value for key, value in result.items() if key != "error"})
