"""Which commands may run as checks on this machine: exactly the argument lists that somebody here approved.

The file is the user's own, outside of every repository, so that nothing that is fetched, cloned or unpacked can
approve itself. An approval holds for one repository.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from baton_git.errors import Busy, Corrupt, WriteFailed
from baton_git.store.locks import flocked

_WAIT = 5.0
"""Seconds given to another process that changes the file."""


class Approval(NamedTuple):
    argv: tuple[str, ...]
    at: str


@dataclass(frozen=True)
class Approvals:
    """The approvals for the repository at `repository`, in the file `path`."""

    path: Path
    repository: Path

    def holds(self, argv: tuple[str, ...]) -> bool:
        """Whether exactly `argv` was approved.

        Raises:
            Corrupt: the file cannot be read; nothing counts as approved then.
        """
        return any(one.argv == argv for one in self.all())

    def all(self) -> list[Approval]:
        mine = self._load().get(str(self.repository), [])
        try:
            return [Approval(tuple(one["argv"]), str(one["at"])) for one in mine]
        except (KeyError, TypeError) as error:
            raise Corrupt(
                str(self.path), f"is not a list of approvals ({error})", hint="remove it and approve again"
            ) from error

    def add(self, argv: tuple[str, ...], at: str) -> bool:
        """Approves `argv`; False when it was approved already.

        Raises:
            Busy: another process is changing the file.
            Corrupt: the file cannot be read.
            WriteFailed: the disk said no.
        """
        with self._alone():
            if self.holds(argv):
                return False
            self._save([*self.all(), Approval(argv, at)])
            return True

    def revoke(self, argv: tuple[str, ...]) -> bool:
        """Takes the approval back; False when there was none.

        Raises:
            Busy, Corrupt, WriteFailed: as in `add`.
        """
        with self._alone():
            present = self.all()
            kept = [one for one in present if one.argv != argv]
            if len(kept) == len(present):
                return False
            self._save(kept)
            return True

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else changes the file meanwhile, so that what one revokes is not written back by another.

        Where there is no flock it goes on without.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise WriteFailed(f"{self.path}: {error.strerror}", hint="approvals are kept there") from error
        with flocked(self.path.with_name(f"{self.path.name}.lock"), _WAIT) as alone:
            if alone is False:
                raise Busy(f"{self.path} is being changed by another process", hint="try again")
            yield

    def _load(self) -> dict[str, list[dict[str, Any]]]:
        try:
            data = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise Corrupt(str(self.path), f"cannot be read ({error})", hint="remove it and approve again") from error
        if not isinstance(data, dict):
            raise Corrupt(str(self.path), "is not a table of approvals", hint="remove it and approve again")
        return data

    def _save(self, approvals: list[Approval]) -> None:
        data = {**self._load(), str(self.repository): [{"argv": list(one.argv), "at": one.at} for one in approvals]}
        fresh = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        try:
            fresh.write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n")
            fresh.chmod(0o600)
            fresh.replace(self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                fresh.unlink()
            raise WriteFailed(f"{self.path}: {error.strerror}", hint="approvals are kept there") from error
