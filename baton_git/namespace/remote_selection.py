"""Which remote a namespace is synced with, and what is known of it here: cheap enough for every start of a session."""

from __future__ import annotations

from typing import NamedTuple

from baton_git.core.errors import NotFound
from baton_git.namespace.sync.ahead_behind import count_commits, count_unsent, is_waiting
from baton_git.namespace.sync.tracking_refs import known_remotes, tracking_refs_of
from baton_git.namespace.workspace import Workspace


def remote_of(ws: Workspace) -> str | None:
    """The remote to sync with: the one that is set, else `origin`, else the only one there is."""
    if ws.reach.remote:
        return ws.reach.remote
    names = _list_remote_names(ws)
    if "origin" in names:
        return "origin"
    return names[0] if len(names) == 1 else None


def configured_remote(ws: Workspace, name: str | None) -> str | None:
    """The name of a remote that the repository's configuration has; None where none is named. For whoever may have been
    led by what others wrote: it chooses among remotes, and says no addresses.

    Raises:
        NotFound: the configuration has none of that name.
    """
    if name is None:
        return None
    names = _list_remote_names(ws)
    if name not in names:
        raise NotFound("remote", name, hint=f"there are: {', '.join(names)}" if names else "there are none")
    return name


def address_of(ws: Workspace, remote: str) -> str:
    """Where a remote is, by its name or address: what consent to it is bound to. It may hold a login.

    Raises:
        NotFound: there is no such remote.
    """
    from baton_git.git.remotes import Configured, SshSettings, remote_address  # slow to load, and rarely needed

    known = None if ws.reach.remotes is None else Configured(ws.reach.remotes, SshSettings(*ws.reach.ssh))
    return remote_address(ws.branch.store.repository, remote, ws.environment, known=known)


def automatic_remote(ws: Workspace) -> str | None:
    """The remote that sessions sync with by themselves; None when there is none.

    The one that is set, or one that has this namespace already: nothing is sent by itself to where it never was. Where
    the namespace does not exist here yet, there is nothing to send, and only the remote can tell whether it has it: a
    clone of a single branch does not know.
    """
    if not ws.reach.automatic:
        return None
    if ws.reach.remote:
        return ws.reach.remote
    name = remote_of(ws)
    is_known = name is None or _is_tracked(ws, name) or ws.branch.store.tip(tracking_refs_of(ws.branch, name).seen)
    return name if is_known or ws.branch.store.tip(ws.branch.ref) is None else None


def _is_tracked(ws: Workspace, remote: str) -> bool:
    """Whether the remote had this branch when git fetched from it last."""
    tail = ws.branch.ref.removeprefix("refs/heads/")
    return ws.branch.store.tip(f"refs/remotes/{remote}/{tail}") is not None


def _list_remote_names(ws: Workspace) -> tuple[str, ...]:
    if ws.reach.remotes is not None:
        return ws.reach.remotes
    from baton_git.git.remotes import remote_names  # slow to load, and commands know the names already

    return remote_names(ws.branch.store.repository, ws.environment)


class WaitingCount(NamedTuple):
    remote: str
    commits: int


def waiting_counts(ws: Workspace) -> list[WaitingCount]:
    """How many commits of each remote wait, of those that this namespace was ever synced with."""
    counts = []
    for remote in _list_known_remotes(ws):
        if is_waiting(ws.branch, remote):
            store = ws.branch.store
            theirs = store.tip(tracking_refs_of(ws.branch, remote).incoming)
            counts.append(WaitingCount(remote, count_commits(store, theirs, store.tip(ws.branch.ref))))
    return counts


def pending_counts(ws: Workspace) -> dict[str, int]:
    """By remote, how many commits it does not have yet."""
    return {remote: number for remote in _list_known_remotes(ws) if (number := count_unsent(ws.branch, remote))}


def _list_known_remotes(ws: Workspace) -> list[str]:
    """The remotes that this namespace was synced with and that still have a name here."""
    names = ws.reach.remotes
    return [
        remote for remote in known_remotes(ws.branch) if names is None or remote in names or remote == ws.reach.remote
    ]


def unfetched_namespaces(ws: Workspace) -> list[str]:
    """The namespaces that the remote had when git fetched from it last, where this one exists nowhere yet."""
    store, prefix = ws.branch.store, ws.branch.prefix
    name = remote_of(ws) if ws.reach.automatic and prefix.startswith("refs/heads/") else None
    if name is None or store.tip(ws.branch.ref) is not None:
        return []
    folder = f"refs/remotes/{name}/{prefix.removeprefix('refs/heads/')}"
    branches = (ws.branch.sibling(prefix + ref.removeprefix(folder)) for ref in store.refs(folder))
    return [str(branch.namespace) for branch in branches if branch is not None]


def format_commits(number: int) -> str:
    """`1 commit`, `2 commits`."""
    return f"{number} commit{'' if number == 1 else 's'}"
