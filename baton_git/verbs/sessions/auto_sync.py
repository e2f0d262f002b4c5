"""Automatic sync at the start and the end of a session. Failures are reported as lines, never raised."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from baton_git.core.errors import BatonError
from baton_git.namespace.remote_selection import list_unfetched_namespaces, select_automatic_remote
from baton_git.namespace.workspace import Workspace

AT_START = 3.0
AT_END = 10.0
"""Time limits, in seconds, of the sync at the start and at the end of a session."""


class SyncNews(NamedTuple):
    """The news of a sync for a person, one line each, and the ids of the conflicts that the sync found."""

    lines: Sequence[str] = ()
    conflicts: Sequence[str] = ()


def sync_at_start(ws: Workspace, now: datetime, seconds: float = AT_START) -> Sequence[str]:
    """Receive changes before a session starts; return lines for a person."""
    return _sync_quietly(ws, now, seconds, receive_only=True).lines


def sync_at_end(ws: Workspace, now: datetime, seconds: float = AT_END) -> SyncNews:
    """Receive and send changes after a session; return what to tell the person, and the new conflicts."""
    return _sync_quietly(ws, now, seconds, receive_only=False)


def _sync_quietly(ws: Workspace, now: datetime, seconds: float, *, receive_only: bool) -> SyncNews:
    try:
        name = select_automatic_remote(ws)
        if name is None:
            return SyncNews()
        from baton_git.namespace.ingest.budget import BOOT
        from baton_git.namespace.sync.synchronise import SyncOptions
        from baton_git.verbs.sharing.sync import describe_sync, sync  # slow to load; many repositories have no remote

        options = SyncOptions(seconds, receive_only=receive_only, budget=BOOT, retry=False)
        done = sync(ws, now, name, options)
        lines = (*describe_sync(done, waiting=not receive_only), *_list_other_namespaces(ws))
        return SyncNews(lines, done.conflicts)
    except (BatonError, OSError) as error:
        hint = f" ({error.hint})" if isinstance(error, BatonError) and error.hint else ""
        return SyncNews((f"not synced: {error}{hint}",))


def _list_other_namespaces(ws: Workspace) -> list[str]:
    """Return a line naming the remote's other namespaces if this one does not exist yet; else nothing."""
    others = [name for name in list_unfetched_namespaces(ws) if name != ws.branch.namespace.text]
    text = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
    return [f"the remote has {text}, but not {ws.branch.namespace}: choose with --namespace"] if others else []
