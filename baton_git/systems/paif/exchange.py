"""The verbs that import and export PAIF's checkpoint folders."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from baton_git.core import layout
from baton_git.core.errors import BatonError, InvalidArgument, NotFound, shorten
from baton_git.core.output import count_noun, flat
from baton_git.core.progress import track
from baton_git.core.redaction import Redaction, redact
from baton_git.core.redaction.changes import refuse_secret
from baton_git.core.state import Key, State
from baton_git.core.verb import READS, SETTLES, Input, Option, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.files.atomic_files import show_path
from baton_git.namespace.results import FilesResult, ResultPart, WrittenResult
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.paif import checkpoint_folder, checkpoint_store
from baton_git.systems.paif.checkpoints import check_known
from baton_git.systems.paif.documents import parse_checkpoint, to_paif_document
from baton_git.systems.paif.records.checkpoint import Checkpoint

_PATH_HINT = "give a folder `checkpoints`, the folder of one agent in it, or a file"


class CheckpointDraft(NamedTuple):
    """A valid, redacted checkpoint without its final id."""

    record: Checkpoint
    redactions: tuple[Redaction, ...]


class ImportPaif(Input):
    """The checkpoints to import."""

    path: Path = Field(description="A folder `checkpoints`, the folder of one agent in it, or a file.")
    agent: str | None = Field(None, description="Only the checkpoints of this agent.", examples=["zero"])


class ExportPaif(Input):
    """The checkpoints to export."""

    folder: Path = Field(
        description="The folder `checkpoints` or, if an agent is named, the folder of that name in it."
    )
    agent: str | None = Field(None, description="Only the checkpoints of this agent.", examples=["zero"])


class RefusedCheckpoint(ResultPart):
    """A file that is not a usable checkpoint."""

    where: str = Field(description="The file.")
    why: str = Field(description="Why it is unusable.")


class ImportedPaif(WrittenResult):
    """The outcome of an import."""

    ok: bool = Field(description="Whether every file was usable.")
    new: int = Field(description="Number of new checkpoints.")
    known: int = Field(description="Number of checkpoints that existed already.")
    refused: list[RefusedCheckpoint] = Field(description="The files that are not usable checkpoints.")

    def show(self, reader: Reader) -> ResultView:
        counts = f"{self.new} new, {self.known} already imported, {len(self.refused)} refused"
        refused = (f"baton: {flat(refusal.where)}: {flat(refusal.why)}" for refusal in self.refused)
        notes = [*(self.told if self.new else ()), counts, *refused]
        return ResultView(notes=notes, status="failed" if self.refused else "ok")


class ExportedPaif(FilesResult):
    """The checkpoints that were exported."""

    path: str = Field(description="The folder they were written to.")

    def show(self, reader: Reader) -> ResultView:
        return ResultView(notes=[f"{count_noun(len(self.files), 'checkpoint')} in {flat(self.path)}"])


AGENT = {"agent": Option(hidden=True)}


@verb(
    "import paif",
    usage="With --agent, only the checkpoints of that agent are imported.",
    progress="importing",
    shared={"agent": "agent"},
    effect=SETTLES,
    positional=("path",),
    options=AGENT,
    examples=("baton import paif ~/.memory-bridge/checkpoints", "baton import paif ~/.memory-bridge/checkpoints/zero"),
)
def import_paif(ws: Workspace, now: datetime, verb_input: ImportPaif) -> ImportedPaif:
    """Import PAIF's checkpoints from a folder `checkpoints`, the folder of one agent in it, or a file.

    Secrets are redacted; nothing else in a checkpoint is changed. Existing checkpoints are not replaced, and importing
    again adds nothing. Files that are not valid checkpoints are listed, and the others are imported nevertheless.

    Raises:
        NotFound: the path does not exist, or has no checkpoint (of that agent).
        InvalidArgument: the agent's name is invalid, or all checkpoints in the folder are of other agents.
    """
    path, agent = verb_input.path, verb_input.agent
    files = checkpoint_folder.read_checkpoints(path, checkpoint_store.parse_agent(agent) if agent is not None else None)
    if not files:
        raise NotFound("checkpoint in", show_path(path), hint=_PATH_HINT)
    drafts = [_make_draft(file) for file in track(files, ws.progress)]
    if agent is not None and path.is_dir():
        _check_agent(path, files, agent)
    valid = [draft for draft in drafts if isinstance(draft, CheckpointDraft)]

    def change(tip: Revision) -> ProposedState:
        state, _, redactions = _place_drafts(tip.state, valid)
        for name in sorted({draft.record.metadata.agent_id for draft in valid}):
            state = checkpoint_store.trim_checkpoints(state, name, now, session=ws.actor.session)
        return ProposedState(state, note="import of PAIF's checkpoints", redactions=redactions, keeps_paths=True)

    written = ws.update("import", now, change)
    new = _place_drafts(written.before.state, valid).new
    refused = [
        RefusedCheckpoint(where=draft.where, why=draft.why)
        for draft in drafts
        if isinstance(draft, checkpoint_folder.UnusableCheckpoint)
    ]
    return ImportedPaif.of(written, ok=not refused, new=new, known=len(valid) - new, refused=refused)


def _check_agent(
    folder: Path, files: Iterable[checkpoint_folder.CheckpointFile | checkpoint_folder.UnusableCheckpoint], agent: str
) -> None:
    """Raise InvalidArgument if all checkpoints of a folder name other agents."""
    named = {_find_agent(file.document) for file in files if isinstance(file, checkpoint_folder.CheckpointFile)}
    others = sorted(name for name in named if name is not None)
    if others and named.isdisjoint((agent, None)):
        raise InvalidArgument(
            f"{show_path(folder)} holds checkpoints of {shorten(others[0])}, not of {shorten(agent)}",
            hint="leave the agent out, name that agent, or name another folder",
        )


class _Placed(NamedTuple):
    state: State
    new: int
    redactions: tuple[tuple[Key, Redaction], ...]


def _place_drafts(state: State, drafts: Iterable[CheckpointDraft]) -> _Placed:
    """Add the checkpoints that the state lacks, and count them."""
    redactions: list[tuple[Key, Redaction]] = []
    new = 0
    for draft in drafts:
        after, id_ = checkpoint_store.place_checkpoint(state, draft.record)
        if after is not state:
            new += 1
            redactions += [(Key(Checkpoint.kind, id_), redaction) for redaction in draft.redactions]
        state = after
    return _Placed(state, new, tuple(redactions))


def _make_draft(
    file: checkpoint_folder.CheckpointFile | checkpoint_folder.UnusableCheckpoint,
) -> CheckpointDraft | checkpoint_folder.UnusableCheckpoint:
    """Return the draft of a file, or the reason why the file is unusable."""
    if isinstance(file, checkpoint_folder.UnusableCheckpoint):
        return file
    try:
        document, redactions = redact(file.document)
        record = parse_checkpoint(
            document, checkpoint_store.parse_agent(file.agent or _find_agent(document) or "unknown"), file=file.file
        )
        _, id_ = checkpoint_store.place_checkpoint(State(), record)
        refuse_secret("session", id_)
        layout.encode({Key(Checkpoint.kind, id_): record.replace(id=id_)})
    except BatonError as error:
        return checkpoint_folder.UnusableCheckpoint(file.where, str(error))
    return CheckpointDraft(record, redactions)


def _find_agent(document: dict[str, object]) -> str | None:
    """Return the agent that a document names; None if it names none."""
    inner = document.get("session_checkpoint", document)
    metadata = inner.get("metadata") if isinstance(inner, dict) else None
    named = metadata.get("agent_id") if isinstance(metadata, dict) else None
    return named if isinstance(named, str) and named else None


@verb(
    "export paif",
    usage=(
        "With --agent, only the checkpoints of that agent are exported. If FOLDER has the agent's name, they are "
        "written to FOLDER itself."
    ),
    shared={"agent": "agent"},
    effect=READS,
    positional=("folder",),
    options=AGENT,
    examples=(
        "baton export paif ~/.memory-bridge/checkpoints",
        "baton export paif ~/.memory-bridge/checkpoints/zero --agent zero",
    ),
)
def export_paif(ws: Workspace, now: datetime, verb_input: ExportPaif) -> ExportedPaif:
    """Write checkpoints, including archived ones, as PAIF stores them: FOLDER/<agent>/checkpoint-<time>.json.

    An existing file with other content is left alone, and the checkpoint gets another file name. A file that was
    imported is exported with the same content, except for redacted secrets (the JSON values are equal; line breaks and
    the order of keys may differ).

    Raises:
        NotFound: there are no checkpoints, or the agent is unknown.
        InvalidName: the name of an agent cannot be the name of a folder.
        WriteFailed: writing to disk failed; nothing was written, unless the hint names replaced files.
    """
    state, agent = ws.branch.read().state, verb_input.agent
    if agent is not None:
        check_known(state, checkpoint_store.parse_agent(agent))
    names = [agent] if agent is not None else checkpoint_store.list_agents(state)
    outgoing = [
        checkpoint_folder.OutgoingCheckpoint(
            name,
            to_paif_document(checkpoint),
            checkpoint.ended,
            checkpoint.foreign.file if checkpoint.foreign else None,
        )
        for name in names
        for checkpoint in reversed(checkpoint_store.list_all(state, name))
    ]
    if not outgoing:
        hint = "baton checkpoint saves one"
        raise NotFound("checkpoint of" if agent else "checkpoint of any agent", agent or "", hint=hint)
    is_one_agent = agent is not None and verb_input.folder.name == agent
    files = checkpoint_folder.write_checkpoints(verb_input.folder, outgoing, one_agent=is_one_agent)
    return ExportedPaif(path=str(verb_input.folder), files=files)
