"""Automatic syncs: receive when a session starts, and send when it ends or from a background process."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from baton_git.core.errors import AccessDenied, BatonError, Busy, RemoteError, StoreError, Unreachable
from baton_git.core.output import count_noun
from baton_git.namespace.remote_selection import (
    find_unsent_commits,
    list_other_namespaces,
    list_remote_names,
    note_absent,
    receive_in_background,
    select_automatic_remote,
    select_unasked_remote,
)
from baton_git.namespace.sync.sharing_state import PAUSE, Sharing, SharingState
from baton_git.namespace.sync.tracking_refs import find_unsent, tracking_refs_of
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sessions.meeting import (
    Meeting,
    describe_choice,
    describe_others,
    describe_unasked,
    may_be_namespace,
    meet_remotes,
)

if TYPE_CHECKING:
    from baton_git.namespace.sync.synchronise import SyncOutcome
    from baton_git.verbs.sharing.sync import Synced

# --- send what the sessions of this machine wrote, without being asked: after a session, in the background
# Nothing is sent to a remote that does not have the namespace yet, unless `baton.remote` names it.


SEND_TASK: Final = "send"
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


# --- automatic sync at the start and the end of a session. Failures are reported as lines, never raised


AT_START = 3.0
AT_END = 10.0
"""Time limits, in seconds, of the sync at the start and at the end of a session."""
LEFT_AFTER = timedelta(minutes=2)
"""The end of a session sends what it wrote within this time, unless the session or the process was killed."""
HAND_OVER = 10.0
"""Seconds from an attempt at the end of a session that failed until a background process goes on with it."""


class SyncNews(NamedTuple):
    """The news of a sync for a person, one line each, and the ids of the conflicts that the sync found."""

    lines: Sequence[str] = ()
    conflicts: Sequence[str] = ()


def sync_at_start(ws: Workspace, now: datetime, seconds: float = AT_START, remote: str | None = None) -> Sequence[str]:
    """Receive changes before a session starts; return lines for a person.

    Args:
        remote: the remote that is known to have the namespace; None to choose it as usual.
    """
    return _sync_quietly(ws, now, seconds, remote, receive_only=True).lines


def receive_at_start(ws: Workspace, now: datetime, meeting: Meeting) -> Sequence[str]:
    """Return the news of a meeting, or else those of the sync at a start, in the rest of its time."""
    if meeting.news or meeting.seconds <= 0:
        return meeting.news
    return sync_at_start(ws, now, meeting.seconds, meeting.remote)


def meet_at_start(ws: Workspace, now: datetime, seconds: float = AT_START) -> Meeting:
    """Ask the remotes before a session starts, and receive the only namespace of one if it has another name.

    Only the fetch shows whether it is a namespace at all.
    """
    end = time.monotonic() + seconds
    meeting = meet_remotes(ws, seconds)
    if meeting.ws is ws or meeting.remote is None:
        return meeting
    lines = sync_at_start(meeting.ws, now, meeting.seconds, meeting.remote)
    branch, refs = meeting.ws.branch, tracking_refs_of(meeting.ws.branch, meeting.remote)
    came = branch.store.tip(refs.incoming)
    if branch.tip() is None and came is not None and not may_be_namespace(branch, came):
        absent = f"{meeting.remote} does not have {ws.branch.namespace}"
        return Meeting(ws, max(0.0, end - time.monotonic()), [absent])
    return meeting._replace(news=[meeting.note, *lines], seconds=max(0.0, end - time.monotonic()))


def sync_at_end(ws: Workspace, now: datetime, seconds: float = AT_END) -> SyncNews:
    """Receive and send changes after a session; return what to tell the person, and the new conflicts."""
    return _sync_quietly(ws, now, seconds, receive_only=False) if ws.remote_settings.sends else SyncNews()


def send_in_background(ws: Workspace) -> bool:
    """Let a background process send what the automatic remote lacks; return whether it goes on after this process."""
    return find_sending_remote(ws) is not None and ws.background.request(SEND_TASK)


def send_leftovers(ws: Workspace, now: datetime) -> bool:
    """Let a background process send what sessions that ended long ago left, and resume other background work.

    Returns:
        Whether there was work of a process that was killed, or could not do it.
    """
    was_left = ws.background.resume()
    oldest = min(
        (unsent.since for unsent in find_unsent_commits(ws) if unsent.is_automatic and unsent.since), default=now
    )
    if now - oldest > LEFT_AFTER:  # else it is of a session that is at work, and is sent at its end
        send_in_background(ws)
    return was_left


def _sync_quietly(
    ws: Workspace, now: datetime, seconds: float, remote: str | None = None, *, receive_only: bool
) -> SyncNews:
    conflicts: Sequence[str] = ()
    end, is_new = time.monotonic() + seconds, ws.branch.is_new
    try:
        name = remote or select_automatic_remote(ws)
        is_met = name is not None and not is_new
        if name is None and receive_only:
            name = select_unasked_remote(ws, now)
        if name is None:
            may_ask = receive_only and is_new and ws.remote_settings.automatic
            return SyncNews(describe_choice(list_remote_names(ws)) if may_ask else ())
        from baton_git.namespace.ingest.budget import BOOT
        from baton_git.namespace.sync.synchronise import SyncOptions
        from baton_git.verbs.sharing.sync import describe_sync, sync  # slow to load; many repositories have no remote

        options = SyncOptions(seconds, receive_only=receive_only, budget=BOOT, completes=False, retry=False)
        done = sync(ws, now, name, options)
        lines = describe_sync(done, waiting=not receive_only)
        if not is_met and done.offline:
            lines = [
                f"whether {done.remote} has this namespace is unknown ({done.offline}); the next baton boot asks again"
            ]
        elif not is_met and receive_only and _is_absent(ws, name, done):
            note_absent(ws, name, now)
            lines += _describe_absence(ws, name, end - time.monotonic()) if is_new else []
        if done.is_behind and receive_in_background(ws):
            lines.append("what is missing here is fetched in the background")
        conflicts, is_left = done.conflicts, bool(done.offline) or any(map(_is_left, done.outcomes))
    except (BatonError, OSError) as error:
        hint = f" ({error.hint})" if isinstance(error, BatonError) and error.hint else ""
        lines, is_left = [f"not synced: {error}{hint}"], may_pass(error)
    return SyncNews([*lines, *([] if receive_only or not is_left else _hand_over(ws, now))], conflicts)


def _is_absent(ws: Workspace, name: str, done: Synced) -> bool:
    """Return whether the remote answered that it does not have the namespace."""
    refs = tracking_refs_of(ws.branch, name)
    return not done.errors and all(ws.branch.store.tip(ref) is None for ref in refs)


def _is_left(outcome: SyncOutcome) -> bool:
    """Return whether a later attempt may send what this one did not."""
    return outcome.pending > 0 and not outcome.waiting and (outcome.error is None or may_pass(outcome.error))


def _hand_over(ws: Workspace, now: datetime) -> list[str]:
    """Let a background process go on with sending; return a line about that."""
    with suppress(BatonError):  # without the delay, the background process only starts sooner
        state = SharingState(ws.branch.store.repository.common_dir)
        state.update(lambda sharing: sharing if sharing.count_delay(now) else sharing.delayed(now, HAND_OVER))
    try:
        unsent = sum(unsent.commits for unsent in find_unsent_commits(ws) if unsent.is_automatic)
        is_going_on = send_in_background(ws)
    except (BatonError, OSError) as error:
        return [f"whether everything was sent is unknown: {error}"]
    if not unsent:
        return []
    how = "; sending goes on in the background" if is_going_on else " (baton sync sends them)"
    return [f"{count_noun(unsent, 'commit')} not sent yet{how}"]


def _describe_absence(ws: Workspace, name: str, seconds: float) -> list[str]:
    """Return lines about where the namespace may be if the remote does not have it: under another name, or on another
    remote."""
    lines = []
    others = list_other_namespaces(ws, name, seconds)
    if others:
        lines.append(describe_others(name, others, ws.branch.namespace))
    unasked = [other for other in list_remote_names(ws) if other != name]
    if unasked:
        lines.append(f"{name} does not have {ws.branch.namespace}; not asked: {describe_unasked(unasked)}")
    if not lines and not ws.branch.exists:
        lines.append(f"{name} does not have {ws.branch.namespace}")
    return lines
