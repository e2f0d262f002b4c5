"""The origin of a commit: made here, received from a remote, or neither."""

from __future__ import annotations

from typing import Literal, NamedTuple

from baton_git.git.objects.values import COMMIT
from baton_git.git.store import CommitInfo, ObjectDraft
from baton_git.namespace.commit_log import CLIENT, CONFIRMED, UNAUTHENTICATED
from baton_git.namespace.provenance.ledger import Ledger, RemoteSource

Source = Literal["here", "remote", "hand"]


class CommitOrigin(NamedTuple):
    """The origin of a commit.

    Attributes:
        source: `here`: baton made the commit on this machine; `remote`: a sync received it; `hand`: it reached the
            branch in any other way.
        name: for `remote`, the key of the remote in the ledger; for `hand`, the author of the commit; for `here`,
            `unauthenticated` if a server without a token made the commit for somebody, else empty.
    """

    source: Source
    name: str = ""


HERE = CommitOrigin("here")
_WITHOUT_TOKEN = CommitOrigin("here", UNAUTHENTICATED)
_TRAILER = f"\n{CLIENT}: {UNAUTHENTICATED}\n"


def find_origin(ledger: Ledger, info: CommitInfo) -> CommitOrigin:
    """Return the origin of a commit.

    Raises:
        StoreError: the ledger cannot be read.
    """
    if ledger.is_made_here(info.oid):
        return _WITHOUT_TOKEN if _TRAILER in info.message else HERE
    remote = next(iter(ledger.sources_of(info.oid)), None)
    return CommitOrigin("hand", info.author) if remote is None else CommitOrigin("remote", remote.key)


def record_draft(ledger: Ledger, draft: ObjectDraft, source: RemoteSource | None = None) -> None:
    """Record the commits of a draft in the ledger before the draft is published.

    Args:
        source: the remote from which the content of the commits was received; None if it was created here.

    Raises:
        StoreError: the ledger cannot be read.
        WriteFailed: writing to disk failed.
    """
    commits = {name: data for name, (kind, data) in draft.objects.items() if kind == COMMIT}
    trailer = f"\n{CONFIRMED}: ".encode()
    confirming = [name for name, data in commits.items() if trailer in data]
    ledger.record_made(commits if source is None else (), confirming)
    if source is not None:
        ledger.record_received(source.url, source.name, commits)
