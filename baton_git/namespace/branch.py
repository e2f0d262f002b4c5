"""The branch of a namespace: its history, and the writers that add to it.

`Branch.update` commits a change: it reads the tip, computes the next state, stores the objects durably and moves the
ref with a compare-and-swap. If another writer moved the ref first, it starts over.
`Branch.advance` moves the branch to commits that already exist, such as fetched ones and merge commits.

Updates that wait for the same branch form a queue, and one thread writes all of them: each becomes a commit of its own,
the chain is stored as one pack, and the ref moves once. An update that cannot be written in time fails with `Busy`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count, islice
from pathlib import Path
from typing import Literal, NamedTuple

from baton_git.core import diff, layout
from baton_git.core.errors import BatonError, Busy, Corrupt, InvalidName, Stale, StoreError, WriteFailed
from baton_git.core.lifecycle import waits_for_code
from baton_git.core.names import Namespace, Oid
from baton_git.core.output import is_safe, one_line
from baton_git.core.records.work_items import OpenLoop
from baton_git.core.redaction.changes import is_secret_name, redact_edits, refuse_secret
from baton_git.core.state import State, StateSource
from baton_git.git.store import Edit, ObjectDraft, Publication
from baton_git.git.store.stored_moves import fan_out_grown
from baton_git.namespace import guard
from baton_git.namespace.commit_log import CLIENT, VOUCHES
from baton_git.namespace.history import REVISION_WEIGHT, BranchHistory, draft_root
from baton_git.namespace.last_tip import is_revision
from baton_git.namespace.local_places import LocalPlaces
from baton_git.namespace.machine_state import GoneNamespaces, HookMarkers
from baton_git.namespace.provenance.ledger import RemoteSource, record_draft
from baton_git.namespace.revision import (
    Change,
    CommitStamp,
    ProposedState,
    Revision,
    UpdateRequest,
    WriteResult,
)

Decider = Literal["caller", "sync"]
"""Who decides about the content of commits to which a branch advances."""

PATIENCE = 10.0
"""Seconds that a write waits for other writers before it raises `Busy`."""
SIDE_WEIGHT = 20_000
"""Weight of the revision of a session's own document, which mostly has records that its next document has, too."""
_LATELY = 1000
"""If an error leaves open whether a chain was published, this many newest commits are searched for it."""


class Prepared(NamedTuple):
    """A change that was computed but not written.

    Attributes:
        draft: None if there is nothing to write.
        source: where the records come from that the change leaves alone; None if it changes other files, too.
        side: the second parent, if the change has one: an older revision with what was written on top of it.
    """

    outcome: WriteResult
    draft: ObjectDraft | None = None
    source: StateSource | None = None
    side: Revision | None = None


@dataclass(frozen=True)
class Branch(BranchHistory):
    """The branch of one namespace in one store."""

    sign: Callable[[bytes], bytes] | None = None
    """Signs the commits made here. A sync's merge commits stay unsigned: every machine must create the same ones."""
    fault: BatonError | None = None
    """The error of an invalid setting; every update raises it. None if all settings are valid."""
    places: LocalPlaces | None = None
    """The places of this machine, which updates store in a short form; None stores all paths as they are."""

    def check_name(self) -> None:
        """Check that the name of a new namespace contains no secret: ref names and output would show it.

        Raises:
            InvalidDocument: the namespace does not exist yet, and its name contains a secret.
        """
        name = self.namespace.text
        if is_secret_name(name) and self.store.tip(self.ref) is None:
            refuse_secret("name of the namespace", name)

    def check_chosen_name(self) -> None:
        """Check the name that somebody chose for a new namespace: it is printable, and contains no secret.

        Names that a client of session-baton's interface sends are not checked so strictly: its server accepts any text.

        Raises:
            InvalidName: the namespace does not exist yet, and its name has a line end, a control character or an
                invisible character.
            InvalidDocument: the namespace does not exist yet, and its name contains a secret.
        """
        self.check_name()
        if not is_safe(self.namespace.text) and self.store.tip(self.ref) is None:
            why = "has a line end, a control character or an invisible character"
            raise InvalidName("namespace", self.namespace.text, why, hint="choose a name of printable characters")

    def check_exists(self, *, to_write: bool = False, was_asked: bool = False) -> None:
        """Raise NotFound if the namespace does not exist, unless `to_write` is set and a write would create it.

        Args:
            was_asked: whether the remote has just answered that it lacks the namespace.

        Raises:
            BranchMoved: another program deleted the branch, moved it back or replaced it.
            BatonError: `to_write` is set, and a setting is invalid.
        """
        if to_write:
            self.check_settings()
        with suppress(Corrupt):  # reading it reports the damage
            if self.tip() is None and not (to_write and self.begins):
                raise self.make_missing_error(was_asked=was_asked)

    def check_settings(self) -> None:
        """Raise the error of an invalid setting, if there is one."""
        if self.fault is not None:
            raise self.fault

    def find_sibling(self, ref: str) -> Branch | None:
        """Return the branch of the same store at `ref`; None if `ref` does not name a namespace."""
        try:
            return replace(self, namespace=Namespace.from_component(ref.removeprefix(self.prefix)))
        except InvalidName:
            return None

    # --- writing

    def update(
        self,
        change: Change,
        stamp: CommitStamp,
        *,
        expected_revision: int | None = None,
        patience: float = PATIENCE,
    ) -> WriteResult:
        """Apply `change` to the newest revision and commit the result durably.

        If another writer moved the branch first, `change` is called again with the new tip. If it returns an equal
        state, nothing is written.

        Raises:
            Stale: the newest revision is not `expected_revision`.
            NotFound: the namespace does not exist, and a write may not create it.
            Busy: other writers moved the branch, or held its lock, for `patience` seconds.
            InvalidDocument: an id, or the name of the session, agent or machine, contains a secret. Names cannot be
                redacted.
            NotAllowed: an immutable field would change.
            Protected: only a person may make the change (see `guard`), and the caller of the stamp is none.
            WriteFailed: writing to disk failed; nothing was changed.
            BatonError: a setting is invalid, or `change` raised the error.
        """
        self.check_update(stamp)
        pending = _PendingUpdate(self, UpdateRequest(change, stamp, expected_revision), patience)
        # The syncs to the disk take longer than the rest of a write, so threads that wait share them.
        if not self.store.commit_group(self.ref).serve(pending, self._write_all, patience):
            pending.fail(pending.make_busy_error())
        if pending.leads:
            self.store.tidy()
        assert pending.result is not None
        if isinstance(pending.result, Exception):
            raise pending.result
        return pending.result

    def check_update(self, stamp: CommitStamp) -> None:
        """Raise the error of an invalid setting, or InvalidDocument if a name in the commit contains a secret."""
        self.check_settings()
        for label, text in (("session", stamp.session), ("agent", stamp.agent), ("machine", stamp.machine)):
            if text:
                refuse_secret(label, text)
        self.check_name()

    def preview(self, change: Change) -> WriteResult:
        """Return the result that `update` would have now, without writing. Its `revision` is the current one.

        Raises:
            InvalidDocument, NotAllowed: under the same conditions as `update`.
        """
        return self._evaluate(self.read(), change)[1]

    def claim(self, tip: Oid | None) -> None:
        """Check that a write may start from `tip`. The branch of an HTTP request with If-Match overrides this.

        Raises:
            Stale: the branch may only be written from another tip.
        """

    def advance(
        self,
        draft: ObjectDraft,
        expected: Oid | None,
        new: Oid,
        stamp: CommitStamp,
        *,
        by: Decider,
        source: RemoteSource | None = None,
    ) -> bool:
        """Move the branch to a stored commit or one in `draft`; return False if the tip is not `expected`.

        Args:
            by: who decides about the content: the caller of the stamp, or the policy of a sync that accepted it.
            source: the remote from which the content of the draft's commits came; None if baton created it here.

        Raises:
            Protected: the caller decides, and only a person may make the change (see `guard`).
            Busy, Corrupt, WriteFailed: under the same conditions as `Store.publish`.
        """
        if by == "caller" and expected is not None:
            with self.store.expose(draft):
                # A sync is exempt: the policy of its remote has decided. Reviews and merges by hand are not.
                guard.refuse_losses(self, self._replaced(expected), self.revision_at(new).state, stamp.caller)
        # Before the ref moves: a kill then leaves an entry for a commit that nobody has, and never a commit that counts
        # as made by hand.
        record_draft(self.ledger, draft, source)
        moved = self.store.publish(draft, self.ref, expected, new, stamp.reflog_entry(), keep=True)
        if moved and expected is None:
            GoneNamespaces(self.store.repository.common_dir).clear(self.namespace)
        if moved:
            before = self._replaced(expected).state if expected is not None else State()
            self._update_markers(before, self.revision_at(new).state)
        return moved

    def _replaced(self, commit: Oid) -> Revision:
        """Return the revision at the tip that another one replaces; an empty one if another program put a commit
        there that is no revision of baton."""
        return self.revision_at(commit) if is_revision(self.store, commit) else Revision(self.namespace, State())

    def _update_markers(self, before: State, after: State) -> None:
        """Update the marker files that let hooks skip unchanged namespaces."""
        # A git hook that finds no marker ends before it starts Python.
        marks = HookMarkers(self.store.repository.common_dir)
        if marks.synced.has(self.namespace.component):
            marks.unsent.set(self.namespace.component)
        loops = (after.entry(key) for key in before.differing_live(after) if key.kind == OpenLoop.kind)
        if any(isinstance(loop, OpenLoop) and waits_for_code(loop) for loop in loops):
            marks.due.set(self.namespace.component)

    def create(self, stamp: CommitStamp) -> Revision:
        """Create the namespace unless it exists, and return its newest revision.

        The first commit of a namespace is the root commit, which all namespaces share.

        Raises:
            BranchMoved: another program deleted the branch, moved it back or replaced it.
            BatonError: a setting is invalid.
            Busy, Corrupt, WriteFailed: under the same conditions as `Store.publish`.
        """
        self.check_settings()
        if self.tip() is not None:
            return self.read()
        GoneNamespaces(self.store.repository.common_dir).clear(self.namespace)
        draft = self.store.draft()
        # The same commit on all machines: namespaces that were begun apart have a common history, and can be merged.
        root = draft_root(draft)
        self.store.publish(draft, self.ref, None, root, stamp.reflog_entry("init"), keep=True)
        return self.read()

    def prepare(self, tip: Revision, change: Change, stamp: CommitStamp, expected: int | None) -> Prepared:
        """Compute the commit of a change on top of `tip`, in memory.

        Raises:
            NotFound, Stale, InvalidDocument, NotAllowed, Protected: under the same conditions as `update`.
        """
        if tip.commit is None and not self.begins:
            raise self.make_missing_error()
        if expected is not None and expected != tip.number:
            raise Stale(str(self.namespace), expected, tip.number)
        proposal, outcome = self._evaluate(tip, change)
        files = {**layout.encode(proposal.state.edits), **proposal.files}
        vouches = any(name == VOUCHES for name, _ in proposal.trailers)  # it says something even if it changes no file
        if not outcome.changes and not files and not vouches and proposal.reform is None:
            return Prepared(WriteResult(tip, tip))
        draft = self.store.draft()
        side = None if proposal.side is None else self._draft_side(draft, tip, *proposal.side, stamp, proposal.trailers)
        parents = tuple(one for one in (tip.commit or draft_root(draft), side and side.commit) if one)
        base_revision = max(tip.number, side.number if side is not None else 0)
        base_tree = tip.tree or draft.tree(None, layout.ROOT_FILES)
        tree = fan_out_grown(draft, draft.tree(base_tree, files), files)
        if proposal.reform is not None:
            tree = proposal.reform(draft, tree)
        if tree == tip.tree and proposal.side is None and not vouches:
            return Prepared(WriteResult(tip, tip))
        # files are written byte by byte, so what they do to records is read from the tree
        after = State(layout.TreeSource(draft.folder(tree))) if proposal.files else proposal.state
        # Here and not in the verbs: `forget` and `edit` had checks of their own, and an agent that was refused found
        # other roads, such as undo, rollback, a document or a review.
        guard.refuse_losses(self, tip, after, stamp.caller, proposal.settled)
        summary = diff.commit_subject(list(outcome.changes))
        if proposal.reform is not None and not outcome.changes:
            summary = ""
        subject = ": ".join(filter(None, (proposal.note, summary)))
        commit = self.draft_commit(draft, tree, parents, base_revision + 1, subject, stamp, proposal.trailers)
        record_draft(self.ledger, draft)
        revision = Revision(self.namespace, proposal.state, commit, tree, base_revision + 1, stamp.now, stamp.op)
        source = None if proposal.files or proposal.reform is not None else tip.state.source
        return Prepared(outcome._replace(revision=revision), draft, source, side)

    def _evaluate(self, tip: Revision, change: Change) -> tuple[ProposedState, WriteResult]:
        """Return the proposal of a change as it is stored, and the result of applying it.

        It has no secrets, and no paths of this machine unless it keeps them. The result's `revision` is still the tip.
        """
        result = change(tip)
        proposal = result if isinstance(result, ProposedState) else ProposedState(result)
        keeps_paths = proposal.keeps_paths or bool(proposal.files)
        # Not at the push: a filter there would give the remote other commits than this machine has, and a branch can
        # leave without baton, by `git push` or in a copied folder.
        load_names = None if self.places is None or keeps_paths else self.places.load_names
        edits, redactions = redact_edits(tip.state, proposal.state, load_names)
        after = State(proposal.state.source, edits)
        diff.refuse_changes(tip.state, after)
        changes = tuple(diff.diff(tip.state, after))
        files = self._list_changed_files(tip, after, proposal.files) if proposal.files else ()
        return proposal._replace(state=after), WriteResult(
            tip, tip, changes, (*proposal.redactions, *redactions), files=files
        )

    def _list_changed_files(self, tip: Revision, after: State, files: Mapping[str, Edit]) -> tuple[str, ...]:
        """Return the paths of the files without a record that edits change in the tree of `tip`, sorted.

        An edit may change nothing: going back to layout 1 leaves `.gitattributes` as layout 2 needs it.
        """
        edits = {path: edit for path, edit in files.items() if layout.key_at(path) is None}
        if not edits or tip.tree is None:
            return tuple(sorted(edits))
        draft = self.store.draft()
        removed = {layout.path_of(key): None for key, entry in after.edits.items() if entry is None}
        changed = draft.folder(draft.tree(tip.tree, {**removed, **edits}))  # a file can take the place of their folder
        differing = layout.differing_paths(self.store.folder(tip.tree), changed)
        return tuple(sorted(path for path in differing if layout.key_at(path) is None))

    def _draft_side(
        self, draft: ObjectDraft, tip: Revision, base: Revision, state: State, stamp: CommitStamp,
        trailers: tuple[tuple[str, str], ...],
    ) -> Revision:  # fmt: skip
        """Add the commit of a concurrent write on top of an older revision to the draft, and return its revision."""
        edits, _ = redact_edits(base.state, state)
        tree = draft.tree(base.tree, layout.encode(edits))
        after, number = State(state.source, edits), base.number + 1
        subject = diff.commit_subject(diff.diff(base.state, after))
        onto = (base.commit or tip.commit or draft_root(draft),)
        own = self.draft_commit(draft, tree, onto, number, subject, stamp, trailers)
        return Revision(self.namespace, after, own, tree, number, stamp.now, stamp.op)

    def draft_commit(
        self,
        draft: ObjectDraft,
        tree: Oid,
        parents: tuple[Oid, ...],
        revision: int,
        subject: str,
        stamp: CommitStamp,
        more_trailers: tuple[tuple[str, str], ...],
    ) -> Oid:
        """Add a commit to the draft, and return its id. Its trailers are those of the stamp and `more_trailers`."""
        trailers = (
            ("Baton-Op", stamp.op if len(parents) == 1 else f"{stamp.op}-merge"),
            ("Baton-Session", stamp.session),
            ("Baton-Agent", stamp.agent),
            ("Baton-Machine", stamp.machine),
            (CLIENT, stamp.client),
            *more_trailers,
            ("Baton-Revision", str(revision)),
        )
        lines = "".join(f"{name}: {one_line(value, 200)}\n" for name, value in trailers if value)
        return draft.commit(
            tree, parents,
            author=stamp.author, time=stamp.seconds, timezone=stamp.timezone, message=f"{subject}\n\n{lines}",
            sign=self.sign,
        )  # fmt: skip

    # --- the queue of writers

    def _write_all(self, batch: Sequence[_PendingUpdate]) -> None:
        """Write the updates of several threads, in the order given; try again while other processes are faster."""
        batch[0].leads = True
        try:
            for attempt in count():
                waiting = [pending for pending in batch if pending.result is None]
                if not waiting or self._attempt(waiting):
                    return
                late = [pending for pending in waiting if time.monotonic() >= pending.end]
                for pending in late:
                    pending.fail(pending.make_busy_error())
                if len(late) < len(waiting):
                    # Writers that poll at equal intervals starve each other.
                    time.sleep(random.uniform(0, min(0.5, 0.005 * 2**attempt)))  # noqa: S311  jitter
        except BaseException as error:
            for pending in batch:
                pending.fail(error if isinstance(error, Exception) else _interrupted_error(self.namespace))
            if not isinstance(error, Exception):
                raise

    def _attempt(self, batch: Sequence[_PendingUpdate]) -> bool:
        """Try once to write the batch as one chain; return whether every update has a result."""
        left = min(pending.end for pending in batch) - time.monotonic()
        with ExitStack() as stack:
            # The chain is prepared before the lock is taken, so that other processes wait only while it is published.
            chain = stack.enter_context(self.build_chain(batch))
            try:
                if not chain.draft.objects:
                    return chain.answer(None)
                with self.store.queue(self.ref, min(2.0, max(0.0, left))):
                    if self.store.tip(self.ref) != chain.tip.commit:
                        chain = stack.enter_context(self.build_chain(batch))
                        if not chain.draft.objects:
                            return chain.answer(None)
                    return self.store.publish(*chain.describe(self.ref), keep=True, tidy=False) and self.finish(chain)
            except Busy as error:
                for pending in batch:
                    if time.monotonic() >= pending.end:
                        pending.fail(error)
                return False
            except StoreError:
                if len(batch) == 1 or self.was_published(chain):
                    raise
        for pending in batch:  # one update may be the cause of the error: write each separately
            self._write_all([pending])
        return True

    @contextmanager
    def build_chain(self, batch: Sequence[_PendingUpdate]) -> Iterator[_CommitChain]:
        """Prepare the updates in memory, each on top of the one before.

        A change may read the commits it is based on, so unpublished commits are readable inside this context. An error
        is reported only after the chain is published, because an earlier change of the chain may have caused it.
        """
        draft = self.store.draft()
        with self.store.expose(draft):
            tip = self.read()
            chain = _CommitChain(tip, draft, tip)
            for pending in batch:
                try:
                    work = pending.branch.prepare(chain.newest, *pending.request)
                except Exception as error:  # noqa: BLE001  raised again in the update's own thread
                    chain.refused.append((pending, error))
                    continue
                chain.steps.append((pending, work))
                if work.draft is not None:
                    draft.take_over(work.draft)
                    chain.newest = self._predict(work.outcome.revision, work.source)
                if work.side is not None:
                    chain.sides.append(self._predict(work.side, work.side.state.source))
            yield chain

    def _predict(self, prepared: Revision, source: StateSource | None) -> Revision:
        """Return the revision that reading the branch will give once a prepared commit is published.

        Args:
            source: that of the revision before, if only its records were edited: those decoded from it are reused.
        """
        assert prepared.commit is not None
        revision = self.load_revision(prepared.commit)
        if not isinstance(source, layout.TreeSource):
            return revision
        root = self.store.folder(revision.tree)
        return revision._replace(state=State(source.make_next(root, prepared.state.edits)))

    def finish(self, chain: _CommitChain) -> bool:
        """Answer the updates of a published chain; always return True."""
        for side in chain.sides:
            self.store.memory.put(("revision", self.namespace, side.commit), side, SIDE_WEIGHT)
        self.store.memory.put(("revision", self.namespace, chain.newest.commit), chain.newest, REVISION_WEIGHT)
        for _, work in chain.steps:
            self._update_markers(work.outcome.before.state, work.outcome.revision.state)
        return chain.answer(self.store.find_checkout(self.ref))

    def was_published(self, chain: _CommitChain) -> bool:
        """Return whether the newest commit of a chain is on the branch, even if newer commits follow it."""
        newest = chain.newest.commit
        return any(entry.commit == newest for entry in islice(self.history(), _LATELY))


class TargetedUpdate(NamedTuple):
    """An update and the branch that it is for."""

    branch: Branch
    update: UpdateRequest


def write_together(updates: Sequence[TargetedUpdate]) -> list[WriteResult | Exception | None]:
    """Try once to apply updates to any branches of one store, and return the result or the error of each.

    They share one pack and its syncs. The updates of one branch are applied in the order given. None stands for an
    update that was not written, and must be written with `Branch.update`: another process has moved its branch or
    holds its lock, which the others must not wait for, or its revision cannot be read or stored.
    """
    waiting = [_PendingUpdate(branch, update, 0.0) for branch, update in updates]
    batches: dict[str, list[_PendingUpdate]] = {}
    for pending in waiting:
        try:
            pending.branch.check_update(pending.request.stamp)
        except BatonError as error:
            pending.fail(error)
        else:
            batches.setdefault(pending.branch.ref, []).append(pending)
    if batches:
        _write_branches([*batches.values()])
        waiting[0].branch.store.tidy()
    return [pending.result for pending in waiting]


def _write_branches(batches: Sequence[Sequence[_PendingUpdate]]) -> None:
    """Try once to write the updates of each branch as one chain, all chains together.

    An update stays unanswered if its chain cannot be prepared, or its branch is locked or has moved.
    """
    store = batches[0][0].branch.store
    with ExitStack() as stack:
        chains: list[tuple[Branch, _CommitChain]] = []
        for batch in batches:
            branch = batch[0].branch
            with suppress(BatonError):  # `Branch.update` reports the error
                chain = stack.enter_context(branch.build_chain(batch))
                if not chain.draft.objects:
                    chain.answer(None)
                elif stack.enter_context(store.queue(branch.ref, 0.0)) is not False:
                    chains.append((branch, chain))
        moves = store.publish_together([chain.describe(branch.ref) for branch, chain in chains])
        for (branch, chain), moved in zip(chains, moves, strict=True):
            if moved is True:
                branch.finish(chain)
            elif isinstance(moved, StoreError) and branch.was_published(chain):
                for pending, _ in chain.steps:
                    pending.fail(moved)


@dataclass
class _PendingUpdate:
    """An update that one thread waits for.

    Attributes:
        patience: seconds until the thread stops waiting.
        leads: whether this thread writes the batch of updates.
        result: the result of the update, or its error; None if it has neither yet.
    """

    branch: Branch
    request: UpdateRequest
    patience: float
    leads: bool = False
    result: WriteResult | Exception | None = None

    def __post_init__(self) -> None:
        self.end = time.monotonic() + self.patience

    def fail(self, error: Exception) -> None:
        self.result = self.result or error

    def make_busy_error(self) -> Busy:
        why = f"{self.branch.namespace}: others kept writing for {self.patience:g} s"
        return Busy(why, hint="nothing was written; try again")


@dataclass
class _CommitChain:
    """A chain of prepared updates.

    Attributes:
        newest: the revision after the last of them.
        sides: the second parents in the chain, each the base of the next document of its session.
    """

    tip: Revision
    draft: ObjectDraft
    newest: Revision
    sides: list[Revision] = field(default_factory=list)
    steps: list[tuple[_PendingUpdate, Prepared]] = field(default_factory=list)
    refused: list[tuple[_PendingUpdate, Exception]] = field(default_factory=list)

    def describe(self, ref: str) -> Publication:
        """Return what the store needs to publish the chain."""
        assert self.newest.commit is not None
        stamp = self.steps[-1][0].request.stamp
        more = f" and {len(self.steps) - 1} more" if len(self.steps) > 1 else ""
        entry = stamp.reflog_entry(f"{stamp.op}{more}")
        return Publication(self.draft, ref, self.tip.commit, self.newest.commit, entry)

    def answer(self, checked_out_at: Path | None) -> bool:
        """Set the result or error of every update in the chain; always return True."""
        for pending, work in self.steps:
            outcome = work.outcome
            pending.result = outcome if work.draft is None else outcome._replace(checked_out_at=checked_out_at)
        for pending, error in self.refused:
            pending.fail(error)
        return True


def _interrupted_error(namespace: Namespace) -> WriteFailed:
    return WriteFailed(
        f"{namespace}: the thread that was writing this update was interrupted",
        hint="check whether the update was written before you repeat it",
    )
