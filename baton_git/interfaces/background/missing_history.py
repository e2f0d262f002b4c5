"""The background task `receive`: fetch what a session's start had no time for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from baton_git.interfaces.background.worker import OpenWorkspace
from baton_git.verbs.sharing.missing_history import receive_missing


def count_seconds(common_dir: Path, age: float, now: datetime) -> float:
    """See `BackgroundTask.count_seconds`."""
    return 0.0


def run(open_workspace: OpenWorkspace, components: Sequence[str], now: datetime) -> Collection[str]:
    """See `BackgroundTask.run`."""
    with ExitStack() as opened:
        return receive_missing([opened.enter_context(open_workspace(component)) for component in components], now)
