"""Snapshots of sessions: keep the latest of each, look at the ones before it, exchange them with ECC.

The record of a session holds its latest snapshot, git the earlier ones. A snapshot that says what the record says
writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from baton_git import diff, layout
from baton_git.branch import Proposal, Stamp, Version, Written
from baton_git.diary import LogEntry
from baton_git.errors import Ambiguous, BatonError, Busy, NotFound
from baton_git.exchange.ecc import SCHEMA_VERSION, Recording, point_in_time, read_recordings, write_recordings
from baton_git.exchange.session_baton.found import Unusable
from baton_git.lifecycle import iso
from baton_git.names import Oid
from baton_git.operations.workspace import Workspace
from baton_git.records.base import alike, parse
from baton_git.records.snapshot import CanonicalSession, Snapshot
from baton_git.redaction import Redaction, redact
from baton_git.scrubbing import refuse_secret, scrubbed
from baton_git.state import Key, State

_ATTEMPTS = 20
"""How often a take-over begins anew when others write meanwhile."""

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
    clean, redactions = _clean(snapshot)

    def change(tip: Version) -> State | Proposal:
        before = tip.state.entry(key)
        if isinstance(before, Snapshot) and alike(before.snapshot.given(), clean):
            return tip.state
        earlier = before if isinstance(before, Snapshot) else None
        new = _record(clean, _not_before(now, earlier), earlier.created_at if earlier else iso(now))
        return Proposal(tip.state.put(new), redactions=redactions)

    return Recorded(key.id, ws.update("session-record", now, change))


def _clean(snapshot: CanonicalSession) -> tuple[dict[str, Any], Redactions]:
    """What is stored of a snapshot: without secrets, so that the same one is known again."""
    key = Key(Snapshot.kind, id_of(snapshot))
    refuse_secret("id of the session", key.id)
    data, found = redact(snapshot.given())
    return data, tuple((key, one._replace(path=f"snapshot.{one.path}")) for one in found)


def _record(body: dict[str, Any], recorded_at: str, created_at: str, **more: str) -> Snapshot:
    id_ = f"{body['adapterId']}/{body['session']['id']}"
    data = {"id": id_, "created_at": created_at, "recorded_at": recorded_at, "snapshot": body, **more}
    return parse(Snapshot, data)


def _not_before(now: datetime, earlier: Snapshot | None) -> str:
    """The time of a new body: not before that of the one it replaces, also when a clock was set back."""
    if earlier is not None and _moment(earlier.recorded_at) > now:
        return earlier.recorded_at
    return iso(now)


def _moment(text: str) -> datetime:
    """When something was recorded; what a hand wrote that is no time counts as long ago."""
    try:
        return point_in_time(text)
    except ValueError:
        return point_in_time("0001-01-01")


# --- looking


def recorded(ws: Workspace) -> list[Snapshot]:
    """The latest snapshot of each session, the newest first."""
    return sorted(ws.branch.read().state.records(Snapshot), key=lambda one: _moment(one.recorded_at), reverse=True)


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
    return _distinct(_bodies(ws, find(ws.branch.read().state, text).id))


def _distinct(bodies: Sequence[Body]) -> list[Body]:
    """Without those that only repeat the one before, newest first."""
    kept: list[Body] = []
    for one in sorted(bodies, key=lambda body: _moment(body.recorded_at)):
        if not kept or not alike(kept[-1].snapshot.given(), one.snapshot.given()):
            kept.append(one)
    return kept[::-1]


def _bodies(ws: Workspace, id_: str) -> list[Body]:
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


# --- ECC's recording files


class TakenOver(NamedTuple):
    """What came of one recording: how many bodies are new, or why it could not be taken over."""

    id: str
    added: int = 0
    version: Version | None = None
    redactions: Redactions = ()
    why: str = ""


def import_ecc(ws: Workspace, now: datetime, path: Path) -> list[TakenOver]:
    """Takes over a recording file of ECC, or all in a folder: each body becomes a version, in the order of their times.

    What is known already is not written again; an older body never stays above a newer one.

    Raises:
        NotFound: nothing there.
        InvalidDocument: the one file that was named is no recording.
    """
    found = read_recordings(path)
    return [
        TakenOver(one.where, why=one.why) if isinstance(one, Unusable) else _taken_over(ws, now, one) for one in found
    ]


def _taken_over(ws: Workspace, now: datetime, recording: Recording) -> TakenOver:
    id_ = f"{recording.adapterId}/{recording.sessionId}"
    try:
        return _take_over(ws, now, id_, recording)
    except BatonError as error:
        return TakenOver(id_, why=str(error))


def _take_over(ws: Workspace, now: datetime, id_: str, recording: Recording) -> TakenOver:
    given, redactions = _given(recording)
    stamp = ws.stamp("import", now)
    for what, text in (("session", stamp.session), ("agent", stamp.agent), ("machine", stamp.machine)):
        refuse_secret(what, text or "")
    for _ in range(_ATTEMPTS):
        tip = ws.branch.read()
        new = _new(given, _bodies(ws, id_) if tip.commit is not None else [])
        if not new:
            return TakenOver(id_)
        steps = _steps(tip.state, id_, new, recording)
        for step in steps:
            layout.encode({Key(Snapshot.kind, id_): step})  # what cannot be stored is refused before anything is made
        tip = tip if tip.commit is not None else ws.branch.create(stamp)
        if _chained(ws, stamp, tip, steps):
            return TakenOver(id_, len(new), ws.branch.read(), redactions)
    raise Busy(f"{ws.branch.namespace}: others kept writing here", hint="try again")


Given = tuple[str, dict[str, Any]]
"""When a body was recorded, and the body."""


def _given(recording: Recording) -> tuple[list[Given], Redactions]:
    """The bodies of a recording, without secrets; the latest one too, where the history lacks it."""
    bodies = [(one.recordedAt, one.snapshot) for one in recording.history]
    if not bodies or not alike(bodies[-1][1].given(), recording.latest.given()):
        bodies.append((recording.updatedAt, recording.latest))
    cleaned = [(at, *_clean(one)) for at, one in bodies]
    redactions = dict.fromkeys(found for _, _, all_found in cleaned for found in all_found)
    return [(at, data) for at, data, _ in cleaned], tuple(redactions)


def _new(given: Sequence[Given], known: Sequence[Body]) -> list[Given]:
    """The bodies that the branch never had at their time, oldest first, without those that repeat the one before."""
    there = [(one.recorded_at, one.snapshot.given()) for one in known]
    missing = [one for one in given if not any(one[0] == at and alike(one[1], data) for at, data in there)]
    before: dict[str, Any] | None = None
    found = []
    for is_new, one in sorted(
        [*((False, one) for one in there), *((True, one) for one in missing)], key=lambda each: _moment(each[1][0])
    ):
        if is_new and (before is None or not alike(before, one[1])):
            found.append(one)
        before = one[1]
    return found


def _steps(state: State, id_: str, new: Sequence[Given], recording: Recording) -> list[Snapshot]:
    """The record as it will be, version by version; what is there now comes last if nothing is newer."""
    now = state.entry(Key(Snapshot.kind, id_))
    current = now if isinstance(now, Snapshot) else None
    created = min([recording.createdAt, *([current.created_at] if current else [])], key=_moment)
    steps = [_record(data, at, created) for at, data in new]
    if current is not None and _moment(current.recorded_at) >= _moment(steps[-1].recorded_at):
        steps.append(current.replace(created_at=created))
    elif _moment(recording.updatedAt) > _moment(steps[-1].recorded_at):
        steps[-1] = steps[-1].replace(updated_at=recording.updatedAt)
    return steps


def _chained(ws: Workspace, stamp: Stamp, tip: Version, steps: Sequence[Snapshot]) -> bool:
    """Puts one commit for each step on the tip, all at once; False when somebody else was faster."""
    draft = ws.branch.store.draft()
    state, commit, tree, revision = tip.state, tip.commit, tip.tree, tip.revision
    assert commit is not None
    for step in steps:
        after = state.put(step)
        edits, _ = scrubbed(state, after)
        subject = diff.subject(diff.diff(state, after))
        tree, revision, state = draft.tree(tree, layout.encode(edits)), revision + 1, after
        commit = ws.branch.seal(draft, tree, (commit,), revision, subject, stamp, ())
    return ws.branch.advance(draft, tip.commit, commit, stamp)


def export_ecc(ws: Workspace, folder: Path, text: str | None = None) -> list[Path]:
    """Writes the recording of one session (named as in `find`), or of all, as ECC keeps them; gives the paths.

    Raises:
        NotFound: nothing was recorded.
        Corrupt: a record cannot be read.
        InvalidArgument: two sessions would share a file.
        WriteFailed: the disk said no; nothing was written.
    """
    state = ws.branch.read().state
    ids = [find(state, text).id] if text is not None else sorted(state.ids(Snapshot.kind))
    chosen = [state.get(Snapshot, id_) for id_ in ids]
    if not chosen:
        raise NotFound("recorded session in", str(ws.branch.namespace), hint="baton session record TARGET")
    return write_recordings(folder, [_recording(ws, one) for one in chosen])


def _recording(ws: Workspace, one: Snapshot) -> Recording:
    bodies = _distinct(_bodies(ws, one.id))[::-1]
    data = {
        "schemaVersion": SCHEMA_VERSION,
        "adapterId": one.snapshot.adapterId,
        "sessionId": one.snapshot.session.id,
        "createdAt": one.created_at,
        "updatedAt": max(one.recorded_at, one.updated_at or "", key=_moment),
        "latest": one.snapshot.given(),
        "history": [{"recordedAt": body.recorded_at, "snapshot": body.snapshot.given()} for body in bodies],
    }
    return parse(Recording, data, where=one.id)
