"""Text of ours in a file of the user's: a whole file, or an addition at its end. It is taken out again exactly.

Beside the machine's state lies for each file `<digest of its path>.added.json` with the text, for which agents it is
there, and what had to be made for it. Several agents may read one file.
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
    """Text of ours in one file.

    Attributes:
        memory: the folder that remembers what was added.
        within: the work tree that must hold what links of the path lead to; None: it may be anywhere.
    """

    path: Path
    memory: Path
    within: Path | None = None

    def read(self) -> bytes | None:
        """Return the content; None if there is no file. Raises InvalidArgument, StoreError: it cannot be read."""
        check_links(self.path, self.within)
        if self.path.exists() and not self.path.is_file():
            raise InvalidArgument(f"{show_path(self.path)} is no file", hint="move it away")
        try:
            return read_bytes(self.path)
        except NotFound:
            return None

    def find_text(self) -> str | None:
        """Return our text if it is in the file as we put it there. Raises as `read` does."""
        there, memo = self.read(), self._load()
        is_there = there is not None and memo is not None and memo["text"].encode() in there
        return str(memo["text"]) if memo is not None and is_there else None

    def put(self, text: str, agent: str) -> bool:
        """Put our text at the end of the file for an agent, in place of an older one of ours; False if it is there.

        Raises:
            InvalidArgument, StoreError: the file cannot be read; nothing was written.
            WriteFailed: the disk refused; nothing was written.
        """
        there, memo = self.read(), self._load()
        made = [str(folder) for folder in list_missing_folders(resolve_target(self.path).parent)]
        agents = [agent]
        if there is not None and memo is not None and memo["text"].encode() in there:
            made, agents = memo["folders"], sorted({*memo["agents"], agent})
            fresh = there.replace(memo["text"].encode(), text.encode())
        else:
            memo = None
            fresh = (there or b"") + text.encode()
        was_there = memo["was_there"] if memo else there is not None
        record = {"text": text, "agents": agents, "folders": made, "was_there": was_there, "path": show_path(self.path)}
        make_folder(self.memory)
        with writing(self.memory):
            self.memory.chmod(0o700)
        write_all({self._memo: json.dumps(record, indent=2).encode() + b"\n", self.path: fresh})
        return fresh != there

    def take(self, agent: str) -> bool:
        """Take our text out again, unless another agent still needs it; False if nothing was taken out.

        Raises:
            as `put` does.
        """
        there, memo = self.read(), self._load()
        if memo is None or agent not in memo["agents"]:
            return False
        others = [name for name in memo["agents"] if name != agent]
        if others:
            write_all({self._memo: json.dumps({**memo, "agents": others}, indent=2).encode() + b"\n"})
            return False
        is_there = there is not None and memo["text"].encode() in there
        if there is not None and is_there:
            self._write(there.replace(memo["text"].encode(), b"", 1), memo)
        remove(self._memo)
        return is_there

    def _write(self, rest: bytes, memo: Mapping[str, Any]) -> None:
        if rest or memo["was_there"]:
            write_all({self.path: rest})
            return
        with writing(self.path):
            resolve_target(self.path).unlink(missing_ok=True)
        for folder in memo["folders"]:
            with suppress(OSError):  # somebody has put something into it
                Path(folder).rmdir()

    @property
    def _memo(self) -> Path:
        name = sha256(str(self.path).encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return self.memory / f"{name}.added.json"

    def _load(self) -> dict[str, Any] | None:
        """Return what is remembered; None if nothing is, or nothing that can be read."""
        try:
            data = json.loads(read_bytes(self._memo))
            kinds = {"text": str, "agents": list, "folders": list, "was_there": bool}
            is_whole = isinstance(data, dict) and all(isinstance(data.get(name), kind) for name, kind in kinds.items())
        except (BatonError, ValueError):
            return None
        return data if is_whole else None
