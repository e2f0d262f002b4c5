"""Run the workflows of one event: triggers, then conditions, then actions.

A failure is reported in the outcome, and the next action runs: a fault in a workflow must not stop a session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton_git.agents.launcher import (
    BUDGET_USD,
    CHAIN_SECONDS,
    MAX_ITERATIONS,
    MAX_SECONDS,
    TIMEOUT,
    LaunchRequest,
    check_limit,
)
from baton_git.core.brief import Section
from baton_git.core.errors import BatonError, InvalidArgument
from baton_git.core.isolation import describe_bug
from baton_git.systems.gobby.rendering import evaluate_condition
from baton_git.systems.gobby.workflow.definition import (
    ActionStep,
    Event,
    SessionInfo,
    SourceContent,
    Workflow,
    WorkflowActions,
)
from baton_git.systems.gobby.workflow.event_run import ActionRun, EventOutcome, EventRun, Injection, SessionStarter

SOURCES = ("compact_handoff", "previous_session_summary", "brief", "in_force", "changes")
"""The names of the sources that baton provides for `inject_context`. Facts that are stored under another name become a
variable."""

Arguments = Mapping[str, Any]
Result = Mapping[str, Any]


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


# --- actions: functions of the run and their arguments. A result with the key `error` reports an expected failure


def extract_handoff_context(run: EventRun, arguments: Arguments) -> Result:
    """Store the facts of the session in its handoff, and under the name `store_as` for later actions."""
    name, include = arguments.get("store_as", "compact_handoff"), arguments.get("include")
    if run.is_dry:
        return {"would": "extract the facts of the session", "stored_as": name, "include": include}
    facts = dict(run.effects.extract_facts(_to_texts(include) if include is not None else None))
    run.results[str(name)] = facts
    if name not in SOURCES:
        run.outcome.variables[str(name)] = facts
    return {"handoff_context_extracted": True, "stored_as": name}


def inject_context(run: EventRun, arguments: Arguments) -> Result:
    """Inject the content of the sources into the agent's context, rendered by the template if the action has one."""
    sources, template = _to_texts(arguments["source"]), arguments.get("template")
    if run.is_dry:
        return {"would": "inject", "source": sources, "template": template is not None}
    contents = {name: content for name in sources if (content := _try_source(run, name)) is not None}
    injection = Injection(", ".join(contents), *_fill_template(run, template, contents)) if contents else None
    if injection is None or not injection.sections:
        why = f"there is no content for {' or '.join(sources)}"
        if arguments.get("require"):  # only reported: a missing handoff never prevents a session from starting
            return {"error": why}
        return {"context_injected": False, "reason": why}
    run.outcome.injected.append(injection)
    return {"context_injected": True, "source": list(contents)}


def _try_source(run: EventRun, source: str) -> SourceContent | None:
    """Return the content of a source; None if it has none, or if it fails because of a bug, which is reported."""
    try:
        return _read_source(run, source)
    except (BatonError, OSError):
        raise
    except Exception as error:  # noqa: BLE001  reported, and the other sources are injected
        run.outcome.problems.append(f"workflow {run.workflow.name}: {source}: {describe_bug(error)}")
        return None


def _read_source(run: EventRun, source: str) -> SourceContent | None:
    """Return the content of the source with this name, else the stored facts or the variable of this name."""
    try:
        return run.effects.read_source(source)
    except InvalidArgument:
        value = run.results.get(source, run.get_variable(source))
        if value is None:
            raise
    names = value if isinstance(value, Mapping) else {source: value}
    lines = (f"| {key}: {text}".replace("\n", " ") for key, text in names.items() if text not in (None, "", [], {}))
    return SourceContent(names, (Section(source, tuple(lines), "lines"),))


def _fill_template(
    run: EventRun, template: Any, contents: Mapping[str, SourceContent]
) -> tuple[str | None, tuple[Section, ...]]:
    if template is None:
        return None, tuple(section for content in contents.values() for section in content.sections)
    names = {source: dict(content.names) for source, content in contents.items()}
    flat = {key: value for content in contents.values() for key, value in content.names.items()}
    text = str(run.render(template, {**names, **flat}))
    # Each line starts with `|`, so that no line of a transcript looks like a title of the brief.
    lines = tuple(f"| {line}" for line in text.splitlines() if line.strip())
    return text, (Section(f"From the workflow {run.workflow.name}", lines, "lines"),) if lines else ()


def generate_handoff(run: EventRun, arguments: Arguments) -> Result:
    """Store notes for the next session: the rendered template; without a template, a summary of the facts."""
    template = arguments.get("template")
    run.notes = str(run.render(template)) if template is not None else run.summarize()
    if run.is_dry:
        return {"would": "store notes", "notes": run.notes}
    return {"handoff_generated": True, **run.effects.keep_notes(run.notes)}


def set_variable(run: EventRun, arguments: Arguments) -> Result:
    """Set a variable of the session."""
    name, value = _variable_name(arguments), run.render(arguments.get("value"))
    run.outcome.variables[name] = value
    return {"variable_set": name, "value": value}


def increment_variable(run: EventRun, arguments: Arguments) -> Result:
    """Add `amount` (default 1) to a variable of the session."""
    name, amount = _variable_name(arguments), arguments.get("amount", 1)
    value = run.get_variable(name, 0)
    for number, subject in ((value, f"the variable {name}"), (amount, "the amount")):
        if not _is_number(number):
            return {"error": f"{subject} is not a number: {number!r}"}
    run.outcome.variables[name] = value + amount
    return {"variable_incremented": name, "value": value + amount}


def mark_loop_complete(run: EventRun, arguments: Arguments) -> Result:
    """Record that the session's loop is complete."""
    run.outcome.variables["stop_reason"] = "completed"
    return {"loop_marked_complete": True}


def checkpoint(run: EventRun, arguments: Arguments) -> Result:
    """Save a PAIF checkpoint."""
    summary = run.render(arguments.get("summary"))
    if run.is_dry:
        return {"would": "checkpoint", "summary": summary}
    return run.effects.save_checkpoint(None if summary is None else str(summary))


def verify(run: EventRun, arguments: Arguments) -> Result:
    """Run the checks of the open loops."""
    return {"would": "run the checks of the open loops"} if run.is_dry else run.effects.run_checks()


def start_new_session(run: EventRun, arguments: Arguments) -> Result:
    """Start a session of an agent that continues the work. The result has the keys that Gobby's document defines."""
    prompt = run.render(arguments.get("prompt"))
    if not prompt or not str(prompt).strip():
        return {"error": "Missing prompt parameter"}
    seconds = arguments.get("timeout", TIMEOUT)
    if not _is_number(seconds) or not 1 <= seconds <= MAX_SECONDS:
        return {"error": f"timeout must be a number of seconds from 1 to {MAX_SECONDS}, not {seconds!r}"}
    window = run.render(arguments.get("window", False))
    tmux_session = window.strip() if isinstance(window, str) else ""
    request = LaunchRequest(
        cli=str(run.render(arguments.get("cli")) or run.session.source or "claude").strip(),
        prompt=str(prompt),
        system_prompt=str(run.render(arguments.get("system_prompt")) or ""),
        cwd=str(run.render(arguments.get("working_dir")) or run.session.cwd or "") or None,
        seconds=float(seconds),
        is_detached=arguments.get("detached", True) is not False,
        in_window=window is True or bool(tmux_session),
        tmux_session=tmux_session,
        most=int(_chain_limit(run, "max_iterations", MAX_ITERATIONS)),
        chain_seconds=_chain_limit(run, "total_timeout", CHAIN_SECONDS),
        budget_usd=_chain_limit(run, "budget", BUDGET_USD),
        loop=run.workflow.name,
    )
    if run.is_dry:
        return {"would": "start a session", **request._asdict()}
    return run.start_session(request, {**run.workflow.variables, **run.outcome.variables})


def _chain_limit(run: EventRun, name: str, default: float) -> float:
    """Return a limit from the workflow's settings, for all sessions that are started one after another.

    Raises:
        InvalidArgument: the limit is not valid.
    """
    limit: float = run.workflow.settings.get(name, default)
    check_limit(name, limit)
    return limit


def notify(run: EventRun, arguments: Arguments) -> Result:
    """Add a notice for the user; the caller of the workflows delivers it."""
    title = str(run.render(arguments.get("title")) or run.workflow.name)
    notice = {"title": title, "message": str(run.render(arguments["message"]))}
    return {"would": "notify", **notice} if run.is_dry else {"notified": True, **notice}


def block(run: EventRun, arguments: Arguments) -> Result:
    """Prevent the agent from continuing, and tell it the reason. Later actions of the event are skipped."""
    run.outcome.block = str(run.render(arguments["reason"]))
    return {"decision": "block", "reason": run.outcome.block}


ACTIONS: dict[str, Callable[[EventRun, Arguments], Result]] = {
    action.__name__: action
    for action in (
        extract_handoff_context, inject_context, generate_handoff, set_variable, increment_variable, mark_loop_complete,
        checkpoint, verify, start_new_session, notify, block,
    )
}  # fmt: skip
"""The actions, by their names in workflow files."""


def _variable_name(arguments: Arguments) -> str:
    return str(arguments.get("name", arguments.get("variable")))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _to_texts(value: Any) -> list[str]:
    return [str(text) for text in value] if isinstance(value, list | tuple) else [str(value)]
