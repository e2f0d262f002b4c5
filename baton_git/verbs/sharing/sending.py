"""Send what the sessions of this machine wrote, without being asked: after a session, in the background.

Nothing is sent to a remote that does not have the namespace yet, unless `baton.remote` names it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from baton_git.core.errors import AccessDenied, BatonError, Busy, RemoteError, StoreError, Unreachable
from baton_git.namespace.remote_selection import select_automatic_remote
from baton_git.namespace.sync.sharing_state import PAUSE, Sharing, SharingState
from baton_git.namespace.sync.tracking_refs import find_unsent
from baton_git.namespace.workspace import Workspace

if TYPE_CHECKING:
    from baton_git.namespace.sync.synchronise import SyncOutcome

TASK: Final = "send"
"""The name of the background task."""
SECONDS: Final = 60.0
"""Time limit of one attempt."""
ATTEMPTS: Final = 3
"""Pushes of one attempt, if others push first at the same time: hosts count those that are refused, too."""
RETRIES: Final = (60.0, 120.0, 600.0, 1800.0, 3600.0)
"""Seconds from a failure until the next attempt, by the number of failures in a row."""


def count_delay(common_dir: Path, now: datetime) -> float:
    """Return the seconds until a background process may send."""
    return SharingState(common_dir).read().count_delay(now)


def find_sending_remote(ws: Workspace) -> str | None:
    """Return the remote to which sessions send this namespace automatically, if it lacks commits of ours."""
    if not ws.remote_settings.sends or ws.branch.tip() is None:
        return None
    name = select_automatic_remote(ws)
    return (
        name
        if name is not None and find_unsent(ws.branch, name, lanes=name in ws.remote_settings.lanes).commits
        else None
    )


def send_unsent(workspaces: Sequence[Workspace], now: datetime, *, pause: float = PAUSE) -> Collection[str]:
    """Send the namespaces of one repository, with one push for each remote.

    Args:
        workspaces: one for each namespace.
        pause: seconds until the next background process may push.

    Returns:
        The components of the namespaces for which it must be done again, because of a failure that may pass or because
        a session wrote meanwhile.

    Raises:
        WriteFailed: the time of the next attempt cannot be stored. Nothing was sent.
        BatonError: one of the namespaces cannot be read. The others were sent.
    """
    by_remote, problems = _group_by_remote(workspaces)
    left = _send_groups(by_remote, now, pause) if by_remote else ()
    if problems:
        raise problems[0]
    return left


def _group_by_remote(
    workspaces: Sequence[Workspace],
) -> tuple[Mapping[str, Sequence[Workspace]], Sequence[BatonError]]:
    """Return the namespaces to send by remote, and the errors of those that cannot be read."""
    by_remote: dict[str, list[Workspace]] = {}
    problems = []
    for ws in workspaces:
        try:
            name = find_sending_remote(ws)
        except BatonError as error:  # such as a branch that another program moved back
            problems.append(error)
            continue
        if name is not None:
            by_remote.setdefault(name, []).append(ws)
    return by_remote, problems


def _send_groups(by_remote: Mapping[str, Sequence[Workspace]], now: datetime, pause: float) -> Collection[str]:
    """Send the namespaces of each remote; see `send_unsent`."""
    state = SharingState(next(iter(by_remote.values()))[0].branch.store.repository.common_dir)
    # before the push, because the process may be killed after it
    reserved, start = state.update(lambda sharing: sharing.delayed(now, pause)), time.monotonic()
    failed, left = set(), set()
    for name, group in by_remote.items():
        for component, outcome in _send(group, name, now).items():
            if may_pass(outcome.error):
                failed.add(component)
            elif outcome.error is None and outcome.pending and not outcome.waiting:
                left.add(component)
    end = now + timedelta(seconds=time.monotonic() - start)
    state.update(lambda sharing: _settle(sharing, reserved, end if failed else None))
    return failed | left


def _send(group: Sequence[Workspace], remote: str, now: datetime) -> Mapping[str, SyncOutcome]:
    """Sync namespaces with a remote; return the outcomes by component."""
    # slow to load, and most workers only wait
    from baton_git.namespace.sync.synchronise import SyncOptions, SyncOutcome
    from baton_git.verbs.sharing.sync import sync

    options = SyncOptions(SECONDS, retry=False, attempts=ATTEMPTS)
    branches = {str(ws.branch.namespace): ws.branch for ws in group}
    try:
        done = sync(group[0], now, remote, options, branches=list(branches.values()))
        outcomes = done.outcomes
        if done.offline:
            outcomes = tuple(replace(outcome, error=Unreachable(done.offline)) for outcome in outcomes)
    except (BatonError, OSError) as error:
        reason = error if isinstance(error, BatonError) else StoreError(str(error))
        outcomes = tuple(SyncOutcome(name, error=reason) for name in branches)
    return {branches[outcome.namespace].namespace.component: outcome for outcome in outcomes}


def _settle(sharing: Sharing, reserved: Sharing, failed: datetime | None) -> Sharing:
    """Set the time of the next attempt, which a sync that reached a remote has reset. `failed`: when one failed."""
    if failed is None:
        return replace(sharing, failures=0, not_before=reserved.not_before)
    seconds = RETRIES[min(reserved.failures, len(RETRIES) - 1)]
    return replace(sharing, failures=reserved.failures + 1).delayed(failed, seconds)


def may_pass(error: BatonError | OSError | None) -> bool:
    """Return whether a sync that failed may succeed later, without anything being done about it."""
    return isinstance(error, (Busy, OSError, RemoteError, StoreError)) and not isinstance(error, AccessDenied)
