"""Select the remote that a namespace is synced with, and report its last known state without contacting it."""

from __future__ import annotations

import shlex
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from baton_git.checks.approvals import without_login
from baton_git.core.errors import BatonError, InvalidArgument, NotFound
from baton_git.core.output import count_noun
from baton_git.core.times import from_seconds, iso, relative_time
from baton_git.namespace.sync.sharing_state import SharingState, share_key
from baton_git.namespace.sync.tracking_refs import (
    count_commits,
    encode_remote,
    find_seen,
    find_unsent,
    git_tracking_ref,
    is_waiting,
    list_known_remotes,
    tracking_refs_of,
)
from baton_git.namespace.workspace import Workspace

if TYPE_CHECKING:
    from baton_git.git.remotes import ConfiguredRemotes


def select_remote(ws: Workspace) -> str | None:
    """Return the remote to sync with: the one in baton.remote, else `origin`, else the only remote, else the only one
    of several that the namespace was synced with, or that git has fetched it from; or None.
    """
    if ws.remote_settings.remote:
        return ws.remote_settings.remote
    names = list_remote_names(ws)
    if "origin" in names:
        return "origin"
    if len(names) < 2:
        return names[0] if names else None
    synced = [name for name in names if ws.branch.store.tip(tracking_refs_of(ws.branch, name).seen) is not None]
    known = synced or [name for name in names if find_seen(ws.branch, name)]
    return known[0] if len(known) == 1 else None


def require_remote(ws: Workspace) -> str:
    """Return the remote to sync with, as `select_remote` does.

    Raises:
        NotFound: there is no remote.
        InvalidArgument: there are several, and it is not clear which one is meant.
    """
    name = select_remote(ws)
    if name is not None:
        return name
    names = list_remote_names(ws)
    if not names:
        raise NotFound("remote to sync with", hint="git remote add origin URL, or baton sync URL")
    shown, first = ", ".join(names[:5]) + (", …" if len(names) > 5 else ""), shlex.quote(names[0])
    raise InvalidArgument(
        f"there are several remotes, and it is not clear which one to use: {shown}",
        hint=f"name one with --remote {first}, or once for all: git config baton.remote {first}",
    )


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
    from baton_git.git.remotes import remote_address  # slow to load, and rarely needed

    return remote_address(ws.branch.store.repository, remote, ws.environment, known=read_remotes(ws))


def read_remotes(ws: Workspace) -> ConfiguredRemotes | None:
    """Return the configured remotes, if the settings have them."""
    from baton_git.git.remotes import ConfiguredRemotes, SshSettings  # slow to load, and rarely needed

    settings = ws.remote_settings
    return None if settings.remotes is None else ConfiguredRemotes(settings.remotes, SshSettings(*settings.ssh))


def select_automatic_remote(ws: Workspace) -> str | None:
    """Return the remote for automatic sync; None if there is none, or automatic sync is off.

    Unless baton.remote names it, the remote must already have the branch: automatic sync never creates a branch on a
    remote that was not configured for baton. If it is not the remote that `select_remote` returns, it must be the only
    one that has it. All this does not apply if the namespace does not exist here yet: then there is nothing to push,
    and only a fetch shows whether the remote has the branch.
    """
    if not ws.remote_settings.automatic:
        return None
    if ws.remote_settings.remote:
        return ws.remote_settings.remote
    name = select_remote(ws)
    if name is not None and find_seen(ws.branch, name):
        return name
    names = list_remote_names(ws)
    known = [other for other in names if find_seen(ws.branch, other)] if len(names) > 1 else []
    if len(known) == 1:
        return known[0]
    return None if ws.branch.exists else name


RECEIVE = "receive"
"""The name of the background task that receives what is missing."""


def select_receiving_remote(ws: Workspace) -> str | None:
    """Return the remote from which a background process receives; None if automatic sync is off or there is none."""
    return (select_automatic_remote(ws) or select_remote(ws)) if ws.remote_settings.automatic else None


def receive_in_background(ws: Workspace) -> bool:
    """Let a background process receive what is missing; return whether it goes on after this process."""
    return ws.remote_settings.automatic and ws.background.request(RECEIVE)


def select_unasked_remote(ws: Workspace, now: datetime) -> str | None:
    """Return the remote that may have the namespace, although it was not synced so far; None if there is none.

    To ask it sends nothing. A remote that lacked the namespace is asked again a day later, or if its address changed.
    """
    name = select_remote(ws) if ws.remote_settings.automatic else None
    if name is None or not (ws.branch.exists or ws.branch.may_be_fetched):
        return None
    sharing = SharingState(ws.branch.store.repository.common_dir).read()
    was_absent = sharing.was_absent(_key_of(ws, name), _read_address(ws, name), now)
    return None if was_absent and not ws.branch.is_new else name


def note_absent(ws: Workspace, name: str, now: datetime) -> None:
    """Remember that a remote answered that it lacks the namespace. If that cannot be written, it is asked again."""
    key, address = _key_of(ws, name), _read_address(ws, name)
    with suppress(BatonError):
        SharingState(ws.branch.store.repository.common_dir).update(lambda it: it.with_absent(key, address, now))


def _key_of(ws: Workspace, remote: str) -> str:
    return share_key(remote, ws.branch.namespace.component)


def _read_address(ws: Workspace, remote: str) -> str:
    return ws.branch.store.repository.config().get(f"remote.{remote}.url") or remote


def is_tracked(ws: Workspace, remote: str) -> bool:
    """Return whether the remote had the branch at the last `git fetch` or `git push`."""
    ref = git_tracking_ref(ws.branch, remote)
    return ref is not None and ws.branch.store.tip(ref) is not None


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
    return {unsent.remote: unsent.commits for unsent in find_unsent_commits(ws)}


class UnsentCommits(NamedTuple):
    """The local commits that a remote lacks, as far as known without asking it.

    Attributes:
        since: when the oldest of them was made; None if unknown.
        error: why the last attempt to send them failed; empty if it did not.
        is_automatic: whether sessions send to this remote automatically.
    """

    remote: str
    commits: int
    since: datetime | None = None
    error: str = ""
    is_automatic: bool = False

    def is_late(self, now: datetime) -> bool:
        """Return whether sessions should have sent these commits by now, or failed to."""
        has_waited = self.since is not None and now - self.since > LATE
        return self.is_automatic and (has_waited or bool(self.error))

    def as_data(self) -> dict[str, Any]:
        since = {"since": iso(self.since)} if self.since is not None else {}
        return {
            "remote": self.remote,
            "commits": self.commits,
            **since,
            **({"error": self.error} if self.error else {}),
        }

    def describe(self, now: datetime) -> str:
        """Return one line for people; `since` and the error are named if they are known."""
        verb = "waits" if self.commits == 1 else "wait"
        since = f", the oldest made {relative_time(self.since, now)}" if self.since is not None else ""
        why = f"; the last attempt failed: {self.error}" if self.error else ""
        return f"{count_noun(self.commits, 'commit')} {verb} to be sent to {self.remote}{since}{why}"


LATE = timedelta(hours=1)
"""Commits that wait for longer are reported."""


def find_unsent_commits(ws: Workspace) -> list[UnsentCommits]:
    """Return the commits that each remote lacks; remotes that lack none are left out."""
    automatic = select_automatic_remote(ws) if ws.remote_settings.sends else None
    sharing = SharingState(ws.branch.store.repository.common_dir).read()
    known = [remote for remote in _list_known_remotes(ws) if automatic is None or remote != encode_remote(automatic)]
    found, lanes = [], ws.remote_settings.lanes
    with_lanes = {*lanes, *map(encode_remote, lanes)}
    for remote in dict.fromkeys([*known, *([automatic] if automatic else [])]):
        commits, oldest = find_unsent(ws.branch, remote, lanes=remote in with_lanes)
        if commits:
            since = from_seconds(oldest) if oldest is not None else None
            error = sharing.find_error(_key_of(ws, remote), since)
            found.append(UnsentCommits(without_login(remote), commits, since, error, remote == automatic))
    return found


def _list_known_remotes(ws: Workspace) -> list[str]:
    """Return the remotes that this namespace was synced with and that are still configured."""
    names = ws.remote_settings.remotes
    return [
        remote
        for remote in list_known_remotes(ws.branch)
        if names is None or remote in names or remote == ws.remote_settings.remote
    ]


def list_other_namespaces(ws: Workspace, name: str, seconds: float) -> list[str]:
    """Return the namespaces that a remote has, except the current one: those of the last `git fetch`, or else those
    that it names now.

    Raises:
        Unreachable, AccessDenied, RemoteError: under the same conditions as `Remote.tips`.
    """
    from baton_git.git.remotes import open_remote  # slow to load, and rarely needed

    store, prefix = ws.branch.store, ws.branch.prefix
    folder = f"refs/remotes/{name}/{prefix.removeprefix('refs/heads/')}"
    refs = [
        prefix + ref.removeprefix(folder) for ref in (store.refs(folder) if prefix.startswith("refs/heads/") else ())
    ]
    if not refs and seconds > 0:
        remote = open_remote(store.repository, name, ws.environment, known=read_remotes(ws))
        refs = sorted(remote.tips({f"{prefix}*": f"{prefix}*"}, seconds=seconds))
    branches = (ws.branch.find_sibling(ref) for ref in refs if ref != ws.branch.ref)
    return [str(branch.namespace) for branch in branches if branch is not None]
