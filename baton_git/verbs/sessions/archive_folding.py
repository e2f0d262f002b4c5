"""Fold the archive after sessions: in the background, so that no session waits for it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from baton_git.namespace.folding import fold, may_be_due, was_undone
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sessions.auto_sync import send_in_background

TASK: Final = "fold"
"""The name of the background task."""


def fold_in_background(ws: Workspace) -> bool:
    """Let a background process fold the archive if that may be due; return whether it goes on after this process.

    Raises:
        Corrupt: the newest revision cannot be read.
    """
    tree = ws.branch.read().tree if ws.folds_archive and ws.branch.tip() is not None else None
    return tree is not None and may_be_due(ws.branch.store.folder(tree)) and ws.background.request(TASK)


def fold_automatically(ws: Workspace, now: datetime) -> None:
    """Fold the archive if that is due, unless a person took back a fold not long ago; let the fold be sent.

    Raises:
        BatonError: under the same conditions as `fold`.
    """
    if ws.folds_archive and not was_undone(ws) and fold(ws, now) is not None:
        send_in_background(ws)
