"""Cache of provenance marks on disk: `<common dir>/baton/provenance/labels/<namespace>/<visited>-<commit>.json`.

While a part of the history is missing, `labels` is `labels-at-<digest of the boundary>`, because marks depend on it.

`<visited>` grows with each snapshot. Any file may be deleted. `uniform` beside them has the commits whose marks
need no fold (see `uniform`). The distance between snapshots doubles with their age.
Therefore a merge base is never much farther from the next older snapshot than from the tip.
"""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.namespace.provenance.marks import ProvenanceMarks, as_data, from_data

_VERSION = 4
_PARTIAL = "labels-at-"
_MODE = 0o600


class _File(NamedTuple):
    """One snapshot file. `visited`: the number of commits visited for this and all earlier snapshots."""

    visited: int
    commit: str

    @property
    def name(self) -> str:
        return f"{self.visited:09d}-{self.commit}.json"


class MarkSnapshots:
    """The snapshots of the marks of one namespace."""

    def __init__(self, common_dir: Path, component: str, boundary: str = "") -> None:
        top = common_dir / "baton" / "provenance"
        for outdated in () if boundary else top.glob(f"{_PARTIAL}*"):
            shutil.rmtree(outdated, ignore_errors=True)
        self._folder = top / (f"{_PARTIAL}{boundary}" if boundary else "labels") / component
        self._files = {file.commit: file for file in self._list_files()}
        self.uniform_file = self._folder / "uniform"

    def load(self, commit: Oid) -> ProvenanceMarks | None:
        """Return the marks at a commit; None if there is no snapshot or it cannot be read."""
        file = self._files.get(commit)
        if file is None:
            return None
        try:
            data = json.loads((self._folder / file.name).read_bytes())
            return from_data(data) if data["version"] == _VERSION else None
        except (OSError, ValueError, TypeError, LookupError):
            return None

    def save(self, commit: Oid, marks: ProvenanceMarks, visited: int) -> None:
        """Store the marks at a commit, for which `visited` commits were visited. Errors of the disk are ignored."""
        newest = max((file.visited for file in self._files.values()), default=0)
        file = _File(newest + visited, commit)
        data = json.dumps({"version": _VERSION, **as_data(marks)}).encode()
        if durable_files.save_derived(self._folder / file.name, data, mode=_MODE):
            self._files[commit] = file
            self._prune(file.visited)

    def _prune(self, newest: int) -> None:
        """Of snapshots of about the same age, remove all but the oldest."""
        seen: set[int] = set()
        for file in sorted(self._files.values()):
            bucket = (newest - file.visited).bit_length()
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
