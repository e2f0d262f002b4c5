"""The bodies that the record of a session had: what stands now is the last, and what came back is there again.

The order is that in which the branch got them, but what an import brought stands where it belongs by its times, in the
order of the file that it came from.
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


class Body(NamedTuple):
    """One body that a session's record had.

    Attributes:
        recorded_at: ISO 8601.
        revision: the first version that had it; None for a commit made by hand.
        commit: that version; None where no version is left that says so.
    """

    recorded_at: str
    revision: int | None
    commit: Oid | None
    snapshot: CanonicalSession


class _Stand(NamedTuple):
    """What a version has of the record.

    Attributes:
        blob: its file, or the one it had before it went to the archive.
        turn: where its body stands among the others.
        latest: the largest turn up to here.
        run: the import that made it.
    """

    blob: Oid | None = None
    turn: datetime = _LONG_AGO
    latest: datetime = _LONG_AGO
    run: datetime | None = None


class _Came(NamedTuple):
    """A body at the version that brought it."""

    body: Body
    said: str
    stand: _Stand


def moment_of(text: str) -> datetime:
    """When something was recorded; what a hand wrote that is no time counts as long ago."""
    try:
        return parse_time(text)
    except ValueError:
        return _LONG_AGO


def story_of(ws: Workspace, now: Snapshot) -> list[Body]:
    """The bodies of a record, oldest first, none like the one before it; that of `now` is the last."""
    bodies = bodies_of(ws, now.id)
    standing = [one for one in bodies if _is_of(one, now)]
    last = standing[-1] if standing else Body(now.recorded_at, None, None, now.snapshot)
    kept: list[Body] = []
    for one in [*(one for one in bodies if one is not last), last]:
        if not kept or not alike(kept[-1].snapshot.as_data(), one.snapshot.as_data()):
            kept.append(one)
    return kept


def _is_of(body: Body, record: Snapshot) -> bool:
    return body.recorded_at == record.recorded_at and alike(body.snapshot.as_data(), record.snapshot.as_data())


def bodies_of(ws: Workspace, id_: str) -> list[Body]:
    """Every body that a readable version of the record brought, oldest first."""
    key = Key(Snapshot.kind, id_)
    came: list[_Came] = []
    stands: dict[Oid, _Stand] = {}
    for entry, blob in reversed(list(_stored(ws, layout.path_of(key)))):
        before = [stands[one] for one in entry.parents if one in stands] or [_Stand()]
        held = blob or next((one.blob for one in before if one.blob), None)
        stands[entry.commit] = _Stand(held, before[0].turn, max(one.latest for one in before))
        if blob is None or blob in {one.blob for one in before}:
            continue
        record = layout.decode(key, "", ws.branch.store.read(blob))
        if isinstance(record, Snapshot):
            stands[entry.commit] = _at_turn(record, entry, blob, before)
            _add(came, record, entry, stands[entry.commit])
    return [one.body for one in sorted(came, key=lambda one: one.stand.turn)]


def _at_turn(record: Snapshot, entry: LogEntry, blob: Oid, before: list[_Stand]) -> _Stand:
    """Where a new body stands: on top, but after the one before it in the same file where an import brought it."""
    at, latest = moment_of(record.recorded_at), max(one.latest for one in before)
    run = entry.time if entry.op == "import" else None
    onto = latest if run is None else before[0].turn if before[0].run == run else at
    turn = max(onto, at)
    return _Stand(blob, turn, max(latest, turn), run)


def _add(came: list[_Came], record: Snapshot, entry: LogEntry, stand: _Stand) -> None:
    """Notes a body; one that an import only puts on top again moves there, with the version that had it first."""
    said = f"{record.recorded_at} {json.dumps(record.snapshot.as_data(), indent=None)}"
    body = Body(record.recorded_at, entry.revision, entry.commit, record.snapshot)
    if stand.run is not None:
        earlier = [number for number, one in enumerate(came) if one.said == said and one.stand.run != stand.run]
        body = came.pop(earlier[-1]).body if earlier else body
    came.append(_Came(body, said, stand))


def _stored(ws: Workspace, path: str) -> Iterator[tuple[LogEntry, Oid | None]]:
    """The file at `path` in each version, newest version first; None where there is none."""
    *folders, name = path.split("/")
    seen: dict[Oid | None, Oid | None] = {}
    for entry in ws.branch.log():
        top = ws.branch.store.folder(entry.tree).folder(folders[0])
        if top.oid not in seen:
            folder = top
            for one in folders[1:]:
                folder = folder.folder(one)
            item = folder.entries().get(name)
            seen[top.oid] = item.oid if item is not None and not item.is_folder else None
        yield entry, seen[top.oid]
