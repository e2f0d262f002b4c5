"""The verbs that import KAIROS' handover file, and export it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import Field

from baton_git.core.output import flat
from baton_git.core.verb import READS, SETTLES, Input, Option, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.results import PastRevision, WrittenResult
from baton_git.namespace.workspace import Workspace
from baton_git.systems.kairos.handover_files import export_kairos, import_kairos
from baton_git.systems.kairos.handover_verbs import RunId
from baton_git.systems.kairos.work_tree_copy import Copy


class ImportHandover(Input):
    """The handover file to import."""

    file: Path = Field(description="The handover file.")


class ImportedHandover(WrittenResult):
    """The imported run."""

    SESSION_ID: str = Field(description="The run.", examples=["run-1"])
    changed: bool = Field(description="Whether the import changed the run.")
    contested: list[str] = Field(description="The fields in conflict, which both sides changed.")

    def show(self, reader: Reader) -> ResultView:
        id_ = flat(self.SESSION_ID)
        return ResultView(
            id_, [*self.told, *(f"conflict: {flat(field)} of {id_}; see baton conflicts" for field in self.contested)]
        )


class ExportHandover(Input):
    """The run to export."""

    file: Path = Field(description="The handover file; on the command line, `-` is standard output.")
    session: RunId = None
    at: PastRevision = None
    force: bool = Field(False, description="Replace the file, whatever it contains.")


class ExportedHandover(Result):
    """The run that was exported."""

    SESSION_ID: str = Field(description="The run.", examples=["run-1"])
    path: str = Field(description="The file.")
    text: str = Field("", description="The text of the file, if it was written to standard output.")

    def show(self, reader: Reader) -> ResultView:
        return ResultView(notes=[f"wrote handover {flat(self.SESSION_ID)} to {flat(self.path)}"])


@verb(
    "import kairos",
    effect=SETTLES,
    positional=("file",),
    examples=("baton import kairos kairos-session-handover.txt",),
)
def import_handover(ws: Workspace, now: datetime, verb_input: ImportHandover) -> ImportedHandover:
    """Import a KAIROS handover file, and merge it with this namespace's run of the same SESSION_ID, if there is one.

    An older copy of the run changes nothing.

    Raises:
        NotFound: the file does not exist, or is empty.
        InvalidDocument, LimitExceeded: the file is invalid, or too large.
        StepConflict: the run has ended, and the file was changed later.
    """
    copy = Copy.at(verb_input.file, ws.branch.store.repository.common_dir, ws.branch.namespace)
    merged = import_kairos(ws, now, copy)
    return ImportedHandover.of(
        merged.written, SESSION_ID=merged.id, changed=bool(merged.written.changes), contested=list(merged.contested)
    )


@verb(
    "export kairos",
    usage=("--session names the run. If FILE is -, the run is printed."),
    shared={"session": "session"},
    effect=READS,
    positional=("file",),
    options={"session": Option(hidden=True), "at": Option(metavar="REV|TIME")},
    examples=("baton export kairos kairos-session-handover.txt --session run-1",),
)
def export_handover(ws: Workspace, now: datetime, verb_input: ExportHandover) -> ExportedHandover:
    """Write a protocol run, by default the only live one, to a handover file that KAIROS clients read.

    An existing file that is not a handover of the same run is replaced only if you force it.

    Raises:
        NotFound: there is no such run.
        InvalidArgument: no run is named, and several are live.
        NotAllowed: without `force`, the file exists and is not a handover of this run.
        WriteFailed: the file could not be written; nothing was changed.
    """
    id_ = export_kairos(ws, verb_input.file, verb_input.session, verb_input.at, force=verb_input.force)
    return ExportedHandover(SESSION_ID=id_, path=str(verb_input.file))
