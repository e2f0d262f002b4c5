"""Carry out a sync: one fetch, the local merges, one push. Repeat it for branches where somebody else pushed first.

Each attempt merges the own tip with the newest tip of the remote. The local branch moves to the merge once the remote
has it, or at the end, so that the merges of overtaken attempts leave no trace.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple

from baton_git.core.diff import RecordChange
from baton_git.core.errors import BatonError, Busy, Corrupt, NotAllowed, StoreError, Unreachable, Unsettled
from baton_git.core.names import Oid
from baton_git.core.output import count_noun
from baton_git.git.remotes import Depth, Push, PushAccepted, PushOutcome, PushOvertaken, PushRefused, Remote
from baton_git.git.store import ObjectDraft, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.file_merge import describe_merged_modes
from baton_git.namespace.ingest.budget import SYNC, Budget
from baton_git.namespace.ingest.checking import KNOWN_DEPTH, find_machine
from baton_git.namespace.ingest.fetch import FetchResult, PurgedTip, fetch_and_check
from baton_git.namespace.machine_state import HookMarkers
from baton_git.namespace.purges import begins_midway, find_purged, follow_purge, forget_purge, read_purged
from baton_git.namespace.review.subjects import find_rejected_changes
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.actions import BranchTips, Plan, SyncAction, Terms, is_rewritten, plan_sync
from baton_git.namespace.sync.integration import (
    Integration,
    Proposal,
    find_shared_ids,
    integrate,
    list_removed,
    preview_integration,
    preview_reset,
    propose,
    reset_to_theirs,
)
from baton_git.namespace.sync.lanes import (
    Folded,
    Lanes,
    find_stale,
    fold_lanes,
    goes_on,
    has_commit,
    name_lane,
    plan_lane,
    plan_last_removal,
    plan_removals,
    read_lanes,
    store_folded,
    wanted_lanes,
)
from baton_git.namespace.sync.older_history import (
    GLIMPSE,
    NEWEST,
    began_here,
    begin_at_newest,
    complete_history,
    describe_boundary,
    refuse_unrelated,
    widen_glimpse,
)
from baton_git.namespace.sync.tracking_refs import (
    INCOMING,
    TrackingRefs,
    count_commits,
    encode_remote,
    lanes_of,
    list_tracked_lanes,
    set_ref,
    track_lane,
    tracking_refs_of,
)
from baton_git.namespace.sync.tree_checks import check_changed, find_first_damage

SECONDS = 60.0
"""Time limit of a sync that the user requested, in seconds."""
_GRACE = 0.5
"""Additional seconds for local work after the time limit for network traffic."""
_FIRST_GRACE = 4.0
"""The same for a branch that is not here yet; otherwise a start would begin the namespace anew, with an empty brief."""
ATTEMPTS = 30
"""Maximum number of attempts if somebody else pushes first."""
_SHALLOW = "shallow update not allowed"
"""What git answers if it lacks the parents of the oldest commit that we have."""
_TRIES = 5
"""Maximum number of attempts to push to the branch if our lane was accepted."""


@dataclass(frozen=True)
class SyncOutcome:
    """The outcome of the sync of one namespace.

    Attributes:
        received, sent: numbers of commits.
        pending: number of local commits that the remote lacks.
        waiting: number of remote commits that wait for review.
        conflicts: the ids of new conflict records.
        renamed: the new ids of records whose id was taken, by old id.
        problems: unreadable records and changed immutable fields, described for people.
        notes: other messages for people.
        is_incomplete: whether older history is not here yet.
        stale: private refs of lanes that are not needed any more, with their tips; the caller deletes them.
        checked_out_at: a work tree that has the branch checked out; `git status` there shows the changes of the new
            commits as undone.
        changes: of a dry run, the changes that the sync would make here.
        error: why the sync failed.
    """

    namespace: str
    actions: tuple[SyncAction, ...] = ()
    received: int = 0
    sent: int = 0
    pending: int = 0
    waiting: int = 0
    conflicts: tuple[str, ...] = ()
    renamed: Mapping[str, str] | None = None
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    checked_out_at: str | None = None
    is_incomplete: bool = False
    stale: Mapping[str, Oid] = field(default_factory=dict)
    changes: tuple[RecordChange, ...] = ()
    error: BatonError | None = None

    def as_data(self) -> dict[str, Any]:
        data: dict[str, Any] = {"namespace": self.namespace, "actions": [action.as_data() for action in self.actions]}
        data |= {name: getattr(self, name) for name in ("received", "sent", "pending", "waiting")}
        lists = {name: list(getattr(self, name)) for name in ("conflicts", "problems", "notes")}
        error = {} if self.error is None else {"error": self.error.code, "message": str(self.error)}
        checkout = {"checked_out_at": self.checked_out_at} if self.checked_out_at else {}
        changes = {"changes": [change.as_data() for change in self.changes]} if self.changes else {}
        return {**data, **lists, "renamed": dict(self.renamed or {}), **checkout, **changes, **error}


class _Incoming(NamedTuple):
    """Accepted commits that the local branch does not have yet, and the merge with them that is being pushed."""

    tips: BranchTips
    accepted: Oid
    proposal: Proposal


class _Job(NamedTuple):
    """The sync of one namespace in progress.

    Attributes:
        folded: the branch of the remote merged with lanes; None if there are none to merge.
        lane_moves: the changes of lanes that are pushed together with the branch.
        in_lane: the tip that our lane has; None if this sync has not pushed it.
        skips_lanes: whether the lanes of others are left out, because the remote refused what they add.
    """

    branch: Branch
    refs: TrackingRefs
    outcome: SyncOutcome
    push: Push | None = None
    incoming: _Incoming | None = None
    lanes: Lanes | None = None
    folded: Folded | None = None
    lane_moves: tuple[Push, ...] = ()
    in_lane: Oid | None = None
    skips_lanes: bool = False

    @property
    def store(self) -> Store:
        return self.branch.store

    @property
    def is_sent(self) -> bool:
        """Whether the remote has the local commits, in our lane or on the branch."""
        if self.in_lane is not None:
            return True
        tips = self.incoming.tips if self.incoming is not None else None
        if tips is None or tips.local is None or tips.theirs is None:
            return False
        return tips.local == tips.theirs or self.store.is_ancestor(tips.local, tips.theirs)

    @property
    def unstored(self) -> ObjectDraft | None:
        """The merges with lanes, which are not stored yet."""
        return None if self.folded is None else self.folded.draft

    @contextmanager
    def expose(self) -> Iterator[None]:
        """Make the merges with lanes readable."""
        if self.folded is None:
            yield
            return
        with self.branch.store.expose(self.folded.draft):
            yield


@dataclass(frozen=True)
class SyncOptions:
    """The scope and the limits of a sync.

    Attributes:
        seconds: time limit for the whole sync.
        everything: include the namespaces that only the remote has.
        dry_run: only fetch and plan; change no branch.
        receive_only: push nothing.
        existing_only: push only to branches that the remote has.
        budget: the limits for fetched data.
        completes: also fetch the older history that is missing here.
        hand_over: asked whether somebody else fetches it; only if this sync meets the branch for the first time.
        retry: fetch commits again that were rejected before, and read every file of the newest local revision to find
            damage.
        attempts: maximum number of attempts if somebody else pushes first.
    """

    seconds: float = SECONDS
    everything: bool = False
    dry_run: bool = False
    receive_only: bool = False
    existing_only: bool = False
    budget: Budget = SYNC
    completes: bool = True
    hand_over: Callable[[], bool] = lambda: False
    retry: bool = True
    attempts: int = ATTEMPTS


def synchronise(
    branches: Sequence[Branch], remote: Remote, name: str, terms: Terms, stamp: CommitStamp, options: SyncOptions
) -> list[SyncOutcome]:
    """Sync branches of one store with a remote, which is called `name` here.

    Raises:
        Unreachable, AccessDenied, Rejected, RemoteError: under the same conditions as `fetch_and_check` and
            `Remote.push`. Commits that were received before the error are not lost.
    """
    store = branches[0].store
    follow_purge(store)
    is_here = all(store.tip(branch.ref) is not None for branch in branches)  # else a filter may have removed it
    purged = read_purged(store).commits if is_here and terms.settle in (None, "ours") else {}
    end = time.monotonic() + options.seconds
    sync = _Sync(store, remote, name, terms, stamp, options, end, purged, [_job(branch, name) for branch in branches])
    try:
        sync.run()
    except BatonError:
        for job in sync.jobs:
            sync.integrate(job)
        raise
    return sync.finish()


@dataclass
class _Sync:
    """A sync in progress. `jobs` are still to be done, `finished` were sent, refused, or had nothing to send."""

    store: Store
    remote: Remote
    name: str
    terms: Terms
    stamp: CommitStamp
    options: SyncOptions
    end: float
    purged: Collection[Oid]
    jobs: list[_Job]
    finished: list[_Job] = field(default_factory=list)
    attempt: int = 0
    meets: bool = False
    """Whether this sync takes only the newest part of a history, because it is the first one."""
    glimpsed: bool = False
    """Whether it took only a glimpse of that, because a session waits."""

    def run(self) -> None:
        """Fetch, merge and push until no branch is overtaken, or the time is up."""
        for attempt in range(self.options.attempts):
            self.attempt = attempt
            is_checked = attempt == 0 and not self.options.receive_only
            damaged = _find_damage(self.jobs, thorough=self.options.retry) if is_checked else {}
            fetched = self._fetch(attempt, everything=bool(damaged))
            if fetched is None:
                return
            if attempt == 0 and self.options.everything:
                new = _find_new_namespaces(self.jobs[0].branch, fetched, self.jobs)
                self.jobs += [_job(branch, self.name) for branch in new]
            if damaged:
                self.jobs = [_note_repair(job, damaged) for job in self.jobs]
            with self._limit_reads():
                self.jobs = [self._merge_and_plan_push(job, fetched) for job in self.jobs]
            self._push()
            if not self.jobs or time.monotonic() >= self.end:
                return
            most = min(1.0, 0.02 * 2**attempt)
            time.sleep(min(max(0.0, self.end - time.monotonic()), random.uniform(0, most)))  # noqa: S311  jitter

    def _fetch(self, attempt: int, *, everything: bool) -> FetchResult | None:
        """Return what the remote has; None if the time was up before, but earlier attempts were successful."""
        more = attempt == 0 and self.options.everything
        wants = {job.branch.ref: job.refs.incoming for job in self.jobs}
        if more:
            wants = {f"{self.jobs[0].branch.prefix}*": f"{INCOMING}{encode_remote(self.name)}/*"}
        depth = self._depth()
        if self.terms.lanes and depth is None:
            wants |= wanted_lanes([job.branch for job in self.jobs], self.name, everything=more)
        try:
            fetched = fetch_and_check(
                self.jobs[0].branch.store, self.remote, wants, seconds=_seconds_left(self.end),
                budget=self.options.budget, retry=self.options.retry, everything=everything, purged=self.purged,
                met=_find_met(self.jobs) if self.terms.policy == "auto" else None, depth=depth,
            )  # fmt: skip
        # What earlier attempts merged is kept; the next sync sends it.
        except Unreachable:
            if attempt == 0:
                raise
            return None
        self.glimpsed = self.glimpsed or (depth is not None and depth < NEWEST)
        if self._is_first_meeting:
            self.meets = True
            [job] = self.jobs
            tip = fetched.tips.get(job.branch.ref)
            if tip is not None and not job.branch.store.boundary.of(job.branch.ref):
                begin_at_newest(job.branch, tip)
        # A check that ran out of time says nothing about the commits, so the attempt before counts.
        is_cut = any(error.data.get("for_now") for error in fetched.rejected.values())
        return None if attempt and is_cut else fetched

    @property
    def _is_first_meeting(self) -> bool:
        """Whether this sync is about one branch that this machine never saw on a remote that the user trusts."""
        if self.terms.policy != "auto" or self.options.everything or self.options.dry_run or len(self.jobs) != 1:
            return False
        [job] = self.jobs
        return job.branch.store.tip(job.refs.seen) is None

    def _depth(self) -> Depth | None:
        """Return how much of the history to fetch; None for what is missing of it."""
        if not self._is_first_meeting or self.jobs[0].branch.store.repository.is_partial:
            return None
        branch = self.jobs[0].branch
        with suppress(StoreError):  # an address is no part of a ref
            if branch.store.tip(f"refs/remotes/{self.name}/{branch.ref.removeprefix('refs/heads/')}") is not None:
                return None  # git has fetched the history
        return NEWEST if self.options.completes else min(NEWEST, GLIMPSE)

    def _widen(self, job: _Job) -> None:
        """Fetch the rest of the newest part after a glimpse that took less than half of the time."""
        seconds = _seconds_left(self.end)
        if seconds > self.options.seconds / 2:
            widen_glimpse(
                job.branch, self.remote, job.refs.incoming, self.terms, self.options.budget,
                seconds=seconds / 2, generations=NEWEST.generations - GLIMPSE.generations,
            )  # fmt: skip

    def _complete(self, job: _Job) -> _Job:
        """Fetch the older history that is missing, unless this sync must be quick; say what is left."""
        if self.glimpsed:
            self._widen(job)
        left = describe_boundary(job.branch)
        if left and self.options.completes and self.meets and self.options.hand_over():
            left += "; a background process does it now"
        elif left and self.options.completes:
            left = complete_history(
                job.branch, self.remote, job.refs.incoming, self.terms, self.options.budget, self.end,
                prepares=not self.options.retry,
            )  # fmt: skip
        notes = (*job.outcome.notes, *([left] if left else []))
        is_incomplete = bool(job.branch.store.boundary.of(job.branch.ref))
        return job._replace(outcome=replace(job.outcome, notes=notes, is_incomplete=is_incomplete))

    def _limit_reads(self) -> AbstractContextManager[None]:
        """Limit the time for the local work, which may take a moment longer than the network traffic."""
        is_first = any(self.store.tip(job.branch.ref) is None for job in self.jobs)
        end = max(self.end, time.monotonic()) + (_FIRST_GRACE if is_first else _GRACE)
        return self.store.limit_reads(end, f"merging the commits of {self.remote.name}")

    def _push(self) -> None:
        """Push what is planned. Jobs that were overtaken stay in `jobs`."""
        options, planned = self.options, [job.push for job in self.jobs if job.push is not None]
        # A dry run shows the same plans; a start of a session only receives.
        selected = [
            push
            for push in (() if options.dry_run or options.receive_only else planned)
            if not (options.existing_only and push.expected is None)
        ]
        self.jobs = [job._replace(lane_moves=self._plan_lane(job, selected)) for job in self.jobs]
        moves = [*selected, *(move for job in self.jobs for move in job.lane_moves)]
        answers = self.remote.push(moves, seconds=_seconds_left(self.end)) if moves else {}
        jobs, self.jobs = self.jobs, []
        for job in jobs:
            answer = answers.get(job.branch.ref)
            if isinstance(answer, PushOvertaken | PushRefused):
                job = self._note_lane(job, answers)
            if isinstance(answer, PushRefused) and job.folded is not None:  # the fault may be that of a lane
                self.jobs.append(job._replace(skips_lanes=True))
            elif not isinstance(answer, PushOvertaken):
                self.finished.append(self._apply_answer(job, answer))
            elif self._goes_on(job) or not job.is_sent:
                self.jobs.append(job)
            else:
                self.finished.append(job._replace(push=None))

    def _goes_on(self, job: _Job) -> bool:
        """Return whether this machine tries again to push to the branch, although the remote has all its commits."""
        return self.attempt < _TRIES and job.lanes is not None and goes_on(job.lanes, self.stamp.seconds)

    def _plan_lane(self, job: _Job, selected: Collection[Push]) -> tuple[Push, ...]:
        """Return the changes of lanes to push together with the branch."""
        store, lanes, push = job.branch.store, job.lanes, job.push
        if lanes is None or self.options.dry_run or self.options.receive_only:
            return ()
        if push not in selected or push is None or push.new is None or lanes.plain is None:
            settles = self.terms.settle == "ours" and job.outcome.error is None
            return tuple(Push(ref, None, tip) for ref, tip in lanes.purged.items()) if settles else ()
        own = job.incoming.proposal.tip if job.incoming is not None else push.new
        is_repeated = self.attempt > 0 or self.options.attempts == 1
        is_busy = is_repeated or bool(lanes.waiting.keys() - {lanes.name})  # else the branch itself is enough
        lane = plan_lane(store, lanes, lanes.plain, own) if is_busy else None
        return (*([lane] if lane else []), *plan_removals(store, lanes, lane, self.stamp.seconds, self.terms.settle))

    def _note_lane(self, job: _Job, answers: Mapping[str, PushOutcome]) -> _Job:
        """Note whether the remote accepted the lane although it did not accept the branch."""
        lane = next((move for move in job.lane_moves if move.new is not None), None)
        own = job.branch.tip() if job.incoming is None else job.incoming.proposal.tip
        if job.lanes is not None and own is not None and has_commit(job.branch.store, job.lanes, own):
            return job._replace(in_lane=own)  # an earlier attempt or sync sent it
        if lane is None or lane.new is None or job.push is None:
            return job
        answer, outcome = answers[lane.ref], job.outcome
        if isinstance(answer, PushRefused):
            note = f"{self.remote.name} refused {lane.ref}: {answer.why} (git config --unset {self._lane_setting})"
            return job._replace(outcome=replace(outcome, notes=tuple(dict.fromkeys((*outcome.notes, note)))))
        if not isinstance(answer, PushAccepted):
            return job
        sent = _count_new(job, lane.new, job.push)
        set_ref(job.branch.store, track_lane(lane.ref, self.name), lane.new, self.stamp)
        return job._replace(in_lane=lane.new, outcome=replace(outcome, sent=outcome.sent + sent))

    @property
    def _lane_setting(self) -> str:
        return f"remote.{self.name}.batonLanes"

    def finish(self) -> list[SyncOutcome]:
        """Integrate what was received, and return the outcomes."""
        why = f"{self.remote.name}: others pushed first at every attempt"
        busy = Busy(why, hint="their commits are merged here; run baton sync again")
        jobs = [*map(self.integrate, self.finished)]
        for job in self.jobs:
            left = self.integrate(job)
            error = left.outcome.error or (None if job.is_sent else busy)
            jobs.append(left._replace(outcome=replace(left.outcome, error=error)))
        return [_finish_job(self._tidy_lanes(self._complete(job))) for job in jobs]

    def _tidy_lanes(self, job: _Job) -> _Job:
        """Find the private refs of lanes that are stale. If lanes were switched off, remove our own on the remote."""
        branch = job.branch
        if self.options.dry_run or job.outcome.error is not None or not list_tracked_lanes(branch, self.name):
            return job
        if job.lanes is not None:
            pushed = (move.ref for move in job.lane_moves if move.new is not None)
            stale = find_stale(branch, self.name, {*job.lanes.present, *pushed})
            return job._replace(outcome=replace(job.outcome, stale=stale))
        own = name_lane(branch, self.terms.machine)
        stale = find_stale(branch, self.name, None)
        stale.pop(track_lane(own, self.name), None)
        removal = None if self.options.receive_only else plan_last_removal(branch, self.name, own)
        if removal is not None and removal.expected is not None:
            with suppress(BatonError):  # else the private ref stays, and the next sync tries again
                self.remote.push([removal], seconds=_seconds_left(self.end))
                stale[track_lane(own, self.name)] = removal.expected
        return job._replace(outcome=replace(job.outcome, stale=stale))

    def integrate(self, job: _Job, *, is_sent: bool = False) -> _Job:
        """Move the local branch to what was received or sent, if it is still behind. An error is put in the outcome.

        Of what was not sent, merges with lanes are left out, and so is all that our lane would need a merge for: they
        would stay in the history, and come with the branch.
        """
        if job.incoming is None:
            return job
        tips, accepted, proposed = job.incoming
        proposal: Proposal | None = proposed
        unstored = job.unstored
        if not is_sent and tips.folded is not None and tips.theirs is not None:
            accepted, proposal, unstored = tips.theirs, None, None
        if not is_sent and job.in_lane is not None and not job.store.is_ancestor(job.in_lane, accepted):
            return job._replace(incoming=None)
        job = job._replace(incoming=None)
        try:
            with self._limit_reads(), job.expose():
                integration = integrate(
                    job.branch, accepted, tips, self.stamp, proposal, is_sent=is_sent, unstored=unstored
                )
                return self._report(job, tips, integration)
        except BatonError as error:
            return job._replace(outcome=replace(job.outcome, error=job.outcome.error or error))

    def _report(self, job: _Job, tips: BranchTips, integration: Integration) -> _Job:
        """Add what the integration did to the outcome."""
        outcome = job.outcome
        if tips.local is not None and integration.tip is not None and integration.received:
            outcome = _compare_records(job.branch, tips.local, integration.tip, integration, self.terms, outcome)
        outcome = replace(
            outcome,
            received=outcome.received + integration.received,
            conflicts=(*outcome.conflicts, *integration.conflicts),
            renamed={**(outcome.renamed or {}), **integration.renamed},
            problems=tuple(dict.fromkeys((*outcome.problems, *integration.problems))),
            notes=tuple(dict.fromkeys((*outcome.notes, *integration.notes))),
            checked_out_at=integration.checked_out_at or outcome.checked_out_at,
        )
        return job._replace(outcome=outcome)

    def _merge_and_plan_push(self, job: _Job, fetched: FetchResult) -> _Job:
        """Do the local part of an attempt: plan, merge, and decide what to push."""
        job = job._replace(push=None)
        if job.outcome.error is not None:
            return job
        if self.terms.lanes:
            job = job._replace(lanes=self._read_lanes(job, fetched), folded=None)
        purged = fetched.purged.get(job.branch.ref)
        if purged is not None:
            return _settle_purged(job, purged, self.terms)
        rejected = fetched.rejected.get(job.branch.ref)
        if rejected is not None:
            return job._replace(outcome=replace(job.outcome, error=rejected))
        try:
            theirs = fetched.tips.get(job.branch.ref)
            if theirs is not None and job.branch.store.boundary.of(job.branch.ref):
                self._check_related(job, theirs)
            if theirs is not None and job.lanes is not None:
                job = self._fold_lanes(job, theirs, job.lanes)
            with job.expose():
                newest = theirs if job.folded is None else job.folded.commit
                _check_changed(job, newest, self.terms, self.options.budget)
                return self._carry_out(job, theirs)
        except BatonError as error:  # an error in one namespace must not prevent the sync of the others
            return job._replace(outcome=replace(job.outcome, error=error))

    def _read_lanes(self, job: _Job, fetched: FetchResult) -> Lanes:
        branch = job.branch
        return read_lanes(branch, fetched, fetched.tips.get(branch.ref), name_lane(branch, self.terms.machine))

    def _fold_lanes(self, job: _Job, theirs: Oid, lanes: Lanes) -> _Job:
        """Merge the branch of the remote with the lanes that were fetched."""
        store, now = job.branch.store, self.stamp.seconds if self.options.receive_only else None
        skips = job.skips_lanes or store.boundary.of(job.branch.ref)  # lanes may begin in what is not here yet
        folded = None if skips else fold_lanes(store, theirs, lanes, job.branch.tip(), now=now)
        notes = (*job.outcome.notes, *lanes.notes, *(folded.notes if folded is not None else ()))
        return job._replace(folded=folded, outcome=replace(job.outcome, notes=tuple(dict.fromkeys(notes))))

    def _check_related(self, job: _Job, theirs: Oid) -> None:
        """Raise Rejected if a merge needs older history that is not here; fetch it first if there is time."""
        local = job.branch.tip()
        if local is None or began_here(job.branch, local, job.branch.store.boundary.of(job.branch.ref)):
            return
        if self.options.completes and not job.branch.store.merge_bases(local, theirs):
            complete_history(job.branch, self.remote, job.refs.incoming, self.terms, self.options.budget, self.end)
        refuse_unrelated(job.branch, local, theirs)

    def _carry_out(self, job: _Job, theirs: Oid | None) -> _Job:
        branch, store, terms, dry_run = job.branch, job.branch.store, self.terms, self.options.dry_run
        earlier = job.incoming.tips.theirs if job.incoming is not None else None
        if earlier is not None and not (theirs and store.is_ancestor(earlier, theirs)):
            job = self.integrate(job)  # the branch was rewritten or deleted since the last attempt
        folded = job.folded.commit if job.folded is not None else None
        tips = BranchTips(branch.tip(), theirs, store.tip(job.refs.seen), folded)
        for commit in (tips.local, theirs):
            if commit is not None:
                branch.revision_at(commit)  # raises if this is not a namespace or has a newer layout
        resets = terms.settle == "theirs" and tips.local is not None and is_rewritten(store, tips)
        reset = (SyncAction("reset", str(branch.namespace), count_commits(store, tips.seen, theirs)),) if resets else ()
        notes: tuple[str, ...] = ()
        if resets and not dry_run:
            assert theirs is not None
            _record_received(branch, tips, theirs, terms)
            before, (local, backup) = tips.local, reset_to_theirs(branch, tips, self.stamp)
            tips = tips._replace(local=local, seen=None)
            modes = describe_merged_modes(store, before, theirs, local)
            notes = (f"reset to {branch.ref} of the remote; the previous state is kept as {backup}", *modes)
        plan = plan_sync(branch, tips, terms) if not (resets and dry_run) else Plan(())
        if plan.waiting and job.incoming is not None:  # what was accepted before does not wait
            return self._carry_out(self.integrate(job), theirs)
        outcome = replace(job.outcome, actions=job.outcome.actions or (*reset, *plan.actions), waiting=plan.waiting)
        job = job._replace(outcome=replace(outcome, notes=(*outcome.notes, *notes)))
        if dry_run:
            changes = (
                preview_reset(branch, tips) if resets else preview_integration(branch, plan.accepted, job.unstored)
            )
            return job._replace(outcome=replace(job.outcome, changes=tuple(changes)))
        stop = next((action for action in plan.actions if action.kind == "stop"), None)
        if stop is not None:
            error = Unsettled(f"{stop.namespace}: {stop.why}", hint=stop.hint)
            return job._replace(outcome=replace(job.outcome, error=error))
        return self._take_in(job, tips, plan)

    def _take_in(self, job: _Job, tips: BranchTips, plan: Plan) -> _Job:
        """Integrate the accepted commits, or plan to push the merge with them first."""
        branch, theirs, accepted, newest = job.branch, tips.theirs, plan.accepted, tips.newest
        if self.terms.settle in ("merge", "theirs") and theirs is not None:
            _bring_back(branch, theirs)
        if newest is not None and newest != tips.seen:
            _record_received(branch, tips, newest, self.terms, job.unstored)
        if theirs is not None and theirs != tips.seen:
            set_ref(branch.store, job.refs.seen, theirs, self.stamp)
        if plan.waiting and job.folded is not None:  # a review reads what was fetched
            store_folded(branch, job.folded, job.refs.incoming, self.stamp)
        is_pushed = not self.options.receive_only and not plan.waiting
        proposal = propose(branch, accepted, job.unstored) if is_pushed else None
        if accepted is not None and proposal is not None:
            push = Push(branch.ref, proposal.commit, theirs, proposal.draft)
            return job._replace(push=push, incoming=_Incoming(tips, accepted, proposal))
        integration = integrate(branch, accepted, tips, self.stamp, unstored=job.unstored)
        push_ = _plan_push(branch, plan, integration, theirs)
        return self._report(job._replace(push=push_, incoming=None), tips, integration)

    def _apply_answer(self, job: _Job, answer: PushOutcome | None) -> _Job:
        """Add the answer of the remote to the outcome; integrate what the remote accepted."""
        push, job = job.push, job._replace(push=None)
        if push is not None and isinstance(answer, PushAccepted) and push.new is not None:
            return self._note_sent(job, push, push.new)
        if push is not None and isinstance(answer, PushRefused):
            lines = "".join(f"\n  {line}" for line in answer.server_lines)
            hint = f"{_REFUSED}{_HIDDEN}" if answer.may_be_rule_for_branches(push.ref) else _REFUSED
            if _SHALLOW in answer.why and (remedy := job.branch.find_completion()):
                hint = f"it lacks the older revisions, and they are not here: {remedy}; then sync again"
            error = NotAllowed(f"the remote refused {job.branch.namespace}: {answer.why}{lines}", hint=hint)
            return job._replace(outcome=replace(job.outcome, error=error))
        return job

    def _note_sent(self, job: _Job, push: Push, new: Oid) -> _Job:
        store, proposal = job.branch.store, None if job.incoming is None else job.incoming.proposal
        is_proposal = proposal is not None and proposal.commit == new
        with store.expose(push.draft) if is_proposal and push.draft is not None else nullcontext():
            sent = _count_new(job, new, push)
        job = self.integrate(job, is_sent=is_proposal)
        if store.is_stored(new):  # not after an error; then the next fetch brings it
            set_ref(store, job.refs.seen, new, self.stamp)
        return job._replace(outcome=replace(job.outcome, sent=job.outcome.sent + sent))


def _count_new(job: _Job, tip: Oid, push: Push) -> int:
    """Return the number of commits up to `tip` that the remote lacks."""
    store = job.branch.store
    known = [
        *(job.lanes.waiting.values() if job.lanes is not None else ()),
        *([push.expected] if push.expected else []),
    ]
    return count_commits(store, tip, *(commit for commit in known if store.has(commit)))  # a purged commit is not here


def _seconds_left(end: float) -> float:
    return max(0.05, end - time.monotonic())


def _job(branch: Branch, name: str) -> _Job:
    return _Job(branch, tracking_refs_of(branch, name), SyncOutcome(str(branch.namespace)))


def _find_new_namespaces(first: Branch, fetched: FetchResult, jobs: Iterable[_Job]) -> list[Branch]:
    """Return the fetched branches that have no job yet. Refs that are not namespaces are ignored."""
    known = {job.branch.ref for job in jobs}
    branches = []
    for ref in (*fetched.tips, *fetched.rejected):
        branch = first.find_sibling(ref)
        if branch is None or ref in known:
            continue
        if ref in fetched.rejected or branch.is_namespace(fetched.tips[ref]):
            branches.append(branch)
    return branches


def _settle_purged(job: _Job, theirs: PurgedTip, terms: Terms) -> _Job:
    """Plan to replace the branch of the remote, which has commits that were purged here; stop unless that is settled.

    The commits of others that were never here would be lost, so they must be merged and purged first.
    """
    branch, name, remote = job.branch, str(job.branch.namespace), terms.name
    local = branch.store.tip(branch.ref)
    is_cut = local is not None and begins_midway(branch.store, local)
    if terms.settle == "ours" and local is not None and not theirs.others and not is_cut:
        number = count_commits(branch.store, local, None)
        why = f"the branch on {remote} is replaced by the history that was rewritten here"
        outcome = replace(job.outcome, actions=job.outcome.actions or (SyncAction("send", name, number, why),))
        return job._replace(outcome=outcome, push=Push(branch.ref, local, theirs.tip))
    error = make_purged_error(name, remote, theirs, is_refused=terms.settle == "ours", is_cut=is_cut)
    action = SyncAction("stop", name, theirs.purged, str(error), error.hint)
    return job._replace(outcome=replace(job.outcome, actions=(action,), error=error), push=None)


def make_purged_error(
    namespace: str, remote: str, theirs: PurgedTip, *, is_refused: bool = False, is_cut: bool = False
) -> Unsettled:  # fmt: skip
    """Return the error for a remote that has commits that were purged here, with what each way out does to them.

    Args:
        is_refused: whether the caller wanted to replace the branch of the remote.
        is_cut: whether the rewritten history lacks the older commits of the remote.
    """
    why = f"{namespace}: the history was rewritten here, and {remote} still has the removed commits"
    if is_cut:
        return Unsettled(
            f"{why}, and older ones that were not here, so --settle ours would lose those",
            hint="baton sync --settle theirs brings them all here; then purge again, and run baton sync --settle ours",
        )
    others = count_noun(theirs.others, "commit")
    if theirs.others and is_refused:
        return Unsettled(
            f"{why} below {others} that were never here, so --settle ours would lose those",
            hint="baton sync --settle theirs brings them here, below your newer changes; then purge again, and run "
            "baton sync --settle ours",
        )
    also = f"; {others} of others are on top of them and must be merged and purged before" if theirs.others else ""
    return Unsettled(
        why,
        hint=f"baton sync --settle ours replaces the branch there, which removes those commits there{also}; "
        "--settle theirs brings them back here, and keeps the rewritten history in a backup ref; "
        "--settle merge brings them back here and joins both histories, here and there, so that records that the purge "
        "changed are there twice",
    )


def _find_met(jobs: Iterable[_Job]) -> Callable[[str], bool]:
    """Return a function that tells whether this machine has seen a branch of the remote, or that of a lane, before."""
    met = [job.branch for job in jobs if job.branch.store.tip(job.refs.seen) is not None]
    refs, lanes = {branch.ref for branch in met}, tuple(lanes_of(branch) for branch in met)
    return lambda ref: ref in refs or ref.startswith(lanes)


def _check_changed(job: _Job, theirs: Oid | None, terms: Terms, budget: Budget) -> None:
    """Raise Rejected if the remote changed more files than the budget allows, for each machine that is known here.

    What a trusted remote had before this machine first met it passed the limits of the ingest, and counts no more.
    """
    store, local = job.branch.store, job.branch.tip()
    if theirs is None or theirs == local or (terms.policy == "auto" and store.tip(job.refs.seen) is None):
        return
    base = next(iter(store.merge_bases(local, theirs)), None) if local is not None else None
    before = store.commit(base).tree if base is not None else None

    def count_machines() -> int:
        known = {find_machine(info) for info in islice(store.log(base), KNOWN_DEPTH)} if base is not None else set()
        new = {find_machine(info) for info in store.only_in(theirs, *([local] if local is not None else []))}
        return len((new & known) - {""}) + bool(new - known or "" in new)

    check_changed(store.folder(before), store.folder(store.commit(theirs).tree), budget, count_machines)


def _find_damage(jobs: Iterable[_Job], *, thorough: bool) -> dict[str, Corrupt]:
    """Return the read error of each damaged local branch, by ref."""
    store_tips = ((job.branch, job.branch.store.tip(job.branch.ref)) for job in jobs)
    damages = ((branch.ref, find_first_damage(branch.store, tip, thorough=thorough)) for branch, tip in store_tips)
    return {ref: error for ref, error in damages if error is not None}


def _note_repair(job: _Job, damaged: Mapping[str, Corrupt]) -> _Job:
    """If the branch was damaged, note that the fetch repaired it, or set the error if it did not."""
    before = damaged.get(job.branch.ref)
    if before is None:
        return job
    store = job.branch.store
    store.memory.forget(lambda _: True)  # cached values may come from damaged objects
    left = find_first_damage(store, store.tip(job.branch.ref), thorough=True)
    if left is None:
        notes = (*job.outcome.notes, f"objects that were damaged or missing here were fetched again ({before})")
        return job._replace(outcome=replace(job.outcome, notes=notes))
    error = Corrupt(str(job.branch.namespace), f"{left}, and the remote does not have it", hint=_LOST)
    return job._replace(outcome=replace(job.outcome, error=error))


_LOST = "run baton sync on a machine that has it, then here again; git fsck lists all that is lost"


def _plan_push(branch: Branch, plan: Plan, integration: Integration, theirs: Oid | None) -> Push | None:
    """Return the push of the local branch; None unless the branch contains all remote commits and new ones."""
    tip = integration.tip
    if tip is None or tip == theirs or plan.waiting:
        return None
    if theirs is not None and not branch.store.is_ancestor(theirs, tip):
        return None
    return Push(branch.ref, tip, theirs)


def _bring_back(branch: Branch, theirs: Oid) -> None:
    """Forget the purge if a person chose to accept a history with purged commits."""
    if find_purged(branch.store, theirs, read_purged(branch.store).commits):
        forget_purge(branch.store)


_REMOVED = "{0} was removed on the remote (baton rollback --record {0} restores it)"


def _compare_records(
    branch: Branch, before: Oid, tip: Oid, integration: Integration, terms: Terms, outcome: SyncOutcome
) -> SyncOutcome:
    """Add to the outcome the rejected changes of this machine, the removed records, and the ids of two records."""
    old, new = branch.revision_at(before).state, branch.revision_at(tip).state
    shared = find_shared_ids(old, new, integration.renamed)
    rejections = find_rejected_changes(branch, before, tip)
    rejected = {id_ for rejection in rejections for id_ in rejection.ids}
    removed = [_REMOVED.format(id_) for id_ in list_removed(old, new, integration.renamed) if id_ not in rejected]
    shared_ids = (pair.describe(new, terms.name) for pair in shared)
    return replace(
        outcome,
        renamed={**(outcome.renamed or {}), **{pair.kept.id: pair.moved.id for pair in shared}},
        notes=(*outcome.notes, *(rejection.describe() for rejection in rejections), *removed, *shared_ids),
    )


def _record_received(
    branch: Branch, tips: BranchTips, theirs: Oid, terms: Terms, unstored: ObjectDraft | None = None
) -> None:
    """Record in the ledger which commits were received from the remote, before the local branch gets them."""
    known = [commit for commit in (tips.local, tips.seen) if commit is not None and branch.store.has(commit)]
    ledger, made = branch.ledger, unstored.objects if unstored is not None else {}
    commits = (info.oid for info in branch.store.only_in(theirs, *known))
    new = [commit for commit in commits if commit not in made and not ledger.is_made_here(commit)]
    ledger.record_received(terms.address or terms.name, terms.name, new)


_REFUSED = "the remote's commits are merged here; the next sync will push again"
_HIDDEN = (
    "; if the server has rules for branches, use refs that are none: git config baton.refPrefix refs/baton/, then"
    " baton namespace move, here and on each other machine"
)


def _finish_job(job: _Job) -> SyncOutcome:
    """Update the marker files of hooks, and return the outcome with the number of pending commits."""
    store, component = job.branch.store, job.branch.namespace.component
    try:
        pending = count_commits(store, job.branch.tip(), store.tip(job.refs.seen), job.in_lane)
    except BatonError as error:
        return replace(job.outcome, error=job.outcome.error or error)
    marks = HookMarkers(store.repository.common_dir)
    marks.synced.set(component)
    marks.published.clear(component)
    marks.unsent.clear(component)
    if pending or store.tip(job.branch.ref) != store.tip(job.refs.seen):  # a writer may have been faster
        marks.unsent.set(component)
    return replace(job.outcome, pending=pending)
