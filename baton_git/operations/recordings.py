"""ECC's recording files: each body becomes a version, and the versions a file again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from baton_git import diff, layout
from baton_git.branch import Stamp, Version
from baton_git.errors import BatonError, Busy, NotFound
from baton_git.exchange.ecc import SCHEMA_VERSION, Recording, read_recordings, write_recordings
from baton_git.exchange.session_baton.found import Unusable
from baton_git.operations.snapshots import (
    Body,
    Redactions,
    bodies_of,
    cleaned,
    distinct,
    find,
    latest,
    made,
    moment_of,
)
from baton_git.operations.workspace import Workspace
from baton_git.records.base import alike, parse
from baton_git.records.snapshot import Snapshot
from baton_git.scrubbing import refuse_secret, scrubbed
from baton_git.state import Key, State

_ATTEMPTS = 20
"""How often a take-over begins anew when others write meanwhile."""


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
        new = _new(given, bodies_of(ws, id_) if tip.commit is not None else [])
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
    found = [(at, *cleaned(one)) for at, one in bodies]
    redactions = dict.fromkeys(one for _, _, told in found for one in told)
    return [(at, data) for at, data, _ in found], tuple(redactions)


def _new(given: Sequence[Given], known: Sequence[Body]) -> list[Given]:
    """The bodies that the branch never had at their time, oldest first, without those that repeat the one before."""
    there = [(one.recorded_at, one.snapshot.given()) for one in known]
    missing = [one for one in given if not any(one[0] == at and alike(one[1], data) for at, data in there)]
    before: dict[str, Any] | None = None
    found = []
    for is_new, one in sorted(
        [*((False, one) for one in there), *((True, one) for one in missing)], key=lambda each: moment_of(each[1][0])
    ):
        if is_new and (before is None or not alike(before, one[1])):
            found.append(one)
        before = one[1]
    return found


def _steps(state: State, id_: str, new: Sequence[Given], recording: Recording) -> list[Snapshot]:
    """The record as it will be, version by version; what is there now comes last if nothing is newer."""
    current = latest(state, id_)
    created = min([recording.createdAt, *([current.created_at] if current else [])], key=moment_of)
    steps = [made(data, at, created) for at, data in new]
    if current is not None and moment_of(current.recorded_at) >= moment_of(steps[-1].recorded_at):
        steps.append(current.replace(created_at=created))
    elif moment_of(recording.updatedAt) > moment_of(steps[-1].recorded_at):
        steps[-1] = steps[-1].replace(updated_at=recording.updatedAt)
    return steps


def _chained(ws: Workspace, stamp: Stamp, tip: Version, steps: Sequence[Snapshot]) -> bool:
    """Puts one commit for each step on the tip, all at once; False when somebody else was faster."""
    draft = ws.branch.store.draft()
    state, commit, tree, revision = tip.state, tip.commit, tip.tree, tip.revision
    assert commit is not None
    for step in steps:
        after = state.remove(Key(Snapshot.kind, step.id, archived=True)).put(step)
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
    everything = {*state.ids(Snapshot.kind), *state.ids(Snapshot.kind, archived=True)}
    ids = [find(state, text).id] if text is not None else sorted(everything)
    chosen = [find(state, id_) for id_ in ids]
    if not chosen:
        raise NotFound("recorded session in", str(ws.branch.namespace), hint="baton session record TARGET")
    return write_recordings(folder, [_recording(ws, one) for one in chosen])


def _recording(ws: Workspace, one: Snapshot) -> Recording:
    bodies = distinct(bodies_of(ws, one.id))[::-1]
    data = {
        "schemaVersion": SCHEMA_VERSION,
        "adapterId": one.snapshot.adapterId,
        "sessionId": one.snapshot.session.id,
        "createdAt": one.created_at,
        "updatedAt": max(one.recorded_at, one.updated_at or "", key=moment_of),
        "latest": one.snapshot.given(),
        "history": [{"recordedAt": body.recorded_at, "snapshot": body.snapshot.given()} for body in bodies],
    }
    return parse(Recording, data, where=one.id)
