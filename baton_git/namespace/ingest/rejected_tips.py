"""Remember rejected commits by id, so that the start of a session does not fetch them again.

`baton/rejected/<commit>.2` in the common directory holds the version of baton, the limits, the reason and the hint, one
line each. A rejection counts as long as this version would decide with these limits or lower ones: after an update, or
once the owner has raised a limit, the commit is fetched again. So it is if the file is deleted. Files without `.2` are
those of versions that did not write the limits; they are not read.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from baton_git import __version__
from baton_git.core.errors import Rejected
from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.namespace.ingest.budget import Budget, Limits


@dataclass(frozen=True)
class RejectedTips:
    folder: Path

    @classmethod
    def of(cls, common_dir: Path) -> RejectedTips:
        return cls(common_dir / "baton" / "rejected")

    def any(self) -> bool:
        return self.folder.is_dir() and any(self.folder.iterdir())

    def get(self, tip: Oid, budget: Budget) -> Rejected | None:
        """Return the earlier rejection of a tip, which `budget` would not lift.

        Returns:
            None if there is none, if it may be lifted, or if the file cannot be read. The tip is then checked again.
        """
        with suppress(OSError, ValueError, TypeError, AttributeError):
            version, limits, why, hint = self._file(tip).read_text(encoding="utf-8").split("\n")[:4]
            then = json.loads(limits)
            then["owner"] = Limits(*then["owner"])
            if version == __version__ and budget.allows_no_more_than(Budget(**then)):
                return Rejected(why, hint=hint)
        return None

    def add(self, tip: Oid, error: Rejected, budget: Budget) -> None:
        """Remember why a tip was rejected.

        Raises:
            WriteFailed: writing to disk failed.
        """
        lines = (__version__, json.dumps(asdict(budget)), _flat(str(error)), _flat(error.hint))
        with durable_files.writing(str(self.folder)):
            durable_files.make_folder(self.folder)
            durable_files.replace_file(self._file(tip), "\n".join((*lines, "")).encode(), mode=0o644, sync=False)

    def clear(self) -> None:
        """Forget all rejected tips."""
        for file in self.folder.iterdir() if self.any() else ():
            durable_files.remove(file)

    def _file(self, tip: Oid) -> Path:
        return self.folder / f"{tip}.2"


def _flat(text: str) -> str:
    return " ".join(text.splitlines())
