"""Select the remote that a namespace is synced with, and report its last known state without contacting it."""

from __future__ import annotations

from typing import NamedTuple

from baton_git.core.errors import NotFound
from baton_git.namespace.sync.ahead_behind import count_commits, count_unsent, is_waiting
from baton_git.namespace.sync.tracking_refs import list_known_remotes, tracking_refs_of
from baton_git.namespace.workspace import Workspace


def select_remote(ws: Workspace) -> str | None:
    """Return the remote to sync with: the one in baton.remote, else `origin`, else the only remote; or None."""
    if ws.remote_settings.remote:
        return ws.remote_settings.remote
    names = list_remote_names(ws)
    if "origin" in names:
        return "origin"
    return names[0] if len(names) == 1 else None


def check_configured(ws: Workspace, name: str | None) -> str | None:
    """Return the name of a configured remote; None if `name` is None.

    For callers whose input is untrusted: they may choose among the configured remotes, but may not pass an address.

    Raises:
        NotFound: no remote with this name is configured.
    """
    if name is None:
        return None
    names = list_remote_names(ws)
    if name not in names:
        hint = f"the configured remotes: {', '.join(names)}" if names else "no remote is configured"
        raise NotFound("remote", name, hint=hint)
    return name


def find_remote_url(ws: Workspace, remote: str) -> str:
    """Return the URL of a remote, which may contain credentials. The user's approvals of remotes refer to the URL.

    Raises:
        NotFound: the remote does not exist.
    """
    from baton_git.git.remotes import ConfiguredRemotes, SshSettings, remote_address  # slow to load, and rarely needed

    known = (
        None
        if ws.remote_settings.remotes is None
        else ConfiguredRemotes(ws.remote_settings.remotes, SshSettings(*ws.remote_settings.ssh))
    )
    return remote_address(ws.branch.store.repository, remote, ws.environment, known=known)


def select_automatic_remote(ws: Workspace) -> str | None:
    """Return the remote for automatic sync; None if there is none, or automatic sync is off.

    Unless baton.remote names it, the remote must already have the branch: automatic sync never creates a branch on a
    remote that was not configured for baton. This does not apply if the namespace does not exist here yet: then there
    is nothing to push, and only a fetch shows whether the remote has the branch.
    """
    if not ws.remote_settings.automatic:
        return None
    if ws.remote_settings.remote:
        return ws.remote_settings.remote
    name = select_remote(ws)
    is_known = name is None or is_tracked(ws, name) or ws.branch.store.tip(tracking_refs_of(ws.branch, name).seen)
    return name if is_known or not ws.branch.exists else None


def is_tracked(ws: Workspace, remote: str) -> bool:
    """Return whether the remote had the branch at the last `git fetch` or `git push`."""
    tail = ws.branch.ref.removeprefix("refs/heads/")
    return ws.branch.store.tip(f"refs/remotes/{remote}/{tail}") is not None


def list_remote_names(ws: Workspace) -> tuple[str, ...]:
    """Return the names of the configured remotes."""
    if ws.remote_settings.remotes is not None:
        return ws.remote_settings.remotes
    from baton_git.git.remotes import remote_names  # slow to load, and commands know the names already

    return remote_names(ws.branch.store.repository, ws.environment)


class WaitingCount(NamedTuple):
    remote: str
    commits: int


def count_waiting_commits(ws: Workspace) -> list[WaitingCount]:
    """Return the number of commits that wait for review, for each remote that has any."""
    counts = []
    for remote in _list_known_remotes(ws):
        if is_waiting(ws.branch, remote):
            store = ws.branch.store
            theirs = store.tip(tracking_refs_of(ws.branch, remote).incoming)
            counts.append(WaitingCount(remote, count_commits(store, theirs, ws.branch.tip())))
    return counts


def count_pending_commits(ws: Workspace) -> dict[str, int]:
    """Return by remote the number of local commits that it lacks; remotes that lack none are left out."""
    return {remote: number for remote in _list_known_remotes(ws) if (number := count_unsent(ws.branch, remote))}


def _list_known_remotes(ws: Workspace) -> list[str]:
    """Return the remotes that this namespace was synced with and that are still configured."""
    names = ws.remote_settings.remotes
    return [
        remote
        for remote in list_known_remotes(ws.branch)
        if names is None or remote in names or remote == ws.remote_settings.remote
    ]


def list_unfetched_namespaces(ws: Workspace) -> list[str]:
    """Return the namespaces that the remote had at the last `git fetch`.

    Returns:
        Empty if the current namespace exists here, or there is no remote for automatic sync.
    """
    store, prefix = ws.branch.store, ws.branch.prefix
    name = select_remote(ws) if ws.remote_settings.automatic and prefix.startswith("refs/heads/") else None
    if name is None or ws.branch.exists:
        return []
    folder = f"refs/remotes/{name}/{prefix.removeprefix('refs/heads/')}"
    branches = (ws.branch.find_sibling(prefix + ref.removeprefix(folder)) for ref in store.refs(folder))
    return [str(branch.namespace) for branch in branches if branch is not None]
