"""A tree as a folder that is read when somebody looks into it."""

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
    """Where the objects are."""

    @property
    def form(self) -> ObjectFormat: ...
    @property
    def memory(self) -> ValueCache: ...
    def read(self, oid: Oid, kind: int) -> bytes: ...


def entries_of(objects: ObjectReader, tree: Oid, where: str) -> Mapping[str, TreeEntry]:
    """What is in a tree, by name, decoded once; `where` names it in the error.

    Raises:
        Corrupt: it cannot be read.
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
    """One folder of a tree. `oid` is None when there is no such folder, which reads as an empty one."""

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
        """What is in it, by name.

        Raises:
            Corrupt: it cannot be read; the message names its path.
        """
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def folder(self, name: str) -> Folder:
        """The folder of this name; an empty one when there is none. The same one each time: it is decoded once."""
        if name not in self._folders:
            entry = self.entries().get(name)
            oid = entry.oid if entry is not None and entry.is_folder else None
            self._folders[name] = Folder(self._objects, oid, self._path_of(name))
        return self._folders[name]

    def read(self, name: str) -> bytes | None:
        """The content of the file of this name, checked against its id; None when there is none.

        Raises:
            Corrupt: it is missing or damaged; the message names its path.
        """
        entry = self.entries().get(name)
        if entry is None or entry.is_folder:
            return None
        try:
            return self._objects.read(entry.oid, BLOB)
        except Corrupt as error:
            raise Corrupt(self._path_of(name), str(error), hint=error.hint) from error

    def _read(self) -> Mapping[str, TreeEntry]:
        assert self.oid is not None  # else there were entries already
        return entries_of(self._objects, self.oid, self.path or "the root of the tree")

    def _path_of(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name
