"""The background task `fold`: move archived records into bundles after a session, and let the fold be sent."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from baton_git.core.errors import BatonError
from baton_git.interfaces.background.worker import OpenWorkspace
from baton_git.verbs.sessions.session_end import fold_automatically

START_DELAY = 1.0
"""Seconds from the first request until the archive is folded, so that the fold is sent with what the session wrote."""


def count_seconds(common_dir: Path, age: float, now: datetime) -> float:
    """See `BackgroundTask.count_seconds`."""
    return START_DELAY - age


def run(open_workspace: OpenWorkspace, components: Sequence[str], now: datetime) -> Collection[str]:
    """See `BackgroundTask.run`. A namespace that cannot be folded does not stop the others.

    Raises:
        BatonError: a namespace could not be folded.
    """
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
