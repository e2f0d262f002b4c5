"""The background task `send`: send what ended sessions wrote, at most once in `PAUSE` seconds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from baton_git.interfaces.background.worker import OpenWorkspace
from baton_git.verbs.sharing.auto_sync import count_delay, send_unsent

START_DELAY = 2.0
"""Seconds from the first request until something is sent, so that sessions that end together are sent together."""


def count_seconds(common_dir: Path, age: float, now: datetime) -> float:
    """See `BackgroundTask.count_seconds`."""
    return max(START_DELAY - age, count_delay(common_dir, now))


def run(open_workspace: OpenWorkspace, components: Sequence[str], now: datetime) -> Collection[str]:
    """See `BackgroundTask.run`."""
    with ExitStack() as opened:
        return send_unsent([opened.enter_context(open_workspace(component)) for component in components], now)
