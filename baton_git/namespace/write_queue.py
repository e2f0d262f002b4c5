"""Group commit: batch concurrent updates, one commit each, one pack, one ref move.

A batch reads the tip, prepares a chain of commits on it in memory, stores them in one pack and moves the ref once. When
another writer was faster, the chain is prepared again; an update that is not written in time gets `Busy`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple, Protocol

from baton_git.core.errors import Busy, StoreError, WriteFailed
from baton_git.core.names import Namespace
from baton_git.core.redaction.changes import refuse_secret
from baton_git.core.state import State
from baton_git.git.store import ObjectDraft, Store
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.revision import Change, CommitStamp, Revision, UpdateRequest, WriteResult

VERSION_WEIGHT = 100_000
"""The weight of a revision in the store's cache, in bytes: about what its decoded records take."""
_LATELY = 1000
"""How many commits back a commit made a moment ago is searched for."""


class Prepared(NamedTuple):
    """A change computed but not written; no draft when there is nothing to write.

    `plain`: whether the new files are only those of the changed records.
    """

    outcome: WriteResult
    draft: ObjectDraft | None = None
    plain: bool = False


class WriteTarget(Protocol):
    """The part of a `Branch` that the write queue needs."""

    @property
    def store(self) -> Store: ...
    @property
    def namespace(self) -> Namespace: ...
    @property
    def ref(self) -> str: ...
    def check_name(self) -> None:
        """Raise InvalidDocument for a new namespace whose name holds a secret."""

    def read(self) -> Revision:
        """Return the newest revision."""

    def history(self) -> Iterator[LogEntry]:
        """Yield the commit log, newest first."""

    def prepare(self, tip: Revision, change: Change, stamp: CommitStamp, expected: int | None) -> Prepared:
        """Compute a change on top of `tip`, in memory."""

    def predict_revision(self, work: Prepared) -> Revision:
        """Return the prepared revision as it will be read back."""

    def mark(self, before: State, after: State) -> None:
        """Update the marker files of hooks."""


def write_update(target: WriteTarget, update: UpdateRequest, patience: float) -> WriteResult:
    """Apply an update to a branch; return its result once it is durable.

    Threads that share the store queue up, and one of them writes for all that wait.

    Raises:
        Busy, InvalidDocument, WriteFailed, ...: as `Branch.update`.
    """
    _check_names(update.stamp)
    target.check_name()
    wish = _PendingUpdate(target, update, patience)
    if not target.store.line(target.ref).serve(wish, _Writer(target).serve, patience):
        wish.fail(wish.too_late())
    if wish.leads:
        target.store.tidy()
    return wish.answer()


class _Writer:
    """Writes batches of updates to one branch."""

    def __init__(self, target: WriteTarget) -> None:
        self.target = target
        self.store = target.store

    def serve(self, wishes: Sequence[_PendingUpdate]) -> None:
        """Carry out the updates of several threads in this order."""
        wishes[0].leads = True
        try:
            self._serve_all(wishes)
        except BaseException as error:
            for wish in wishes:
                wish.fail(error if isinstance(error, Exception) else _interrupted_error(self.target.namespace))
            if not isinstance(error, Exception):
                raise

    def _serve_all(self, wishes: Sequence[_PendingUpdate]) -> None:
        for attempt in count():
            waiting = [wish for wish in wishes if not wish.is_answered]
            if not waiting or self._attempt(waiting):
                return
            late = [wish for wish in waiting if time.monotonic() >= wish.end]
            for wish in late:
                wish.fail(wish.too_late())
            if len(late) < len(waiting):
                time.sleep(random.uniform(0, min(0.5, 0.005 * 2**attempt)))  # noqa: S311  jitter is no secret

    def _attempt(self, wishes: Sequence[_PendingUpdate]) -> bool:
        """Write one chain, prepared before the lock is taken, and again if the tip moved; whether all were answered."""
        left = min(wish.end for wish in wishes) - time.monotonic()
        with self._build_chain(wishes) as chain:
            if not chain.draft.objects:
                return chain.answer(None)
            tried = chain
            try:
                with self.store.queue(self.target.ref, min(2.0, max(0.0, left))):
                    if self.store.tip(self.target.ref) == chain.tip.commit:
                        return self._publish(chain)
                    with self._build_chain(wishes) as again:
                        tried = again
                        return self._publish(again)
            except Busy as error:
                for wish in wishes:
                    if time.monotonic() >= wish.end:
                        wish.fail(error)
                return False
            except StoreError:
                if len(wishes) == 1 or self._was_published(tried):
                    raise
        for wish in wishes:  # the store may refuse what one of them wants, and not the others
            self.serve([wish])
        return True

    @contextmanager
    def _build_chain(self, wishes: Sequence[_PendingUpdate]) -> Iterator[_CommitChain]:
        """Prepare the updates in memory, each on top of the one before.

        A change may read the commits it is based on, so unpublished ones are readable inside this context. An error is
        only reported once the chain is published, because it may be caused by an earlier change of the chain.
        """
        draft = self.store.draft()
        with self.store.foreseen(draft):
            chain = _CommitChain(self.target.read(), draft)
            for wish in wishes:
                try:
                    work = wish.target.prepare(chain.newest, wish.change, wish.stamp, wish.expected)
                except Exception as error:  # noqa: BLE001  whatever it is, its own thread will raise it
                    chain.refused.append((wish, error))
                    continue
                chain.steps.append((wish, work))
                if work.draft is not None:
                    draft.take_over(work.draft)
                    chain.newest = self.target.predict_revision(work)
            yield chain

    def _publish(self, chain: _CommitChain) -> bool:
        """Publish the chain; whether the branch is at its newest revision now and every update has an answer."""
        if not chain.draft.objects:
            return chain.answer(None)
        newest = chain.newest.commit
        assert newest is not None
        stamp = chain.steps[-1][0].stamp
        more = f" and {len(chain.steps) - 1} more" if len(chain.steps) > 1 else ""
        entry = stamp.reflog_entry(f"{stamp.op}{more}")
        if not self.store.publish(chain.draft, self.target.ref, chain.tip.commit, newest, entry, tidy=False):
            return False
        self.store.memory.put(("version", self.target.namespace, newest), chain.newest, VERSION_WEIGHT)
        for _, work in chain.steps:
            self.target.mark(work.outcome.before.state, work.outcome.revision.state)
        return chain.answer(self.store.checked_out_at(self.target.ref))

    def _was_published(self, chain: _CommitChain) -> bool:
        """Whether the newest commit of a chain is on the branch, also when others have built on it since."""
        newest = chain.newest.commit
        return any(entry.commit == newest for entry in islice(self.target.history(), _LATELY))


class _PendingUpdate:
    """An update that one thread waits for, and its result."""

    def __init__(self, target: WriteTarget, update: UpdateRequest, patience: float) -> None:
        self.target = target
        self.change, self.stamp, self.expected = update
        self.end = time.monotonic() + patience
        self.leads = False
        self._patience = patience
        self._found: WriteResult | Exception | None = None

    @property
    def is_answered(self) -> bool:
        return self._found is not None

    def set_result(self, outcome: WriteResult) -> None:
        self._found = outcome

    def fail(self, error: Exception) -> None:
        self._found = self._found or error

    def answer(self) -> WriteResult:
        """Return what was written, or raise the error."""
        assert self._found is not None
        if isinstance(self._found, Exception):
            raise self._found
        return self._found

    def too_late(self) -> Busy:
        why = f"{self.target.namespace}: others kept writing for {self._patience:g} s"
        return Busy(why, hint="nothing was written; try again")


class _CommitChain:
    """A chain of prepared updates; `newest` is the last revision, as it will be read back."""

    def __init__(self, tip: Revision, draft: ObjectDraft) -> None:
        self.tip = tip
        self.draft = draft
        self.newest = tip
        self.steps: list[tuple[_PendingUpdate, Prepared]] = []
        self.refused: list[tuple[_PendingUpdate, Exception]] = []

    def answer(self, checked_out_at: Path | None) -> bool:
        """Give every update of the chain its result; True."""
        for wish, work in self.steps:
            outcome = work.outcome
            wish.set_result(outcome if work.draft is None else outcome._replace(checked_out_at=checked_out_at))
        for wish, error in self.refused:
            wish.fail(error)
        return True


def _interrupted_error(namespace: Namespace) -> WriteFailed:
    return WriteFailed(
        f"{namespace}: the thread that wrote for this one was stopped", hint="read it, and see whether it was written"
    )


def _check_names(stamp: CommitStamp) -> None:
    """Raise InvalidDocument if a name (session, agent, machine) holds a secret."""
    for label, text in (("session", stamp.session), ("agent", stamp.agent), ("machine", stamp.machine)):
        if text:
            refuse_secret(label, text)
