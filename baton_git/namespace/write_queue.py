"""Group commit: write the concurrent updates of a branch as one batch.

Each update becomes a commit of its own. The writer reads the tip, prepares a chain of commits on top of it in memory,
stores the chain in one pack and moves the ref once. If another writer moved the ref first, the chain is prepared again.
An update that cannot be written in time fails with `Busy`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple, Protocol

from baton_git.core.errors import BatonError, Busy, StoreError, WriteFailed
from baton_git.core.names import Namespace
from baton_git.core.redaction.changes import refuse_secret
from baton_git.core.state import State
from baton_git.git.store import ObjectDraft, Publication, Store
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.revision import Change, CommitStamp, Revision, UpdateRequest, WriteResult

REVISION_WEIGHT = 100_000
"""Weight of a revision in the store's cache, in bytes: roughly the size of its decoded records."""
SIDE_WEIGHT = 20_000
"""Weight of the revision of a session's own document, which mostly has records that its next document has, too."""
_LATELY = 1000
"""If an error leaves open whether a chain was published, this many newest commits are searched for it."""


class Prepared(NamedTuple):
    """A change that was computed but not written.

    Attributes:
        draft: None if there is nothing to write.
        plain: whether the only new files are those of the changed records.
        side: the second parent, if the change has one: an older revision with what was written on top of it.
    """

    outcome: WriteResult
    draft: ObjectDraft | None = None
    plain: bool = False
    side: Revision | None = None


class WriteTarget(Protocol):
    """The part of `Branch` that the write queue uses."""

    @property
    def store(self) -> Store: ...
    @property
    def namespace(self) -> Namespace: ...
    @property
    def ref(self) -> str: ...
    def check_settings(self) -> None:
        """Raise the error of an invalid setting, if there is one."""

    def check_name(self) -> None:
        """Raise InvalidDocument if the namespace is new and its name contains a secret."""

    def read(self) -> Revision:
        """Return the newest revision."""

    def history(self) -> Iterator[LogEntry]:
        """Yield the commit log, newest first."""

    def prepare(self, tip: Revision, change: Change, stamp: CommitStamp, expected: int | None) -> Prepared:
        """Compute a change on top of `tip`, in memory."""

    def predict_revision(self, work: Prepared) -> Revision:
        """Return the revision that reading the branch will give once the prepared change is published."""

    def predict_side(self, side: Revision) -> Revision:
        """Return the revision that reading the side of a change will give once it is published."""

    def update_markers(self, before: State, after: State) -> None:
        """Update the marker files of hooks."""


class TargetedUpdate(NamedTuple):
    """An update and the branch that it is for."""

    target: WriteTarget
    update: UpdateRequest


def write_update(target: WriteTarget, update: UpdateRequest, patience: float) -> WriteResult:
    """Apply an update to a branch and return the result once it is durable.

    Threads that share the store form a queue; one of them writes the updates of all that wait.

    Raises:
        Busy, InvalidDocument, WriteFailed, ...: under the same conditions as `Branch.update`.
    """
    _check_names(update.stamp)
    target.check_name()
    pending = _PendingUpdate(target, update, patience)
    if not target.store.commit_group(target.ref).serve(pending, _Writer(target).serve, patience):
        pending.fail(pending.make_busy_error())
    if pending.leads:
        target.store.tidy()
    return pending.answer()


def write_together(updates: Sequence[TargetedUpdate]) -> list[WriteResult | Exception | None]:
    """Try once to apply updates to any branches of one store, and return the result or the error of each.

    They share one pack and its syncs. The updates of one branch are applied in the order given. None stands for an
    update that was not written, and must be written with `write_update`: another process has moved its branch or
    holds its lock, which the others must not wait for, or its revision cannot be read or stored.
    """
    waiting = [_PendingUpdate(target, update, 0.0) for target, update in updates]
    batches: dict[str, list[_PendingUpdate]] = {}
    for pending in waiting:
        try:
            pending.target.check_settings()
            _check_names(pending.stamp)
            pending.target.check_name()
        except BatonError as error:
            pending.fail(error)
        else:
            batches.setdefault(pending.target.ref, []).append(pending)
    if batches:
        _write_branches([*batches.values()])
        waiting[0].target.store.tidy()
    return [pending.outcome for pending in waiting]


def _write_branches(batches: Sequence[Sequence[_PendingUpdate]]) -> None:
    """Try once to write the updates of each branch as one chain, all chains together.

    An update stays unanswered if its chain cannot be prepared, or its branch is locked or has moved.
    """
    store = batches[0][0].target.store
    with ExitStack() as stack:
        chains: list[tuple[_Writer, _CommitChain]] = []
        for batch in batches:
            writer = _Writer(batch[0].target)
            with suppress(BatonError):  # `write_update` reports the error
                chain = stack.enter_context(writer.build_chain(batch))
                if not chain.draft.objects:
                    chain.answer(None)
                elif stack.enter_context(store.queue(writer.target.ref, 0.0)) is not False:
                    chains.append((writer, chain))
        moves = store.publish_together([writer.describe(chain) for writer, chain in chains])
        for (writer, chain), moved in zip(chains, moves, strict=True):
            if moved is True:
                writer.finish(chain)
            elif isinstance(moved, StoreError) and writer.was_published(chain):
                for pending, _ in chain.steps:
                    pending.fail(moved)


class _Writer:
    """Writes batches of updates to one branch."""

    def __init__(self, target: WriteTarget) -> None:
        self.target = target
        self.store = target.store

    def serve(self, batch: Sequence[_PendingUpdate]) -> None:
        """Write the updates of several threads, in the order given."""
        batch[0].leads = True
        try:
            self._serve_all(batch)
        except BaseException as error:
            for pending in batch:
                pending.fail(error if isinstance(error, Exception) else _interrupted_error(self.target.namespace))
            if not isinstance(error, Exception):
                raise

    def _serve_all(self, batch: Sequence[_PendingUpdate]) -> None:
        for attempt in count():
            waiting = [pending for pending in batch if not pending.is_answered]
            if not waiting or self._attempt(waiting):
                return
            late = [pending for pending in waiting if time.monotonic() >= pending.end]
            for pending in late:
                pending.fail(pending.make_busy_error())
            if len(late) < len(waiting):
                time.sleep(random.uniform(0, min(0.5, 0.005 * 2**attempt)))  # noqa: S311  jitter

    def _attempt(self, batch: Sequence[_PendingUpdate]) -> bool:
        """Try once to write the batch as one chain; return whether every update has a result.

        The chain is prepared before the lock is taken, and a second time under the lock if the tip has moved.
        """
        left = min(pending.end for pending in batch) - time.monotonic()
        with self.build_chain(batch) as chain:
            if not chain.draft.objects:
                return chain.answer(None)
            tried = chain
            try:
                with self.store.queue(self.target.ref, min(2.0, max(0.0, left))):
                    if self.store.tip(self.target.ref) == chain.tip.commit:
                        return self._publish(chain)
                    with self.build_chain(batch) as again:
                        tried = again
                        return self._publish(again)
            except Busy as error:
                for pending in batch:
                    if time.monotonic() >= pending.end:
                        pending.fail(error)
                return False
            except StoreError:
                if len(batch) == 1 or self.was_published(tried):
                    raise
        for pending in batch:  # one update may be the cause of the error: write each separately
            self.serve([pending])
        return True

    @contextmanager
    def build_chain(self, batch: Sequence[_PendingUpdate]) -> Iterator[_CommitChain]:
        """Prepare the updates in memory, each on top of the one before.

        A change may read the commits it is based on, so unpublished commits are readable inside this context. An error
        is reported only after the chain is published, because an earlier change of the chain may have caused it.
        """
        draft = self.store.draft()
        with self.store.expose(draft):
            chain = _CommitChain(self.target.read(), draft)
            for pending in batch:
                try:
                    work = pending.target.prepare(chain.newest, pending.change, pending.stamp, pending.expected)
                except Exception as error:  # noqa: BLE001  raised again in the update's own thread
                    chain.refused.append((pending, error))
                    continue
                chain.steps.append((pending, work))
                if work.draft is not None:
                    draft.take_over(work.draft)
                    chain.newest = self.target.predict_revision(work)
                if work.side is not None:
                    chain.sides.append(self.target.predict_side(work.side))
            yield chain

    def _publish(self, chain: _CommitChain) -> bool:
        """Publish the chain and answer its updates; return False if the branch tip moved first."""
        if not chain.draft.objects:
            return chain.answer(None)
        if not self.store.publish(*self.describe(chain), keep=True, tidy=False):
            return False
        return self.finish(chain)

    def describe(self, chain: _CommitChain) -> Publication:
        """Return what the store needs to publish a chain."""
        newest = chain.newest.commit
        assert newest is not None
        stamp = chain.steps[-1][0].stamp
        more = f" and {len(chain.steps) - 1} more" if len(chain.steps) > 1 else ""
        entry = stamp.reflog_entry(f"{stamp.op}{more}")
        return Publication(chain.draft, self.target.ref, chain.tip.commit, newest, entry)

    def finish(self, chain: _CommitChain) -> bool:
        """Answer the updates of a published chain; always return True."""
        for side in chain.sides:
            self.store.memory.put(("revision", self.target.namespace, side.commit), side, SIDE_WEIGHT)
        self.store.memory.put(("revision", self.target.namespace, chain.newest.commit), chain.newest, REVISION_WEIGHT)
        for _, work in chain.steps:
            self.target.update_markers(work.outcome.before.state, work.outcome.revision.state)
        return chain.answer(self.store.find_checkout(self.target.ref))

    def was_published(self, chain: _CommitChain) -> bool:
        """Return whether the newest commit of a chain is on the branch, even if newer commits follow it."""
        newest = chain.newest.commit
        return any(entry.commit == newest for entry in islice(self.target.history(), _LATELY))


class _PendingUpdate:
    """An update that one thread waits for, and its result.

    Attributes:
        end: when the thread stops waiting, in monotonic time.
        leads: whether this thread writes the batch of updates.
    """

    def __init__(self, target: WriteTarget, update: UpdateRequest, patience: float) -> None:
        self.target = target
        self.change, self.stamp, self.expected = update
        self.end = time.monotonic() + patience
        self.leads = False
        self._patience = patience
        self._result: WriteResult | Exception | None = None

    @property
    def is_answered(self) -> bool:
        return self._result is not None

    def set_result(self, outcome: WriteResult) -> None:
        self._result = outcome

    def fail(self, error: Exception) -> None:
        self._result = self._result or error

    @property
    def outcome(self) -> WriteResult | Exception | None:
        """The result of the update, or its error; None if it has neither yet."""
        return self._result

    def answer(self) -> WriteResult:
        """Return the result of the update, or raise its error."""
        assert self._result is not None
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def make_busy_error(self) -> Busy:
        why = f"{self.target.namespace}: others kept writing for {self._patience:g} s"
        return Busy(why, hint="nothing was written; try again")


class _CommitChain:
    """A chain of prepared updates.

    Attributes:
        newest: the revision after the last of them.
        sides: the second parents in the chain, each the base of the next document of its session.
    """

    def __init__(self, tip: Revision, draft: ObjectDraft) -> None:
        self.tip = tip
        self.draft = draft
        self.newest = tip
        self.sides: list[Revision] = []
        self.steps: list[tuple[_PendingUpdate, Prepared]] = []
        self.refused: list[tuple[_PendingUpdate, Exception]] = []

    def answer(self, checked_out_at: Path | None) -> bool:
        """Set the result or error of every update in the chain; always return True."""
        for pending, work in self.steps:
            outcome = work.outcome
            pending.set_result(outcome if work.draft is None else outcome._replace(checked_out_at=checked_out_at))
        for pending, error in self.refused:
            pending.fail(error)
        return True


def _interrupted_error(namespace: Namespace) -> WriteFailed:
    return WriteFailed(
        f"{namespace}: the thread that was writing this update was interrupted",
        hint="check whether the update was written before you repeat it",
    )


def _check_names(stamp: CommitStamp) -> None:
    """Raise InvalidDocument if the name of the session, agent or machine contains a secret."""
    for label, text in (("session", stamp.session), ("agent", stamp.agent), ("machine", stamp.machine)):
        if text:
            refuse_secret(label, text)
