"""Snapshots of sessions: keep the latest of each, and look at the ones before it.

The record of a session holds its latest snapshot, git the earlier ones. A snapshot that says what the record says
writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from baton_git.core.errors import Ambiguous, Corrupt, NotFound, shorten
from baton_git.core.records.archive import Archived
from baton_git.core.records.base import alike, parse
from baton_git.core.redaction import redact
from baton_git.core.redaction.changes import Redactions, refuse_secret
from baton_git.core.state import Key, State
from baton_git.core.times import iso
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.record import CanonicalSession, Snapshot
from baton_git.systems.ecc.snapshot_history import SnapshotBody, list_story, parse_moment


class Recorded(NamedTuple):
    """What became of a snapshot: the id of its record, and the version that has it."""

    id: str
    written: WriteResult

    @property
    def changed(self) -> bool:
        return bool(self.written.changes)


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

    def change(tip: Revision) -> State | ProposedState:
        before = latest(tip.state, key.id)
        if before is not None and alike(before.snapshot.as_data(), data):
            return tip.state
        new = made(data, _not_before(now, before), before.created_at if before else iso(now))
        state = tip.state.remove(key._replace(archived=True)).put(new)
        return ProposedState(trimmed(ws, state, now, key.id), redactions=redactions)

    return Recorded(key.id, ws.update("session-record", now, change))


def latest(state: State, id_: str) -> Snapshot | None:
    """The record of a session, also where it went to the archive; None where there is none that can be read."""
    entry = state.entry(Key(Snapshot.kind, id_)) or state.entry(Key(Snapshot.kind, id_, archived=True))
    if isinstance(entry, Archived):
        return parse(Snapshot, entry.record)
    return entry if isinstance(entry, Snapshot) else None


def trimmed(ws: Workspace, state: State, now: datetime, newest: str) -> State:
    """The state with as many snapshots as sessions are kept; those recorded longest ago go to the archive."""
    beyond = len(state.ids(Snapshot.kind)) - ws.policy.sessions_kept
    oldest = sorted(state.records(Snapshot), key=lambda one: parse_moment(one.recorded_at)) if beyond > 0 else []
    for one in [one for one in oldest if one.id != newest][: max(0, beyond)]:
        state = state.archive(one, at=iso(now), reason="older than the newest snapshots", session=ws.actor.session)
    return state


def cleaned(snapshot: CanonicalSession) -> tuple[dict[str, Any], Redactions]:
    """What is stored of a snapshot: without secrets, so that the same one is known again."""
    key = Key(Snapshot.kind, id_of(snapshot))
    refuse_secret("id of the session", key.id)
    data, found = redact(snapshot.as_data())
    return data, tuple((key, one._replace(path=f"snapshot.{one.path}")) for one in found)


def made(body: dict[str, Any], recorded_at: str, created_at: str, **more: str) -> Snapshot:
    id_ = f"{body['adapterId']}/{body['session']['id']}"
    data = {"id": id_, "created_at": created_at, "recorded_at": recorded_at, "snapshot": body, **more}
    return parse(Snapshot, data)


def _not_before(now: datetime, earlier: Snapshot | None) -> str:
    """The time of a new body: not before that of the one it replaces, also when a clock was set back."""
    if earlier is not None and parse_moment(earlier.recorded_at) > now:
        return earlier.recorded_at
    return iso(now)


# --- looking


def recorded(ws: Workspace) -> list[Snapshot]:
    """The latest snapshot of each session, the newest first."""
    return sorted(ws.branch.read().state.records(Snapshot), key=lambda one: parse_moment(one.recorded_at), reverse=True)


def find(state: State, text: str) -> Snapshot:
    """The record of a session: by its id, by that of the session alone, or by a unique beginning of either.

    Those in the archive are found so too, where none that is live is meant.

    Raises:
        NotFound: there is none.
        Ambiguous: there are several.
        Corrupt: it cannot be read.
    """
    live, closed = sorted(state.ids(Snapshot.kind)), sorted(state.ids(Snapshot.kind, archived=True))
    near = [text] if text in (*live, *closed) else _near(live, text) or _near(closed, text)
    if len(near) > 1:
        raise Ambiguous("recorded session", text, near)
    if not near:
        raise NotFound("recorded session", text, hint="to list the recorded sessions: baton session list --recorded")
    return _at(state, near[0])


def _near(ids: Sequence[str], text: str) -> list[str]:
    """Of these ids the one whose session is called so, or all that begin so."""
    exact = [id_ for id_ in ids if _session_of(id_) == text]
    return exact or [id_ for id_ in ids if text and _begins(text.lower(), id_.lower())]


def _at(state: State, id_: str) -> Snapshot:
    """The record of this id; raises Corrupt when it cannot be read."""
    if id_ in state.ids(Snapshot.kind):
        return state.get(Snapshot, id_)
    closed = latest(state, id_)
    if closed is None:
        raise Corrupt(f"the archived snapshot {shorten(id_)}", "cannot be read", hint="baton validate names the fault")
    return closed


def _session_of(id_: str) -> str:
    return id_.partition("/")[2]


def _begins(text: str, id_: str) -> bool:
    return id_.startswith(text) or _session_of(id_).startswith(text)


def history(ws: Workspace, text: str) -> list[SnapshotBody]:
    """The bodies that a session's record had, each different from the one before it, what stands now first.

    Args:
        text: names the session, as in `find`.

    Raises:
        NotFound: it was never recorded.
        Ambiguous: several begin so.
    """
    return list_story(ws, find(ws.branch.read().state, text))[::-1]
