"""PAIF's checkpoint folder, `~/.memory-bridge/checkpoints/`: one folder per agent, one JSON file per checkpoint.

    <agent>/checkpoint-2026-04-04T18-34-00.json      UTC, without milliseconds
    <agent>/checkpoint-2026-04-04T18-34-00_2.json    another checkpoint of the same second; PAIF overwrites the first

Symbolic links that lead out of the folder are not followed. An export never replaces a file that has other content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, Fault, InvalidArgument, InvalidDocument, NotFound
from baton_git.core.names import AgentId
from baton_git.core.records.base import alike
from baton_git.git.files.atomic_files import read_bytes, reading, show_path, write_all

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
