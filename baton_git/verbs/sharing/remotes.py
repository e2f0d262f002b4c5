"""The verbs `remote …`: list the remotes, set the policy of a remote, and begin a review."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from pydantic import Field

from baton_git.core.errors import InvalidArgument, NeedsHuman, Unreachable
from baton_git.core.output import flat
from baton_git.core.styles import Column, Role
from baton_git.core.verb import READS, SETTLES, Confirmation, Input, NoInput, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.local_git import LocalGit
from baton_git.git.remotes import mask_logins
from baton_git.git.remotes.git_command import for_git
from baton_git.namespace.caller import ConfirmQuestion
from baton_git.namespace.remote_selection import (
    WaitingCount,
    check_configured,
    count_pending_commits,
    count_waiting_commits,
    find_remote_url,
    list_remote_names,
    select_remote,
)
from baton_git.namespace.results import ResultPart
from baton_git.namespace.sync.actions import Policy
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sharing.sync import SyncResult, sync
from baton_git.verbs.verification.trust import trusts_remote

STRICTNESS: dict[str, int] = {"auto": 0, "signed": 1, "review": 2}
"""The rank of each policy, from the least to the most strict."""


class RemoteSummary(ResultPart):
    """A configured remote."""

    remote: str = Field(description="The name of the remote.", examples=["origin"])
    address: str = Field(description="Its URL or path, without credentials.", examples=["git@example.org:x.git"])
    policy: str = Field(description="How its commits are accepted: `auto`, `review` or `signed`.", examples=["auto"])
    is_default: bool = Field(description="Whether `sync` uses it when no remote is named.")
    trusted: bool = Field(description="Whether it is trusted on this machine (`baton trust --from`).")
    waiting: int = Field(description="Number of its commits that wait for a review.")
    pending: int = Field(description="Number of local commits that it lacks.")


class RemoteList(Result):
    """The configured remotes."""

    remotes: list[RemoteSummary] = Field(description="The remotes in the order of git's configuration.")

    def show(self, reader: Reader) -> ResultView:
        columns = (
            Column("remote", lambda row: row.remote, Role.HEADING),
            Column("policy", lambda row: row.policy),
            Column("trusted", lambda row: "yes" if row.trusted else "no"),
            Column("to review", lambda row: row.waiting or "", Role.WARNING, right=True),
            Column("to send", lambda row: row.pending or "", right=True),
            Column("address", lambda row: row.address),
        )
        none = "no remote is configured; to add one: git remote add origin URL"
        return ResultView(reader.table(self.remotes, columns), () if self.remotes else [none])


class WhichRemote(Input):
    """A configured remote."""

    remote: str = Field(min_length=1, description="The name of the remote.", examples=["origin"])


class RemotePolicyInput(WhichRemote):
    """A policy for a remote."""

    policy: Policy = Field(
        description="How its commits are accepted: `auto` merges them, `review` leaves them for a review, `signed` "
        "merges up to the first commit that no allowed key signed and leaves the others for a review."
    )


class RemotePolicyResult(Result):
    """The policy of a remote."""

    remote: str = Field(description="The name of the remote.")
    policy: str = Field(description="How its commits are accepted.")
    previous: str = Field(description="How its commits were accepted before.")

    def show(self, reader: Reader) -> ResultView:
        is_new = self.policy != self.previous
        state = f"is now {self.policy} (it was {self.previous})" if is_new else f"is already {self.policy}"
        return ResultView(notes=[flat(f"the policy of {self.remote} {state}")])


@verb("remote list", "GET /v1/remotes", effect=READS, anywhere=True, tag="sharing", examples=("baton remote list",))
def list_remotes(ws: Workspace, now: datetime, verb_input: NoInput) -> RemoteList:
    """List the remotes, with their policies and the numbers of commits that wait."""
    return RemoteList(remotes=summarize_remotes(ws, count_waiting_commits(ws)))


def summarize_remotes(ws: Workspace, counts: Iterable[WaitingCount]) -> list[RemoteSummary]:
    """Return the configured remotes.

    Args:
        counts: the result of `count_waiting_commits`.
    """
    default, pending, waiting = select_remote(ws), count_pending_commits(ws), dict(counts)
    return [
        RemoteSummary(
            remote=name, address=mask_logins(find_remote_url(ws, name)), policy=_read_policy(ws, name),
            is_default=name == default, trusted=trusts_remote(ws, name), waiting=waiting.get(name, 0),
            pending=pending.get(name, 0),
        )
        for name in list_remote_names(ws)
    ]  # fmt: skip


def _ask_about_policy(ws: Workspace, now: datetime, verb_input: RemotePolicyInput) -> ConfirmQuestion | None:
    """Return the question whether commits of a remote are accepted more easily; None if the policy is not looser."""
    name = check_configured(ws, verb_input.remote) or verb_input.remote
    previous = _read_policy(ws, name)
    if not _is_looser(verb_input.policy, previous):
        return None
    effect = f"Its commits would be accepted under the policy {verb_input.policy}, which is less strict."
    return ConfirmQuestion((f"The policy of {name} is {previous}.",), effect, is_typing_enough=True)


@verb(
    "remote policy",
    "POST /v1/remotes/{remote}/policy",
    effect=SETTLES,
    anywhere=True,
    tag="sharing",
    positional=("remote", "policy"),
    confirm=Confirmation(_ask_about_policy, can_sign=False),
    examples=("baton remote policy origin review",),
)
def set_remote_policy(ws: Workspace, now: datetime, verb_input: RemotePolicyInput) -> RemotePolicyResult:
    """Choose how the commits of a remote are accepted, from the next sync on. This is a setting of the repository.

    Raises:
        NotFound: no remote of that name is configured.
        NeedsHuman: the new policy is less strict, and no person confirmed it.
        InvalidArgument: the policy is `signed`, and no allowed keys are configured.
    """
    name = check_configured(ws, verb_input.remote) or verb_input.remote
    previous = _read_policy(ws, name)
    keys = ws.remote_settings.signers or ws.remote_settings.git_signers
    if verb_input.policy == "signed" and keys is None:
        raise InvalidArgument(
            "no allowed keys are configured, so no commit would be accepted",
            hint="git config baton.allowedSigners FILE",
        )
    if _is_looser(verb_input.policy, previous) and ws.confirmed is None:
        note = "" if previous in STRICTNESS else " (not a policy, so it counts as review)"
        raise NeedsHuman(
            f"{verb_input.policy} is less strict for {name} than {previous}{note}; only a person may choose it",
            hint="choose it on the page of baton serve, or type it at a shell's prompt (not in a script or an editor's "
            f"terminal): baton remote policy {name} {verb_input.policy}",
        )
    if verb_input.policy != previous:
        _write_policy(ws, name, verb_input.policy)
    return RemotePolicyResult(remote=name, policy=verb_input.policy, previous=previous)


@verb(
    "remote review",
    "POST /v1/remotes/{remote}/review",
    effect=SETTLES,
    anywhere=True,
    tag="sharing",
    refuses=(502, 504),
    positional=("remote",),
    examples=("baton remote review origin",),
)
def begin_review(ws: Workspace, now: datetime, verb_input: WhichRemote) -> SyncResult:
    """Set the policy of a remote to `review`, and sync with it.

    `baton review` then shows the waiting commits, and accepts or rejects them.

    Raises:
        NotFound: no remote of that name is configured.
        Unreachable: the remote does not answer; the policy is set nevertheless.
    """
    policy = set_remote_policy(ws, now, remote=verb_input.remote, policy="review")
    settings = ws.remote_settings._replace(policies={**ws.remote_settings.policies, policy.remote: policy.policy})
    synced = sync(replace(ws, remote_settings=settings), now, policy.remote, named_only=True)
    if synced.offline is not None:
        raise Unreachable(
            f"{policy.remote} cannot be reached: {synced.offline}", hint="its policy is review now; sync later"
        )
    return SyncResult.of(synced).begin_review()


def _read_policy(ws: Workspace, remote: str) -> str:
    """Return the configured policy of a remote, even if it is invalid."""
    return ws.remote_settings.policies.get(remote, "auto")


def _is_looser(policy: Policy, previous: str) -> bool:
    """Return whether a policy is less strict than the previous one. An invalid policy counts as the strictest."""
    return STRICTNESS[policy] < STRICTNESS.get(previous, max(STRICTNESS.values()))


def _write_policy(ws: Workspace, remote: str, policy: Policy) -> None:
    common_dir = ws.branch.store.repository.common_dir
    git = LocalGit(common_dir, for_git(ws.environment))
    git.do("config", "--file", str(common_dir / "config"), f"remote.{remote}.batonPolicy", policy)
