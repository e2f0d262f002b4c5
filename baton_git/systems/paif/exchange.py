"""The verbs that import and export PAIF's checkpoint folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from baton_git.core import layout
from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, NotFound, shorten
from baton_git.core.names import AgentId
from baton_git.core.output import count_noun, flat
from baton_git.core.progress import track
from baton_git.core.records.base import alike
from baton_git.core.redaction import Redaction, redact
from baton_git.core.redaction.changes import refuse_secret
from baton_git.core.state import Key, State
from baton_git.core.verb import READS, SETTLES, Input, Option, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.files.atomic_files import read_bytes, reading, show_path, write_all
from baton_git.namespace.results import FilesResult, ResultPart, WrittenResult
from baton_git.namespace.revision import ProposedState, Revision
from baton_git.namespace.workspace import Workspace
from baton_git.systems.paif import checkpoint_store
from baton_git.systems.paif.checkpoints import check_known
from baton_git.systems.paif.documents import parse_checkpoint, to_paif_document
from baton_git.systems.paif.record import Checkpoint

_SUFFIX = ".json"
_FOLDER = "checkpoints"
_MAX_NAME = 240
"""Maximum size of a file name in bytes, so that there is room for `_2`."""


class CheckpointFile(NamedTuple):
    """The document of one checkpoint file.

    Attributes:
        agent: the agent whom the caller named, else the name of the file's folder. None for a single file that is not
            in a folder `checkpoints/<agent>/`.
        file: the name of the file.
        where: its path, for messages.
    """

    agent: str | None
    document: dict[str, Any]
    file: str
    where: str


class UnusableCheckpoint(NamedTuple):
    """A file that is not a usable checkpoint."""

    where: str
    why: str


class OutgoingCheckpoint(NamedTuple):
    """One checkpoint to export. `file` is the name of the file it was imported from."""

    agent: str
    document: dict[str, Any]
    ended: datetime
    file: str | None = None


def read_checkpoints(path: Path, agent: str | None = None) -> list[CheckpointFile | UnusableCheckpoint]:
    """Read the checkpoints at `path` (a folder of agents, the folder of one agent, or one file), sorted by agent and
    file name.

    Args:
        agent: read only the checkpoints of this agent. Files directly in the folder `path` are taken to be this
            agent's, whatever the folder is called.

    Raises:
        NotFound: `path` does not exist, or is a folder with neither files nor a subfolder of this agent.
        StoreError: `path` cannot be read.
    """
    with reading(path):
        path.stat()
    if not path.is_dir():
        return [_read_file(path, agent or _find_agent(path))]
    root = Path(os.path.realpath(path))
    own = [_read_inside(file, root, agent or root.name) for file in _list_files(path)]
    folders = [entry for entry in _list_folder(path) if entry.is_dir() and agent in (None, entry.name)]
    if agent is not None and not own and not folders:
        raise NotFound("folder of the agent", agent, hint=f"{show_path(path)} has no such folder")
    return own + [entry for folder in folders for entry in _read_folder(folder, root)]


def _find_agent(path: Path) -> str | None:
    """Return the agent of a single file whose path ends with `checkpoints/<agent>/<file>`; None for other paths."""
    folder = Path(os.path.realpath(path)).parent
    return folder.name if folder.parent.name == _FOLDER else None


def _list_folder(folder: Path) -> list[Path]:
    with reading(folder):
        return sorted(folder.iterdir())


def _list_files(folder: Path) -> Iterator[Path]:
    """List the JSON files of a folder, without hidden ones."""
    for path in _list_folder(folder):
        if path.name.endswith(_SUFFIX) and not path.name.startswith(".") and not path.is_dir():
            yield path


def _read_folder(folder: Path, root: Path) -> Iterator[CheckpointFile | UnusableCheckpoint]:
    if not _is_inside(folder, root):
        yield UnusableCheckpoint(show_path(folder), "is a link that leads out of the folder")
        return
    try:
        AgentId(folder.name)
        paths = list(_list_files(folder))
    except BatonError as error:
        yield UnusableCheckpoint(show_path(folder), str(error))
        return
    yield from (_read_inside(path, root, folder.name) for path in paths)


def _is_inside(path: Path, root: Path) -> bool:
    return root in Path(os.path.realpath(path)).parents


def _read_inside(path: Path, root: Path, agent: str) -> CheckpointFile | UnusableCheckpoint:
    if not _is_inside(path, root):
        return UnusableCheckpoint(show_path(path), "is a link that leads out of the folder")
    return _read_file(path, agent)


def _read_file(path: Path, agent: str | None) -> CheckpointFile | UnusableCheckpoint:
    where = show_path(path)
    try:
        if not path.is_file():  # opening a pipe would wait for a writer
            return UnusableCheckpoint(where, "is not a regular file")
        return CheckpointFile(agent, _parse_file(path), path.name, where)
    except BatonError as error:
        return UnusableCheckpoint(where, str(error).removeprefix(f"{where}: "))


def _parse_file(path: Path) -> dict[str, Any]:
    data = json.loads(read_bytes(path))
    if not isinstance(data, dict):
        raise InvalidDocument([Fault("", "a checkpoint must be a JSON object")])
    return data


# --- writing


def write_checkpoints(folder: Path, checkpoints: list[OutgoingCheckpoint], *, one_agent: bool = False) -> list[Path]:
    """Write checkpoints in PAIF's layout and return the sorted paths of their files.

    Existing files are left alone: a checkpoint that a file already holds is not written again, and a checkpoint whose
    file name is taken by other content gets another name.

    Args:
        one_agent: whether `folder` is the folder of one agent rather than of all agents.

    Raises:
        InvalidName: the name of an agent cannot be the name of a folder.
        InvalidArgument: a link leads out of the folder, or a path that should be a folder is something else.
        WriteFailed: the disk is full or refuses the write.

    If an error is raised, no checkpoint has been written, unless the hint of WriteFailed names replaced files.
    """
    taken: set[tuple[str, str]] = set()
    paths: list[Path] = []
    contents: dict[Path, bytes] = {}
    # Checkpoints that were imported under a name come first, so that no other checkpoint takes their names.
    for checkpoint in sorted(checkpoints, key=lambda entry: _find_own_name(entry) is None):
        agent_folder = folder if one_agent else folder / AgentId(checkpoint.agent).text
        _check_agent_folder(agent_folder, folder)
        path, is_written = _choose_path(agent_folder, checkpoint, taken)
        taken.add((checkpoint.agent.casefold(), path.name.casefold()))
        paths.append(path)
        if not is_written:
            contents[path] = f"{json.dumps(checkpoint.document)}\n".encode()
    write_all(contents)
    return sorted(paths)


def _check_agent_folder(path: Path, folder: Path) -> None:
    if path != folder and path.is_symlink() and not _is_inside(path, Path(os.path.realpath(folder))):
        raise InvalidArgument(f"{show_path(path)} is a link that leads out of the folder", path=show_path(path))
    if path.exists() and not path.is_dir():
        raise InvalidArgument(f"{show_path(path)} exists and is not a folder", path=show_path(path))


def _choose_path(folder: Path, checkpoint: OutgoingCheckpoint, taken: set[tuple[str, str]]) -> tuple[Path, bool]:
    """Return the first path that is free or whose file holds the same document, and whether it holds the document.

    Args:
        taken: agents and file names of the checkpoints that were placed before, in folded case.
    """
    for name in _list_names(checkpoint):
        path = folder / name
        if (checkpoint.agent.casefold(), name.casefold()) in taken:
            continue
        if not os.path.lexists(path):
            return path, False
        if _holds_document(path, checkpoint.document):
            return path, True
    raise AssertionError("unreachable")


def _list_names(checkpoint: OutgoingCheckpoint) -> Iterator[str]:
    own = _find_own_name(checkpoint)
    stem = f"checkpoint-{checkpoint.ended.isoformat(timespec='seconds')[:19].replace(':', '-')}"
    if own is not None:
        yield own
        stem = own.removesuffix(_SUFFIX) if not own.startswith(stem) else stem
    yield f"{stem}{_SUFFIX}"
    yield from (f"{stem}_{number}{_SUFFIX}" for number in count(2))


def _find_own_name(checkpoint: OutgoingCheckpoint) -> str | None:
    """Return the file name under which a checkpoint was imported; None if it was not imported, or if the name is not
    valid, since a record can contain any text."""
    name = checkpoint.file or ""
    fits = name.endswith(_SUFFIX) and name.isprintable() and len(name.encode()) <= _MAX_NAME
    return name if fits and not name.startswith(".") and "/" not in name else None


def _holds_document(path: Path, document: dict[str, Any]) -> bool:
    """Return whether the file at `path` holds this document; False if it cannot be read."""
    try:
        return path.is_file() and alike(_parse_file(path), document)
    except BatonError:
        return False


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
    files = read_checkpoints(path, checkpoint_store.parse_agent(agent) if agent is not None else None)
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
        RefusedCheckpoint(where=draft.where, why=draft.why) for draft in drafts if isinstance(draft, UnusableCheckpoint)
    ]
    return ImportedPaif.of(written, ok=not refused, new=new, known=len(valid) - new, refused=refused)


def _check_agent(folder: Path, files: Iterable[CheckpointFile | UnusableCheckpoint], agent: str) -> None:
    """Raise InvalidArgument if all checkpoints of a folder name other agents."""
    named = {_find_owner(file.document) for file in files if isinstance(file, CheckpointFile)}
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
    file: CheckpointFile | UnusableCheckpoint,
) -> CheckpointDraft | UnusableCheckpoint:
    """Return the draft of a file, or the reason why the file is unusable."""
    if isinstance(file, UnusableCheckpoint):
        return file
    try:
        document, redactions = redact(file.document)
        record = parse_checkpoint(
            document, checkpoint_store.parse_agent(file.agent or _find_owner(document) or "unknown"), file=file.file
        )
        _, id_ = checkpoint_store.place_checkpoint(State(), record)
        refuse_secret("session", id_)
        layout.encode({Key(Checkpoint.kind, id_): record.replace(id=id_)})
    except BatonError as error:
        return UnusableCheckpoint(file.where, str(error))
    return CheckpointDraft(record, redactions)


def _find_owner(document: dict[str, object]) -> str | None:
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
        OutgoingCheckpoint(
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
    files = write_checkpoints(verb_input.folder, outgoing, one_agent=is_one_agent)
    return ExportedPaif(path=str(verb_input.folder), files=files)
