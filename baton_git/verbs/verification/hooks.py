"""The work of git hooks: check the loops that a code change can settle, and push commits that no remote has.

Hooks must be cheap, so they only look for marker files: one for each namespace with such loops or commits.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from baton_git.core.errors import InvalidName
from baton_git.core.kinds import KINDS, SINGLETONS
from baton_git.core.lifecycle import CODE_METHODS
from baton_git.core.names import Namespace
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import hold_flock
from baton_git.git.store import Repository
from baton_git.namespace.machine_state import HookMarker, HookMarkers
from baton_git.namespace.remote_selection import is_tracked
from baton_git.namespace.revision import WriteResult
from baton_git.namespace.sync.synchronise import SyncOptions
from baton_git.namespace.sync.tracking_refs import tracking_refs_of
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sharing.sync import describe_sync, sync
from baton_git.verbs.verification.check_results import apply_results, list_due_loops, select_news
from baton_git.verbs.verification.checks import run_checks

BY_COMMITS: Final = frozenset({"git_commit"})
"""Check methods that a server runs after a push: they only read the repository."""
SECONDS: Final = 30.0
"""Time limit of a hook's background work."""
_LOG_BYTES: Final = 64 * 1024


def verify_due(
    ws: Workspace, now: datetime, seconds: float, methods: Collection[str] = CODE_METHODS, *, agent: str = "git-hook"
) -> WriteResult | None:
    """Check the unverified loops that use these methods; return None if there are none.

    A known result is written only if it is the first one or differs from the last. The commit names no session, even if
    one is active: a commit in its name would claim that the session has seen all changes so far.

    Args:
        seconds: time limit of all checks together.
    """
    ws = replace(ws, actor=replace(ws.actor, session=None, agent=agent))
    revision = ws.branch.read()
    loops = list_due_loops(revision.state, methods)
    if not loops:
        _settle_mark(ws, methods)
        return None
    checks = run_checks(ws, now, revision, loops, seconds)
    answered = {id_: check for id_, check in checks.to_store.items() if check.result != "unknown"}
    written = ws.update("verify", now, lambda tip: apply_results(tip.state, loops, select_news(tip.state, answered)))
    _settle_mark(ws, methods)
    return written


# --- one process at a time


@contextmanager
def wait_for_turn(repository: Repository, wait: float = SECONDS + 10) -> Iterator[bool]:
    """Wait for other hook processes; yield whether this one still has work to do.

    The hook writes the marker `asked` before it starts this process. A process removes it before it works. So if
    the marker vanishes while we wait, another process began its work after our commit, and did ours too.
    """
    asked = repository.git_dir / "baton" / "asked"
    was_asked = asked.exists()
    with hold_flock(repository.common_dir / "baton" / "locks" / "hooks", wait) as alone:
        wanted = alone is not False and (asked.exists() or not was_asked)
        if wanted:
            durable_files.remove(asked)
            _shorten_log(repository.common_dir / "baton" / "hooks.log")
        yield wanted


def _shorten_log(log: Path) -> None:
    """Drop the older half of a log that is too long."""
    with suppress(OSError):
        if log.stat().st_size > _LOG_BYTES:
            with log.open("r+b") as file:
                kept = file.read()[-_LOG_BYTES // 2 :].partition(b"\n")[2]
                file.seek(0)
                file.truncate()
                file.write(kept)


def count_seconds_left(end: float) -> float:
    """Return the seconds until the monotonic time `end`, at least half a second."""
    return max(0.5, end - time.monotonic())


# --- marker files


def list_due_namespaces(repository: Repository) -> list[Namespace]:
    """List the namespaces with loops that a code change may settle."""
    return _list_marked(HookMarkers(repository.common_dir).due)


def list_unsent_namespaces(repository: Repository) -> list[Namespace]:
    """List the namespaces with commits that no remote has acknowledged, and those that only git has pushed so far."""
    marks = HookMarkers(repository.common_dir)
    return sorted({*_list_marked(marks.unsent), *_list_marked(marks.published)}, key=str)


def _list_marked(mark: HookMarker) -> list[Namespace]:
    return [name for component in mark.all() if (name := _parse_component(component)) is not None]


def _parse_component(component: str) -> Namespace | None:
    try:
        return Namespace.from_component(component)
    except InvalidName:
        return None


def _settle_mark(ws: Workspace, methods: Collection[str]) -> None:
    """Clear the marker if nothing is due; then check again, since a loop may have been added meanwhile."""
    mark = HookMarkers(ws.branch.store.repository.common_dir).due
    if not list_due_loops(ws.branch.read().state, methods):
        mark.clear(ws.branch.namespace.component)
        if list_due_loops(ws.branch.read().state, methods):
            mark.set(ws.branch.namespace.component)


# --- pre-push


def parse_pushed_components(lines: str, prefix: str) -> set[str]:
    """Return the components of the namespaces that the user pushes, from pre-push's input (`ref id remote-ref id`)."""
    targets = (words[2] for line in lines.splitlines() if len(words := line.split()) == 4)
    return {ref.removeprefix(prefix) for ref in targets if ref.startswith(prefix)}


def push_along(ws: Workspace, now: datetime, remote: str, seconds: float) -> str:
    """Sync the namespace with `remote` within `seconds`; return one line about the result, or an empty string.

    If sync is automatic, a remote that already has the branch, and the remote of automatic sync, receive it; no other
    does. It makes no difference whether baton or git pushed the branch first. A namespace with an unreadable record is
    not pushed.

    Raises:
        BatonError: as for `sync`.
    """
    was_synced = _is_synced_with(ws, remote)
    if ws.branch.store.tip(ws.branch.ref) is None or not (was_synced or _was_pushed_to(ws, remote)):
        return ""
    damaged = next(iter(ws.branch.read().state.unreadable((*SINGLETONS, *KINDS))), None)
    if damaged is not None:
        return f"{ws.branch.namespace} was not pushed: {damaged.path}: {damaged.why}"
    options = SyncOptions(seconds, existing_only=not was_synced)  # git's push may have been refused
    text = "; ".join(describe_sync(sync(ws, now, remote, options), waiting=False))
    return f"{ws.branch.namespace}: {text}" if text else ""


def _is_synced_with(ws: Workspace, remote: str) -> bool:
    """Return whether baton synced the branch with this remote, or was told to."""
    if not ws.remote_settings.sends:
        return False
    has_it = ws.branch.store.tip(tracking_refs_of(ws.branch, remote).seen) is not None
    return has_it or ws.remote_settings.remote == remote


def _was_pushed_to(ws: Workspace, remote: str) -> bool:
    """Return whether the user pushed the branch to this remote with git, as far as the hook or git's refs show."""
    if not ws.remote_settings.sends:
        return False
    noted = HookMarkers(ws.branch.store.repository.common_dir).published.read(ws.branch.namespace.component)
    return noted == f"1 {remote}" or is_tracked(ws, remote)
