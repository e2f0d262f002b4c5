"""Values for reading and writing a branch: revisions, commit stamps, proposed states and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from baton_git.core import diff
from baton_git.core.errors import BatonError
from baton_git.core.names import Namespace, Oid
from baton_git.core.redaction import Redaction
from baton_git.core.state import Key, State
from baton_git.git.store import Edit, ObjectDraft, ReflogEntry
from baton_git.namespace.caller import ChangeCaller


class CommitStamp(NamedTuple):
    """Who makes a commit, when, and with which verb (`op`). `now` is timezone-aware; `author` is `Name <mail>`.

    `client` is the value of the trailer `Baton-Client`, if the commit has one.
    The caller decides what the commit may remove, replace or weaken (see `guard`). It is not written to the commit.
    """

    op: str
    now: datetime
    author: str
    caller: ChangeCaller
    session: str | None = None
    agent: str | None = None
    machine: str | None = None
    client: str | None = None

    @property
    def seconds(self) -> int:
        return int(self.now.timestamp())

    @property
    def timezone(self) -> int:
        """Seconds east of UTC."""
        offset = self.now.utcoffset()
        return int(offset.total_seconds()) if offset else 0

    def reflog_entry(self, subject: str | None = None) -> ReflogEntry:
        """Return the entry for the reflog. The default of `subject` is the verb."""
        return ReflogEntry(self.author, self.seconds, self.timezone, f"baton: {subject or self.op}")


class Revision(NamedTuple):
    """A namespace at one commit. If the namespace does not exist, `commit` is None and `number` is 0."""

    namespace: Namespace
    state: State
    commit: Oid | None = None
    tree: Oid | None = None
    number: int = 0
    time: datetime | None = None
    op: str = ""
    """The verb that made the commit; empty for a commit made by hand."""
    fault: BatonError | None = None
    """Why the commit is no revision of baton: its `format.toml` is missing or cannot be read. The state has its records
    all the same. Only revisions of the past have a fault (see `Branch.past_revision_at`). It is for its text: raising
    this cached object each time would collect the frames of all its callers."""


Reform = Callable[[ObjectDraft, Oid], Oid]
"""Returns a tree with the same records as a tree, stored in another form."""


class ProposedState(NamedTuple):
    """The state of the next revision, and details of its commit.

    Attributes:
        state: the state of the commit.
        side: an older revision and the state that was written on top of it concurrently. This state is committed too,
            as the second parent, so that the history shows the concurrent work.
        files: files to restore byte by byte, for rollbacks, by path (None: removed). `state` must agree with them.
        note: a prefix for the subject.
        trailers: additional trailers.
        redactions: the redactions made before `state` was computed.
        settled: the loops and follow-ups that this archives because they are done. Anybody may settle them, but only a
            person may remove them in another way if a person confirmed them.
        keeps_paths: whether the paths of this machine stay in the text, because it is the document of another program,
            or text that was stored before. They also stay if there are `files`.
    """

    state: State
    side: tuple[Revision, State] | None = None
    files: Mapping[str, Edit] = MappingProxyType({})
    note: str = ""
    trailers: tuple[tuple[str, str], ...] = ()
    redactions: tuple[tuple[Key, Redaction], ...] = ()
    settled: frozenset[Key] = frozenset()
    keeps_paths: bool = False
    reform: Reform | None = None


Change = Callable[[Revision], State | ProposedState]
"""Computes the next state from the revision that will be the parent of its commit."""


class WriteResult(NamedTuple):
    """The result of `Branch.update`.

    Attributes:
        revision: the new revision, or the existing one if nothing changed.
        before: the revision before the update.
        changes: the changed records; empty if nothing changed.
        redactions: the redacted values.
        checked_out_at: a work tree that has the branch checked out. Its files are those of the previous revision, so
            `git status` there shows the changes of the new one as undone.
        files: the changed files that are not records.
    """

    revision: Revision
    before: Revision
    changes: tuple[diff.RecordChange, ...] = ()
    redactions: tuple[tuple[Key, Redaction], ...] = ()
    checked_out_at: Path | None = None
    files: tuple[str, ...] = ()


class UpdateRequest(NamedTuple):
    """The arguments of one call of `Branch.update`."""

    change: Change
    stamp: CommitStamp
    expected_revision: int | None = None
