"""List the snapshots that the record of a session had over time.

They are listed in the order in which the branch received them. Snapshots of an import are an exception: they are sorted
in by their times, and keep the order of their file. The current snapshot is the last one, even if an earlier revision
had it too.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from baton_git.core import layout
from baton_git.core.codecs import json
from baton_git.core.names import Oid
from baton_git.core.records.base import alike
from baton_git.core.state import Key
from baton_git.core.times import parse_time
from baton_git.namespace.commit_log import LogEntry
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
