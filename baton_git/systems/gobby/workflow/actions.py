"""What actions do. Each is a function of the run and its arguments, and gives its result; one dict lists them.

A result with the key `error` is one of a failure that the action itself foresaw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from baton_git.agents.registry import AGENTS
from baton_git.agents.sessions.launch_request import (
    BUDGET_USD,
    CHAIN_SECONDS,
    MAX_ITERATIONS,
    MAX_SECONDS,
    TIMEOUT,
    LaunchRequest,
    check_limit,
)
from baton_git.core.brief import Section
from baton_git.core.errors import InvalidArgument
from baton_git.systems.gobby.workflow.effects import SourceContent
from baton_git.systems.gobby.workflow.event_run import Injected, Run

KNOWN = ("compact_handoff", "previous_session_summary", "brief", "changes")
"""Sources that the effects keep by themselves; what is stored under another name becomes a variable."""

Arguments = Mapping[str, Any]
Result = Mapping[str, Any]


def extract_handoff_context(run: Run, arguments: Arguments) -> Result:
    """The facts of the session, kept, and under `store_as` for what comes after."""
    name, include = arguments.get("store_as", "compact_handoff"), arguments.get("include")
    if run.is_dry:
        return {"would": "extract the facts of the session", "stored_as": name, "include": include}
    facts = dict(run.effects.extract_facts(_texts(include) if include is not None else None))
    run.results[str(name)] = facts
    if name not in KNOWN:
        run.variables[str(name)] = facts
    return {"handoff_context_extracted": True, "stored_as": name}


def inject_context(run: Run, arguments: Arguments) -> Result:
    """What the sources have, through the template where there is one."""
    sources, template = _texts(arguments["source"]), arguments.get("template")
    if run.is_dry:
        return {"would": "inject", "source": sources, "template": template is not None}
    found = {source: offered for source in sources if (offered := _offered(run, source)) is not None}
    if not found:
        return _nothing_to_inject(arguments, sources)
    injected = Injected(", ".join(found), *_filled(run, template, found))
    if not injected.sections:
        return _nothing_to_inject(arguments, sources)
    run.injected.append(injected)
    return {"context_injected": True, "source": list(found)}


def _offered(run: Run, source: str) -> SourceContent | None:
    """What the effects have under the name, else the variable of that name."""
    try:
        return run.effects.read_source(source)
    except InvalidArgument:
        value = run.results.get(source, run.variable(source))
        if value is None:
            raise
    names = value if isinstance(value, Mapping) else {source: value}
    return SourceContent(names, (Section(source, tuple(_lines(names)), "lines"),))


def _lines(names: Mapping[str, Any]) -> Iterator[str]:
    for key, value in names.items():
        if value not in (None, "", [], {}):
            yield f"| {key}: {value}".replace("\n", " ")


def _filled(run: Run, template: Any, found: Mapping[str, SourceContent]) -> tuple[str | None, tuple[Section, ...]]:
    if template is None:
        return None, tuple(section for one in found.values() for section in one.sections)
    names = {source: dict(one.names) for source, one in found.items()}
    flat = {key: value for one in found.values() for key, value in one.names.items()}
    text = str(run.rendered(template, {**names, **flat}))
    # Each line is marked, so that none of a transcript's can pose as a title of the brief it ends up in.
    lines = tuple(f"| {line}" for line in text.splitlines() if line.strip())
    return text, (Section(f"From the workflow {run.workflow.name}", lines, "lines"),) if lines else ()


def _nothing_to_inject(arguments: Arguments, sources: list[str]) -> Result:
    why = f"nothing is kept as {' or '.join(sources)}"
    if arguments.get("require"):  # said aloud, but a missing handoff never keeps a session from starting
        return {"error": why}
    return {"context_injected": False, "reason": why}


def generate_handoff(run: Run, arguments: Arguments) -> Result:
    """Notes for the session after this one, by the template or the facts as they are."""
    template = arguments.get("template")
    run.notes = str(run.rendered(template)) if template is not None else run.summed_up()
    if run.is_dry:
        return {"would": "hand over", "notes": run.notes}
    return {"handoff_generated": True, **run.effects.keep_notes(run.notes)}


def set_variable(run: Run, arguments: Arguments) -> Result:
    name, value = _variable(arguments), run.rendered(arguments.get("value"))
    run.variables[name] = value
    return {"variable_set": name, "value": value}


def increment_variable(run: Run, arguments: Arguments) -> Result:
    name, amount = _variable(arguments), arguments.get("amount", 1)
    value = run.variable(name, 0)
    for number, what in ((value, f"the variable {name}"), (amount, "the amount")):
        if isinstance(number, bool) or not isinstance(number, int | float):
            return {"error": f"{what} is no number: {number!r}"}
    run.variables[name] = value + amount
    return {"variable_incremented": name, "value": value + amount}


def mark_loop_complete(run: Run, arguments: Arguments) -> Result:
    run.variables["stop_reason"] = "completed"
    return {"loop_marked_complete": True}


def checkpoint(run: Run, arguments: Arguments) -> Result:
    summary = run.rendered(arguments.get("summary"))
    if run.is_dry:
        return {"would": "checkpoint", "summary": summary}
    return run.effects.save_checkpoint(None if summary is None else str(summary))


def verify(run: Run, arguments: Arguments) -> Result:
    return {"would": "run the checks of the open loops"} if run.is_dry else run.effects.run_checks()


def start_new_session(run: Run, arguments: Arguments) -> Result:
    """A session of an agent that goes on; its results are those of the document."""
    prompt = run.rendered(arguments.get("prompt"))
    if not prompt or not str(prompt).strip():
        return {"error": "Missing prompt parameter"}
    seconds = arguments.get("timeout", TIMEOUT)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 1 <= seconds <= MAX_SECONDS:
        return {"error": f"timeout is no number of seconds from 1 to {MAX_SECONDS}: {seconds!r}"}
    window = run.rendered(arguments.get("window", False))
    wish = LaunchRequest(
        cli=str(run.rendered(arguments.get("cli")) or run.session.source or next(iter(AGENTS))).strip(),
        prompt=str(prompt),
        system_prompt=str(run.rendered(arguments.get("system_prompt")) or ""),
        cwd=str(run.rendered(arguments.get("working_dir")) or run.session.cwd or "") or None,
        seconds=float(seconds),
        is_detached=arguments.get("detached", True) is not False,
        in_window=window is True or bool(str(window).strip() if isinstance(window, str) else ""),
        tmux_session=window.strip() if isinstance(window, str) else "",
        most=int(_limit(run, "max_iterations", MAX_ITERATIONS)),
        chain_seconds=_limit(run, "total_timeout", CHAIN_SECONDS),
        budget_usd=_limit(run, "budget", BUDGET_USD),
        loop=run.workflow.name,
    )
    if run.is_dry:
        return {"would": "start a session", **wish._asdict()}
    return run.starter(wish, {**run.workflow.variables, **run.variables})


def _limit(run: Run, name: str, usual: float) -> float:
    """What the workflow's settings say of a limit of the chain. Raises InvalidArgument when that is none."""
    said: float = run.workflow.settings.get(name, usual)
    check_limit(name, said)
    return said


def notify(run: Run, arguments: Arguments) -> Result:
    """A notice for the user; whoever ran the workflows keeps it."""
    title = str(run.rendered(arguments.get("title")) or run.workflow.name)
    said = {"title": title, "message": str(run.rendered(arguments["message"]))}
    return {"would": "notify", **said} if run.is_dry else {"notified": True, **said}


def block(run: Run, arguments: Arguments) -> Result:
    """The agent must not go on; the first one counts."""
    run.block = str(run.rendered(arguments["reason"]))
    return {"decision": "block", "reason": run.block}


ACTIONS: dict[str, Callable[[Run, Arguments], Result]] = {
    one.__name__: one
    for one in (
        extract_handoff_context, inject_context, generate_handoff, set_variable, increment_variable, mark_loop_complete,
        checkpoint, verify, start_new_session, notify, block,
    )
}  # fmt: skip
"""By the name that stands in the files."""


def _variable(arguments: Arguments) -> str:
    return str(arguments.get("name", arguments.get("variable")))


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]
