"""Trees as lazily read folders."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from dulwich.object_format import ObjectFormat

from baton_git.core.errors import Corrupt
from baton_git.core.names import Oid
from baton_git.core.value_cache import ValueCache
from baton_git.git.objects.values import BLOB, TREE, TreeEntry, decode_tree


class ObjectReader(Protocol):
    """A source of objects: the store or a draft."""

    @property
    def form(self) -> ObjectFormat: ...
    @property
    def memory(self) -> ValueCache: ...
    def read(self, oid: Oid, kind: int) -> bytes: ...


def entries_of(objects: ObjectReader, tree: Oid, where: str) -> Mapping[str, TreeEntry]:
    """Return the entries of a tree by name, cached; `where` names the tree in errors.

    Raises:
        Corrupt: the tree is missing, damaged, or not a tree.
    """
    entries: Mapping[str, TreeEntry] | None = objects.memory.get(("tree", tree))
    if entries is None:
        try:
            data = objects.read(tree, TREE)
        except Corrupt as error:
            raise Corrupt(where, str(error), hint=error.hint) from error
        entries = MappingProxyType(decode_tree(data, objects.form, where))
        objects.memory.put(("tree", tree), entries, 4 * len(data))
    return entries


class Folder:
    """A folder of a tree. A folder that does not exist has the `oid` None and reads as empty."""

    __slots__ = ("_entries", "_folders", "_objects", "oid", "path")

    def __init__(self, objects: ObjectReader, oid: Oid | None, path: str = "") -> None:
        self._objects = objects
        self.oid = oid
        self.path = path
        self._folders: dict[str, Folder] = {}
        self._entries: Mapping[str, TreeEntry] | None = MappingProxyType({}) if oid is None else None

    def __repr__(self) -> str:
        return f"Folder({self.path or '/'!r}, {self.oid})"

    def entries(self) -> Mapping[str, TreeEntry]:
        """Return the entries by name.

        Raises:
            Corrupt: the tree cannot be read; the message has its path.
        """
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def folder(self, name: str) -> Folder:
        """Return a subfolder, empty if it does not exist. Repeated calls return the same object, decoded once."""
        if name not in self._folders:
            entry = self.entries().get(name)
            oid = entry.oid if entry is not None and entry.is_folder else None
            self._folders[name] = Folder(self._objects, oid, self._path_of(name))
        return self._folders[name]

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, verified against its id, or None if there is no such file.

        Raises:
            Corrupt: the blob is missing or damaged; the message has its path.
        """
        entry = self.entries().get(name)
        if entry is None or entry.is_folder:
            return None
        try:
            return self._objects.read(entry.oid, BLOB)
        except Corrupt as error:
            raise Corrupt(self._path_of(name), str(error), hint=error.hint) from error

    def _read(self) -> Mapping[str, TreeEntry]:
        assert self.oid is not None  # a folder without an id has its entries from the start
        return entries_of(self._objects, self.oid, self.path or "the root of the tree")

    def _path_of(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name
