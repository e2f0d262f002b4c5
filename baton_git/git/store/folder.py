"""Trees as lazily read folders. In a tree of layout 2, the folders of records read as they would be in layout 1.

`stored_views` reads the folders that layout 2 stores otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from dulwich.object_format import ObjectFormat

from baton_git.core.errors import Corrupt
from baton_git.core.names import FORMAT_FILE, Oid
from baton_git.core.value_cache import ValueCache
from baton_git.git.objects.values import BLOB, TREE, TreeEntry, decode_tree

if TYPE_CHECKING:
    from baton_git.core.layout import TreeFolder

_REGULAR = 0o100000
_KIND = 0o170000
_ARCHIVE = "archive"


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


OpenView = Callable[[ObjectReader, "Folder"], "Folder"]


class Folder:
    """A folder of a tree. A folder that does not exist has the `oid` None and reads as empty.

    Attributes:
        open_view: shows a folder of records that layout 2 stores otherwise as in layout 1; None to show what is stored.
    """

    __slots__ = ("_entries", "_folders", "_objects", "oid", "open_view", "path")

    def __init__(
        self, objects: ObjectReader, oid: Oid | None, path: str = "", *, open_view: OpenView | None = None
    ) -> None:
        self._objects = objects
        self.oid = oid
        self.path = path
        self.open_view = open_view
        self._folders: dict[str, Folder] = {}
        self._entries: Mapping[str, TreeEntry] | None = MappingProxyType({}) if oid is None else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path or '/'!r}, {self.oid})"

    @property
    def version(self) -> int:
        """The layout version, 1 or 2, if this is the root of a tree of a namespace; 1 if it cannot be read."""
        entry = self.entries().get(FORMAT_FILE)
        if entry is None or entry.mode & _KIND != _REGULAR:
            return 1
        version: int | None = self._objects.memory.get(("layout", entry.oid))
        if version is None:
            version = _parse_version(self.read(FORMAT_FILE) or b"")
            self._objects.memory.put(("layout", entry.oid), version, 0)
        return version

    def stored(self) -> Folder:
        """Return the same folder with its stored entries, at every level."""
        return Folder(self._objects, self.oid, self.path)

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
            self._folders[name] = self._open(self._path_of(name), oid)
        return self._folders[name]

    def entry_at(self, path: str) -> TreeEntry | None:
        """Return the file at a path below the folder; None if there is no file, or a folder."""
        folder, name = self.open_parent(path)
        entry = folder.entries().get(name)
        return None if entry is None or entry.is_folder else entry

    def open_parent(self, path: str) -> tuple[Folder, str]:
        """Return the folder that contains a path, and the last part of the path."""
        folder, (*above, name) = self, path.split("/")
        for part in above:
            folder = folder.folder(part)
        return folder, name

    def _open(self, path: str, oid: Oid | None) -> Folder:
        if self.open_view is None or oid is None:
            return Folder(self._objects, oid, path)
        if path == _ARCHIVE:
            return Folder(self._objects, oid, path, open_view=self.open_view if self.version == 2 else None)
        stored = Folder(self._objects, oid, path)
        if (not self.path and self.version != 2) or not any(name.startswith("=") for name in stored.entries()):
            return stored
        return self.open_view(self._objects, stored)

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

    def with_content(self, oid: Oid) -> Folder:
        """Return the folder of the same path in another commit, as it is stored; `oid` is its id."""
        return Folder(self._objects, oid, self.path)

    def list_differing(self, other: TreeFolder) -> Iterable[str] | None:
        """Return the paths of the files that differ from those of another folder; None if the entries tell them."""
        return None

    def _read(self) -> Mapping[str, TreeEntry]:
        assert self.oid is not None  # a folder without an id has its entries from the start
        return entries_of(self._objects, self.oid, self.path or "the root of the tree")

    def _path_of(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name


def _parse_version(text: bytes) -> int:
    if b"2" not in text:
        return 1
    from baton_git.core.stored_form import read_version

    return 2 if read_version(text) == 2 else 1
