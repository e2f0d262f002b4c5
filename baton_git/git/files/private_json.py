"""JSON files that only their owner can read, and that only one process at a time can change."""

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
"""Seconds to wait while another process changes the file."""


class PrivateJsonFile(NamedTuple):
    """A private JSON file. `hint` is the hint of the error for a damaged file."""

    path: Path
    hint: str

    def load(self, default: Mapping[str, Any]) -> dict[str, Any]:
        """Return the object in the file, or a copy of `default` if the file does not exist.

        Raises:
            Corrupt: the file cannot be read, or is not a JSON object.
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
        """Lock the file against changes by other processes; without flock, continue without a lock.

        Raises:
            Busy: another process is changing it.
            WriteFailed: the folder cannot be created.
        """
        with writing(str(self.path)):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with hold_flock(self.path.with_name(f"{self.path.name}.lock"), WAIT_SECONDS) as alone:
            if alone is False:
                raise Busy(f"{self.path} is being changed by another process", hint="try again")
            yield

    def save(self, data: Mapping[str, Any]) -> None:
        """Replace the file durably. Raises WriteFailed if writing to disk fails."""
        content = (json.dumps(data, ensure_ascii=False, indent=2) + "\n").encode()
        with writing(str(self.path)):
            replace_file(self.path, content, mode=0o600, private=True)

    def corrupt(self, why: str) -> Corrupt:
        """Return the error for a damaged file."""
        return Corrupt(str(self.path), why, hint=self.hint)
