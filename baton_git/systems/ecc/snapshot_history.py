"""The snapshots that the record of a session had over time.

They are in the order in which the branch received them, except that an import's snapshots are sorted in by their times,
in the order of their file. The current snapshot is the last one, even if an earlier revision had it before.
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


class SnapshotBody(NamedTuple):
    """One snapshot of a session's record.

    Attributes:
        recorded_at: ISO 8601.
        revision: the number of the first revision that had it; None for a commit made by hand.
        commit: the commit of that revision; None if it is unknown.
    """

    recorded_at: str
    revision: int | None
    commit: Oid | None
    snapshot: CanonicalSession


class _Stand(NamedTuple):
    """The record in one revision.

    Attributes:
        blob: its file, or the last one before it was archived.
        position: the position of its snapshot among the others.
        latest: the largest position up to this revision.
        run: the time of the import that created it.
    """

    blob: Oid | None = None
    position: datetime = _LONG_AGO
    latest: datetime = _LONG_AGO
    run: datetime | None = None


class _AddedBody(NamedTuple):
    """A snapshot with the revision that added it. `text` is the snapshot and its time as text, to compare it."""

    body: SnapshotBody
    text: str
    stand: _Stand


def parse_moment(text: str) -> datetime:
    """Return the time of a recording; an invalid one counts as the distant past."""
    try:
        return parse_time(text)
    except ValueError:
        return _LONG_AGO


def list_story(ws: Workspace, now: Snapshot) -> list[SnapshotBody]:
    """Return the snapshots of a record, oldest first, without repetitions; the snapshot of `now` is the last."""
    bodies = list_bodies(ws, now.id)
    standing = [body for body in bodies if _is_body_of(body, now)]
    last = standing[-1] if standing else SnapshotBody(now.recorded_at, None, None, now.snapshot)
    kept: list[SnapshotBody] = []
    for body in [*(body for body in bodies if body is not last), last]:
        if not kept or not alike(kept[-1].snapshot.as_data(), body.snapshot.as_data()):
            kept.append(body)
    return kept


def _is_body_of(body: SnapshotBody, record: Snapshot) -> bool:
    return body.recorded_at == record.recorded_at and alike(body.snapshot.as_data(), record.snapshot.as_data())


def list_bodies(ws: Workspace, id_: str) -> list[SnapshotBody]:
    """Return every snapshot that a readable revision of the record added, oldest first."""
    key = Key(Snapshot.kind, id_)
    added_bodies: list[_AddedBody] = []
    stands: dict[Oid, _Stand] = {}
    for entry, blob in reversed(list(_iterate_blobs(ws, layout.path_of(key)))):
        before = [stands[parent] for parent in entry.parents if parent in stands] or [_Stand()]
        held = blob or next((stand.blob for stand in before if stand.blob), None)
        stands[entry.commit] = _Stand(held, before[0].position, max(stand.latest for stand in before))
        if blob is None or blob in {stand.blob for stand in before}:
            continue
        record = layout.decode(key, "", ws.branch.store.read(blob))
        if isinstance(record, Snapshot):
            stands[entry.commit] = _make_stand(record, entry, blob, before)
            _add_body(added_bodies, record, entry, stands[entry.commit])
    return [added.body for added in sorted(added_bodies, key=lambda added: added.stand.position)]


def _make_stand(record: Snapshot, entry: LogEntry, blob: Oid, before: list[_Stand]) -> _Stand:
    """Return the position of a new snapshot: the latest one or, for an import, the one after the previous snapshot of
    its file."""
    at, latest = parse_moment(record.recorded_at), max(stand.latest for stand in before)
    run = entry.time if entry.op == "import" else None
    previous = latest if run is None else before[0].position if before[0].run == run else at
    position = max(previous, at)
    return _Stand(blob, position, max(latest, position), run)


def _add_body(added_bodies: list[_AddedBody], record: Snapshot, entry: LogEntry, stand: _Stand) -> None:
    """Add a snapshot; one that an import repeats moves to the end, and keeps the revision that had it first."""
    text = f"{record.recorded_at} {json.dumps(record.snapshot.as_data(), indent=None)}"
    body = SnapshotBody(record.recorded_at, entry.revision, entry.commit, record.snapshot)
    if stand.run is not None:
        earlier = [
            number for number, added in enumerate(added_bodies) if added.text == text and added.stand.run != stand.run
        ]
        body = added_bodies.pop(earlier[-1]).body if earlier else body
    added_bodies.append(_AddedBody(body, text, stand))


def _iterate_blobs(ws: Workspace, path: str) -> Iterator[tuple[LogEntry, Oid | None]]:
    """Yield the file at `path` in each revision, newest first; None where it does not exist."""
    *folders, name = path.split("/")
    seen: dict[Oid | None, Oid | None] = {}
    for entry in ws.branch.log():
        top = ws.branch.store.folder(entry.tree).folder(folders[0])
        if top.oid not in seen:
            folder = top
            for folder_name in folders[1:]:
                folder = folder.folder(folder_name)
            item = folder.entries().get(name)
            seen[top.oid] = item.oid if item is not None and not item.is_folder else None
        yield entry, seen[top.oid]
