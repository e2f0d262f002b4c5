"""Helpers for the tests of the store: write commits, and read the bytes of all files below a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from baton_git.core.names import Oid
from baton_git.git.store import Edit, ReflogEntry, Store

REF = "refs/heads/baton/x"
WHO = "Agent <agent@machine>"


class Writer:
    """Writes commits to one ref, each at a later second than the previous one."""

    def __init__(self, store: Store, ref: str = REF) -> None:
        self.store = store
        self.ref = ref
        self.time = 1_700_000_000

    def commit(self, edits: Mapping[str, Edit], *, expected: Oid | None = None, message: str = "change") -> Oid:
        """Commit on the tip, or on `expected`; return the id of the new commit."""
        tip = expected or self.store.tip(self.ref)
        draft = self.store.draft()
        tree = draft.tree(None if tip is None else self.store.commit(tip).tree, edits)
        self.time += 1
        new = draft.commit(tree, [tip] if tip else [], author=WHO, time=self.time, timezone=3600, message=message)
        moved = self.store.publish(
            draft, self.ref, tip, new, ReflogEntry(WHO, self.time, 3600, message)
        )  # fmt: skip
        assert moved
        return new


def files_below(folder: Path) -> dict[str, bytes]:
    """Return every file below `folder` with its content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
