"""Syncs that nobody asked for: at the start and at the end of a session. They never fail."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from baton_git.core.errors import BatonError
from baton_git.namespace.remote_selection import automatic_remote, unfetched_namespaces
from baton_git.namespace.workspace import Workspace

AT_START = 3.0
AT_END = 10.0
"""Seconds that they may take."""


def at_start(ws: Workspace, now: datetime, seconds: float = AT_START) -> Sequence[str]:
    """Before a session begins: what others sent comes in. In words what a person should know; never an error."""
    return _by_itself(ws, now, seconds, receive_only=True)


def at_end(ws: Workspace, now: datetime, seconds: float = AT_END) -> Sequence[str]:
    """After a session: what it did goes out."""
    return _by_itself(ws, now, seconds, receive_only=False)


def _by_itself(ws: Workspace, now: datetime, seconds: float, *, receive_only: bool) -> Sequence[str]:
    try:
        name = automatic_remote(ws)
        if name is None:
            return []
        from baton_git.namespace.ingest.budget import BOOT
        from baton_git.verbs.sync import in_words, sync  # slow to load, and many have no remote

        done = sync(ws, now, remote=name, seconds=seconds, receive_only=receive_only, budget=BOOT, retry=False)
        return [*in_words(done, waiting=not receive_only), *_elsewhere(ws)]
    except (BatonError, OSError) as error:
        hint = f" ({error.hint})" if isinstance(error, BatonError) and error.hint else ""
        return [f"not synced: {error}{hint}"]


def _elsewhere(ws: Workspace) -> list[str]:
    """That the remote has other namespaces, where this one exists nowhere yet."""
    there = unfetched_namespaces(ws)
    text = ", ".join(there[:5]) + (", …" if len(there) > 5 else "")
    return [f"the remote has {text}, but not {ws.branch.namespace}: choose with --namespace"] if there else []
