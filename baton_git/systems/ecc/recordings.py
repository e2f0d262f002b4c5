"""The verbs that import ECC's recording files, one revision for each snapshot, and export them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import Field

from baton_git.core import diff, layout
from baton_git.core.errors import BatonError, Busy, NotAllowed, NotFound, WriteFailed, shorten
from baton_git.core.output import flat
from baton_git.core.progress import track
from baton_git.core.records.base import alike, parse
from baton_git.core.redaction.changes import Redactions, redact_edits, refuse_secret
from baton_git.core.state import Key
from baton_git.core.verb import READS, SETTLES, Input, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.files.atomic_files import show_path, write_all
from baton_git.namespace.results import CHECKED_OUT, FilesResult, RedactedValue, ResultPart, list_redactions
from baton_git.namespace.revision import CommitStamp, Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.ecc.record import Snapshot
from baton_git.systems.ecc.recording_files import (
    SCHEMA_VERSION,
    Recording,
    encode_recording,
    make_recording_path,
    read_existing,
    read_recordings,
)
from baton_git.systems.ecc.snapshots import (
    DatedSnapshot,
    archive_oldest,
    find_latest,
    find_recorded,
    list_added_snapshots,
    list_distinct_snapshots,
    make_record,
    parse_moment,
    redact_snapshot,
)
from baton_git.systems.imported import UnusableEntry

_ATTEMPTS = 20
"""Maximum number of attempts of an import while others write."""


class ImportEcc(Input):
    """The recordings to import."""

    path: Path = Field(description="A recording, or a folder of them.")


class ImportedRecording(ResultPart):
    """The outcome for one recording."""

    ok: bool = Field(description="Whether it was imported.")
    id: str = Field(
        description="ADAPTER/SESSION; the file, if it is not a valid recording.", examples=["claude-history/a1b2c3d4"]
    )
    added: int = Field(
        0,
        description="Number of snapshots that the namespace lacked.",
    )
    revision: int | None = Field(None, description="The newest revision after the import; null if nothing was written.")
    redactions: list[RedactedValue] = Field([], description="Secrets that were redacted.")
    why: str = Field("", description="Why it could not be imported.")
    checked_out_at: str | None = Field(None, description="A work tree that has the branch checked out.")

    def describe(self) -> list[str]:
        """Return sentences about the import: what is new, and what was redacted."""
        if self.why:
            told = f"baton: {self.why}" if self.why.startswith(self.id) else f"baton: {self.id}: {self.why}"
        elif self.revision is None:
            told = f"{self.id}: nothing new"
        else:
            again = "nothing new, but the file's latest snapshot is the session's current one again"
            told = f"{self.id}: {f'{self.added} new' if self.added else again} (revision {self.revision})"
        redacted = (f"redacted: {value.kind} in {value.record}, {value.path}" for value in self.redactions)
        return [flat(told), *map(flat, redacted)]


class ImportedRecordings(Result):
    """The outcome of an import."""

    recordings: list[ImportedRecording] = Field(description="The outcome for each recording.")

    def show(self, reader: Reader) -> ResultView:
        notes = [note for recording in self.recordings for note in recording.describe()]
        places = dict.fromkeys(recording.checked_out_at for recording in self.recordings)
        notes += [flat(CHECKED_OUT.format(place)) for place in places if place is not None]
        return ResultView(notes=notes, status="ok" if all(recording.ok for recording in self.recordings) else "failed")


@verb(
    "import ecc",
    progress="importing",
    effect=SETTLES,
    positional=("path",),
    examples=(
        "baton import ecc /tmp/ecc-session-recordings",
        "baton import ecc recordings/claude-history/a1b2c3d4.json",
    ),
)
def import_ecc(ws: Workspace, now: datetime, verb_input: ImportEcc) -> ImportedRecordings:
    """Import ECC's recordings of sessions (ecc.session.recording.v1) from a file or a folder of files.

    Each snapshot in a recording's history becomes a revision, in the order of the file. Importing again adds nothing.
    The latest snapshot of the file becomes the latest one of the record, unless the record has a newer one that the
    file lacks.

    Raises:
        NotFound: the path does not exist or contains no recording.
        InvalidDocument: the path is a single file and not a recording.
        Busy, WriteFailed: writing is not possible now; recordings that were imported before stay.
    """
    recordings = [
        ImportedRecording(ok=False, id=entry.where, why=entry.why)
        if isinstance(entry, UnusableEntry)
        else _import_recording(ws, now, entry)
        for entry in track(read_recordings(verb_input.path), ws.progress)
    ]
    return ImportedRecordings(recordings=recordings)


def _import_recording(ws: Workspace, now: datetime, recording: Recording) -> ImportedRecording:
    id_ = f"{recording.adapterId}/{recording.sessionId}"
    try:
        return _import_snapshots(ws, now, id_, recording)
    except (Busy, WriteFailed):
        raise  # would fail for the next recording too
    except BatonError as error:
        return ImportedRecording(ok=False, id=id_, why=str(error))


def _import_snapshots(ws: Workspace, now: datetime, id_: str, recording: Recording) -> ImportedRecording:
    in_file, redactions = _redact_recording(recording)
    stamp = ws.stamp("import", now)
    for field, text in (("session", stamp.session), ("agent", stamp.agent), ("machine", stamp.machine)):
        refuse_secret(field, text or "")
    for _ in range(_ATTEMPTS):
        tip = ws.branch.read()
        new = _find_new_snapshots(in_file, list_added_snapshots(ws, id_) if tip.commit is not None else [])
        steps = _plan_steps(find_latest(tip.state, id_), new, in_file, recording)
        if not steps:
            return ImportedRecording(ok=True, id=id_, added=0, revision=None)
        for step in steps:
            layout.encode({Key(Snapshot.kind, id_): step})  # refuse what cannot be stored before anything is written
        tip = tip if tip.commit is not None else ws.branch.create(stamp)
        if _commit_steps(ws, stamp, tip, steps):
            where = ws.branch.store.find_checkout(ws.branch.ref)
            return ImportedRecording(
                ok=True, id=id_, added=len(new), revision=ws.branch.read().number,
                redactions=list_redactions(redactions),
                checked_out_at=None if where is None else show_path(where),
            )  # fmt: skip
    raise Busy(f"{ws.branch.namespace}: others kept writing here", hint="try again")


SnapshotData = tuple[str, dict[str, Any]]
"""The time at which a snapshot was recorded, and the snapshot as plain data."""


def _redact_recording(recording: Recording) -> tuple[list[SnapshotData], Redactions]:
    """Return the redacted snapshots of a recording, with the latest one as the last, and the redactions."""
    snapshots = [(entry.recordedAt, entry.snapshot) for entry in recording.history]
    if not snapshots or not alike(snapshots[-1][1].as_data(), recording.latest.as_data()):
        snapshots.append((recording.updatedAt, recording.latest))
    redacted = [(at, *redact_snapshot(snapshot)) for at, snapshot in snapshots]
    redactions = dict.fromkeys(redaction for _, _, redactions_of_one in redacted for redaction in redactions_of_one)
    return [(at, data) for at, data, _ in redacted], tuple(redactions)


def _find_new_snapshots(in_file: Sequence[SnapshotData], known: Sequence[DatedSnapshot]) -> list[SnapshotData]:
    """Return the snapshots of a file that the branch lacks, in the order of the file.

    A snapshot equal to the one before it, in the file or on the branch, is left out.
    """
    on_branch = [(snapshot.recorded_at, snapshot.snapshot.as_data()) for snapshot in known]
    new = []
    for number, candidate in enumerate(in_file):
        is_known = any(candidate[0] == at and alike(candidate[1], data) for at, data in on_branch)
        before = [
            *in_file[:number][-1:],
            *[dated for dated in on_branch if parse_moment(dated[0]) <= parse_moment(candidate[0])][-1:],
        ]
        if not is_known and not any(alike(data, candidate[1]) for _, data in before):
            new.append(candidate)
    return new


def _plan_steps(
    current: Snapshot | None, new: Sequence[SnapshotData], in_file: Sequence[SnapshotData], recording: Recording
) -> list[Snapshot]:
    """Return the record's next revisions; an empty list if nothing changes.

    There is one revision for each new snapshot and, if necessary, a last one, so that the last snapshot is the latest
    of the file, or the record's current one if that is newer and the file lacks it.
    """
    created = min([recording.createdAt, *([current.created_at] if current else [])], key=parse_moment)
    steps = [make_record(data, at, created) for at, data in new]
    if current is not None and not _has_current_or_later(in_file, current):
        return [*steps, current.replace(created_at=created)] if steps else []
    at, data = in_file[-1]
    last = steps[-1] if steps else current
    if last is None or not alike(last.snapshot.as_data(), data):
        steps.append(make_record(data, at, created))
    if steps and parse_moment(recording.updatedAt) > parse_moment(steps[-1].recorded_at):
        steps[-1] = steps[-1].replace(updated_at=recording.updatedAt)
    return steps


def _has_current_or_later(in_file: Sequence[SnapshotData], current: Snapshot) -> bool:
    """Return whether the file has the record's current snapshot, or a later one."""
    has_current = any(at == current.recorded_at and alike(data, current.snapshot.as_data()) for at, data in in_file)
    return has_current or max(parse_moment(at) for at, _ in in_file) > parse_moment(current.recorded_at)


def _commit_steps(ws: Workspace, stamp: CommitStamp, tip: Revision, steps: Sequence[Snapshot]) -> bool:
    """Commit each step on the tip, with one ref move; return False if the tip has moved.

    The last commit archives the oldest snapshots if there are too many.
    """
    draft = ws.branch.store.draft()
    state, commit, tree, revision = tip.state, tip.commit, tip.tree, tip.number
    assert commit is not None
    for step in steps:
        after = state.remove(Key(Snapshot.kind, step.id, archived=True)).put(step)
        if step is steps[-1]:
            after = archive_oldest(ws, after, stamp.now, step.id)
        edits, _ = redact_edits(state, after)
        subject = diff.commit_subject(diff.diff(state, after))
        tree, revision, state = draft.tree(tree, layout.encode(edits)), revision + 1, after
        commit = ws.branch.draft_commit(draft, tree, (commit,), revision, subject, stamp, ())
    return ws.branch.advance(draft, tip.commit, commit, stamp, by="caller")


# --- export


class ExportEcc(Input):
    """The recordings to export."""

    folder: Path = Field(description="The folder of the recordings.")
    id: str | None = Field(
        None, description="Export only this session: ADAPTER/SESSION, or a unique beginning of it.",
        examples=["claude-history/a1b2c3d4"],
    )  # fmt: skip
    force: bool = Field(False, description="Overwrite files even if this namespace lacks some of their snapshots.")


class RefusedExport(ResultPart):
    """A session whose recording was not exported."""

    id: str = Field(description="ADAPTER/SESSION.", examples=["claude-history/a1b2c3d4"])
    why: str = Field(description="Why it was not exported.")
    hint: str = Field("", description="How to export it.")


class ExportedRecordings(FilesResult):
    """The recordings that were exported."""

    refused: list[RefusedExport] = Field(description="The sessions that were not exported.")

    def show(self, reader: Reader) -> ResultView:
        notes = [f"wrote {flat(show_path(path))}" for path in self.files]
        notes += [flat(f"baton: {refusal.id} was not written: {refusal.why}") for refusal in self.refused]
        notes += dict.fromkeys(f"       {flat(refusal.hint)}" for refusal in self.refused if refusal.hint)
        return ResultView(notes=notes, status="failed" if self.refused else "ok")


_IMPORT_FIRST = "import it first (baton import ecc FILE), or overwrite it with --force"


@verb(
    "export ecc",
    effect=READS,
    positional=("folder",),
    examples=(
        "baton export ecc /tmp/ecc-session-recordings",
        "baton export ecc recordings --id claude-history/a1b2c3d4",
    ),
)
def export_ecc(ws: Workspace, now: datetime, verb_input: ExportEcc) -> ExportedRecordings:
    """Write the recorded sessions in ECC's format to FOLDER/ADAPTER/SESSION.json, with their history.

    A file with snapshots that this namespace lacks is not replaced; import it first.

    Raises:
        NotFound: no session was recorded, or none matches.
        Ambiguous: several sessions match.
        InvalidArgument: a path that should be a file is something else.
        WriteFailed: the disk is full or refuses the write; nothing was written.
    """
    state = ws.branch.read().state
    everything = {*state.ids(Snapshot.kind), *state.ids(Snapshot.kind, archived=True)}
    ids = [find_recorded(state, verb_input.id).id] if verb_input.id is not None else sorted(everything)
    if not ids:
        raise NotFound("recorded session in", str(ws.branch.namespace), hint="baton session record TARGET")
    chosen, refused = _separate_files(ids)
    contents = {}
    for id_ in chosen:
        path = verb_input.folder / make_recording_path(*id_.split("/", 1))
        try:
            contents[path] = encode_recording(
                _make_recording(ws, path, find_recorded(state, id_), force=verb_input.force)
            )
        except (Busy, WriteFailed):
            raise
        except BatonError as error:
            refused.append(_refuse_export(id_, error))
    write_all(contents)
    return ExportedRecordings(files=list(contents), refused=refused)


def _separate_files(ids: Sequence[str]) -> tuple[list[str], list[RefusedExport]]:
    """Return the ids of the sessions that have a file name of their own, and the refusals of the others."""
    owners: dict[Path, list[str]] = {}
    refused = []
    for id_ in ids:
        try:
            owners.setdefault(make_recording_path(*id_.split("/", 1)), []).append(id_)
        except BatonError as error:
            refused.append(_refuse_export(id_, error))
    hint = "export them one at a time, with --id, into different folders"
    for path, sharing in owners.items():
        if len(sharing) > 1:
            why = f"{len(sharing)} sessions would share the file {path}"
            refused += [RefusedExport(id=id_, why=why, hint=hint) for id_ in sharing]
    return [sharing[0] for sharing in owners.values() if len(sharing) == 1], refused


def _refuse_export(id_: str, error: BatonError) -> RefusedExport:
    return RefusedExport(id=id_, why=str(error), hint=error.hint)


def _make_recording(ws: Workspace, path: Path, record: Snapshot, *, force: bool) -> Recording:
    """Return the recording of a session.

    Raises:
        NotAllowed: the file at `path` has snapshots that the branch lacks.
    """
    existing = None if force else read_existing(path)
    if existing is not None:
        _refuse_loss(ws, path, existing, record.id)
    times = [record.recorded_at, record.updated_at or "", existing.updatedAt if isinstance(existing, Recording) else ""]
    data = {
        "schemaVersion": SCHEMA_VERSION,
        "adapterId": record.snapshot.adapterId,
        "sessionId": record.snapshot.session.id,
        "createdAt": record.created_at,
        "updatedAt": max(times, key=parse_moment),
        "latest": record.snapshot.as_data(),
        "history": [
            {"recordedAt": dated.recorded_at, "snapshot": dated.snapshot.as_data()}
            for dated in list_distinct_snapshots(ws, record)
        ],
    }
    return parse(Recording, data, where=record.id)


def _refuse_loss(ws: Workspace, path: Path, existing: Recording | UnusableEntry, id_: str) -> None:
    """Raise NotAllowed if the existing file at `path` has something that the branch lacks."""
    if isinstance(existing, UnusableEntry):
        raise NotAllowed(f"{existing.why}; it is not overwritten", hint="move it away, or overwrite it with --force")
    if f"{existing.adapterId}/{existing.sessionId}" != id_:
        raise NotAllowed(
            f"{show_path(path)} is the recording of another session, {shorten(existing.sessionId)}",
            hint="export to another folder, or overwrite it with --force",
        )
    lost = _find_new_snapshots(_redact_recording(existing)[0], list_added_snapshots(ws, id_))
    if lost:
        count = "a snapshot" if len(lost) == 1 else f"{len(lost)} snapshots"
        raise NotAllowed(f"{show_path(path)} has {count} that this namespace lacks", hint=_IMPORT_FIRST)
