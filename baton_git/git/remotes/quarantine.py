"""Fetched objects in a directory of their own, which the repository does not see until somebody accepts them.

The quarantine is the object directory of a throw-away git directory; the repository's objects are its alternate, so
that the server sends only what is new. Limits hold while git receives: the size of the directory is watched, and git
refuses to allocate memory for one object that is too large (`GIT_ALLOC_LIMIT`), also for the result of a delta.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from baton_git.core.errors import Rejected, Unreachable
from baton_git.core.names import Oid
from baton_git.git.remotes.git_command import RemoteGit

SETTINGS: Final = {
    "fetch.unpackLimit": "1",  # one pack, never loose objects
    "transfer.unpackLimit": "1",
    "core.bigFileThreshold": "1048576g",  # what git would only stream, it refuses to allocate
    "core.alternateRefsCommand": "true",  # the refs of the view say what is here
    "pack.threads": "1",
    "core.fsync": "none",  # what is accepted is synced when it is stored
    "core.fsyncObjectFiles": "false",
}
_MEMORY: Final = 64 << 20
"""Bytes that git may allocate at once, at least; the tables of a large pack need some."""


class FetchLimits(NamedTuple):
    """What a fetch may bring: bytes on the disk, and bytes of one object."""

    total_bytes: int
    object_bytes: int

    @property
    def environment(self) -> dict[str, str]:
        return {"GIT_ALLOC_LIMIT": str(max(self.object_bytes, _MEMORY))}


@dataclass
class SizeWatch:
    """Whether the files of a folder have outgrown `limit` bytes; `tripped` remembers that they had."""

    folder: Path
    limit: int
    tripped: bool = False

    def __call__(self) -> bool:
        self.tripped = self.tripped or folder_bytes(self.folder) > self.limit
        return self.tripped

    def check(self, what: str) -> None:
        """Raises Rejected when the folder is, or was, too large."""
        if self():
            raise Rejected(
                f"{what}: more than {self.limit:,} bytes, the limit of one fetch",
                hint="nothing was taken in; ask who pushed it, or git ls-remote shows what is there",
            )


def folder_bytes(folder: Path) -> int:
    """The size of all files below a folder; files that vanish meanwhile count for nothing."""
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                total += Path(top, name).stat().st_size
            except FileNotFoundError:
                continue
    return total


@dataclass(frozen=True)
class Quarantine:
    """Branches of a remote that nothing here leads to yet.

    Attributes:
        tips: by ref of the remote, where it stands there.
        refs: by ref of the remote, the private ref here that goes with it.
        objects: the object directory that holds what was not here before.
        known: the commits of ours that the server was told of; what is behind them was not sent.
    """

    tips: Mapping[str, Oid]
    refs: Mapping[str, str]
    objects: Path
    known: frozenset[Oid]
    git: RemoteGit = field(repr=False)

    def packs(self, tips: Iterable[Oid], seconds: float) -> list[Path]:
        """The `.pack` files (each with an index) that hold everything behind `tips` that is not behind `known`.

        What was fetched for exactly these tips is given as it is. Otherwise, and where objects lay around unprotected
        in the repository, git packs them anew.

        Raises:
            Unreachable: git did not end within `seconds`, or an object is missing.
        """
        wanted = set(tips) - self.known
        if not wanted:
            return []
        fetched = sorted((self.objects / "pack").glob("pack-*.pack"))
        loose = any(len(folder.name) == 2 for folder in self.objects.iterdir())
        if fetched and not loose and wanted >= set(self.tips.values()) - self.known:
            return fetched
        return self._pack_objects(wanted, seconds)

    def _pack_objects(self, wanted: Iterable[Oid], seconds: float) -> list[Path]:
        revisions = "".join([*(f"{tip}\n" for tip in wanted), *(f"^{tip}\n" for tip in self.known)])
        base = self.objects / "pack" / "accepted"
        words = ("pack-objects", "--quiet", "--revs", "--non-empty", "--delta-base-offset", str(base))
        done = self.git.work(words, revisions.encode(), seconds)
        if done is None or done.code != 0:
            why = done.err.strip().splitlines()[-1] if done and done.err.strip() else f"no end within {seconds:.3g} s"
            raise Unreachable(f"cannot pack what was fetched: {why}", hint="run git fsck, then baton sync again")
        return [base.with_name(f"accepted-{name}.pack") for name in done.out.split()]
