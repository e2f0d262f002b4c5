"""Marks kept on the disk, by commit: `<common dir>/baton/provenance/labels/<namespace>/<age>-<commit>.json`.

They are a cache: deleting one loses nothing. The distance between those that are kept doubles with their age, so the
base of a merge is never much further from the next older one than from the tip.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.namespace.provenance.vouching_commits import ProvenanceMarks, as_data, from_data

_VERSION = 2
_MODE = 0o600


class _File(NamedTuple):
    """One kept file. `looked_at`: how many commits had been looked at when it was written."""

    looked_at: int
    commit: str

    @property
    def name(self) -> str:
        return f"{self.looked_at:09d}-{self.commit}.json"


class MarkSnapshots:
    """The kept marks of one namespace."""

    def __init__(self, common_dir: Path, component: str) -> None:
        self._folder = common_dir / "baton" / "provenance" / "labels" / component
        self._files = {file.commit: file for file in self._list_files()}

    def load(self, commit: Oid) -> ProvenanceMarks | None:
        """The marks at a commit; None where they are not kept, or cannot be read."""
        file = self._files.get(commit)
        if file is None:
            return None
        try:
            data = json.loads((self._folder / file.name).read_bytes())
            return from_data(data) if data["version"] == _VERSION else None
        except (OSError, ValueError, TypeError, LookupError):
            return None

    def save(self, commit: Oid, marks: ProvenanceMarks, looked_at: int) -> None:
        """Keeps the marks at a commit, which took a look at so many commits. A disk that refuses is no error."""
        newest = max((file.looked_at for file in self._files.values()), default=0)
        file = _File(newest + looked_at, commit)
        path = self._folder / file.name
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        with suppress(OSError):
            durable_files.make_folder(self._folder)
            durable_files.write_new(
                fresh, json.dumps({"version": _VERSION, **as_data(marks)}).encode(), mode=_MODE, sync=False
            )
            fresh.replace(path)
            self._files[commit] = file
            self._prune(file.looked_at)
        durable_files.remove(fresh)

    def _prune(self, newest: int) -> None:
        """Of those of about the same age keeps the oldest one."""
        seen: set[int] = set()
        for file in sorted(self._files.values()):
            bucket = (newest - file.looked_at).bit_length()
            if bucket in seen:
                durable_files.remove(self._folder / file.name)
                del self._files[file.commit]
            seen.add(bucket)

    def _list_files(self) -> list[_File]:
        files = []
        with suppress(OSError):
            for path in self._folder.iterdir():
                count, _, commit = path.stem.partition("-")
                if path.suffix == ".json" and count.isdecimal():
                    files.append(_File(int(count), commit))
        return files
