"""What git hooks have done: look again at the loops that code can settle, and push along what no remote has yet.

Both begin with marks: a file for each namespace that has such loops, or such commits. The hooks, which must cost
nothing, look for these files only.
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
from baton_git.core.records.work_items import OpenLoop
from baton_git.git.files import durable_files
from baton_git.git.files.ref_locks import hold_flock
from baton_git.git.store import Repository
from baton_git.namespace.machine_state import HookMarker, HookMarkers
from baton_git.namespace.remote_selection import automatic_remote
from baton_git.namespace.revision import Revision, WriteResult
from baton_git.namespace.sync.tracking_refs import tracking_refs_of
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.check_results import due_checks, news, with_results
from baton_git.verbs.checks import run_checks
from baton_git.verbs.sync import in_words, sync

BY_COMMITS: Final = frozenset({"git_commit"})
"""Those that a server answers from the repository alone: what was pushed to it must not make it do anything else."""
SECONDS: Final = 30.0
"""For all that a hook does in the background."""
_LOG_BYTES: Final = 64 * 1024


def verify_due(
    ws: Workspace, now: datetime, seconds: float, methods: Collection[str] = CODE_METHODS, *, agent: str = "git-hook"
) -> WriteResult | None:
    """Checks the loops of these methods that are not verified yet; None when there are none.

    Only news is written: a first answer, or one that differs from the last. A check that could not be made is none.
    No session is named, though one may be at work here: it has not seen what others wrote until now, and a commit in
    its name would say that it has.

    Args:
        seconds: for all checks together.
    """
    ws = replace(ws, actor=replace(ws.actor, session=None, agent=agent))
    version = ws.branch.read()
    loops = _due(version, methods)
    if not loops:
        _settle_mark(ws, methods)
        return None
    checks = run_checks(ws, now, version, loops, seconds)
    kept = {id_: one for id_, one in checks.kept.items() if one.result != "unknown"}
    written = ws.update("verify", now, lambda tip: with_results(tip.state, loops, news(tip.state, kept)))
    _settle_mark(ws, methods)
    return written


def _due(version: Revision, methods: Collection[str]) -> list[OpenLoop]:
    return [loop for loop in due_checks(version.state) if loop.verify and loop.verify.method in methods]


# --- one look at a time


@contextmanager
def turn(repository: Repository, wait: float = SECONDS + 10) -> Iterator[bool]:
    """Waits until nobody else looks; whether a look is needed still.

    The hook leaves the mark `asked` before it starts us. Whoever looks takes it away first, so a mark that is gone
    means that somebody began to look after our commit was made.
    """
    asked = repository.git_dir / "baton" / "asked"
    was_asked = asked.exists()
    with hold_flock(repository.common_dir / "baton" / "locks" / "hooks", wait) as alone:
        wanted = alone is not False and (asked.exists() or not was_asked)
        if wanted:
            durable_files.remove(asked)
            _shorten(repository.common_dir / "baton" / "hooks.log")
        yield wanted


def _shorten(log: Path) -> None:
    """Keeps the newer half of a log that has grown too long."""
    with suppress(OSError):
        if log.stat().st_size > _LOG_BYTES:
            with log.open("r+b") as file:
                kept = file.read()[-_LOG_BYTES // 2 :].partition(b"\n")[2]
                file.seek(0)
                file.truncate()
                file.write(kept)


def left_of(end: float) -> float:
    """Seconds until the monotonic time `end`, and a little for whoever comes last."""
    return max(0.5, end - time.monotonic())


# --- marks


def due_namespaces(repository: Repository) -> list[Namespace]:
    """The namespaces with loops that code may settle."""
    return _marked(HookMarkers(repository.common_dir).due)


def unsent_namespaces(repository: Repository) -> list[Namespace]:
    """The namespaces with commits that no remote has acknowledged."""
    return _marked(HookMarkers(repository.common_dir).unsent)


def _marked(mark: HookMarker) -> list[Namespace]:
    return [name for component in mark.all() if (name := _namespace(component)) is not None]


def _namespace(component: str) -> Namespace | None:
    try:
        return Namespace.from_component(component)
    except InvalidName:
        return None


def _settle_mark(ws: Workspace, methods: Collection[str]) -> None:
    """Takes the mark away when nothing is due; looks again then, since a loop may have been added meanwhile."""
    mark = HookMarkers(ws.branch.store.repository.common_dir).due
    if not _due(ws.branch.read(), methods):
        mark.clear(ws.branch.namespace.component)
        if _due(ws.branch.read(), methods):
            mark.set(ws.branch.namespace.component)


# --- pre-push


def pushed_components(lines: str, prefix: str) -> set[str]:
    """What the user pushes of ours himself, by what git says to pre-push (`ref id remote-ref id`)."""
    targets = (words[2] for line in lines.splitlines() if len(words := line.split()) == 4)
    return {ref.removeprefix(prefix) for ref in targets if ref.startswith(prefix)}


def push_along(ws: Workspace, now: datetime, remote: str, seconds: float) -> str:
    """Syncs the namespace with `remote` within `seconds`; one line about it, empty when there is nothing to say.

    Nothing is sent by itself to where it never was. A namespace with a record that nobody can read is not spread.

    Raises:
        BatonError: as for `sync`.
    """
    if not _goes_along(ws, remote):
        return ""
    damaged = next(iter(ws.branch.read().state.unreadable((*SINGLETONS, *KINDS))), None)
    if damaged is not None:
        return f"{ws.branch.namespace} is not pushed along: {damaged.path}: {damaged.why}"
    said = "; ".join(in_words(sync(ws, now, remote=remote, seconds=seconds), waiting=False))
    return f"{ws.branch.namespace}: {said}" if said else ""


def _goes_along(ws: Workspace, remote: str) -> bool:
    if not ws.reach.automatic:
        return False
    has_it = ws.branch.store.tip(tracking_refs_of(ws.branch, remote).seen) is not None
    return has_it or automatic_remote(ws) == remote
