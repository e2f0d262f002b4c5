"""A tree in memory, built from paths and contents: `layout` reads it without git."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha1

from baton_git.core.errors import Corrupt
from baton_git.core.names import Oid


@dataclass(frozen=True)
class MemoryItem:
    oid: Oid
    is_folder: bool

    @property
    def mode(self) -> int:
        return 0o40000 if self.is_folder else 0o100644


class MemoryFolder:
    """A folder of `files` (path → content). A missing folder reads as empty, as in the store.

    Reading a path in `torn` fails. `reads` collects the paths that were read; folders end with a slash.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        *,
        torn: frozenset[str] = frozenset(),
        reads: list[str] | None = None,
        path: str = "",
    ) -> None:
        self.files, self.torn, self.path = files, torn, path
        self.reads: list[str] = [] if reads is None else reads

    @property
    def oid(self) -> Oid | None:
        below = self._below()
        return Oid(sha1(repr(sorted(below.items())).encode()).hexdigest()) if below else None

    def _below(self) -> dict[str, bytes]:
        return {name.removeprefix(self.path): text for name, text in self.files.items() if name.startswith(self.path)}

    def with_content(self, oid: Oid) -> MemoryFolder:
        raise Corrupt(self.path, f"there is no folder {oid}")

    def list_differing(self, other: object) -> None:
        return None

    def entries(self) -> dict[str, MemoryItem]:
        self.reads.append(self.path or "/")
        found: dict[str, MemoryItem] = {}
        for name, text in self._below().items():
            first, _, rest = name.partition("/")
            oid = self.folder(first).oid if rest else Oid(sha1(text).hexdigest())
            assert oid is not None
            found[first] = MemoryItem(oid, bool(rest))
        return found

    def folder(self, name: str) -> MemoryFolder:
        return MemoryFolder(self.files, torn=self.torn, reads=self.reads, path=f"{self.path}{name}/")

    def read(self, name: str) -> bytes | None:
        path = self.path + name
        self.reads.append(path)
        if path in self.torn:
            raise Corrupt(path, "its object is damaged")
        return self.files.get(path)
