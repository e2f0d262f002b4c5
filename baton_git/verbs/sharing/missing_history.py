"""Receive in the background what a session's start has no time for: a long history, or many commits at once.

This includes who vouches for the records after many commits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from baton_git.core.errors import BatonError
from baton_git.namespace.provenance.labels import load_marks
from baton_git.namespace.remote_selection import RECEIVE, select_receiving_remote
from baton_git.namespace.workspace import Workspace

TASK: Final = RECEIVE
"""The name of the background task."""
SECONDS: Final = 100.0
"""Time limit for one namespace and attempt; what is left follows in the next one."""


def receive_missing(workspaces: Sequence[Workspace], now: datetime) -> Collection[str]:
    """Receive the commits and the older history that are missing, without sending anything.

    Returns:
        The components of the namespaces of which a part came in, and more is missing.
    """
    left = set()
    for ws in workspaces:
        with suppress(BatonError, OSError):  # told by the next session's start, which also requests it again
            if _receive(ws, now):
                left.add(ws.branch.namespace.component)
    return left


def _receive(ws: Workspace, now: datetime) -> bool:
    """Receive from the remote, and find out who vouches for the records; return whether more is missing, and the remote
    gives it."""
    name = select_receiving_remote(ws)
    try:
        return name is not None and _receive_from(ws, now, name)
    finally:
        tip = ws.branch.tip()
        if tip is not None:
            load_marks(ws.branch, tip)  # else the next start of a session would have to


def _receive_from(ws: Workspace, now: datetime, name: str) -> bool:
    # slow to load, and most workers have other tasks
    from baton_git.namespace.sync.synchronise import SyncOptions
    from baton_git.verbs.sharing.sync import sync

    before = ws.branch.store.boundary.digest
    done = sync(ws, now, name, SyncOptions(SECONDS, receive_only=True, retry=False))
    is_going_on = ws.branch.store.boundary.digest != before
    return is_going_on and not done.offline and any(outcome.is_incomplete for outcome in done.outcomes)
