"""Snapshots of sessions: keep the latest of each, and look at the ones before it.

The record of a session holds its latest snapshot, git the earlier ones. A snapshot that says what the record says
writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from baton_git import layout
from baton_git.branch import Proposal, Version, Written
from baton_git.diary import LogEntry
from baton_git.errors import Ambiguous, NotFound
from baton_git.names import Oid
from baton_git.operations.workspace import Workspace
from baton_git.records.archive import Archived
from baton_git.records.base import alike, parse
from baton_git.records.snapshot import CanonicalSession, Snapshot
from baton_git.redaction import Redaction, redact
from baton_git.scrubbing import refuse_secret
from baton_git.state import Key, State
from baton_git.times import iso, point_in_time

Redactions = tuple[tuple[Key, Redaction], ...]


class Recorded(NamedTuple):
    """What became of a snapshot: the id of its record, and the version that has it."""

    id: str
    written: Written

    @property
    def changed(self) -> bool:
        return bool(self.written.changes)


class Body(NamedTuple):
    """One body that a session's record had.

    Attributes:
        recorded_at: ISO 8601.
        revision: the first version that had it; None for a commit made by hand.
    """

    recorded_at: str
    revision: int | None
    commit: Oid
    snapshot: CanonicalSession


def id_of(snapshot: CanonicalSession) -> str:
    return f"{snapshot.adapterId}/{snapshot.session.id}"


def record(ws: Workspace, now: datetime, snapshot: CanonicalSession) -> Recorded:
    """Keeps a snapshot as the latest one of its session; nothing is written when the record says the same.

    Raises:
        InvalidName: an id that cannot be the name of a file.
        InvalidDocument: its id holds a secret, or the adapter's a `/`.
    """
    key = Key(Snapshot.kind, id_of(snapshot))
    data, redactions = cleaned(snapshot)

    def change(tip: Version) -> State | Proposal:
        before = latest(tip.state, key.id)
        if before is not None and alike(before.snapshot.given(), data):
            return tip.state
        new = made(data, _not_before(now, before), before.created_at if before else iso(now))
        state = tip.state.remove(key._replace(archived=True)).put(new)
        return Proposal(_trimmed(ws, state, now, key.id), redactions=redactions)

    return Recorded(key.id, ws.update("session-record", now, change))


def latest(state: State, id_: str) -> Snapshot | None:
    """The record of a session, also where it went to the archive; None where there is none that can be read."""
    entry = state.entry(Key(Snapshot.kind, id_)) or state.entry(Key(Snapshot.kind, id_, archived=True))
    if isinstance(entry, Archived):
        return parse(Snapshot, entry.record)
    return entry if isinstance(entry, Snapshot) else None


def _trimmed(ws: Workspace, state: State, now: datetime, newest: str) -> State:
    """The state with as many snapshots as sessions are kept; those recorded longest ago go to the archive."""
    beyond = len(state.ids(Snapshot.kind)) - ws.policy.sessions_kept
    oldest = sorted(state.records(Snapshot), key=lambda one: moment_of(one.recorded_at)) if beyond > 0 else []
    for one in [one for one in oldest if one.id != newest][: max(0, beyond)]:
        state = state.archive(one, at=iso(now), reason="older than the newest snapshots", session=ws.actor.session)
    return state


def cleaned(snapshot: CanonicalSession) -> tuple[dict[str, Any], Redactions]:
    """What is stored of a snapshot: without secrets, so that the same one is known again."""
    key = Key(Snapshot.kind, id_of(snapshot))
    refuse_secret("id of the session", key.id)
    data, found = redact(snapshot.given())
    return data, tuple((key, one._replace(path=f"snapshot.{one.path}")) for one in found)


def made(body: dict[str, Any], recorded_at: str, created_at: str, **more: str) -> Snapshot:
    id_ = f"{body['adapterId']}/{body['session']['id']}"
    data = {"id": id_, "created_at": created_at, "recorded_at": recorded_at, "snapshot": body, **more}
    return parse(Snapshot, data)


def _not_before(now: datetime, earlier: Snapshot | None) -> str:
    """The time of a new body: not before that of the one it replaces, also when a clock was set back."""
    if earlier is not None and moment_of(earlier.recorded_at) > now:
        return earlier.recorded_at
    return iso(now)


def moment_of(text: str) -> datetime:
    """When something was recorded; what a hand wrote that is no time counts as long ago."""
    try:
        return point_in_time(text)
    except ValueError:
        return point_in_time("0001-01-01")


# --- looking


def recorded(ws: Workspace) -> list[Snapshot]:
    """The latest snapshot of each session, the newest first."""
    return sorted(ws.branch.read().state.records(Snapshot), key=lambda one: moment_of(one.recorded_at), reverse=True)


def find(state: State, text: str) -> Snapshot:
    """The record of a session: by its id, by that of the session alone, or by a unique beginning of either.

    Raises:
        NotFound: there is none.
        Ambiguous: there are several.
        Corrupt: it cannot be read.
    """
    ids = sorted(state.ids(Snapshot.kind))
    if text in ids:
        return state.get(Snapshot, text)
    closed = latest(state, text) if "/" in text else None
    if closed is not None:
        return closed
    exact = [id_ for id_ in ids if _session_of(id_) == text]
    near = exact or [id_ for id_ in ids if text and _begins(text.lower(), id_.lower())]
    if len(near) > 1:
        raise Ambiguous("recorded session", text, near)
    if not near:
        raise NotFound("recorded session", text, hint="baton session list --recorded shows what there is")
    return state.get(Snapshot, near[0])


def _session_of(id_: str) -> str:
    return id_.partition("/")[2]


def _begins(text: str, id_: str) -> bool:
    return id_.startswith(text) or _session_of(id_).startswith(text)


def history(ws: Workspace, text: str) -> list[Body]:
    """The bodies that a session's record had, each different from the one before it, newest first.

    Args:
        text: names the session, as in `find`.

    Raises:
        NotFound: it was never recorded.
        Ambiguous: several begin so.
    """
    return distinct(bodies_of(ws, find(ws.branch.read().state, text).id))


def distinct(bodies: Sequence[Body]) -> list[Body]:
    """Without those that only repeat the one before, newest first."""
    kept: list[Body] = []
    for one in sorted(bodies, key=lambda body: moment_of(body.recorded_at)):
        if not kept or not alike(kept[-1].snapshot.given(), one.snapshot.given()):
            kept.append(one)
    return kept[::-1]


def bodies_of(ws: Workspace, id_: str) -> list[Body]:
    """Every body that a readable version of the record has, in the order in which the branch got them."""
    key = Key(Snapshot.kind, id_)
    first = dict(_stored(ws, layout.path_of(key)))  # the version that had a body first comes last, and stays
    found = []
    for blob, entry in reversed(first.items()):
        one = layout.decode(key, "", ws.branch.store.read(blob))
        if isinstance(one, Snapshot):
            found.append(Body(one.recorded_at, entry.revision, entry.commit, one.snapshot))
    return found


def _stored(ws: Workspace, path: str) -> Iterator[tuple[Oid, LogEntry]]:
    """The file at `path` in each version that has one, newest version first."""
    *folders, name = path.split("/")
    seen: dict[Oid | None, Oid | None] = {}
    for entry in ws.branch.history():
        top = ws.branch.store.folder(entry.tree).folder(folders[0])
        if top.oid not in seen:
            folder = top
            for one in folders[1:]:
                folder = folder.folder(one)
            item = folder.entries().get(name)
            seen[top.oid] = item.oid if item is not None and not item.is_folder else None
        blob = seen[top.oid]
        if blob is not None:
            yield blob, entry
