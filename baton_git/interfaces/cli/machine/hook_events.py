"""`baton hooks run`, which installed git hooks call. It is hidden from the help, because it is not for people."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

import click

from baton_git.core.diff import commit_subject
from baton_git.core.errors import BatonError
from baton_git.core.lifecycle import CODE_METHODS
from baton_git.core.names import Namespace
from baton_git.core.output import flat
from baton_git.git.derived_rewrites import derive_rewritten
from baton_git.git.hooks.location import EVENTS
from baton_git.git.rewritten import add_rewritten, got_no_input
from baton_git.git.store import Store
from baton_git.interfaces.cli.app import App, command
from baton_git.interfaces.cli.error_handler import FAILED
from baton_git.interfaces.context.settings import CommonOptions, Settings
from baton_git.interfaces.hook.push_check import find_push_refusals
from baton_git.namespace.ingest.server import format_refusal
from baton_git.verbs.verification.hooks import (
    BY_COMMITS,
    SECONDS,
    count_seconds_left,
    list_due_namespaces,
    list_unsent_namespaces,
    parse_pushed_components,
    push_along,
    verify_due,
    wait_for_turn,
)

PUSH_SECONDS = 4.0
"""Time limit of the hook pre-push, for which the user waits."""
SHOWN = 20
"""Maximum number of refusals that are printed one by one."""


@command("run", hidden=True)
@click.argument("event", type=click.Choice(EVENTS))
@click.argument("arguments", nargs=-1)
def run_command(app: App, event: str, arguments: tuple[str, ...]) -> int | None:
    """Run an installed git hook, with the arguments and the standard input that git passes to it.

    \b
    baton hooks run post-commit
    """
    code = _RUN.get(event, _verify_due)(app, event, arguments)
    app.answer({"event": event, "refused": code is not None}, "")
    return code


def _verify_due(app: App, event: str, _: tuple[str, ...]) -> None:
    """Run those checks of open loops whose result may have changed because of the event. Git does not wait for them."""
    repository = app.settings.repository
    methods, agent = (BY_COMMITS, "server") if event == "post-receive" else (CODE_METHODS, "git-hook")
    with _limit_time(2 * SECONDS + 20, "took too long"), wait_for_turn(repository) as is_needed:
        end = time.monotonic() + SECONDS
        if is_needed and got_no_input(repository.common_dir):
            with Store(repository) as store:
                add_rewritten(repository.common_dir, derive_rewritten(store))
        for namespace in list_due_namespaces(repository) if is_needed else ():
            with _report_errors(app, namespace), _switch_namespace(app, namespace).workspace(may_fetch=False) as ws:
                written = verify_due(ws, app.now, count_seconds_left(end), methods, agent=agent)
                if written is not None and written.changes:
                    subject = flat(commit_subject(list(written.changes)))
                    app.say(f"{app.now.isoformat(timespec='seconds')} {event} {namespace}: {subject}")


def _push_namespaces(app: App, _: str, arguments: tuple[str, ...]) -> None:
    """Push the namespaces with commits that the remote lacks, except those that the user's own push contains.

    A failure does not stop the user's push.
    """
    lines = sys.stdin.read()
    with _limit_time(PUSH_SECONDS + 0.5, f"baton: namespaces were not pushed: no answer within {PUSH_SECONDS:g} s"):
        end = time.monotonic() + PUSH_SECONDS
        pushed_by_user = parse_pushed_components(lines, app.lenient.settings.prefix)
        for namespace in list_unsent_namespaces(app.settings.repository):
            if namespace.component not in pushed_by_user:
                with _report_errors(app, namespace), _switch_namespace(app, namespace).workspace(may_fetch=False) as ws:
                    problem = push_along(ws, app.now, arguments[0] if arguments else "origin", count_seconds_left(end))
                    app.say(*([f"baton: {flat(problem)}"] if problem else []))


def _check_push(app: App, *_: Any) -> int | None:
    """Check a push, and print the reasons for refusing it; return the exit status."""
    refusals = find_push_refusals(app.settings, sys.stdin.read())
    refused = [f"baton: {flat(format_refusal(refusal))}" for refusal in islice(refusals, SHOWN)]
    more = sum(1 for _ in refusals)
    app.say(*refused, *([f"baton: and {more} more"] if more else []))
    return FAILED if refused else None


_RUN: dict[str, Callable[[App, str, tuple[str, ...]], int | None]] = {
    "pre-push": _push_namespaces,
    "pre-receive": _check_push,
}


def _switch_namespace(app: App, namespace: Namespace) -> App:
    """Return the `App` for another namespace, in which invalid settings raise no error."""
    return replace(app, settings=Settings(CommonOptions(app.settings.options.repo, namespace.text), True))


@contextmanager
def _report_errors(app: App, namespace: Namespace) -> Iterator[None]:
    """Print an error of one namespace instead of raising it, so that the others are handled too."""
    try:
        yield
    except (BatonError, OSError) as error:
        app.say(f"baton: {namespace}: {flat(str(error))}")


@contextmanager
def _limit_time(seconds: float, message: str) -> Iterator[None]:
    """Exit with status 0 if the block takes longer than `seconds`, so that the git command continues."""

    def end(*_: Any) -> None:
        os.write(2, f"{message}\n".encode())
        os._exit(0)

    before = signal.signal(signal.SIGALRM, end)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *timer)
