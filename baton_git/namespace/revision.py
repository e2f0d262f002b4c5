"""What a branch is read and written in: a version of a namespace, and how the next one comes about. Values only."""

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
from baton_git.git.store import Edit


class CommitStamp(NamedTuple):
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


class Revision(NamedTuple):
    """A namespace at one commit; without one, a namespace that does not exist."""

    namespace: Namespace
    state: State
    commit: Oid | None = None
    tree: Oid | None = None
    number: int = 0
    time: datetime | None = None
    by: str = ""
    """The verb that made it; empty when a person committed by hand."""


class ProposedState(NamedTuple):
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
    side: tuple[Revision, State] | None = None
    files: Mapping[str, Edit] = MappingProxyType({})
    note: str = ""
    trailers: tuple[tuple[str, str], ...] = ()
    redactions: tuple[tuple[Key, Redaction], ...] = ()


Change = Callable[[Revision], State | ProposedState]
"""What the next version is to be, computed from exactly the version it will stand on."""


class WriteResult(NamedTuple):
    """What `update` did. `changes` is empty, and `version` the one that was there, when nothing differed.

    `checked_out_at` is a work tree that has the branch checked out: the new commit shows there as a revert.
    """

    revision: Revision
    before: Revision
    changes: tuple[diff.RecordChange, ...] = ()
    redactions: tuple[tuple[Key, Redaction], ...] = ()
    checked_out_at: Path | None = None


class UpdateRequest(NamedTuple):
    """What somebody wants of `Branch.update`."""

    change: Change
    stamp: CommitStamp
    expected_revision: int | None = None


class UpdateResult(NamedTuple):
    """What became of an update: what was written, or the error."""

    found: WriteResult | Exception

    def result(self) -> WriteResult:
        """What was written; raises the error."""
        if isinstance(self.found, Exception):
            raise self.found
        return self.found
