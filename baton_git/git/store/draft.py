"""Collect new objects in memory until `Store.publish` writes them together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dulwich.object_format import ObjectFormat

from baton_git.core.errors import InvalidArgument
from baton_git.core.names import Oid
from baton_git.core.value_cache import ValueCache
from baton_git.git.objects.pack_reader import Raw
from baton_git.git.objects.values import (
    BLOB,
    COMMIT,
    FILE_MODE,
    FOLDER_MODE,
    SUBMODULE_MODE,
    TREE,
    Edit,
    PartOid,
    TreeEntry,
    edit_tree,
    encode_commit,
    encode_signature,
    object_id,
    with_signature,
)
from baton_git.git.store.folder import Folder, ObjectReader, entries_of

_Node = dict[str, "Edit | _Node"]
_ITSELF: Final = ""  # the key of the node's own edit; it cannot clash, because no path component is empty
_KIND: Final = 0o170000
_REGULAR: Final = 0o100000


def open_view(objects: ObjectReader, stored: Folder) -> Folder:
    """Return a folder of records that layout 2 stores otherwise as it would be in layout 1."""
    from baton_git.git.store import stored_views  # needs the kinds, whose import takes longer than most reads

    return stored_views.open_view(objects, stored)


class ObjectDraft:
    """New objects to be written as one pack.

    The draft contains only new objects. Unchanged parts of a tree that `tree` received as its `base` are not written
    again. For git to keep them, a new commit must have as a parent the commit that the base came from.

    Attributes:
        objects: the new objects.
        borrowed: the ids of existing blobs that the new trees refer to.
    """

    def __init__(self, stored: ObjectReader) -> None:
        self._stored = stored
        self.form: ObjectFormat = stored.form
        self.memory: ValueCache = stored.memory
        self.objects: dict[Oid, Raw] = {}
        self.borrowed: set[Oid] = set()
        self.is_stored = False

    def blob(self, data: bytes) -> Oid:
        """Add a blob with this content and return its id."""
        return self._add(BLOB, data)

    def tree(self, base: Oid | None, edits: Mapping[str, Edit]) -> Oid:
        """Add the tree `base` (None: the empty tree) with some paths changed, and return its id.

        Bytes and blob ids replace the content of a file and keep its mode. A `TreeEntry` (a file, link or submodule)
        is added with its own mode. None removes the path. Only the folders above changed paths are rewritten; a
        folder without entries is removed.

        The paths are those of layout 1. If `base` has layout 2, each record is stored in the form that its folder has
        there, and the version stays 2.

        Raises:
            InvalidArgument: a path is invalid, an entry is a folder, or a file and a folder have the same path.
            Corrupt: a tree of `base` cannot be read.
        """
        if base is not None and edits and self.folder(base).version == 2:
            from baton_git.git.store.stored_edits import convert_edits

            edits = convert_edits(self, base, edits)
        return self.stored_tree(base, edits)

    def stored_tree(self, base: Oid | None, edits: Mapping[str, Edit]) -> Oid:
        """Add the tree `base` with some paths changed, like `tree`, but with the paths as they are stored."""
        changed = self._edit_tree(base, _nest_edits(edits), "")
        return changed or self._add(TREE, b"")

    def move_files(self, base: Oid, edits: Mapping[str, Edit]) -> Oid:
        """Return the tree after stored edits that only move blobs of `base`, which need not be in a partial clone."""
        borrowed = set(self.borrowed)
        tree = self.stored_tree(base, edits)
        self.borrowed = borrowed
        return tree

    def take_over(self, other: ObjectDraft) -> None:
        """Add all objects of another draft."""
        self.objects.update(other.objects)
        self.borrowed |= other.borrowed

    def on_top(self) -> ObjectDraft:
        """Return a new draft that can read the objects of this one, but does not contain them."""
        return ObjectDraft(self)

    def folder(self, tree: Oid | None) -> Folder:
        """Return a tree of the draft or of the store as a folder; None stands for the empty tree."""
        return Folder(self, tree, open_view=open_view)

    def read(self, oid: Oid, kind: int) -> bytes:
        """Return the content of an object of the draft or of the store.

        Raises:
            Corrupt: the object is missing, damaged, or of another type.
        """
        if isinstance(oid, PartOid):
            return self.read(oid.container, kind)[oid.start : oid.end]
        drafted = self.objects.get(oid)
        return drafted[1] if drafted is not None and drafted[0] == kind else self._stored.read(oid, kind)

    def commit(
        self,
        tree: Oid,
        parents: Sequence[Oid],
        *,
        author: str,
        time: int,
        timezone: int,
        message: str,
        sign: Callable[[bytes], bytes] | None = None,
    ) -> Oid:
        """Add a commit and return its id. `author` ("Name <mail>") is also the committer.

        `time` is in seconds since 1970, `timezone` in seconds east of UTC. `sign` returns the armored signature of the
        commit's bytes; its exceptions are not caught.

        Raises:
            InvalidArgument: the author, the time or the message cannot be written to a commit.
        """
        commit = encode_commit(tree, parents, encode_signature(author, time, timezone), message)
        return self._add(COMMIT, commit if sign is None else with_signature(commit, sign(commit)))

    def _add(self, kind: int, data: bytes) -> Oid:
        oid = object_id(kind, data, self.form)
        self.objects[oid] = (kind, data)
        return oid

    def _edit_tree(self, base: Oid | None, node: _Node, where: str) -> Oid | None:
        """Return the id of `base` after the edits of `node`, or None if the resulting tree is empty."""
        entries = {} if base is None else entries_of(self, base, f"folder {where or '/'} ({base})")
        edits: dict[str, TreeEntry | None] = {}
        for name, edit in node.items():
            old = entries.get(name)
            new = self._edit_entry(old, edit, f"{where}{name}")
            if new != old:
                edits[name] = new
        if not edits:
            return base if entries else None
        tree = edit_tree(entries, lambda: self.read(base, TREE) if base is not None else b"", edits)
        if not tree.entries:
            return None
        oid = self._add(TREE, tree.data)
        self.memory.put(("tree", oid), MappingProxyType(tree.entries), 4 * len(tree.data))  # it is read next
        return oid

    def _edit_entry(self, old: TreeEntry | None, edit: Edit | _Node, path: str) -> TreeEntry | None:
        if isinstance(edit, dict):
            return self._edit_folder(old, edit, path)
        if old is not None and old.is_folder:
            raise InvalidArgument(f"{path} is a folder; it cannot be written or removed as a file", path=path)
        if edit is None:
            return None
        if isinstance(edit, TreeEntry):
            if edit.is_folder or edit.mode & _KIND == FOLDER_MODE:
                raise InvalidArgument(f"{path} is a folder; only its files can be written", path=path)
            return edit if edit.mode & _KIND == SUBMODULE_MODE else edit._replace(oid=self._blob_id(old, edit.oid))
        mode = old.mode if old is not None and old.mode & _KIND == _REGULAR else FILE_MODE
        return TreeEntry(self._blob_id(old, edit), False, mode)

    def _edit_folder(self, old: TreeEntry | None, node: _Node, path: str) -> TreeEntry | None:
        edits = {name: edit for name, edit in node.items() if name != _ITSELF}
        if old is not None and not old.is_folder and _ITSELF not in node:
            if _only_removes(edits):
                return old
            raise InvalidArgument(f"{path} is a file; nothing can be written below it", path=path)
        base = old.oid if old is not None and old.is_folder else None
        changed = self._edit_tree(base, edits, f"{path}/")
        folder = None if changed is None else TreeEntry(changed, True, FOLDER_MODE)
        itself = node.get(_ITSELF)
        if _ITSELF in node and (itself is not None or base is not None):  # the folder is removed or becomes a file
            return self._edit_entry(folder, itself, path)
        return folder

    def _blob_id(self, old: TreeEntry | None, edit: bytes | Oid) -> Oid:
        if isinstance(edit, bytes):
            oid = object_id(BLOB, edit, self.form)
            return oid if old is not None and old.oid == oid else self._add(BLOB, edit)
        if isinstance(edit, PartOid):  # no tree may refer to it, because it may not be stored as a blob of its own
            return self._add(BLOB, self.read(edit, BLOB))
        if edit not in self.objects and (old is None or old.oid != edit):
            self.borrowed.add(edit)
        return edit


def _only_removes(edit: Edit | _Node) -> bool:
    return all(_only_removes(part) for part in edit.values()) if isinstance(edit, dict) else edit is None


def _nest_edits(edits: Mapping[str, Edit]) -> _Node:
    """Arrange the edits as nested dictionaries by path component.

    Raises:
        InvalidArgument: a path is invalid.
    """
    root: _Node = {}
    for path, edit in edits.items():
        *folders, name = _parts(path)
        node = root
        for folder in folders:
            below = node.get(folder)
            if not isinstance(below, dict):
                below = {_ITSELF: below} if folder in node else {}
                node[folder] = below
            node = below
        present = node.get(name)
        if isinstance(present, dict):
            present[_ITSELF] = edit
        else:
            node[name] = edit
    return root


def _parts(path: str) -> list[str]:
    parts = path.split("/")
    for part in parts:
        if part in {"", ".", ".."} or part.lower() == ".git" or "\0" in part:
            raise InvalidArgument(f"{path!r} is not a path inside a tree", path=path)
    return parts
