"""A JSON object in a file that only its owner can read, and that one process at a time changes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.core.errors import Busy, Corrupt
from baton_git.git.files.durable_files import replace_file, writing
from baton_git.git.files.ref_locks import hold_flock

WAIT_SECONDS = 5.0
"""Seconds given to another process that changes the file."""


class PrivateJsonFile(NamedTuple):
    """The file at `path`. `hint` says what to do when it is damaged."""

    path: Path
    hint: str

    def load(self, default: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object in the file; `default` where there is no file.

        Raises:
            Corrupt: the file cannot be read, or is something else.
        """
        try:
            data = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return dict(default)
        except (OSError, ValueError) as error:
            raise self.corrupt(f"cannot be read ({error})") from error
        if not isinstance(data, dict):
            raise self.corrupt("is not a JSON object")
        return data

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from changing the file meanwhile; where there is no flock, go on without.

        Raises:
            Busy: another process is changing it.
            WriteFailed: its folder cannot be made.
        """
        with writing(str(self.path)):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with hold_flock(self.path.with_name(f"{self.path.name}.lock"), WAIT_SECONDS) as alone:
            if alone is False:
                raise Busy(f"{self.path} is being changed by another process", hint="try again")
            yield

    def save(self, data: Mapping[str, Any]) -> None:
        """Replace the file, durably. Raises WriteFailed when the disk refuses."""
        content = (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode()
        with writing(str(self.path)):
            replace_file(self.path, content, mode=0o600, private=True)

    def corrupt(self, why: str) -> Corrupt:
        """Return the error that says what is wrong with the file."""
        return Corrupt(str(self.path), why, hint=self.hint)
