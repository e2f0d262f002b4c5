"""A namespace as versions: read one, put the next one on top, look back.

`update` is the only place where state is written: read the tip, compute the change from exactly that tip, put
the objects away durably, move the ref if it is still there, and begin anew when somebody else was faster.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from baton_git import constancy, diff, layout
from baton_git.diary import LogEntry, diary_of, revision_of
from baton_git.errors import (
    Busy,
    InvalidArgument,
    InvalidDocument,
    InvalidName,
    NotAllowed,
    NotFound,
    Stale,
    StoreError,
    WriteFailed,
)
from baton_git.lifecycle import waits_for_code
from baton_git.local import Marks
from baton_git.names import Namespace, Oid
from baton_git.records.baton import OpenLoop
from baton_git.redaction import Redaction
from baton_git.scrubbing import refuse_secret, scrubbed
from baton_git.state import Key, State
from baton_git.store import Draft, Edit, Store
from baton_git.times import typed

PREFIX = "refs/heads/baton/"
ROOT_AUTHOR = "baton-git <baton-git@localhost>"
ROOT_MESSAGE = "A namespace of baton-git begins\n\nBaton-Op: root\nBaton-Revision: 0\n"
PATIENCE = 10.0
"""Seconds that a write waits for other writers before it gives up with `Busy`."""
_VERSION_WEIGHT = 100_000
"""What a version weighs in the memory of its store: about what all its decoded records take."""
_LATELY = 1000
"""How many commits back one is looked for that was made a moment ago."""
REVERT_DEPTH = 500
"""How many versions are compared with one that looks like a revert."""


class Stamp(NamedTuple):
    """Who changes something, when, and by which verb. `now` is aware; `author` is `Name <mail>`."""

    op: str
    now: datetime
    author: str
    session: str | None = None
    agent: str | None = None
    machine: str | None = None

    @property
    def seconds(self) -> int:
        return int(self.now.timestamp())

    @property
    def timezone(self) -> int:
        """Seconds east of UTC."""
        offset = self.now.utcoffset()
        return int(offset.total_seconds()) if offset else 0


class Version(NamedTuple):
    """A namespace at one commit; without one, a namespace that does not exist."""

    namespace: Namespace
    state: State
    commit: Oid | None = None
    tree: Oid | None = None
    revision: int = 0
    time: datetime | None = None
    by: str = ""
    """The verb that made it; empty when a person committed by hand."""


class Proposal(NamedTuple):
    """The next version: the state, and how it came about.

    Attributes:
        state: what the commit holds.
        side: an older version and the state that was written on top of it; both become a second parent, so
            that the history shows the work that went on at the same time.
        files: paths whose stored bytes are put back as they are (None: the file goes), for rollbacks; `state`
            must say the same.
        note: put before the subject, when the verb says more than the changes do.
        trailers: more of them, for what the verb must find again.
        redactions: what was taken out before it was merged.
    """

    state: State
    side: tuple[Version, State] | None = None
    files: Mapping[str, Edit] = MappingProxyType({})
    note: str = ""
    trailers: tuple[tuple[str, str], ...] = ()
    redactions: tuple[tuple[Key, Redaction], ...] = ()


Change = Callable[[Version], State | Proposal]
"""What the next version is to be, computed from exactly the version it will stand on."""


class Written(NamedTuple):
    """What `update` did. `changes` is empty, and `version` the one that was there, when nothing differed.

    `checked_out_at` is a work tree that has the branch checked out: the new commit shows there as a revert.
    """

    version: Version
    before: Version
    changes: tuple[diff.RecordChange, ...] = ()
    redactions: tuple[tuple[Key, Redaction], ...] = ()
    checked_out_at: Path | None = None


class Update(NamedTuple):
    """What somebody wants of `Branch.update`."""

    change: Change
    stamp: Stamp
    expected_revision: int | None = None


class Updated(NamedTuple):
    """What became of an update: what was written, or the error."""

    found: Written | Exception

    def result(self) -> Written:
        """What was written; raises the error."""
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@dataclass(frozen=True)
class Branch:
    """The versions of one namespace in one store."""

    store: Store
    namespace: Namespace
    prefix: str = PREFIX
    sign: Callable[[bytes], bytes] | None = None
    """What signs the commits that are made here; merges, which are the same everywhere, stay without."""

    @property
    def ref(self) -> str:
        return self.prefix + self.namespace.component

    # --- reading

    def read(self, at: str | None = None) -> Version:
        """The newest version, or the one that `at` names (see `resolve`).

        Raises:
            NotFound: nothing matches `at`.
            Corrupt: the ref, the commit or its folders cannot be read.
        """
        tip = self.store.tip(self.ref)
        if tip is None and at is None:
            return Version(self.namespace, State())
        if tip is None:
            raise NotFound("namespace", str(self.namespace), hint="baton init makes it")
        return self.version(self.resolve(at, tip) if at is not None else tip)

    def version(self, commit: Oid) -> Version:
        """The namespace at one commit; what is decoded of it is kept, as long as the store has room for it.

        Raises:
            Corrupt, NotAllowed: as for `read`.
        """
        return self.store.memory.made(
            ("version", self.namespace, commit), lambda: self._version(commit), _VERSION_WEIGHT
        )

    def _version(self, commit: Oid) -> Version:
        info = self.store.commit(commit)
        entry = diary_of(self.store, info)
        root = self.store.folder(info.tree)
        if layout.FORMAT_FILE not in root.entries():
            raise NotAllowed(
                f"{self.ref} has no {layout.FORMAT_FILE}: it is not a branch of baton-git",
                hint="choose another namespace (--namespace), or another prefix (git config baton.refPrefix)",
            )
        return Version(
            self.namespace,
            layout.state_of(root, self.store.memory),
            commit,
            info.tree,
            revision_of(self.store, info),
            entry.time,
            entry.op,
        )

    def history(self, tip: Oid | None = None, *, first_parent: bool = False) -> Iterator[LogEntry]:
        """The diary, newest first, read as far as it is asked for."""
        start = tip or self.store.tip(self.ref)
        if start is None:
            return
        yield from (diary_of(self.store, info) for info in self.store.log(start, first_parent=first_parent))

    def suspected_revert(self, version: Version) -> LogEntry | None:
        """The version that the newest commit goes back to, when a person made it by hand and without saying so.

        That is what `git commit -a` does in a work tree that has the branch checked out while others write.
        """
        if version.commit is None or version.by:
            return None
        return self.goes_back_to(version.commit)

    def goes_back_to(self, commit: Oid) -> LogEntry | None:
        """The version before the last that a commit has the same files as; None when there is none."""
        first, *before = islice(self.history(commit, first_parent=True), REVERT_DEPTH)
        older = before[1:]
        return next((entry for entry in older if entry.tree == first.tree), None)

    def resolve(self, text: str, tip: Oid | None = None) -> Oid:
        """The commit that `text` names: a revision number, `~N` back from the newest, a commit id (at least
        seven digits of it), or an ISO date or time, which means the newest version that is not later.

        Raises:
            NotFound: there is no such commit on the branch.
            InvalidArgument: it is none of these.
        """
        tip = tip or self.store.tip(self.ref)
        if tip is None:
            raise NotFound("namespace", str(self.namespace), hint="baton init makes it")
        test = self._test_of(text)
        plain = not _COMMIT.fullmatch(text) or _REVISION.fullmatch(text)
        for number, entry in enumerate(self.history(tip, first_parent=bool(plain))):
            if test(number, entry):
                return entry.commit
        raise NotFound("revision", text, hint="baton log shows what there is")

    def _number(self, entry: LogEntry) -> int:
        return revision_of(self.store, self.store.commit(entry.commit)) if entry.revision is None else entry.revision

    def _test_of(self, text: str) -> Callable[[int, LogEntry], bool]:
        if match := _BACK.fullmatch(text):
            back = int(match[1] or 1)
            return lambda number, _: number == back
        if match := _REVISION.fullmatch(text):
            wanted = int(match[1])
            return lambda _, entry: self._number(entry) == wanted
        if _COMMIT.fullmatch(text):
            return lambda _, entry: entry.commit.startswith(text)
        latest = _moment(text)
        return lambda _, entry: entry.time <= latest

    def is_namespace(self, commit: Oid) -> bool:
        """Whether a commit is one of baton's, and not of a branch that only has such a name."""
        return layout.FORMAT_FILE in self.store.folder(self.store.commit(commit).tree).entries()

    def beside(self, ref: str) -> Branch | None:
        """The branch of the same store that `ref` names; None when that is no namespace."""
        try:
            return Branch(self.store, Namespace.from_component(ref.removeprefix(self.prefix)), self.prefix, self.sign)
        except InvalidName:
            return None

    # --- writing

    def update(
        self,
        change: Change,
        stamp: Stamp,
        *,
        expected_revision: int | None = None,
        patience: float = PATIENCE,
    ) -> Written:
        """The next version: `change` of the newest one, committed durably.

        `change` may be called again when somebody else was faster, always with the version it will stand on.
        Nothing is written when it gives back an equal state.

        Raises:
            Stale: the newest version is not `expected_revision`.
            Busy: others kept writing, or held the lock, for `patience` seconds.
            InvalidDocument: an id or the name of the session is a secret, which cannot be redacted.
            NotAllowed: it changes what is set once.
            WriteFailed: the disk refused; nothing was changed.
        """
        return self.update_all([Update(change, stamp, expected_revision)], patience=patience)[0].result()

    def update_all(self, updates: Sequence[Update], *, patience: float = PATIENCE) -> list[Updated]:
        """What several callers want, as if each had called `update`, in this order: each gets its own commit, or error.

        They become durable together. A server calls this for those that wait: one thread for all of them costs less
        than one for each, which would stand in line (see `store/line`) and take turns with the interpreter.
        """
        end = time.monotonic() + patience
        wishes = [_Wish(self, one, end, patience) for one in updates]
        waiting = [one for one in wishes if one.may_be()]
        if waiting and not self.store.line(self.ref).serve(waiting, self._serve, patience):
            for one in waiting:
                one.fail(one.too_late())
        if any(one.leads for one in waiting):
            self.store.tidy()
        return [one.answer() for one in wishes]

    def _serve(self, wishes: Sequence[_Wish]) -> None:
        """Carries out what several threads want, in this order: each gets its own commit, or its own error.

        They become durable and visible together, and nobody is told of success before that.
        """
        wishes[0].leads = True
        try:
            self._serve_all(wishes)
        except BaseException as error:
            for one in wishes:
                one.fail(error if isinstance(error, Exception) else _interrupted(self.namespace))
            if not isinstance(error, Exception):
                raise

    def _serve_all(self, wishes: Sequence[_Wish]) -> None:
        for attempt in count():
            waiting = [one for one in wishes if not one.is_answered]
            if not waiting or self._attempt(waiting):
                return
            late = [one for one in waiting if time.monotonic() >= one.end]
            for one in late:
                one.fail(one.too_late())
            if len(late) < len(waiting):
                time.sleep(random.uniform(0, min(0.5, 0.005 * 2**attempt)))  # noqa: S311  jitter is no secret

    def _attempt(self, wishes: Sequence[_Wish]) -> bool:
        """Whether all were answered. What they come to is prepared before our turn, and anew if somebody was faster."""
        left = min(one.end for one in wishes) - time.monotonic()
        with self._chained(wishes) as chain:
            if not chain.draft.objects:
                return chain.answer(None)
            tried = chain
            try:
                with self.store.queue(self.ref, min(2.0, max(0.0, left))):
                    if self.store.tip(self.ref) == chain.tip.commit:
                        return self._publish(chain)
                    with self._chained(wishes) as again:
                        tried = again
                        return self._publish(again)
            except Busy as error:
                for one in wishes:
                    if time.monotonic() >= one.end:
                        one.fail(error)
                return False
            except StoreError:
                if len(wishes) == 1 or self._was_published(tried):
                    raise
        for one in wishes:  # the store may refuse what one of them wants, and not the others
            self._serve([one])
        return True

    def _was_published(self, chain: _Chain) -> bool:
        """Whether the branch came to stand at the newest of a chain, also where others have built on it since."""
        newest = chain.newest.commit
        return any(one.commit == newest for one in islice(self.history(), _LATELY))

    @contextmanager
    def _chained(self, wishes: Sequence[_Wish]) -> Iterator[_Chain]:
        """What the wishes come to, each on top of the one before, in memory.

        A change may read the commits that it stands on, so inside they can be read before they are published. What one
        change is refused for counts with the rest: it may be because of one before it, which is not published yet.
        """
        draft = self.store.draft()
        with self.store.foreseen(draft):
            chain = _Chain(self.read(), draft)
            for wish in wishes:
                try:
                    work = wish.branch.prepared(chain.newest, wish.change, wish.stamp, wish.expected)
                except Exception as error:  # noqa: BLE001  whatever it is, its own thread will raise it
                    chain.refused.append((wish, error))
                    continue
                chain.steps.append((wish, work))
                if work.draft is not None:
                    draft.take_over(work.draft)
                    chain.newest = self._next(work)
            yield chain

    def advance(self, draft: Draft, expected: Oid | None, new: Oid, stamp: Stamp) -> bool:
        """Moves the branch to a commit made elsewhere, or in `draft`; False when it does not stand at `expected`.

        Raises:
            Busy, Corrupt, WriteFailed: as in `Store.publish`.
        """
        moved = self.store.publish(
            draft, self.ref, expected, new,
            who=stamp.author, time=stamp.seconds, timezone=stamp.timezone, message=f"baton: {stamp.op}",
        )  # fmt: skip
        if moved:
            before = self.version(expected).state if expected is not None else State()
            self.mark(before, self.version(new).state)
        return moved

    def mark(self, before: State, after: State) -> None:
        """Leaves word for hooks: the branch has moved, and whether a check now waits for the code to change."""
        marks = Marks(self.store.repository.common_dir)
        if marks.synced.has(self.namespace.component):
            marks.unsent.set(self.namespace.component)
        loops = (after.entry(key) for key in before.differing(after) if key.kind == OpenLoop.kind and not key.archived)
        if any(isinstance(one, OpenLoop) and waits_for_code(one) for one in loops):
            marks.due.set(self.namespace.component)

    def create(self, stamp: Stamp) -> Version:
        """The namespace with its root commit, the same one wherever it is created; as it is if it exists."""
        now = self.read()
        if now.commit is not None:
            return now
        draft = self.store.draft()
        root = self._root(draft)
        self.store.publish(
            draft, self.ref, None, root,
            who=stamp.author, time=stamp.seconds, timezone=stamp.timezone, message="baton: init",
        )  # fmt: skip
        return self.read()

    def _root(self, draft: Draft) -> Oid:
        tree = draft.tree(None, layout.ROOT_FILES)
        return draft.commit(tree, (), author=ROOT_AUTHOR, time=0, timezone=0, message=ROOT_MESSAGE)

    def _publish(self, chain: _Chain) -> bool:
        """Whether the branch stands at the newest version of the chain now, and everybody has an answer."""
        if not chain.draft.objects:
            return chain.answer(None)
        newest = chain.newest.commit
        assert newest is not None
        stamp = chain.steps[-1][0].stamp
        more = f" and {len(chain.steps) - 1} more" if len(chain.steps) > 1 else ""
        moved = self.store.publish(
            chain.draft, self.ref, chain.tip.commit, newest,
            who=stamp.author, time=stamp.seconds, timezone=stamp.timezone, message=f"baton: {stamp.op}{more}",
            tidy=False,
        )  # fmt: skip
        if not moved:
            return False
        self.store.memory.put(("version", self.namespace, newest), chain.newest, _VERSION_WEIGHT)
        for _, work in chain.steps:
            self.mark(work.outcome.before.state, work.outcome.version.state)
        return chain.answer(self.store.checked_out_at(self.ref))

    def _next(self, work: _Work) -> Version:
        """The new version as it will be read back, with what was decoded of the one before."""
        made, source = work.outcome.version, work.outcome.before.state.source
        assert made.commit is not None
        version = self._version(made.commit)
        if not work.plain or not isinstance(source, layout.TreeSource):
            return version
        root = self.store.folder(version.tree)
        return version._replace(state=State(source.carried_on(root, made.state.edits)))

    def prepared(self, tip: Version, change: Change, stamp: Stamp, expected: int | None) -> _Work:
        """Everything up to the commit, in memory."""
        if expected is not None and expected != tip.revision:
            raise Stale(str(self.namespace), expected, tip.revision)
        found = change(tip)
        proposal = found if isinstance(found, Proposal) else Proposal(found)
        edits, redactions = scrubbed(tip.state, proposal.state)
        after = State(proposal.state.source, edits)
        constancy.refuse(tip.state, after)
        changes = diff.diff(tip.state, after)
        files = {**layout.encode(edits), **proposal.files}
        if not changes and not files:
            return _Work(Written(tip, tip))
        draft = self.store.draft()
        parents, base_revision = self._parents(draft, tip, proposal, stamp)
        base_tree = tip.tree or draft.tree(None, layout.ROOT_FILES)
        tree = draft.tree(base_tree, files)
        if tree == tip.tree and proposal.side is None:
            return _Work(Written(tip, tip))
        subject = f"{proposal.note}: {diff.subject(changes)}" if proposal.note else diff.subject(changes)
        commit = self.seal(draft, tree, parents, base_revision + 1, subject, stamp, proposal.trailers)
        version = Version(self.namespace, after, commit, tree, base_revision + 1, stamp.now, stamp.op)
        outcome = Written(version, tip, tuple(changes), (*proposal.redactions, *redactions))
        return _Work(outcome, draft, plain=not proposal.files)

    def _parents(self, draft: Draft, tip: Version, proposal: Proposal, stamp: Stamp) -> tuple[tuple[Oid, ...], int]:
        """The parents of the next commit, and the largest revision among them."""
        first = tip.commit or self._root(draft)
        if proposal.side is None:
            return (first,), tip.revision
        base, state = proposal.side
        edits, _ = scrubbed(base.state, state)
        tree = draft.tree(base.tree, layout.encode(edits))
        subject = diff.subject(diff.diff(base.state, State(state.source, edits)))
        onto = (base.commit or first,)
        own = self.seal(draft, tree, onto, base.revision + 1, subject, stamp, proposal.trailers)
        return (first, own), max(tip.revision, base.revision + 1)

    def seal(
        self,
        draft: Draft,
        tree: Oid,
        parents: tuple[Oid, ...],
        revision: int,
        subject: str,
        stamp: Stamp,
        more: tuple[tuple[str, str], ...],
    ) -> Oid:
        """A commit in the draft, with a subject and the trailers that say who did what."""
        trailers = (
            ("Baton-Op", stamp.op if len(parents) == 1 else f"{stamp.op}-merge"),
            ("Baton-Session", stamp.session),
            ("Baton-Agent", stamp.agent),
            ("Baton-Machine", stamp.machine),
            *more,
            ("Baton-Revision", str(revision)),
        )
        lines = "".join(f"{name}: {diff.one_line(value, 200)}\n" for name, value in trailers if value)
        return draft.commit(
            tree, parents,
            author=stamp.author, time=stamp.seconds, timezone=stamp.timezone, message=f"{subject}\n\n{lines}",
            sign=self.sign,
        )  # fmt: skip


class _Work(NamedTuple):
    """A change as far as it goes without writing; no draft when there is nothing to write.

    `plain`: whether the new files are those of the records that changed, and no others.
    """

    outcome: Written
    draft: Draft | None = None
    plain: bool = False


class _Wish:
    """A change that one thread waits for, and what became of it."""

    def __init__(self, branch: Branch, update: Update, end: float, patience: float) -> None:
        self.branch = branch
        self.change, self.stamp, self.expected = update
        self.end = end
        self.leads = False
        self._patience = patience
        self._found: Written | Exception | None = None

    @property
    def is_answered(self) -> bool:
        return self._found is not None

    def succeed(self, outcome: Written) -> None:
        self._found = outcome

    def fail(self, error: Exception) -> None:
        self._found = self._found or error

    def may_be(self) -> bool:
        """Whether the name of who wishes can be written; else that is the answer."""
        try:
            _check_stamp(self.stamp)
        except InvalidDocument as error:
            self.fail(error)
        return not self.is_answered

    def answer(self) -> Updated:
        assert self._found is not None
        return Updated(self._found)

    def too_late(self) -> Busy:
        why = f"{self.branch.namespace}: others kept writing for {self._patience:g} s"
        return Busy(why, hint="nothing was written; try again")


class _Chain:
    """What several wishes come to, each on top of the one before; `newest` is the last version, read back."""

    def __init__(self, tip: Version, draft: Draft) -> None:
        self.tip = tip
        self.draft = draft
        self.newest = tip
        self.steps: list[tuple[_Wish, _Work]] = []
        self.refused: list[tuple[_Wish, Exception]] = []

    def answer(self, checked_out_at: Path | None) -> bool:
        """Tells everybody, now that it is so; True."""
        for wish, work in self.steps:
            found = work.outcome
            wish.succeed(found if work.draft is None else found._replace(checked_out_at=checked_out_at))
        for wish, error in self.refused:
            wish.fail(error)
        return True


def _interrupted(namespace: Namespace) -> WriteFailed:
    return WriteFailed(
        f"{namespace}: the thread that wrote for this one was stopped", hint="read it, and see whether it was written"
    )


_BACK = re.compile(r"~(\d{0,9})")
_REVISION = re.compile(r"r?(\d{1,9})")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def namespaces(store: Store, prefix: str = PREFIX) -> list[Namespace]:
    """The namespaces of a store, by name; refs below the prefix that are no namespace are left out."""
    found = []
    for ref in store.refs(prefix):
        try:
            found.append(Namespace.from_component(ref.removeprefix(prefix)))
        except InvalidName:
            continue
    return sorted(found, key=str)


def _moment(text: str) -> datetime:
    try:
        return typed(text, end_of_day=True)
    except ValueError:
        raise InvalidArgument(
            f"{text[:60]!r} is no revision",
            hint="give a number, ~N, a commit id of 7 or more digits, or an ISO date or time",
        ) from None


def _check_stamp(stamp: Stamp) -> None:
    for what, text in (("session", stamp.session), ("agent", stamp.agent), ("machine", stamp.machine)):
        if text:
            refuse_secret(what, text)
