"""Store the turns of each session in a file of JSON lines on this machine.

The first line names the session and the format; each other line is one turn. Recall reads these files, so a file is
replaced as a whole: a reader sees either the old content or the new one.

Format 1 has no origin, status, reason and id of turns. A later format may have further fields, which are ignored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.agents.turn_store.bounds import bound_turns, encode_turn
from baton_git.agents.turn_store.turn import SessionTurns, Turn
from baton_git.core.codecs.nesting import check_nesting
from baton_git.core.errors import InvalidName, NotFound
from baton_git.core.names import decode, encode
from baton_git.core.redaction import redact
from baton_git.git.files.atomic_files import read_bytes, write_all, writing

FORMAT = 2
_SUFFIX = ".jsonl"


class StoredTurns(NamedTuple):
    """A stored file, with its size and modification time, by which an index notices changes."""

    agent: str
    session: str
    path: Path
    size: int
    mtime_ns: int


class TurnStore:
    """The turns of all sessions of a repository, in the folder that `turns_folder` returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, agent: str, session: str) -> Path:
        """Return the path of a session's file. Raises InvalidName if an id cannot be a file name."""
        return self.folder / encode(agent) / f"{encode(session)}{_SUFFIX}"

    def load(self, agent: str, session: str) -> SessionTurns | None:
        """Return the stored turns; None if there are none, or the file is damaged.

        Raises:
            InvalidName: an id cannot be a file name.
            StoreError, LimitExceeded: the file cannot be read.
        """
        try:
            return _parse_file(read_bytes(self.path(agent, session)))
        except NotFound:
            return None

    def save(self, session: SessionTurns) -> None:
        """Replace the stored turns of a session, limited in size and without secrets.

        Raises:
            InvalidName: an id cannot be a file name.
            WriteFailed: the file cannot be written.
        """
        path = self.path(session.agent, session.session)
        header, turns = session._asdict() | {"format": FORMAT}, bound_turns(redact_turns(session.turns))
        del header["turns"]
        lines = [json.dumps(redact(header)[0], ensure_ascii=False).encode("utf-8", "replace") + b"\n"]
        with writing(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_all({path: b"".join([*lines, *map(encode_turn, turns)])}, mode=0o600)

    def list(self) -> list[StoredTurns]:
        """Return all stored files, sorted by path. A file whose name is not the encoded id of a session is ignored."""
        files = (_describe_file(path) for path in sorted(self.folder.glob(f"*/*{_SUFFIX}")))
        return [file for file in files if file is not None]

    def delete(self, agent: str, session: str) -> None:
        """Delete the turns of a session, if there are any.

        Raises:
            InvalidName: an id cannot be a file name.
            WriteFailed: the file cannot be removed.
        """
        path = self.path(agent, session)
        with writing(path):
            path.unlink(missing_ok=True)


def turns_folder(common_dir: Path) -> Path:
    """Return the folder of the turns in a repository's common directory."""
    return common_dir / "baton" / "turns"


def redact_turns(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Return the turns with the secrets in prompts and answers replaced."""
    texts, _ = redact([[turn.prompt, turn.answer, turn.reason] for turn in turns])
    return tuple(
        turn._replace(prompt=prompt, answer=answer, reason=reason)
        for turn, (prompt, answer, reason) in zip(turns, texts, strict=True)
    )


def _describe_file(path: Path) -> StoredTurns | None:
    try:
        agent, session = decode(path.parent.name), decode(path.name.removesuffix(_SUFFIX))
        status = path.stat()
    except (InvalidName, FileNotFoundError):
        return None
    return StoredTurns(agent, session, path, status.st_size, status.st_mtime_ns)


def _parse_file(content: bytes) -> SessionTurns | None:
    try:
        header, *lines = (_parse_line(line) for line in content.decode().split("\n") if line)
        if header["format"] < 1:
            return None
        known = {name: header[name] for name in SessionTurns._fields if name != "turns"}
        return SessionTurns(**known, turns=tuple(_parse_turn(line) for line in lines))
    except (ValueError, KeyError, TypeError):
        return None


def _parse_turn(line: dict[str, Any]) -> Turn:
    return Turn(**{name: value for name, value in line.items() if name in Turn._fields})


def _parse_line(line: str) -> dict[str, Any]:
    check_nesting(line)
    data = json.loads(line)
    if not isinstance(data, dict):
        raise TypeError("a line is not an object")
    return data
