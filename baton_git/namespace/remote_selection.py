"""The remote that a namespace is synced with, and its known state: cheap enough for every session start."""

from __future__ import annotations

from typing import NamedTuple

from baton_git.core.errors import NotFound
from baton_git.namespace.sync.ahead_behind import count_commits, count_unsent, is_waiting
from baton_git.namespace.sync.tracking_refs import known_remotes, tracking_refs_of
from baton_git.namespace.workspace import Workspace


def remote_of(ws: Workspace) -> str | None:
    """Return the remote to sync with: the configured one, else `origin`, else the only one."""
    if ws.reach.remote:
        return ws.reach.remote
    names = list_remote_names(ws)
    if "origin" in names:
        return "origin"
    return names[0] if len(names) == 1 else None


def configured_remote(ws: Workspace, name: str | None) -> str | None:
    """Return the name of a configured remote; None when none is given. Callers that others may have influenced use it:
    they can choose among remotes, but cannot give an address.

    Raises:
        NotFound: the configuration has none of that name.
    """
    if name is None:
        return None
    names = list_remote_names(ws)
    if name not in names:
        raise NotFound("remote", name, hint=f"there are: {', '.join(names)}" if names else "there are none")
    return name


def address_of(ws: Workspace, remote: str) -> str:
    """Return the address of a remote, to which the user's consent is bound. It may contain a login.

    Raises:
        NotFound: there is no such remote.
    """
    from baton_git.git.remotes import Configured, SshSettings, remote_address  # slow to load, and rarely needed

    known = None if ws.reach.remotes is None else Configured(ws.reach.remotes, SshSettings(*ws.reach.ssh))
    return remote_address(ws.branch.store.repository, remote, ws.environment, known=known)


def automatic_remote(ws: Workspace) -> str | None:
    """Return the remote for automatic sync; None when there is none.

    It is the configured one, or one that already has the branch: automatic sync never creates a branch on a remote. A
    namespace that does not exist here yet has nothing to push, and only the remote knows whether it has the branch.
    """
    if not ws.reach.automatic:
        return None
    if ws.reach.remote:
        return ws.reach.remote
    name = remote_of(ws)
    is_known = name is None or _is_tracked(ws, name) or ws.branch.store.tip(tracking_refs_of(ws.branch, name).seen)
    return name if is_known or ws.branch.store.tip(ws.branch.ref) is None else None


def _is_tracked(ws: Workspace, remote: str) -> bool:
    """Whether the remote had this branch at git's last fetch."""
    tail = ws.branch.ref.removeprefix("refs/heads/")
    return ws.branch.store.tip(f"refs/remotes/{remote}/{tail}") is not None


def list_remote_names(ws: Workspace) -> tuple[str, ...]:
    """Return the names of the configured remotes."""
    if ws.reach.remotes is not None:
        return ws.reach.remotes
    from baton_git.git.remotes import remote_names  # slow to load, and commands know the names already

    return remote_names(ws.branch.store.repository, ws.environment)


class WaitingCount(NamedTuple):
    remote: str
    commits: int


def waiting_counts(ws: Workspace) -> list[WaitingCount]:
    """Return, for each known remote, how many of its commits wait for review."""
    counts = []
    for remote in _list_known_remotes(ws):
        if is_waiting(ws.branch, remote):
            store = ws.branch.store
            theirs = store.tip(tracking_refs_of(ws.branch, remote).incoming)
            counts.append(WaitingCount(remote, count_commits(store, theirs, store.tip(ws.branch.ref))))
    return counts


def pending_counts(ws: Workspace) -> dict[str, int]:
    """Return, by remote, how many commits it lacks."""
    return {remote: number for remote in _list_known_remotes(ws) if (number := count_unsent(ws.branch, remote))}


def _list_known_remotes(ws: Workspace) -> list[str]:
    """Return the remotes that this namespace was synced with and that are still configured."""
    names = ws.reach.remotes
    return [
        remote for remote in known_remotes(ws.branch) if names is None or remote in names or remote == ws.reach.remote
    ]


def unfetched_namespaces(ws: Workspace) -> list[str]:
    """Return the namespaces that the remote had at git's last fetch, if this one does not exist yet."""
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
