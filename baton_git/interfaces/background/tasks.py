"""The tasks of the background worker. What a task needs is imported when it runs, since most workers wait."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from baton_git.core.errors import BatonError

if TYPE_CHECKING:
    from baton_git.namespace.workspace import Workspace

FOLD_DELAY = 1.0
"""Seconds from the first request until the archive is folded, so that the fold is sent with what the session wrote."""
SEND_DELAY = 2.0
"""Seconds from the first request until something is sent, so that sessions that end together are sent together."""

OpenWorkspace = Callable[[str], "AbstractContextManager[Workspace]"]
"""Opens the namespace with a component; nobody acts in it."""


class BackgroundTask(NamedTuple):
    """A task of the worker.

    Attributes:
        run: does the work for the namespaces with these components, and returns those for which it must be done again.
            If it raises an error, that is logged, and the next worker tries again.
        count_seconds: returns the seconds until the task may run, from the common directory, the seconds since the
            first request, and the time; 0 or less: immediately.
    """

    run: Callable[[OpenWorkspace, Sequence[str], datetime], Collection[str]]
    count_seconds: Callable[[Path, float, datetime], float] = lambda _common_dir, _age, _now: 0.0


def receive_history(open_workspace: OpenWorkspace, components: Sequence[str], now: datetime) -> Collection[str]:
    """Fetch what a session's start had no time for."""
    from baton_git.verbs.sharing.missing_history import receive_missing

    with ExitStack() as opened:
        return receive_missing([opened.enter_context(open_workspace(component)) for component in components], now)


def catch_up(open_workspace: OpenWorkspace, components: Sequence[str], now: datetime) -> Collection[str]:
    """Save the facts of killed sessions. What cannot be saved is tried again at the next start of a session."""
    from baton_git.interfaces.background.catching_up import catch_up_in_work_trees

    for component in components:
        with open_workspace(component) as ws:
            catch_up_in_work_trees(ws, now)
    return ()


def fold_archives(open_workspace: OpenWorkspace, components: Sequence[str], now: datetime) -> Collection[str]:
    """Move archived records into bundles. A namespace that cannot be folded does not stop the others.

    Raises:
        BatonError: a namespace could not be folded.
    """
    from baton_git.verbs.sessions.session_end import fold_automatically

    failed: BatonError | None = None
    for component in components:
        try:
            with open_workspace(component) as ws:
                fold_automatically(ws, now)
        except BatonError as error:
            failed = failed or error
    if failed is not None:
        raise failed
    return ()


def send_written(open_workspace: OpenWorkspace, components: Sequence[str], now: datetime) -> Collection[str]:
    """Send what ended sessions wrote."""
    from baton_git.verbs.sharing.auto_sync import send_unsent

    with ExitStack() as opened:
        return send_unsent([opened.enter_context(open_workspace(component)) for component in components], now)


def _count_until_sent(common_dir: Path, age: float, now: datetime) -> float:
    from baton_git.verbs.sharing.auto_sync import count_delay

    return max(SEND_DELAY - age, count_delay(common_dir, now))


TASKS: Mapping[str, BackgroundTask] = {
    "receive": BackgroundTask(receive_history),
    "catch_up": BackgroundTask(catch_up),
    "fold": BackgroundTask(fold_archives, lambda _common_dir, age, _now: FOLD_DELAY - age),
    "send": BackgroundTask(send_written, _count_until_sent),
}
