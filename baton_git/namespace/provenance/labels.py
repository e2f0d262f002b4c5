"""Labels: who vouches for each record of a namespace, derived from its commits and never from the record itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Literal, NamedTuple

from baton_git.core.errors import Corrupt, Rejected
from baton_git.core.names import Oid
from baton_git.core.records.base import Facet
from baton_git.core.state import Key
from baton_git.namespace.caller import Vouching
from baton_git.namespace.commit_log import UNAUTHENTICATED
from baton_git.namespace.history import BranchHistory
from baton_git.namespace.provenance.fold import compute_marks
from baton_git.namespace.provenance.marks import CommitClaim, Mark, MarkSnapshots, ProvenanceMarks, Slot
from baton_git.namespace.provenance.uniform import UniformCommits

Kind = Literal["confirmed", "agent", "unauthenticated", "received", "hand", "unknown"]
RANK: dict[Kind, int] = {"unknown": -1, "hand": 0, "received": 1, "unauthenticated": 2, "agent": 3, "confirmed": 4}
WRITTEN_HERE: tuple[Kind, ...] = ("agent", "unauthenticated")
"""The kinds of what baton wrote on this machine for somebody who need not be a person."""
_KEPT_FROM = 8
"""Marks are stored on the disk if computing them visited at least this many commits."""
_WEIGHT = 200
"""Weight of one mark in the cache of a store, in bytes."""


class Label(NamedTuple):
    """Who vouches for a record.

    Attributes:
        kind: `confirmed` by a person, written by an `agent` on this machine, `unauthenticated` if a server without a
            token wrote it on this machine, `received` from a remote, or edited by `hand`; `unknown` if the history
            cannot be read.
        remote, url: the name and the address of the remote; empty unless received.
        author: the author of a commit that was made by hand or that claims a confirmation; otherwise empty.
        is_claim: whether the commit claims that a person confirmed the record, and nobody here vouches for that.
    """

    kind: Kind
    remote: str = ""
    url: str = ""
    author: str = ""
    is_claim: bool = False

    @property
    def rank(self) -> int:
        return RANK[self.kind]


class Patience(NamedTuple):
    """How long to wait for labels that many new commits make slow to compute.

    Attributes:
        seconds: time limit.
        hand_over: called after it; returns whether somebody else computes them. If not, there is no limit.
    """

    seconds: float
    hand_over: Callable[[], bool]


class Labels:
    """The labels of the records at one commit, computed on first use.

    With `is_tolerant`, an older revision that cannot be read makes the labels `unknown`, so that the records can still
    be shown. A decision about a change needs the real labels, and fails without them. With `patience`, the labels are
    also `unknown` if there was no time for them.

    Attributes:
        problem: why the labels are unknown; empty otherwise, and before the first use.
    """

    def __init__(
        self, history: BranchHistory, commit: Oid | None, vouching: Vouching, *, is_tolerant: bool = False,
        patience: Patience | None = None,
    ) -> None:  # fmt: skip
        self.problem = ""
        self._is_tolerant = is_tolerant
        self._patience = patience
        self._is_late = False
        self._history = history
        self._commit = commit
        self._vouching = vouching
        self._known: dict[Mark, Label] = {}
        self._strangers: dict[Mark, Label | None] = {}

    def of(self, key: Key, facet: Facet = "text") -> Label:
        """Return who vouches for a facet of a record: its text, its check, or its closing.

        Raises:
            Corrupt: a commit or a tree cannot be read.
            StoreError, WriteFailed: the ledger cannot be read or created.
        """
        try:
            return self._find_label(Slot(key, facet)) if not self._is_late else _UNKNOWN
        except _Late:
            self._is_late, self.problem = True, _LATE
            return _UNKNOWN
        except Corrupt as error:
            if not self._is_tolerant:
                raise
            self.problem = f"who vouches for the records is unknown: {error} (baton doctor --fix fetches it again)"
            return _UNKNOWN

    def _find_label(self, slot: Slot) -> Label:
        mark = self._marks.of(slot)
        if mark not in self._known:
            self._known[mark] = min(map(self._label, mark), key=lambda label: label.rank, default=_AGENT)
        return self._known[mark]

    @property
    def can_be_confirmed(self) -> bool:
        """Whether any record can be confirmed here. If not, no history has to be read to know that none is.

        Raises:
            Corrupt, StoreError, WriteFailed: the ledger cannot be read or created.
        """
        ledger, vouching = self._history.ledger, self._vouching
        if vouching.signed is not None or ledger.has_confirmations:
            return True
        return any(vouching.trusts_remote(source.url) for source in ledger.remotes().values())

    def find_stranger(self, key: Key, facet: Facet) -> Label | None:
        """Return the label of the untrusted author of a facet; None if it was written here or by a trusted remote.

        Raises:
            Corrupt, StoreError, WriteFailed: under the same conditions as `of`.
        """
        mark = self._marks.of(Slot(key, facet))
        if mark not in self._strangers:
            # Without the confirmation: the question is who wrote it, not who says that it is true.
            labels = (self._label(claim._replace(confirming="")) for claim in mark if claim.source != "here")
            self._strangers[mark] = next((label for label in labels if not self.is_trusted(label)), None)
        return self._strangers[mark]

    def is_trusted(self, label: Label) -> bool:
        """Return whether the record was received from a remote that the user trusts."""
        return label.kind == "received" and self._vouching.trusts_remote(label.url)

    @cached_property
    def _marks(self) -> ProvenanceMarks:
        if self._commit is None:
            return ProvenanceMarks((), {})
        if self._patience is None:
            return load_marks(self._history, self._commit)
        try:
            with self._history.store.limit_reads(time.monotonic() + self._patience.seconds, "labelling the records"):
                return load_marks(self._history, self._commit)
        except Rejected:
            # A start waits 2 seconds; the labels of 348,000 commits that a first sync brought take 45.
            if self._patience.hand_over():
                raise _Late from None
            return load_marks(self._history, self._commit)

    def _label(self, claim: CommitClaim) -> Label:
        confirming = Oid(claim.confirming)
        author = self._history.store.commit(confirming).author if confirming else ""
        if confirming and self._is_valid(confirming):
            return Label("confirmed", author=author)
        if claim.source == "here":
            kind: Kind = "unauthenticated" if claim.name == UNAUTHENTICATED else "agent"
            return Label(kind, author=author, is_claim=bool(confirming))
        if claim.source == "hand":
            return Label("hand", author=author or claim.name, is_claim=bool(confirming))
        remote = self._history.ledger.remotes().get(claim.name)
        name, url = (remote.name, remote.url) if remote is not None else (claim.name, "")
        return Label("received", name, url, author, is_claim=bool(confirming))

    def _is_valid(self, commit: Oid) -> bool:
        """Return whether a confirmation was made here, is signed by an allowed key, or came from a trusted remote."""
        ledger, vouching = self._history.ledger, self._vouching
        if ledger.is_confirmed_here(commit):
            return True
        if any(vouching.trusts_remote(source.url) for source in ledger.sources_of(commit)):
            return True
        return vouching.signed is not None and vouching.signed(self._history.store.commit(commit))


class _Late(Exception):
    """There was no time to compute the labels."""


_LATE = (
    "who vouches for the records is not known yet, because many commits are new here; a background process finds out, "
    "for the next start"
)
_UNKNOWN = Label("unknown")
_AGENT = Label("agent")
"""The label of a record that no commit contains yet, because a verb on this machine is about to write it."""


def load_marks(history: BranchHistory, commit: Oid) -> ProvenanceMarks:
    """Return the marks at a commit, computed with the help of those in memory and on the disk.

    Raises:
        Corrupt: a commit or a tree cannot be read.
        StoreError, WriteFailed: the ledger cannot be read or created.
    """
    store = history.store
    cached: ProvenanceMarks | None = store.memory.get(("marks", commit))
    if cached is not None:
        return cached
    snapshots = MarkSnapshots(store.repository.common_dir, history.namespace.component, store.boundary.digest)

    def load_known(name: Oid) -> ProvenanceMarks | None:
        return store.memory.get(("marks", name)) or snapshots.load(name)

    uniform = UniformCommits(snapshots.uniform_file, store.repository.object_format.oid_length)
    marks, visited = compute_marks(store, history.ledger, commit, load_known, uniform)
    if visited >= _KEPT_FROM:
        snapshots.save(commit, marks, visited)
    return store.memory.put(("marks", commit), marks, _WEIGHT * len(marks.known))
