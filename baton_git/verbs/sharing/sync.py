"""The verb `sync`: synchronise namespaces with a remote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Self

from pydantic import Field, PrivateAttr

from baton_git.checks.approvals import without_login
from baton_git.core.errors import BatonError, NeedsHuman, Unreachable
from baton_git.core.names import Namespace
from baton_git.core.output import count_noun, flat
from baton_git.core.verb import SETTLES, Input, Result, Tool, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.remotes import mask_logins, open_remote
from baton_git.namespace.branch import Branch
from baton_git.namespace.moving import delete_ref
from baton_git.namespace.namespaces import list_namespaces
from baton_git.namespace.remote_selection import (
    check_configured,
    find_remote_url,
    list_remote_names,
    read_remotes,
    receive_in_background,
    require_remote,
    select_receiving_remote,
    select_remote,
)
from baton_git.namespace.sync.actions import Settle, Terms, parse_policy
from baton_git.namespace.sync.lanes import list_lanes_of_others
from baton_git.namespace.sync.sharing_state import Sharing, SharingState, share_key
from baton_git.namespace.sync.synchronise import SyncOptions, SyncOutcome, synchronise
from baton_git.namespace.sync.tracking_refs import TRACKED_LANES, find_unsent
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.sessions.meeting import Meeting, meet_remotes

_DEFAULT_OPTIONS = SyncOptions()


@dataclass(frozen=True)
class Synced:
    """The outcome of a sync.

    Attributes:
        offline: why the remote could not be reached; the next sync sends the pending commits.
        is_slow: whether it did not answer in time, so that it may answer later.
        waiting: by namespace, a line about the commits that wait for a review.
        first: by namespace, a line about what its first push to this remote sent, or would send.
    """

    remote: str
    outcomes: tuple[SyncOutcome, ...]
    offline: str | None = None
    waiting: Mapping[str, str] = field(default_factory=dict)
    first: Mapping[str, str] = field(default_factory=dict)
    is_slow: bool = False

    @property
    def is_behind(self) -> bool:
        """Whether a sync with more time would receive more."""
        return self.is_slow or any(
            outcome.is_incomplete or (outcome.error is not None and outcome.error.data.get("is_for_sync", False))
            for outcome in self.outcomes
        )

    @property
    def errors(self) -> list[BatonError]:
        return [outcome.error for outcome in self.outcomes if outcome.error is not None]

    @property
    def pending(self) -> int:
        return sum(outcome.pending for outcome in self.outcomes)

    @property
    def conflicts(self) -> list[str]:
        """The ids of the conflicts that the sync found; `describe_sync` names the first five of each namespace."""
        return [id_ for outcome in self.outcomes for id_ in outcome.conflicts]

    def as_data(self) -> dict[str, Any]:
        offline = {"offline": self.offline} if self.offline else {}
        return {"remote": self.remote, **offline, "namespaces": [outcome.as_data() for outcome in self.outcomes]}


class SyncInput(Input):
    """The remote to sync with, which must be configured; addresses are not accepted."""

    remote: str | None = Field(
        None, description="The name of a remote. The default is the configured one.", examples=["origin"]
    )
    all: bool = Field(False, description="Sync all namespaces, local and remote.")
    dry_run: bool = Field(False, description="Only show what would be done.")


class SyncResult(Result):
    """The outcome of a sync. If the remote cannot be reached, `offline` is set; this is not an error."""

    remote: str = Field(description="The remote.")
    offline: str | None = Field(None, description="Why it could not be reached.")
    namespaces: list[dict[str, Any]] = Field(
        description="For each namespace, the actions, and the numbers of commits that were received, were sent, wait "
        "for a review, or are pending.",
        examples=[[{"namespace": "x", "actions": [], "received": 2, "sent": 1, "pending": 0, "waiting": 0}]],
    )
    summary: list[str] = Field(description="The outcome in words, one line each.")
    errors: list[str] = Field(description="The errors.")

    _failure: BatonError | None = PrivateAttr(None)
    _begins_review: bool = PrivateAttr(False)

    @property
    def failure(self) -> BatonError | None:
        return self._failure

    @classmethod
    def of(cls, synced: Synced, notes: Sequence[str] = ()) -> Self:
        """Return the outcome of a sync as a result, with notes before its summary."""
        errors = [str(error) for error in synced.errors]
        result = cls(**synced.as_data(), summary=[*notes, *describe_sync(synced)], errors=errors)
        result._failure = synced.errors[0] if synced.errors else None
        return result

    def begin_review(self) -> Self:
        """Return the result of a sync that is the first with reviews."""
        self._begins_review = True
        return self

    def show(self, reader: Reader) -> ResultView:
        notes = [flat(line) for line in self.summary]
        waiting = sum(namespace["waiting"] for namespace in self.namespaces)
        if waiting:
            notes.append(flat(f"to review {count_noun(waiting, 'commit')}: baton review --remote {self.remote}"))
        elif self._begins_review:
            notes.append(
                flat(f"nothing from {self.remote} is waiting for a review; later changes will have to be reviewed")
            )
        return ResultView(notes=notes)


@verb(
    "sync",
    "POST /v1/sync",
    effect=SETTLES,
    anywhere=True,
    tag="sharing",
    refuses=(502, 504),
    positional=("remote",),
    tool=Tool("Sync with a remote.", hidden=("all",)),
    examples=("baton sync", "baton sync backup --all", "baton sync --dry-run --json"),
)
def sync_namespace(ws: Workspace, now: datetime, verb_input: SyncInput) -> SyncResult:
    """Fetch the changes of other machines, merge them, and push your own; no push is ever forced."""
    options = SyncOptions(everything=verb_input.all, dry_run=verb_input.dry_run)
    meeting = meet_for_sync(ws, check_configured(ws, verb_input.remote), options)
    ws = meeting.ws
    synced = sync(ws, now, verb_input.remote, with_hand_over(ws, verb_input.remote, options), named_only=True)
    return SyncResult.of(synced, [meeting.note] if meeting.note else meeting.news if meeting.found else ())


def meet_for_sync(ws: Workspace, remote: str | None, options: SyncOptions) -> Meeting:
    """Ask the remote of a sync for its only namespace, if the call names none and its default does not exist here."""
    name = remote or select_remote(ws)
    return Meeting(ws, 0.0) if name is None or options.everything else meet_remotes(ws, options.seconds, name)


def with_hand_over(ws: Workspace, remote: str | None, options: SyncOptions) -> SyncOptions:
    """Return the options with which a first sync leaves the older history to a background process, if one can be
    started: to check 10,000 older commits takes several times as long as all else.
    """
    chosen = select_receiving_remote(ws)
    if chosen is None or remote not in (None, chosen) or (remote is None and select_remote(ws) != chosen):
        return options  # the background process asks another remote
    return replace(options, hand_over=lambda: receive_in_background(ws))


def sync(
    ws: Workspace, now: datetime, remote: str | None = None, options: SyncOptions = _DEFAULT_OPTIONS, *,
    settle: Settle | None = None, named_only: bool = False, branches: Sequence[Branch] = (),
) -> Synced:  # fmt: skip
    """Fetch, merge and push. An unreachable remote is not an error; see `Synced.offline`.

    Args:
        remote: the name of a remote, or an address; None for the result of `select_remote`.
        settle: what to do if the branch was rewritten or deleted on the remote.
        named_only: accept only the name of a configured remote (see `check_configured`).
        branches: the namespaces; by default that of `ws`, or all with `options.everything`.

    Raises:
        NotFound: there is no remote, or none of that name; or the branch is below another prefix.
        InvalidArgument: it is not clear which of several remotes is meant, or the policy of the remote or another
            setting is invalid.
        NeedsHuman: an agent gives an address, and commits of a remote must be reviewed or signed.
        AccessDenied, Rejected, RemoteError: under the same conditions as `synchronise`.
    """
    ws.branch.check_settings()
    ws.branch.check_prefix()
    name = (check_configured(ws, remote) if named_only else remote) or require_remote(ws)
    _check_address(ws, name)
    if not branches:
        branches = _list_branches(ws) if options.everything else [ws.branch]
    terms = _make_terms(ws, name, settle)
    options = replace(options, budget=options.budget.within(ws.remote_settings.limits))
    try:
        repository, progress = ws.branch.store.repository, ws.remote_settings.progress
        reached = open_remote(repository, name, ws.environment, progress=progress, known=read_remotes(ws))
        notes = _complete_partial_clone(ws, branches, options)
        outcomes = synchronise(branches, reached, name, terms, ws.stamp("sync", now), options)
    except Unreachable as error:
        offline = [_make_offline_outcome(branch, name, lanes=terms.lanes) for branch in branches]
        _remember(ws, now, name, [replace(outcome, error=error) for outcome in offline], options, is_away=True)
        return Synced(mask_logins(name), tuple(offline), str(error), is_slow=error.data.get("is_slow", False))
    except BatonError as error:
        failed = [SyncOutcome(str(branch.namespace), error=error) for branch in branches]
        _remember(ws, now, name, failed, options, is_away=True)
        raise
    outcomes = [replace(outcome, notes=(*notes.get(outcome.namespace, ()), *outcome.notes)) for outcome in outcomes]
    _remember(ws, now, name, outcomes, options)
    _delete_stale_lanes(ws, branches, outcomes)
    return Synced(
        mask_logins(name), tuple(outcomes), waiting=_describe_waiting(ws, name, outcomes),
        first=_describe_first_pushes(ws, name, outcomes, options),
    )  # fmt: skip


def _remember(
    ws: Workspace, now: datetime, remote: str, outcomes: Sequence[SyncOutcome], options: SyncOptions, *,
    is_away: bool = False,
) -> None:  # fmt: skip
    """Store why a sync failed, for those who ask later. If that cannot be written, the sync has no other result.

    A start only receives: what it shows is that the remote can be reached again.
    """
    if options.dry_run or (options.receive_only and is_away):
        return

    def change(sharing: Sharing) -> Sharing:
        for outcome in outcomes:
            key = share_key(remote, Namespace(outcome.namespace).component)
            if options.receive_only:
                sharing = sharing if outcome.error is not None else sharing.reached(key)
            else:
                sharing = sharing.with_error(key, str(outcome.error or ""), now, is_away=is_away)
        if options.receive_only:
            return sharing
        is_reached = all(outcome.error is None for outcome in outcomes)
        return replace(sharing, failures=0, not_before="") if is_reached and sharing.failures else sharing

    with suppress(BatonError):
        SharingState(ws.branch.store.repository.common_dir).update(change)


def _delete_stale_lanes(ws: Workspace, branches: Sequence[Branch], outcomes: Sequence[SyncOutcome]) -> None:
    """Delete the private refs of lanes that are gone, also of remotes that are gone. What fails is left to the next."""
    stale = {ref: tip for outcome in outcomes for ref, tip in outcome.stale.items()}
    with suppress(BatonError):
        if ws.branch.store.ref_folders(TRACKED_LANES):
            remotes = list_remote_names(ws)
            stale |= {ref: tip for branch in branches for ref, tip in list_lanes_of_others(branch, remotes).items()}
    for ref, tip in stale.items():
        with suppress(BatonError):
            delete_ref(ws.branch, ref, tip, ws.environment)


def _describe_first_pushes(
    ws: Workspace, remote: str, outcomes: Sequence[SyncOutcome], options: SyncOptions
) -> dict[str, str]:
    """Return for each namespace that the remote did not have what the first push sent, or would send."""
    counts = {
        outcome.namespace: outcome.sent or action.commits
        for outcome in outcomes for action in outcome.actions
        if action.kind == "create" and (outcome.sent or options.dry_run)
    }  # fmt: skip
    if not counts:
        return {}
    from baton_git.verbs.sharing.outgoing import describe_first_push  # reads the whole history, and is rarely needed

    shown = mask_logins(remote)
    branches = {name: replace(ws.branch, namespace=Namespace(name)) for name in counts}
    return {
        name: describe_first_push(branches[name], shown, commits, is_planned=options.dry_run)
        for name, commits in counts.items()
    }


def _complete_partial_clone(
    ws: Workspace, branches: Sequence[Branch], options: SyncOptions
) -> dict[str, tuple[str, ...]]:
    """Fetch the objects of all revisions that a partial clone lacks; return notes about it, by namespace.

    An automatic sync leaves them out, because a session's start waits for it.
    """
    if not options.retry or options.dry_run or not ws.branch.store.repository.promisors:
        return {}
    from baton_git.namespace.ingest.promised import PromisedObjects  # slow to load; few clones are partial

    notes: dict[str, tuple[str, ...]] = {}
    for branch in branches:
        budget = replace(options.budget, seconds=options.seconds)
        promised = PromisedObjects(branch.store, ws.environment, partial(branch.store.tip, branch.ref), budget)
        try:
            count = promised.complete()
        except BatonError as error:
            notes[str(branch.namespace)] = (f"objects that the promisor remote has are still missing here: {error}",)
        else:
            if count:
                text = f"{count_noun(count, 'object')} that only the promisor remote had came here, and stay"
                notes[str(branch.namespace)] = (text,)
    return notes


def _describe_waiting(ws: Workspace, remote: str, outcomes: Sequence[SyncOutcome]) -> dict[str, str]:
    counts = {outcome.namespace: outcome.waiting for outcome in outcomes if outcome.waiting}
    if not counts:
        return {}
    from baton_git.verbs.sharing.review_notice import describe_waiting  # slow to import, and rarely needed

    branches = {name: replace(ws.branch, namespace=Namespace(name)) for name in counts}
    return {name: describe_waiting(branches[name], remote, commits) for name, commits in counts.items()}


def _list_branches(ws: Workspace) -> list[Branch]:
    branch = ws.branch
    candidates = [replace(branch, namespace=name) for name in list_namespaces(branch.store, branch.prefix)]
    branches = [
        candidate
        for candidate in candidates
        if (tip := branch.store.tip(candidate.ref)) is None or candidate.is_namespace(tip)
    ]
    return branches or [branch]


def _check_address(ws: Workspace, remote: str) -> None:
    """Refuse an address from an agent if a remote has a stricter policy than `auto`, which addresses have."""
    policies = ws.remote_settings.policies
    if all(policy == "auto" for policy in policies.values()) or remote in list_remote_names(ws) or ws.confirmed:
        return
    if why := ws.find_agent():
        raise NeedsHuman(
            f"{why}, and an address has the policy auto, which is less strict than that of a remote",
            hint="name a remote: baton remote list; only a person may sync with an address here",
        )


def _make_terms(ws: Workspace, remote: str, settle: Settle | None) -> Terms:
    where = f"git config remote.{remote}.batonPolicy"
    policy = parse_policy(ws.remote_settings.policies.get(remote), where)
    signed = ws.remote_settings.signature_check(ws.branch.store, with_git=policy == "signed")
    return Terms(
        policy, signed, settle, mask_logins(remote), without_login(find_remote_url(ws, remote)),
        lanes=remote in ws.remote_settings.lanes, machine=ws.actor.machine,
    )  # fmt: skip


def _make_offline_outcome(branch: Branch, remote: str, *, lanes: bool) -> SyncOutcome:
    return SyncOutcome(str(branch.namespace), pending=find_unsent(branch, remote, lanes=lanes).commits)


def describe_sync(done: Synced, *, waiting: bool = True) -> list[str]:
    """Describe the outcome of a sync in lines for a person; empty if there is nothing to report.

    Args:
        waiting: whether to mention commits that wait for a review.
    """
    lines = []
    if done.offline:
        lines.append(f"working offline, {count_noun(done.pending, 'commit')} pending ({done.offline})")
    for outcome in done.outcomes:
        about = f"{outcome.namespace}: " if len(done.outcomes) > 1 else ""
        line = done.waiting.get(outcome.namespace, "") if waiting else ""
        lines += [f"{about}{text}" for text in _describe_outcome(outcome, done.remote, line)]
        lines += [f"{about}{text}" for text in [done.first.get(outcome.namespace)] if text]
    return lines


def _describe_outcome(outcome: SyncOutcome, remote: str, waiting: str) -> list[str]:
    lines = []
    if outcome.received:
        lines.append(f"{count_noun(outcome.received, 'commit')} came in from {remote}")
    if outcome.sent:
        lines.append(f"{count_noun(outcome.sent, 'commit')} sent to {remote}")
    if waiting:
        why = next((action.why for action in outcome.actions if action.kind == "wait"), "")
        lines.append(f"{waiting} ({why})")
        if outcome.pending:
            lines.append(f"{count_noun(outcome.pending, 'commit')} will be sent after the review")
    if outcome.conflicts:
        named = ", ".join(outcome.conflicts[:5])
        lines.append(f"{count_noun(len(outcome.conflicts), 'conflict')}: {named} (baton conflicts)")
    lines += list(outcome.problems)
    lines += outcome.notes
    if outcome.checked_out_at:
        lines.append(
            f"{outcome.checked_out_at} has the branch checked out, so git shows the new commits as reverted there: "
            "do not commit in it"
        )
    return [*lines, *describe_error(outcome)]


def describe_error(outcome: SyncOutcome) -> list[str]:
    """Return the line about what stopped the sync of a namespace, if anything did."""
    if outcome.error is None:
        return []
    return [f"{outcome.error}{f' ({outcome.error.hint})' if outcome.error.hint else ''}"]
