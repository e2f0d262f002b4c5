"""ECC's recording files: each body becomes a version, and the versions a file again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.core import diff, layout
from baton_git.core.errors import BatonError, Busy, NotAllowed, NotFound, WriteFailed, shorten
from baton_git.core.records.base import alike, parse
from baton_git.core.redaction.changes import Redactions, redact_edits, refuse_secret
from baton_git.core.state import Key
from baton_git.git.files.atomic_files import show_path, write_all
from baton_git.namespace.revision import CommitStamp, Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.record import Snapshot
from baton_git.systems.ecc.recording_files import (
    SCHEMA_VERSION,
    Recording,
    already_at,
    place_of,
    read_recordings,
    recording_text,
)
from baton_git.systems.ecc.snapshot_history import Body, bodies_of, moment_of, story_of
from baton_git.systems.ecc.snapshots import cleaned, find, latest, made, trimmed
from baton_git.systems.imported import UnusableEntry

_ATTEMPTS = 20
"""How often a take-over begins anew when others write meanwhile."""


class TakenOver(NamedTuple):
    """What came of one recording: how many bodies are new, or why it could not be taken over.

    `version` is None when nothing was written. It is there with nothing added when what the recording has as its
    latest stands again. `checked_out_at` is a work tree that has the branch checked out.
    """

    id: str
    added: int = 0
    version: Revision | None = None
    redactions: Redactions = ()
    why: str = ""
    checked_out_at: Path | None = None


def import_ecc(ws: Workspace, now: datetime, path: Path) -> list[TakenOver]:
    """Takes over a recording file of ECC, or all in a folder: each body becomes a version, in the order of the file.

    What is known already is not written again. What the file has as its latest stands afterwards, unless the branch
    has something that the file lacks and that is newer.

    Raises:
        NotFound: nothing there.
        InvalidDocument: the one file that was named is no recording.
        Busy, WriteFailed: nothing more can be written now; what was taken over before stays.
    """
    found = read_recordings(path)
    return [
        TakenOver(one.where, why=one.why) if isinstance(one, UnusableEntry) else _taken_over(ws, now, one)
        for one in found
    ]


def _taken_over(ws: Workspace, now: datetime, recording: Recording) -> TakenOver:
    id_ = f"{recording.adapterId}/{recording.sessionId}"
    try:
        return _take_over(ws, now, id_, recording)
    except (Busy, WriteFailed):
        raise  # no fault of this recording, and the next one would fare no better
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
        steps = _steps(latest(tip.state, id_), new, given, recording)
        if not steps:
            return TakenOver(id_)
        for step in steps:
            layout.encode({Key(Snapshot.kind, id_): step})  # what cannot be stored is refused before anything is made
        tip = tip if tip.commit is not None else ws.branch.create(stamp)
        if _chained(ws, stamp, tip, steps):
            where = ws.branch.store.checked_out_at(ws.branch.ref)
            return TakenOver(id_, len(new), ws.branch.read(), redactions, checked_out_at=where)
    raise Busy(f"{ws.branch.namespace}: others kept writing here", hint="try again")


Given = tuple[str, dict[str, Any]]
"""When a body was recorded, and the body."""


def _given(recording: Recording) -> tuple[list[Given], Redactions]:
    """The bodies of a recording, without secrets; the latest one too, where the history lacks it."""
    bodies = [(one.recordedAt, one.snapshot) for one in recording.history]
    if not bodies or not alike(bodies[-1][1].as_data(), recording.latest.as_data()):
        bodies.append((recording.updatedAt, recording.latest))
    found = [(at, *cleaned(one)) for at, one in bodies]
    redactions = dict.fromkeys(one for _, _, told in found for one in told)
    return [(at, data) for at, data, _ in found], tuple(redactions)


def _new(given: Sequence[Given], known: Sequence[Body]) -> list[Given]:
    """The bodies that the branch never had at their time, in the order of the file, without those that repeat another:
    the one before it in the file, or the one that the branch had at that time.
    """
    there = [(one.recorded_at, one.snapshot.as_data()) for one in known]
    found = []
    for number, one in enumerate(given):
        is_known = any(one[0] == at and alike(one[1], data) for at, data in there)
        before = [*given[:number][-1:], *[held for held in there if moment_of(held[0]) <= moment_of(one[0])][-1:]]
        if not is_known and not any(alike(data, one[1]) for _, data in before):
            found.append(one)
    return found


def _steps(
    current: Snapshot | None, new: Sequence[Given], given: Sequence[Given], recording: Recording
) -> list[Snapshot]:
    """The record as it will be, version by version: at the end either the file's latest, or what stands now."""
    created = min([recording.createdAt, *([current.created_at] if current else [])], key=moment_of)
    steps = [made(data, at, created) for at, data in new]
    if current is not None and not _goes_on(given, current):
        return [*steps, current.replace(created_at=created)] if steps else []
    at, data = given[-1]
    standing = steps[-1] if steps else current
    if standing is None or not alike(standing.snapshot.as_data(), data):
        steps.append(made(data, at, created))
    if steps and moment_of(recording.updatedAt) > moment_of(steps[-1].recorded_at):
        steps[-1] = steps[-1].replace(updated_at=recording.updatedAt)
    return steps


def _goes_on(given: Sequence[Given], current: Snapshot) -> bool:
    """Whether the file is newer than what stands: it has that too, or something that was recorded later."""
    has_it = any(at == current.recorded_at and alike(data, current.snapshot.as_data()) for at, data in given)
    return has_it or max(moment_of(at) for at, _ in given) > moment_of(current.recorded_at)


def _chained(ws: Workspace, stamp: CommitStamp, tip: Revision, steps: Sequence[Snapshot]) -> bool:
    """Puts one commit for each step on the tip, all at once; False when somebody else was faster.

    With the last one, snapshots beyond those that are kept go to the archive.
    """
    draft = ws.branch.store.draft()
    state, commit, tree, revision = tip.state, tip.commit, tip.tree, tip.number
    assert commit is not None
    for step in steps:
        after = state.remove(Key(Snapshot.kind, step.id, archived=True)).put(step)
        if step is steps[-1]:
            after = trimmed(ws, after, stamp.now, step.id)
        edits, _ = redact_edits(state, after)
        subject = diff.commit_subject(diff.diff(state, after))
        tree, revision, state = draft.tree(tree, layout.encode(edits)), revision + 1, after
        commit = ws.branch.seal(draft, tree, (commit,), revision, subject, stamp, ())
    return ws.branch.advance(draft, tip.commit, commit, stamp)


# --- giving back


class Refused(NamedTuple):
    """A session whose recording was not written, and why."""

    id: str
    why: str
    hint: str = ""


class Exported(NamedTuple):
    """The files that were written, and what was not."""

    written: list[Path]
    refused: list[Refused]


_IN_THE_WAY = "import it first (baton import ecc FILE), or write over it with --force"


def export_ecc(ws: Workspace, folder: Path, text: str | None = None, *, force: bool = False) -> Exported:
    """Writes the recording of one session (named as in `find`), or of all, as ECC keeps them.

    A file that is there is written over only when the branch has every body in it.

    Args:
        force: whether a file is written over whatever it holds.

    Raises:
        NotFound: nothing was recorded.
        InvalidArgument: something that is no file stands where one should go.
        WriteFailed: the disk said no; nothing was written.
    """
    state = ws.branch.read().state
    everything = {*state.ids(Snapshot.kind), *state.ids(Snapshot.kind, archived=True)}
    ids = [find(state, text).id] if text is not None else sorted(everything)
    if not ids:
        raise NotFound("recorded session in", str(ws.branch.namespace), hint="baton session record TARGET")
    chosen, refused = _apart(ids)
    contents = {}
    for id_ in chosen:
        path = folder / place_of(*id_.split("/", 1))
        try:
            contents[path] = recording_text(_given_back(ws, path, find(state, id_), force=force))
        except (Busy, WriteFailed):
            raise
        except BatonError as error:
            refused.append(Refused(id_, str(error), error.hint))
    write_all(contents)
    return Exported(list(contents), refused)


def _apart(ids: Sequence[str]) -> tuple[list[str], list[Refused]]:
    """The sessions that have a file of their own, and those that do not."""
    owners: dict[Path, list[str]] = {}
    refused = []
    for id_ in ids:
        try:
            owners.setdefault(place_of(*id_.split("/", 1)), []).append(id_)
        except BatonError as error:
            refused.append(Refused(id_, str(error), error.hint))
    hint = "export them one at a time, with --id, into different folders"
    for path, those in owners.items():
        if len(those) > 1:
            refused += [Refused(id_, f"{len(those)} sessions would share the file {path}", hint) for id_ in those]
    return [those[0] for those in owners.values() if len(those) == 1], refused


def _given_back(ws: Workspace, path: Path, one: Snapshot, *, force: bool) -> Recording:
    """The recording of a session, unless it would take something away from the file at `path`.

    Raises:
        NotAllowed: it would.
    """
    there = None if force else already_at(path)
    if there is not None:
        _refuse_loss(ws, path, there, one.id)
    seen = [one.recorded_at, one.updated_at or "", there.updatedAt if isinstance(there, Recording) else ""]
    data = {
        "schemaVersion": SCHEMA_VERSION,
        "adapterId": one.snapshot.adapterId,
        "sessionId": one.snapshot.session.id,
        "createdAt": one.created_at,
        "updatedAt": max(seen, key=moment_of),
        "latest": one.snapshot.as_data(),
        "history": [
            {"recordedAt": body.recorded_at, "snapshot": body.snapshot.as_data()} for body in story_of(ws, one)
        ],
    }
    return parse(Recording, data, where=one.id)


def _refuse_loss(ws: Workspace, path: Path, there: Recording | UnusableEntry, id_: str) -> None:
    """Raises NotAllowed when the file at `path` has something that the branch lacks."""
    if isinstance(there, UnusableEntry):
        raise NotAllowed(f"{there.why}; it is not written over", hint="move it away, or write over it with --force")
    if f"{there.adapterId}/{there.sessionId}" != id_:
        raise NotAllowed(
            f"{show_path(path)} is the recording of another session, {shorten(there.sessionId)}", hint=_IN_THE_WAY
        )
    lost = _new(_given(there)[0], bodies_of(ws, id_))
    if lost:
        what = "a body that is" if len(lost) == 1 else f"{len(lost)} bodies that are"
        raise NotAllowed(f"{show_path(path)} has {what} not known here", hint=_IN_THE_WAY)
