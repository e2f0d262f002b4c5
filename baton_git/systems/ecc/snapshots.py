"""Record snapshots of sessions and find recorded ones.

A session's record holds its latest snapshot; earlier ones are in git's history. Recording an unchanged snapshot writes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from baton_git.core import layout
from baton_git.core.codecs import json
from baton_git.core.errors import Ambiguous, Corrupt, NotFound, shorten
from baton_git.core.lifecycle import choose_surplus
from baton_git.core.names import Oid
from baton_git.core.records.base import Archived, alike, parse
from baton_git.core.redaction import redact
from baton_git.core.redaction.changes import Redactions, refuse_secret
from baton_git.core.state import Key, State
from baton_git.core.times import iso, parse_time
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.revision import ProposedState, Revision, WriteResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.record import CanonicalSession, Snapshot

_LONG_AGO = parse_time("0001-01-01")


class DatedSnapshot(NamedTuple):
    """One snapshot that a session's record had.

    Attributes:
        recorded_at: when it was recorded, ISO 8601.
        revision: the number of the first revision that had it; None for a commit made by hand, or if unknown.
        commit: the commit of that revision; None if it is unknown.
    """

    recorded_at: str
    revision: int | None
    commit: Oid | None
    snapshot: CanonicalSession


class _RecordState(NamedTuple):
    """The record in one revision.

    Attributes:
        blob: its file; if it is archived, its last file before that.
        position: the time by which its snapshot is sorted among the others.
        latest: the latest position up to this revision.
        import_time: when the import was made that wrote this revision; None for other revisions.
    """

    blob: Oid | None = None
    position: datetime = _LONG_AGO
    latest: datetime = _LONG_AGO
    import_time: datetime | None = None


class _AddedSnapshot(NamedTuple):
    """A snapshot with the state of the record in the revision that added it.

    Attributes:
        text: the snapshot and its time as text, for comparisons.
    """

    snapshot: DatedSnapshot
    text: str
    record_state: _RecordState


def parse_moment(text: str) -> datetime:
    """Return the time of a recording; an invalid one counts as the distant past."""
    try:
        return parse_time(text)
    except ValueError:
        return _LONG_AGO


def list_distinct_snapshots(ws: Workspace, current: Snapshot) -> list[DatedSnapshot]:
    """Return the snapshots of a record, oldest first and the one of `current` last.

    A snapshot that is equal to the one before it is left out.
    """
    snapshots = list_added_snapshots(ws, current.id)
    matching = [snapshot for snapshot in snapshots if _is_snapshot_of(snapshot, current)]
    last = matching[-1] if matching else DatedSnapshot(current.recorded_at, None, None, current.snapshot)
    kept: list[DatedSnapshot] = []
    for snapshot in [*(snapshot for snapshot in snapshots if snapshot is not last), last]:
        if not kept or not alike(kept[-1].snapshot.as_data(), snapshot.snapshot.as_data()):
            kept.append(snapshot)
    return kept


def _is_snapshot_of(dated: DatedSnapshot, record: Snapshot) -> bool:
    return dated.recorded_at == record.recorded_at and alike(dated.snapshot.as_data(), record.snapshot.as_data())


def list_added_snapshots(ws: Workspace, id_: str) -> list[DatedSnapshot]:
    """Return every snapshot that a revision of the record added, oldest first. Unreadable revisions are left out."""
    key = Key(Snapshot.kind, id_)
    added_snapshots: list[_AddedSnapshot] = []
    states: dict[Oid, _RecordState] = {}
    for entry, blob in reversed(list(_iterate_blobs(ws, layout.path_of(key)))):
        before = [states[parent] for parent in entry.parents if parent in states] or [_RecordState()]
        last_blob = blob or next((state.blob for state in before if state.blob), None)
        states[entry.commit] = _RecordState(last_blob, before[0].position, max(state.latest for state in before))
        if blob is None or blob in {state.blob for state in before}:
            continue
        record = layout.decode(key, "", ws.branch.store.read(blob))
        if isinstance(record, Snapshot):
            states[entry.commit] = _place_snapshot(record, entry, blob, before)
            _add_snapshot(added_snapshots, record, entry, states[entry.commit])
    return [added.snapshot for added in sorted(added_snapshots, key=lambda added: added.record_state.position)]


def _place_snapshot(record: Snapshot, entry: LogEntry, blob: Oid, before: list[_RecordState]) -> _RecordState:
    """Return the state of a record with a new snapshot.

    Its position is its own time, or the latest position if that is later. For an imported snapshot, only the previous
    snapshot of the same import is considered, so that imported snapshots are sorted in by their times.
    """
    at, latest = parse_moment(record.recorded_at), max(state.latest for state in before)
    import_time = entry.time if entry.op == "import" else None
    if import_time is None:
        position = max(latest, at)
    else:
        position = max(before[0].position, at) if before[0].import_time == import_time else at
    return _RecordState(blob, position, max(latest, position), import_time)


def _add_snapshot(added: list[_AddedSnapshot], record: Snapshot, entry: LogEntry, state: _RecordState) -> None:
    """Add a snapshot to `added`. If an import repeats an earlier snapshot, that one moves to the end, with the revision
    that had it first."""
    text = f"{record.recorded_at} {json.dumps(record.snapshot.as_data(), indent=None)}"
    snapshot = DatedSnapshot(record.recorded_at, entry.revision, entry.commit, record.snapshot)
    if state.import_time is not None:
        earlier = [
            number
            for number, other in enumerate(added)
            if other.text == text and other.record_state.import_time != state.import_time
        ]
        snapshot = added.pop(earlier[-1]).snapshot if earlier else snapshot
    added.append(_AddedSnapshot(snapshot, text, state))


def _iterate_blobs(ws: Workspace, path: str) -> Iterator[tuple[LogEntry, Oid | None]]:
    """Yield each revision, newest first, with the id of the file at `path` in it; None if the file does not exist."""
    *folders, name = path.split("/")
    blobs: dict[Oid | None, Oid | None] = {}
    for entry in ws.branch.log():
        top = ws.branch.store.folder(entry.tree).folder(folders[0])
        if top.oid not in blobs:
            folder = top
            for folder_name in folders[1:]:
                folder = folder.folder(folder_name)
            item = folder.entries().get(name)
            blobs[top.oid] = item.oid if item is not None and not item.is_folder else None
        yield entry, blobs[top.oid]


class Recorded(NamedTuple):
    """The id of a snapshot's record, and the write that recorded it."""

    id: str
    written: WriteResult

    @property
    def changed(self) -> bool:
        return bool(self.written.changes)


def make_id(snapshot: CanonicalSession) -> str:
    return f"{snapshot.adapterId}/{snapshot.session.id}"


def shorten_paths(ws: Workspace, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Return a snapshot that baton made of a session on this machine as it is stored: paths in their short form.

    Snapshots that other programs made are stored as they are.
    """
    return dict(ws.names.shorten(snapshot, from_transcript=True))


def record_latest(ws: Workspace, now: datetime, snapshot: CanonicalSession) -> Recorded:
    """Record a snapshot as the latest one of its session. Nothing is written if the record already has it.

    Raises:
        InvalidName: the id cannot be the name of a file.
        InvalidDocument: the id contains a secret, or the adapter's id contains a `/`.
    """
    key = Key(Snapshot.kind, make_id(snapshot))
    data, redactions = redact_snapshot(snapshot)

    def change(tip: Revision) -> State | ProposedState:
        before = find_latest(tip.state, key.id)
        if before is not None and alike(before.snapshot.as_data(), data):
            return tip.state
        new = make_record(data, _choose_time(now, before), before.created_at if before else iso(now))
        state = tip.state.remove(key._replace(archived=True)).put(new)
        return ProposedState(archive_oldest(ws, state, now, key.id), redactions=redactions)

    return Recorded(key.id, ws.update("session-record", now, change))


def find_latest(state: State, id_: str) -> Snapshot | None:
    """Return the record of a session, even if it is archived; None if there is none that can be read."""
    entry = state.entry(Key(Snapshot.kind, id_)) or state.entry(Key(Snapshot.kind, id_, archived=True))
    if isinstance(entry, Archived):
        return parse(Snapshot, entry.record)
    return entry if isinstance(entry, Snapshot) else None


def archive_oldest(ws: Workspace, state: State, now: datetime, newest: str) -> State:
    """Return the state with some of the snapshots beyond `sessions_kept` of the policy archived (see `choose_surplus`).
    The snapshot with the id `newest` stays."""
    beyond = len(state.ids(Snapshot.kind)) - ws.policy.sessions_kept
    oldest = (
        sorted(state.records(Snapshot), key=lambda snapshot: parse_moment(snapshot.recorded_at)) if beyond > 0 else []
    )
    surplus = [snapshot for snapshot in oldest if snapshot.id != newest][: max(0, beyond)]
    for snapshot in choose_surplus(surplus, newest):
        state = state.archive(snapshot, at=iso(now), reason="older than the newest snapshots", session=ws.actor.session)
    return state


def redact_snapshot(snapshot: CanonicalSession) -> tuple[dict[str, Any], Redactions]:
    """Return the data of a snapshot without secrets, and what was redacted. Equal snapshots stay equal.

    Raises:
        InvalidDocument: the id of the session contains a secret.
    """
    key = Key(Snapshot.kind, make_id(snapshot))
    refuse_secret("id of the session", key.id)
    data, redactions = redact(snapshot.as_data())
    return data, tuple((key, redaction._replace(path=f"snapshot.{redaction.path}")) for redaction in redactions)


def make_record(snapshot: dict[str, Any], recorded_at: str, created_at: str) -> Snapshot:
    """Return the record of a snapshot, which is given as plain data."""
    id_ = f"{snapshot['adapterId']}/{snapshot['session']['id']}"
    data = {"id": id_, "created_at": created_at, "recorded_at": recorded_at, "snapshot": snapshot}
    return parse(Snapshot, data)


def _choose_time(now: datetime, earlier: Snapshot | None) -> str:
    """Return the time of a new snapshot: now, or the time of the previous one if the clock was set back."""
    if earlier is not None and parse_moment(earlier.recorded_at) > now:
        return earlier.recorded_at
    return iso(now)


# --- finding


def list_recorded(ws: Workspace) -> list[Snapshot]:
    """Return the latest snapshot of each session, newest first."""
    return sorted(
        ws.branch.read().state.records(Snapshot), key=lambda snapshot: parse_moment(snapshot.recorded_at), reverse=True
    )


def find_recorded(state: State, text: str) -> Snapshot:
    """Return the record of a session by the record's id, the session's id alone, or a unique beginning of either.

    Unless `text` is a complete id, archived records are searched only if no live one matches.

    Raises:
        NotFound: no record matches.
        Ambiguous: several records match.
        Corrupt: the record cannot be read.
    """
    live, closed = sorted(state.ids(Snapshot.kind)), sorted(state.ids(Snapshot.kind, archived=True))
    matches = [text] if text in (*live, *closed) else _find_matches(live, text) or _find_matches(closed, text)
    if len(matches) > 1:
        raise Ambiguous("recorded session", text, matches)
    if not matches:
        raise NotFound("recorded session", text, hint="to list the recorded sessions: baton session list --recorded")
    return _get_record(state, matches[0])


def _find_matches(ids: Sequence[str], text: str) -> list[str]:
    """Return the ids of sessions with exactly this id, or else all ids that begin with the text, in any letter case."""
    exact = [id_ for id_ in ids if _get_session(id_) == text]
    return exact or [id_ for id_ in ids if text and _starts_with(id_.lower(), text.lower())]


def _get_record(state: State, id_: str) -> Snapshot:
    """Return the record with this id. Raises Corrupt if it cannot be read."""
    if id_ in state.ids(Snapshot.kind):
        return state.get(Snapshot, id_)
    closed = find_latest(state, id_)
    if closed is None:
        raise Corrupt(f"the archived snapshot {shorten(id_)}", "cannot be read", hint="baton validate names the fault")
    return closed


def _get_session(id_: str) -> str:
    return id_.partition("/")[2]


def _starts_with(id_: str, text: str) -> bool:
    """Return whether an id, or the session in it, starts with a text."""
    return id_.startswith(text) or _get_session(id_).startswith(text)


def list_history(ws: Workspace, text: str) -> list[DatedSnapshot]:
    """Return the snapshots that a session's record had, the current one first. Two neighbours always differ.

    Args:
        text: names the session, as in `find_recorded`.

    Raises:
        NotFound: no record matches.
        Ambiguous: several records match.
        Corrupt: the record cannot be read.
    """
    return list_distinct_snapshots(ws, find_recorded(ws.branch.read().state, text))[::-1]
