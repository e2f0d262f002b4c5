"""The variables of a session's workflows, kept beside the repository from one event to the next."""

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
KEPT = 200
"""Sessions whose variables are kept; older ones are forgotten."""
_PLAIN = re.compile(r"[a-z0-9_][a-z0-9_-]{0,99}")


@dataclass(frozen=True)
class KeptVariables:
    """The variables of one session: the file `<folder>/<session>.json`."""

    folder: Path
    session: str

    @property
    def path(self) -> Path:
        """Its own name only where no other one can become the same, also where a disk does not know A from a."""
        name = self.session if _PLAIN.fullmatch(self.session) else f"={sha256(_bytes(self.session)).hexdigest()}"
        return self.folder / f"{name}.json"

    def load(self) -> tuple[dict[str, Any] | None, str]:
        """The variables, None when none were kept; and what is wrong with the file. What is damaged is set aside."""
        try:
            data = json.loads(read_bytes(self.path), where=str(self.path))
        except NotFound:
            return None, ""
        except BatonError as error:
            return {}, self._set_aside(str(error))
        if not isinstance(data, dict):
            return {}, self._set_aside(f"{self.path}: is no table of variables")
        return data, ""

    def save(self, variables: dict[str, Any]) -> None:
        """Keeps them.

        Raises:
            LimitExceeded: they are too large.
            InvalidDocument: they are no plain data.
            WriteFailed: the disk said no.
        """
        json.check(variables, where=f"the variables of session {self.session}")
        content = json.dumps(variables).encode()
        if len(content) > MAX_BYTES:
            raise LimitExceeded(f"the variables of session {self.session}", len(content), MAX_BYTES, "bytes")
        write_all({self.path: content})
        self._forget_old()

    def _set_aside(self, problem: str) -> str:
        with contextlib.suppress(OSError):
            self.path.replace(self.path.with_suffix(".damaged"))
        return f"{problem}; the session's variables begin anew"

    def _forget_old(self) -> None:
        with contextlib.suppress(OSError):
            files = sorted(self.folder.glob("*.*"), key=lambda one: one.stat().st_mtime, reverse=True)
            for old in files[KEPT:]:
                old.unlink(missing_ok=True)


def _bytes(session: str) -> bytes:
    return session.encode("utf-8", "surrogatepass")
