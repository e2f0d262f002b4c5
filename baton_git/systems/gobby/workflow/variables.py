"""The variables of a session's workflows, stored in the repository's baton folder between events."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from baton_git.core.codecs import json
from baton_git.core.errors import BatonError, LimitExceeded, NotFound
from baton_git.git.files.atomic_files import read_bytes, write_all

MAX_BYTES = 256 * 1024
MAX_SESSIONS = 200
"""Maximum number of sessions whose variables are stored; those of older sessions are removed."""
_PLAIN = re.compile(r"[a-z0-9_][a-z0-9_-]{0,99}")


@dataclass(frozen=True)
class KeptVariables:
    """The variables of one session, in the file `<folder>/<session>.json`."""

    folder: Path
    session: str

    @property
    def path(self) -> Path:
        """The path of the file. A name that a file system could reject, or confuse with another one, is hashed."""
        name = self.session
        if not _PLAIN.fullmatch(name):
            name = f"={sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
        return self.folder / f"{name}.json"

    def load(self) -> tuple[dict[str, Any] | None, str]:
        """Return the variables, and a message if the file is damaged (otherwise an empty text).

        The variables are None if none are stored. A damaged file is renamed, and its variables are empty.
        """
        try:
            data = json.loads(read_bytes(self.path), where=str(self.path))
        except NotFound:
            return None, ""
        except BatonError as error:
            return {}, self._set_aside(str(error))
        if not isinstance(data, dict):
            return {}, self._set_aside(f"{self.path}: is not a table of variables")
        return data, ""

    def save(self, variables: dict[str, Any]) -> None:
        """Store the variables, and remove those of sessions beyond the newest `MAX_SESSIONS`.

        Raises:
            LimitExceeded: they are too large.
            InvalidDocument: they are not plain data.
            WriteFailed: writing to disk failed.
        """
        subject = f"the variables of session {self.session}"
        json.check(variables, where=subject)
        content = json.dumps(variables).encode()
        if len(content) > MAX_BYTES:
            raise LimitExceeded(subject, len(content), MAX_BYTES, "bytes")
        write_all({self.path: content})
        with contextlib.suppress(OSError):
            files = sorted(self.folder.glob("*.*"), key=lambda path: path.stat().st_mtime, reverse=True)
            for old in files[MAX_SESSIONS:]:
                old.unlink(missing_ok=True)

    def _set_aside(self, problem: str) -> str:
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_suffix(".damaged"))
        return f"{problem}; the session's variables are reset"
