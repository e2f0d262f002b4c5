"""Remember rejected commits by id, so that the start of a session does not fetch them again.

`baton/rejected/<commit>` in the common directory holds the reason and the hint. If the file is deleted, the commit is
fetched once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from baton_git.core.errors import Rejected
from baton_git.core.names import Oid
from baton_git.git.files import durable_files


@dataclass(frozen=True)
class RejectedTips:
    folder: Path

    @classmethod
    def of(cls, common_dir: Path) -> RejectedTips:
        return cls(common_dir / "baton" / "rejected")

    def any(self) -> bool:
        return self.folder.is_dir() and any(self.folder.iterdir())

    def get(self, tip: Oid) -> Rejected | None:
        """Return the earlier rejection of a tip; None if there is none or the file cannot be read."""
        try:
            why, _, hint = (self.folder / tip).read_text(encoding="utf-8").partition("\n")
        except (OSError, ValueError):  # the tip will be fetched and checked again
            return None
        return Rejected(why, hint=hint.strip())

    def add(self, tip: Oid, error: Rejected) -> None:
        """Remember why a tip was rejected.

        Raises:
            WriteFailed: writing to disk failed.
        """
        with durable_files.writing(str(self.folder)):
            durable_files.make_folder(self.folder)
            (self.folder / tip).write_text(f"{error}\n{error.hint}\n", encoding="utf-8")

    def clear(self) -> None:
        """Forget all rejected tips."""
        for file in self.folder.iterdir() if self.any() else ():
            durable_files.remove(file)
