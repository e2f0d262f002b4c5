"""`baton loop-run`: run sessions of an agent one after the other, in the foreground, until the task is done."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from baton_git.agents.registry import AGENTS
from baton_git.agents.sessions.records import cost_in_words
from baton_git.core.output import count_noun, flat
from baton_git.interfaces.cli.app import INPUT_FILE, App, Number, WholeNumber, command, read_text
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.interfaces.context.system_settings import workflow_folders
from baton_git.systems.gobby.loops import (
    INTERRUPTED,
    Loop,
    LoopLimits,
    LoopResult,
    find_installed_cli,
    format_tokens,
    run_loop,
)
from baton_git.systems.gobby.workflows import list_stop_files

DEFAULT = LoopLimits()


DAY = 86400


@command("loop-run", short_help="Run an agent again and again until its task is done.")
@click.argument("prompt", required=False)
@click.option("--file", type=INPUT_FILE, metavar="FILE|-", help="Read the prompt from a file.")
@click.option("--cli", type=click.Choice(list(AGENTS)), help="The agent CLI. Default: the first installed one.")
@click.option(
    "--marker", default=DEFAULT.marker, show_default=True, help="The line with which the agent reports that it is done."
)
@click.option(
    "--max-iterations",
    type=WholeNumber(1, 1000),
    default=DEFAULT.iterations,
    show_default=True,
    help="Maximum number of sessions.",
)
@click.option(
    "--session-timeout",
    type=Number(0.1, DAY),
    default=DEFAULT.session_seconds,
    show_default=True,
    help="Time limit of one session in seconds.",
)
@click.option(
    "--total-timeout",
    type=Number(0.1, 30 * DAY),
    default=DEFAULT.total_seconds,
    show_default=True,
    help="Time limit of all sessions together in seconds.",
)
@click.option(
    "--stop-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Start no further session if this file exists. Default: baton/stop in the git directory.",
)
@click.option(
    "--stuck-after",
    type=WholeNumber(2, 100),
    default=DEFAULT.stuck_after,
    show_default=True,
    help="Stop after this many sessions in a row with the same answer or without changes.",
)
@click.option(
    "--budget",
    type=Number(0.000001, 100_000),
    default=DEFAULT.budget_usd,
    show_default=True,
    help="Stop at this cost in US dollars, if the agent reports its cost.",
)
@click.option(
    "--token-budget",
    type=WholeNumber(1, 10**12),
    default=DEFAULT.tokens,
    show_default=True,
    help="Stop at this number of tokens, if the agent reports it.",
)
@click.option("--max-failures", type=WholeNumber(1, 100), default=DEFAULT.failures, show_default=True,
              help="Stop after this many failed sessions in a row.")  # fmt: skip
def loop_run(
    app: App, prompt: str | None, file: str | None, cli: str | None, stop_file: Path | None, **limits: Any
) -> int | None:
    """Run an agent on one task, again and again, until it reports that the task is done.

    Each session is new, and gets the last answer of the one before. The agent ends the loop by printing the marker on a
    line of its own; any of the limits below ends it too.

    git config baton.claudeArguments (or codexArguments, geminiArguments) sets further options of the agent CLI.

    Exit status: 0 the task is done, 130 Ctrl-C ended the loop (128 plus the number of another signal), 1 something
    else ended it.

    \b
    baton loop-run "Make the tests in tests/parser pass" --max-iterations 5
    baton loop-run --file task.md --cli codex --session-timeout 900
    git config baton.claudeArguments "--permission-mode acceptEdits"
    """
    if (prompt is None) == (file is None):
        raise click.UsageError("give either a PROMPT or --file")
    text = prompt if prompt is not None else read_text(str(file))
    chosen = cli or find_installed_cli(app.settings.environment)
    arguments = dict(workflow_folders(app).arguments)
    with app.workspace() as ws, _collect_signals() as signals:
        stop_files = (stop_file.absolute(),) if stop_file is not None else list_stop_files(ws)
        loop = Loop(text, chosen, os.fspath(_find_folder(app)), stop_files, _make_limits(limits), arguments)
        done = run_loop(ws, loop, app.settings.now, lambda line: app.say(flat(line)), lambda: bool(signals))
    _tell_result(app, done)
    if done.ended == INTERRUPTED:
        return 128 + (signals[0] if signals else signal.SIGINT)
    return None if done.ended.by == "completed" else FAILED


def _find_folder(app: App) -> Path:
    """Return the folder in which the sessions run: the current one, unless --repo names another work tree."""
    top = app.settings.repository.work_tree
    here = Path.cwd()
    return top if top is not None and top not in (here, *here.parents) else here


def _make_limits(options: dict[str, Any]) -> LoopLimits:
    return LoopLimits(
        marker=options["marker"],
        iterations=options["max_iterations"],
        session_seconds=options["session_timeout"],
        total_seconds=options["total_timeout"],
        stuck_after=options["stuck_after"],
        budget_usd=options["budget"],
        tokens=options["token_budget"],
        failures=options["max_failures"],
    )


@contextmanager
def _collect_signals() -> Iterator[list[int]]:
    """Collect the signals SIGINT, SIGTERM and SIGHUP in a list, and yield that list. A signal also ends the running
    session.

    The handlers raise no exception, because an exception could interrupt the start of a session.
    """
    signals: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda came, _: signals.append(came)) for number in numbers}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell_result(app: App, done: LoopResult) -> None:
    data = done.data
    app.answer(data, f"{done.ended.by}: {flat(done.ended.why)}")
    least = "" if data["cost_is_known"] or data["cost_usd"] is None else "at least "
    sessions = count_noun(data["iterations"], "session")
    app.say(f"{sessions}, {least}{cost_in_words(data['cost_usd'])}, {format_tokens(data['tokens'])}")


COMMANDS = {"loop-run": loop_run}
