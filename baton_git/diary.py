"""A commit of a namespace as an entry of its diary: what its subject and its trailers say."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

from baton_git.names import Oid
from baton_git.store import CommitInfo, Store

CONFIRMED = "Baton-Confirmed"
"""The trailer of a commit in which a person confirmed what only a person may do: how, and who."""
UNDOES = "Baton-Undoes"
"""The trailer that names a commit that was taken back."""

_TRAILER = re.compile(r"^(Baton-[A-Za-z]+): (.*)$", re.MULTILINE)


class LogEntry(NamedTuple):
    """One commit of the diary."""

    commit: Oid
    parents: tuple[Oid, ...]
    tree: Oid
    time: datetime
    author: str
    subject: str
    op: str
    session: str | None
    agent: str | None
    machine: str | None
    revision: int | None
    trailers: tuple[tuple[str, str], ...] = ()

    def said(self, name: str) -> list[str]:
        """The values of a trailer."""
        return [value for trailer, value in self.trailers if trailer == name]


def log_entry(info: CommitInfo) -> LogEntry:
    """A commit with what its trailers say."""
    subject, _, body = info.message.partition("\n")
    trailers = tuple(_TRAILER.findall(body))
    said = dict(trailers)
    revision = said.get("Baton-Revision", "")
    return LogEntry(
        info.oid, info.parents, info.tree, _time_of(info.time), info.author, subject,
        said.get("Baton-Op", ""), said.get("Baton-Session"), said.get("Baton-Agent"), said.get("Baton-Machine"),
        int(revision) if revision.isdecimal() and len(revision) < 10 else None, trailers,
    )  # fmt: skip


def diary_of(store: Store, info: CommitInfo) -> LogEntry:
    """As `log_entry`, for a commit of `store`, whose memory keeps it."""
    return store.memory.made(("diary", info.oid), lambda: log_entry(info), 4 * len(info.message))


def revision_of(store: Store, info: CommitInfo) -> int:
    """The number in the trailer; for a commit made by hand, counted on from its parents'."""
    uncounted = 0
    entry = diary_of(store, info)
    while entry.revision is None and entry.parents:
        uncounted += 1
        entry = diary_of(store, store.commit(entry.parents[0]))
    return (entry.revision or 0) + uncounted


def _time_of(seconds: int) -> datetime:
    """The point in time; the nearest that can be told, for a commit whose clock was mad."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC) if seconds > 0 else datetime.min.replace(tzinfo=UTC)
