"""Values for reading and writing a branch: revisions, commit stamps, proposed states and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from baton_git.core import diff
from baton_git.core.names import Namespace, Oid
from baton_git.core.redaction import Redaction
from baton_git.core.state import Key, State
from baton_git.git.store import Edit, ReflogEntry


class CommitStamp(NamedTuple):
    """Who made a commit, when, and by which verb. `now` is aware; `author` is `Name <mail>`."""

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

    def reflog_entry(self, subject: str | None = None) -> ReflogEntry:
        """Return the entry for the reflog; `subject` is the verb unless given."""
        return ReflogEntry(self.author, self.seconds, self.timezone, f"baton: {subject or self.op}")


class Revision(NamedTuple):
    """A namespace at one commit; without a commit, a namespace that does not exist."""

    namespace: Namespace
    state: State
    commit: Oid | None = None
    tree: Oid | None = None
    number: int = 0
    time: datetime | None = None
    by: str = ""
    """The verb that made the commit; empty for a commit made by hand."""


class ProposedState(NamedTuple):
    """The state of the next revision, and how it came about.

    Attributes:
        state: what the commit holds.
        side: an older revision and the state written on top of it; it becomes a second parent, so that the history
            shows concurrent work.
        files: paths whose stored bytes are restored (None: removed), for rollbacks; `state` must agree with them.
        note: a prefix of the subject.
        trailers: additional ones.
        redactions: what was redacted before merging.
    """

    state: State
    side: tuple[Revision, State] | None = None
    files: Mapping[str, Edit] = MappingProxyType({})
    note: str = ""
    trailers: tuple[tuple[str, str], ...] = ()
    redactions: tuple[tuple[Key, Redaction], ...] = ()


Change = Callable[[Revision], State | ProposedState]
"""Computes the next state from the revision it will be committed on."""


class WriteResult(NamedTuple):
    """The result of `update`. `changes` is empty, and `revision` the existing one, when nothing differed.

    `checked_out_at` is a work tree that has the branch checked out: the new commit shows there as a revert.
    `files` are the other files whose stored bytes a rollback restores.
    """

    revision: Revision
    before: Revision
    changes: tuple[diff.RecordChange, ...] = ()
    redactions: tuple[tuple[Key, Redaction], ...] = ()
    checked_out_at: Path | None = None
    files: tuple[str, ...] = ()


class UpdateRequest(NamedTuple):
    """One call of `Branch.update`, as a value."""

    change: Change
    stamp: CommitStamp
    expected_revision: int | None = None
