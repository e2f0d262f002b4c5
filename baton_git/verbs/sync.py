"""Bring this machine's state and a remote's together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from pydantic import Field, PrivateAttr

from baton_git.checks.approvals.remotes import without_login
from baton_git.core.errors import BatonError, NotFound, Unreachable
from baton_git.core.verb import SETTLES, Input, Result, Tool, verb
from baton_git.git.remotes import Configured, SshSettings, mask_logins, open_remote
from baton_git.namespace.branch import Branch, list_namespaces
from baton_git.namespace.ingest.budget import SYNC, Budget
from baton_git.namespace.remote_selection import address_of, configured_remote, format_commits, remote_of
from baton_git.namespace.sync.ahead_behind import count_unsent
from baton_git.namespace.sync.policy import Settle, Terms, policy_of
from baton_git.namespace.sync.synchronise import SyncOutcome, synchronise
from baton_git.namespace.workspace import Workspace

SECONDS = 60.0
"""What a sync that somebody asked for may take."""


@dataclass(frozen=True)
class Synced:
    """What became of a sync. `offline`: why the remote could not be reached; everything is kept for the next time."""

    remote: str
    outcomes: tuple[SyncOutcome, ...]
    offline: str | None = None

    @property
    def errors(self) -> list[BatonError]:
        return [one.error for one in self.outcomes if one.error is not None]

    @property
    def pending(self) -> int:
        return sum(one.pending for one in self.outcomes)

    def as_data(self) -> dict[str, Any]:
        offline = {"offline": self.offline} if self.offline else {}
        return {"remote": self.remote, **offline, "namespaces": [one.as_data() for one in self.outcomes]}


class SyncInput(Input):
    """With which remote; nothing is sent to an address that no configuration names."""

    remote: str | None = Field(
        None, description="The name of a remote; else the one that is configured.", examples=["origin"]
    )
    all: bool = Field(False, description="All namespaces, here and there.")
    dry_run: bool = Field(False, description="Only say what would be done.")


class SyncResult(Result):
    """What became of a sync; `offline` where the remote cannot be reached, which is no error."""

    remote: str = Field(description="The remote.")
    offline: str | None = Field(None, description="Why it could not be reached.")
    namespaces: list[dict[str, Any]] = Field(
        description="By namespace, what was done, and what came, went, waits and is pending.",
        examples=[[{"namespace": "x", "actions": [], "received": 2, "sent": 1, "pending": 0, "waiting": 0}]],
    )
    said: list[str] = Field(description="The same in words.")
    errors: list[str] = Field(description="What went wrong.")

    _failure: BatonError | None = PrivateAttr(None)

    @property
    def failure(self) -> BatonError | None:
        return self._failure

    @classmethod
    def of(cls, synced: Synced) -> Self:
        """Return what became of a sync as a result."""
        errors = [str(error) for error in synced.errors]
        result = cls(**synced.as_data(), said=in_words(synced), errors=errors)
        result._failure = synced.errors[0] if synced.errors else None
        return result


@verb(
    "sync",
    "POST /v1/sync",
    effect=SETTLES,
    tag="sharing",
    refuses=(502, 504),
    tool=Tool("Bring this machine and a remote together.", hidden=("all",)),
    examples=("baton sync", "baton sync --remote backup --all", "baton sync --dry-run --json"),
)
def sync_namespace(ws: Workspace, now: datetime, asked: SyncInput) -> SyncResult:
    """Fetch what other machines sent, merge it, and send what they lack; nothing is ever forced."""
    synced = sync(ws, now, remote=asked.remote, named_only=True, everything=asked.all, dry_run=asked.dry_run)
    return SyncResult.of(synced)


def sync(
    ws: Workspace, now: datetime, *, remote: str | None = None, everything: bool = False, dry_run: bool = False,
    settle: Settle | None = None, receive_only: bool = False, seconds: float = SECONDS, named_only: bool = False,
    budget: Budget = SYNC, retry: bool = True,
) -> Synced:  # fmt: skip
    """Fetches, merges and pushes.

    Args:
        remote: its name, or an address; else the one to sync with here (see `remote_of`).
        everything: all namespaces, here and there.
        dry_run: only says what would be done.
        settle: what to do with a branch that was rewritten or deleted there.
        seconds: for everything together.
        named_only: `remote` may be no address, see `configured_remote`.
        budget: what may come in.
        retry: whether commits that were rejected before are fetched again.

    Raises:
        NotFound: there is no remote, or none of that name.
        InvalidArgument: its policy is none.
        AccessDenied, Rejected, RemoteError: as in `receive`.
            That it cannot be reached is no error: see `Synced.offline`.
    """
    name = (configured_remote(ws, remote) if named_only else remote) or remote_of(ws)
    if name is None:
        raise NotFound("remote to sync with", hint="git remote add origin URL, or baton sync --remote URL")
    branches = _branches(ws) if everything else [ws.branch]
    terms = _terms(ws, name, settle)
    try:
        known = None if ws.reach.remotes is None else Configured(ws.reach.remotes, SshSettings(*ws.reach.ssh))
        repository, progress = ws.branch.store.repository, ws.reach.progress
        reached = open_remote(repository, name, ws.environment, progress=progress, known=known)
        outcomes = synchronise(
            branches, reached, name, terms, ws.stamp("sync", now),
            seconds=seconds, dry_run=dry_run, receive_only=receive_only, more=everything, budget=budget, retry=retry,
        )  # fmt: skip
    except Unreachable as error:
        return Synced(mask_logins(name), tuple(_left_as_it_is(branch, name) for branch in branches), str(error))
    return Synced(mask_logins(name), tuple(outcomes))


def _branches(ws: Workspace) -> list[Branch]:
    branch = ws.branch
    all_ = [
        Branch(branch.store, one, branch.prefix, branch.sign) for one in list_namespaces(branch.store, branch.prefix)
    ]
    here = [one for one in all_ if (tip := branch.store.tip(one.ref)) is not None and one.is_namespace(tip)]
    return here or [branch]


def _terms(ws: Workspace, remote: str, settle: Settle | None) -> Terms:
    where = f"git config remote.{remote}.batonPolicy"
    policy = policy_of(ws.reach.policies.get(remote), where)
    return Terms(policy, ws.signature_check, settle, mask_logins(remote), without_login(address_of(ws, remote)))


def _left_as_it_is(branch: Branch, remote: str) -> SyncOutcome:
    return SyncOutcome(str(branch.namespace), pending=count_unsent(branch, remote))


def in_words(done: Synced, *, waiting: bool = True) -> list[str]:
    """What a person should know of a sync, a line each; nothing when all is as it was.

    Args:
        waiting: whether to tell what waits for a review.
    """
    lines = []
    if done.offline:
        lines.append(f"working offline, {format_commits(done.pending)} pending ({done.offline})")
    for one in done.outcomes:
        about = f"{one.namespace}: " if len(done.outcomes) > 1 else ""
        lines += [f"{about}{text}" for text in _told(one, done.remote, waiting)]
    return lines


def _told(one: SyncOutcome, remote: str, waiting: bool) -> list[str]:
    lines = []
    if one.received:
        lines.append(f"{format_commits(one.received)} came in from {remote}")
    if one.sent:
        lines.append(f"{format_commits(one.sent)} sent to {remote}")
    if one.waiting and waiting:
        why = next((action.why for action in one.actions if action.kind == "wait"), "")
        verb = "waits" if one.waiting == 1 else "wait"
        lines.append(f"{format_commits(one.waiting)} of {remote} {verb} for a review: {why} (baton review)")
        if one.pending:
            verb = "is" if one.pending == 1 else "are"
            lines.append(f"{format_commits(one.pending)} of ours {verb} sent after that")
    if one.conflicts:
        lines.append(f"{len(one.conflicts)} contested: {', '.join(one.conflicts[:5])} (baton conflicts)")
    lines += [f"{old} is now {new}: two records had this id" for old, new in (one.renamed or {}).items()]
    lines += list(one.problems)
    lines += one.notes
    if one.checked_out_at:
        lines.append(f"{one.checked_out_at} has the branch checked out and shows that as a revert: do not commit there")
    if one.error is not None:
        lines.append(f"{one.error}{f' ({one.error.hint})' if one.error.hint else ''}")
    return lines
