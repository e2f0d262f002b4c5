"""Receive in the background what a session's start has no time for: a long history, or many commits at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from baton_git.core.errors import BatonError
from baton_git.namespace.remote_selection import select_automatic_remote, select_remote
from baton_git.namespace.workspace import Workspace

TASK: Final = "receive"
"""The name of the background task."""
SECONDS: Final = 100.0
"""Time limit for one namespace and attempt; what is left follows in the next one."""


def receive_in_background(ws: Workspace) -> bool:
    """Let a background process receive what is missing; return whether it goes on after this process."""
    return ws.remote_settings.automatic and ws.background.request(TASK)


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
    """Receive from the remote; return whether more is missing, and the remote gives it."""
    # slow to load, and most workers have other tasks
    from baton_git.namespace.sync.synchronise import SyncOptions
    from baton_git.verbs.sharing.sync import sync

    name = (select_automatic_remote(ws) or select_remote(ws)) if ws.remote_settings.automatic else None
    if name is None:
        return False
    before = ws.branch.store.boundary.digest
    done = sync(ws, now, name, SyncOptions(SECONDS, receive_only=True, retry=False))
    is_going_on = ws.branch.store.boundary.digest != before
    return is_going_on and not done.offline and any(outcome.is_incomplete for outcome in done.outcomes)
