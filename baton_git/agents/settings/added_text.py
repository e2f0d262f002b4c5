"""Add our text at the end of a user's file, or as a new file, and later remove exactly this text.

For each file, a note in the machine state, `<digest of its path>.added.json`, contains the text, the agents that need
it, and the folders that were created for the file. Several agents may read the same file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from baton_git.agents.settings.settings_file import check_links, list_missing_folders
from baton_git.core.errors import BatonError, InvalidArgument, NotFound
from baton_git.git.files.atomic_files import make_folder, read_bytes, resolve_target, show_path, write_all, writing
from baton_git.git.files.durable_files import remove


@dataclass(frozen=True)
class AddedText:
    """Our text in one file.

    Attributes:
        memory: the folder with the notes about the added text.
        within: the work tree that symbolic links in the path must not leave; None: no limit.
    """

    path: Path
    memory: Path
    within: Path | None = None

    def read(self) -> bytes | None:
        """Return the content; None if there is no file. Raises InvalidArgument, StoreError if it cannot be read."""
        check_links(self.path, self.within)
        if self.path.exists() and not self.path.is_file():
            raise InvalidArgument(f"{show_path(self.path)} is not a regular file", hint="move it away")
        try:
            return read_bytes(self.path)
        except NotFound:
            return None

    def find_text(self) -> str | None:
        """Return our text if the file contains it unchanged; else None. Raises as `read` does."""
        current, note = self.read(), self._load_note()
        is_there = current is not None and note is not None and note["text"].encode() in current
        return str(note["text"]) if note is not None and is_there else None

    def put(self, text: str, agent: str) -> bool:
        """Add our text for an agent at the end of the file, or replace our older text.

        Returns:
            Whether the file changed.

        Raises:
            InvalidArgument, StoreError: the file cannot be read; nothing was written.
            WriteFailed: the file cannot be written; nothing was written.
        """
        current, note = self.read(), self._load_note()
        folders = [str(folder) for folder in list_missing_folders(resolve_target(self.path).parent)]
        agents = [agent]
        if current is not None and note is not None and note["text"].encode() in current:
            folders, agents = note["folders"], sorted({*note["agents"], agent})
            fresh = current.replace(note["text"].encode(), text.encode())
        else:
            note = None
            fresh = (current or b"") + text.encode()
        was_there = note["was_there"] if note else current is not None
        record = {
            "text": text,
            "agents": agents,
            "folders": folders,
            "was_there": was_there,
            "path": show_path(self.path),
        }
        make_folder(self.memory)
        with writing(self.memory):
            self.memory.chmod(0o700)
        write_all({self.note_path: json.dumps(record, indent=2).encode() + b"\n", self.path: fresh})
        return fresh != current

    def take(self, agent: str) -> bool:
        """Remove our text unless another agent still needs it; return whether it was removed. Raises as `put` does."""
        current, note = self.read(), self._load_note()
        if note is None or agent not in note["agents"]:
            return False
        others = [name for name in note["agents"] if name != agent]
        if others:
            write_all({self.note_path: json.dumps({**note, "agents": others}, indent=2).encode() + b"\n"})
            return False
        is_there = current is not None and note["text"].encode() in current
        if current is not None and is_there:
            self._write(current.replace(note["text"].encode(), b"", 1), note)
        remove(self.note_path)
        return is_there

    def _write(self, rest: bytes, note: Mapping[str, Any]) -> None:
        if rest or note["was_there"]:
            write_all({self.path: rest})
            return
        with writing(self.path):
            resolve_target(self.path).unlink(missing_ok=True)
        for folder in note["folders"]:
            with suppress(OSError):  # the folder is not empty
                Path(folder).rmdir()

    @property
    def note_path(self) -> Path:
        name = sha256(str(self.path).encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return self.memory / f"{name}.added.json"

    def _load_note(self) -> dict[str, Any] | None:
        """Return the note on the added text; None if it is missing or damaged."""
        try:
            data = json.loads(read_bytes(self.note_path))
            kinds = {"text": str, "agents": list, "folders": list, "was_there": bool}
            is_whole = isinstance(data, dict) and all(isinstance(data.get(name), kind) for name, kind in kinds.items())
        except (BatonError, ValueError):
            return None
        return data if is_whole else None
