"""Read the folders of records that layout 2 stores in another form than layout 1.

A `View` computes the files of the folder of a kind as they would be in layout 1, and a `ViewFolder` shows them as a
folder: `FanView` reads fanned out folders, `ArchiveView` reads bundles.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from hashlib import sha256
from itertools import islice
from typing import cast

from baton_git.core import stored_form
from baton_git.core.errors import Corrupt
from baton_git.core.kinds import ARCHIVE, KIND_OF_FOLDER, KINDS, MAX_FOLDERS, shard
from baton_git.core.layout import TreeFolder, differing_paths
from baton_git.core.names import Oid
from baton_git.git.objects.values import BLOB, FOLDER_MODE, PartOid, TreeEntry, object_id
from baton_git.git.store.folder import Folder, ObjectReader

_REGULAR = 0o100000
_KIND = 0o170000
_BUNDLED_MODE = 0o100644
LISTED_FROM = 2_000
"""Number of files from which it is faster to list a folder than to look each file up."""


def find_stored(folder: Folder, path: str) -> TreeEntry | None:
    """Return the file at a path below a folder; None if there is none."""
    *folders, name = path.split("/")
    for part in folders:
        folder = folder.folder(part)
    entry = folder.entries().get(name)
    return None if entry is None or entry.is_folder else entry


def open_view(objects: ObjectReader, stored: Folder) -> Folder:
    """Return a stored folder below the root or the archive of a tree of layout 2 as it would be in layout 1."""
    archived, _, name = stored.path.rpartition("/")
    kind = KIND_OF_FOLDER.get(name)
    if kind is None or archived not in ("", ARCHIVE):
        return stored
    return ViewFolder(ArchiveView(objects, stored) if archived else FanView(objects, stored, kind))


def find_stored_path(root: Folder, path: str) -> str:
    """Return where git has the file at a path of layout 1 in the tree of a namespace, for commands of git."""
    place = stored_form.find_place(path)
    folder = root
    for name in path.split("/")[: 2 if place is not None and place.archived else 1]:
        folder = folder.folder(name)
    if place is None or not isinstance(folder, ViewFolder) or find_stored(root.stored(), path) is not None:
        return path
    if isinstance(folder.view, ArchiveView):
        name = place.path.rpartition("/")[2]
        stored = next(folder.view.find_bundles(name, stored_form.find_archived_id(name) or ""), None)
    else:
        stored = stored_form.find_fanned_path(place.kind, place.path)
    return path if stored is None else f"{folder.view.stored.path}/{stored}"


def list_parts(root: Folder, path: str, oid: Oid) -> list[tuple[str, Oid]]:
    """Return the path in layout 1 and the blob id of each file in the stored file at a path of a namespace's tree."""
    place = stored_form.find_place(path) if root.version == 2 else None
    if place is None:
        return [(path, oid)]
    if not place.archived:
        return [(stored_form.restore_path(path), oid)]
    folder = root.folder(ARCHIVE).folder(KINDS[place.kind].folder)
    view = folder.view if isinstance(folder, ViewFolder) else None
    if not isinstance(view, ArchiveView) or not view.is_bundle(place.path):
        return [(path, oid)]
    files = view.read_bundle(place.path).items()
    return [(f"{view.stored.path}/{_archived_path(name)}", entry.oid) for name, entry in files]


class View:
    """The files of a stored folder of records by the path that they have in layout 1, relative to the folder."""

    def __init__(self, objects: ObjectReader, stored: Folder) -> None:
        assert stored.oid is not None
        self.objects = objects
        self.stored = stored
        self.oid: Oid = stored.oid
        self._tree: Mapping[str, Mapping[str, TreeEntry]] | None = None
        self._differing: tuple[Oid | None, frozenset[str]] = (None, frozenset())

    def find(self, path: str) -> TreeEntry | None:
        """Return the file at a path of layout 1; None if there is none."""
        raise NotImplementedError

    def restore_paths(self, stored_path: str, other: View) -> Iterable[str]:
        """Return the paths of the files that a stored file holds here or in another view, unless they are equal."""
        raise NotImplementedError

    def iterate_files(self) -> Iterator[tuple[str, TreeEntry]]:
        """Yield every file with its path in layout 1; a path that is stored twice comes twice, the first one counts."""
        raise NotImplementedError

    def alike(self, stored: Folder) -> View:
        """Return a view of the same kind of another folder."""
        raise NotImplementedError

    def may_be_folder(self, path: str) -> bool:
        """Whether there can be a folder at a path of layout 1. False for most paths of missing records."""
        *above, name = path.split("/")
        folder = self.stored
        for part in above:
            folder = folder.folder(part)
        entry = folder.entries().get(name)
        return entry is not None and entry.is_folder

    def entries_below(self, prefix: str) -> Mapping[str, TreeEntry]:
        """Return the entries of the folder at `prefix`, which is empty or ends in `/`."""
        if self._tree is None:
            self._tree = self._list_tree()
        return self._tree.get(prefix, {})

    def _list_tree(self) -> Mapping[str, Mapping[str, TreeEntry]]:
        tree: dict[str, dict[str, TreeEntry]] = {}
        for path, entry in self.iterate_files():
            head, _, name = path.rpartition("/")
            folder = tree.get(f"{head}/" if head else "")
            if folder is None:
                folder = self._add_folder(tree, head)
            folder.setdefault(name, entry)
        return tree

    def _add_folder(self, tree: dict[str, dict[str, TreeEntry]], path: str) -> dict[str, TreeEntry]:
        prefix = f"{path}/" if path else ""
        if path and prefix not in tree:
            above, _, name = path.rpartition("/")
            entry = TreeEntry(self.name_folder(prefix), True, FOLDER_MODE)
            self._add_folder(tree, above).setdefault(name, entry)
        return tree.setdefault(prefix, {})

    def name_folder(self, prefix: str) -> Oid:
        """Return an id for a folder that is not stored as such. Folders with equal ids have equal content."""
        return Oid(sha256(f"{self.oid}/{prefix}".encode()).hexdigest()[: len(self.oid)]) if prefix else self.oid

    def list_differing(self, other: View) -> frozenset[str]:
        """Return the paths of the files that differ from those of another view. Equal stored folders are not opened."""
        if self._differing[0] != other.oid:
            stored = list(islice(differing_paths(self.stored, other.stored), LISTED_FROM))
            differing = self._list_many if len(stored) >= LISTED_FROM else self._look_up
            self._differing = other.oid, frozenset(differing(stored, other))
        return self._differing[1]

    def _look_up(self, stored: Iterable[str], other: View) -> Iterator[str]:
        paths = {path for stored_path in stored for path in self.restore_paths(stored_path, other)}
        return (path for path in paths if self.find(path) != other.find(path))

    def _list_many(self, _: Iterable[str], other: View) -> Iterator[str]:
        """Compare all files: after a fold of 100,000 records, looking each of them up took 15 seconds."""
        mine, others = self.identify_files(), other.identify_files()
        yield from (path for path, content in mine.items() if others.get(path) != content)
        yield from others.keys() - mine.keys()

    def identify_files(self) -> Mapping[str, tuple[Oid, int]]:
        """Return the id and the mode of every file by its path in layout 1."""
        return {path: (entry.oid, entry.mode) for path, entry in self.list_files().items()}

    def list_files(self) -> Mapping[str, TreeEntry]:
        """Return every file by its path in layout 1."""
        files: dict[str, TreeEntry] = {}
        for path, entry in self.iterate_files():
            files.setdefault(path, entry)
        return files


class FanView(View):
    """A folder of live records that is fanned out."""

    def __init__(self, objects: ObjectReader, stored: Folder, kind: str) -> None:
        super().__init__(objects, stored)
        self.kind = kind

    def alike(self, stored: Folder) -> View:
        return FanView(self.objects, stored, self.kind)

    def may_be_folder(self, path: str) -> bool:
        return super().may_be_folder(path) or (KINDS[self.kind].parts > 1 and "/" not in path)

    def find(self, path: str) -> TreeEntry | None:
        entry = find_stored(self.stored, path)
        if entry is not None:
            return entry if not path.startswith("=") or self._restore(path) == path else None
        fanned = stored_form.find_fanned_path(self.kind, path)
        return None if fanned is None else find_stored(self.stored, fanned)

    def _restore(self, stored_path: str) -> str:
        return stored_form.restore_fanned_path(self.kind, stored_path)

    def restore_paths(self, stored_path: str, other: View) -> Iterable[str]:
        return (self._restore(stored_path),)

    def iterate_files(self) -> Iterator[tuple[str, TreeEntry]]:
        entries = self.stored.entries()
        yield from _iterate_files(self.stored, "", [name for name in entries if not name.startswith("=")])
        for name in entries:
            if name.startswith("="):
                for leaf in self.stored.folder(name).entries() if entries[name].is_folder else ():
                    yield from self._list_leaf(f"{name}/{leaf}", self.stored.folder(name), leaf)
                if not entries[name].is_folder:
                    yield name, entries[name]

    def _list_leaf(self, path: str, above: Folder, name: str) -> tuple[tuple[str, TreeEntry], ...]:
        """Return the files of a folder of the second level. Cached by its id, since of 256 one changes at a write."""
        entry = above.entries()[name]
        if not entry.is_folder:
            return ((path, entry),)

        def read() -> tuple[tuple[str, TreeEntry], ...]:
            files = _iterate_files(above.folder(name), f"{path}/")
            return tuple((self._restore(file), item) for file, item in files)

        weight = 100 * len(above.folder(name).entries())
        return self.objects.memory.get_or_make(("fan", self.kind, path, entry.oid), read, weight)


class ArchiveView(View):
    """A folder of archived records, some of which are in bundles."""

    def alike(self, stored: Folder) -> View:
        return ArchiveView(self.objects, stored)

    def may_be_folder(self, path: str) -> bool:
        return super().may_be_folder(path) or "/" not in path

    def find(self, path: str) -> TreeEntry | None:
        entry = find_stored(self.stored, path)
        if entry is not None:
            return entry if not path.startswith("=") or not self.is_bundle(path) else None
        folder, _, name = path.rpartition("/")
        id_ = stored_form.find_archived_id(name)
        if id_ is None or folder != shard(id_):
            return None
        return next((self._find_in_bundle(bundle, name) for bundle in self.find_bundles(name, id_)), None)

    def find_bundles(self, name: str, id_: str) -> Iterator[str]:
        """Yield the paths of the bundles that contain a record; the first one counts."""
        digits = stored_form.digits_of(id_)
        names = [stored_form.name_bundle(digits[:count]) for count in range(stored_form.MAX_DIGITS + 1)]
        for month in self.list_months():
            entries = self.stored.folder(month).entries()
            for file in names:
                if file in entries and self._has_file(f"{month}/{file}", name):
                    yield f"{month}/{file}"

    def _has_file(self, path: str, name: str) -> bool:
        """Whether a bundle has a file. Most have not, which is found without splitting them."""
        return stored_form.mentions_file(self.read_text(path), name) and name in self.split(path).sections

    def _find_in_bundle(self, path: str, name: str) -> TreeEntry:
        container = find_stored(self.stored, path)
        assert container is not None  # `find_bundles` found the file there
        oid = self._name_part(self.read_text(path), container.oid, self.split(path).sections[name])
        return TreeEntry(oid, False, _BUNDLED_MODE)

    def list_months(self) -> list[str]:
        """Return the names of the folders of bundles."""
        return [name for name, entry in self.stored.entries().items() if entry.is_folder and stored_form.is_month(name)]

    def split(self, path: str) -> stored_form.Bundle:
        """Return the parts of the bundle at a stored path; empty if there is no file."""
        entry = find_stored(self.stored, path)
        digits = stored_form.read_bundle_digits(path)
        if entry is None or digits is None or entry.mode & _KIND != _REGULAR:
            return stored_form.Bundle({})
        bundle: stored_form.Bundle | None = self.objects.memory.get(("bundle", digits, entry.oid))
        if bundle is None:
            bundle = stored_form.split_bundle(self.read_text(path), digits)
            self.objects.memory.put(("bundle", digits, entry.oid), bundle, 200 * len(bundle.sections))
        return bundle

    def read_text(self, path: str) -> bytes:
        """Return the content of a stored file.

        Raises:
            Corrupt: it cannot be read; the message has its path.
        """
        folder, _, name = path.rpartition("/")
        return self.stored.folder(folder).read(name) or b""

    def read_bundle(self, path: str) -> Mapping[str, TreeEntry]:
        """Return the files in the bundle at a stored path, by name."""
        entry = find_stored(self.stored, path)
        bundle = self.split(path)
        if entry is None or not bundle.sections:
            return {}
        known: Mapping[str, TreeEntry] | None = self.objects.memory.get(("bundled", path, entry.oid))
        if known is None:
            text = self.read_text(path)
            known = {
                name: TreeEntry(self._name_part(text, entry.oid, section), False, _BUNDLED_MODE)
                for name, section in bundle.sections.items()
            }
            self.objects.memory.put(("bundled", path, entry.oid), known, 300 * len(known))
        return known

    def _name_part(self, text: bytes, container: Oid, section: stored_form.BundledFile) -> Oid:
        oid = object_id(BLOB, text[section.start : section.end], self.objects.form)
        return cast("Oid", PartOid(oid, container, section.start, section.end))

    def is_bundle(self, path: str) -> bool:
        """Whether the stored file at a path is shown as the records in it. A file without a record is shown itself."""
        entry = find_stored(self.stored, path)
        if stored_form.read_bundle_digits(path) is None or entry is None or entry.mode & _KIND != _REGULAR:
            return False
        return bool(self.split(path).sections) or not self.split(path).faults

    def restore_paths(self, stored_path: str, other: View) -> Iterable[str]:
        assert isinstance(other, ArchiveView)
        if stored_form.read_bundle_digits(stored_path) is None:
            return (stored_path,)
        mine, others = self.read_bundle(stored_path), other.read_bundle(stored_path)
        names = [name for name in mine.keys() | others.keys() if mine.get(name) != others.get(name)]
        return (*(_archived_path(name) for name in names), stored_path)

    def iterate_files(self) -> Iterator[tuple[str, TreeEntry]]:
        bundles = []
        for path, entry in _iterate_files(self.stored, ""):
            if path.startswith("="):
                bundles.append((path, entry))
            else:
                yield path, entry
        for path, entry in bundles:  # each is opened once: the memory does not hold 4,096 of them
            if not self.is_bundle(path):
                yield path, entry
                continue
            for name, part in self.read_bundle(path).items():
                yield _archived_path(name), part

    def identify_files(self) -> Mapping[str, tuple[Oid, int]]:
        """Return the id and the mode of every file by its path in layout 1.

        Nothing of it is kept: an entry for each of 100,000 bundled files takes twice as long as their ids.
        """
        files: dict[str, tuple[Oid, int]] = {}
        bundles = []
        for path, entry in _iterate_files(self.stored, ""):
            if path.startswith("="):
                bundles.append((path, entry))
            else:
                files[path] = entry.oid, entry.mode
        form = self.objects.form
        for path, entry in bundles:
            digits = stored_form.read_bundle_digits(path) if entry.mode & _KIND == _REGULAR else None
            text = self.read_text(path) if digits is not None else b""
            bundle = stored_form.split_bundle(text, digits) if digits is not None else None
            if bundle is None or (bundle.faults and not bundle.sections):
                files.setdefault(path, (entry.oid, entry.mode))
                continue
            for start, end, name in bundle.sections.values():
                if name not in files:  # a single file takes precedence
                    files[name] = object_id(BLOB, text[start:end], form), _BUNDLED_MODE
        return files


def _archived_path(name: str) -> str:
    return f"{shard(stored_form.find_archived_id(name) or '')}/{name}"


def _iterate_files(folder: Folder, prefix: str, names: Iterable[str] | None = None) -> Iterator[tuple[str, TreeEntry]]:
    if prefix.count("/") > MAX_FOLDERS:
        raise Corrupt(prefix[:60] + "…", f"folders are nested deeper than {MAX_FOLDERS}", hint="remove that folder")
    entries = folder.entries()
    for name in entries if names is None else names:
        entry = entries[name]
        if entry.is_folder:
            yield from _iterate_files(folder.folder(name), f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", entry


class ViewFolder(Folder):
    """A folder whose entries a view computes: the whole folder of a kind, or one below it (`prefix`)."""

    __slots__ = ("prefix", "view")

    def __init__(self, view: View, prefix: str = "") -> None:
        super().__init__(view.objects, view.name_folder(prefix), f"{view.stored.path}/{prefix}".rstrip("/"))
        self.view = view
        self.prefix = prefix

    def stored(self) -> Folder:
        folder = self.view.stored
        for name in self.prefix.split("/")[:-1]:
            folder = folder.folder(name)
        return folder

    def folder(self, name: str) -> Folder:
        if name not in self._folders:
            self._folders[name] = ViewFolder(self.view, f"{self.prefix}{name}/")
        return self._folders[name]

    def list_differing(self, other: TreeFolder) -> Iterable[str] | None:
        if isinstance(other, ViewFolder) and other.prefix == self.prefix:
            theirs = other.view
        elif isinstance(other, Folder) and not self.prefix and other.oid is not None:
            theirs = self.view.alike(other)
        else:
            return None
        paths = self.view.list_differing(theirs)
        return [path[len(self.prefix) :] for path in paths if path.startswith(self.prefix)]

    def _read(self) -> Mapping[str, TreeEntry]:
        return ViewEntries(self.view, self.prefix)


class ViewEntries(Mapping[str, TreeEntry]):
    """The entries of a `ViewFolder`. A single file is looked up without listing the others."""

    def __init__(self, view: View, prefix: str) -> None:
        self._view = view
        self._prefix = prefix

    def __getitem__(self, name: str) -> TreeEntry:
        path = self._prefix + name
        entry = self._view.find(path)
        if entry is None and self._view.may_be_folder(path):
            entry = self._list().get(name)
        if entry is None:
            raise KeyError(name)
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(self._list())

    def __len__(self) -> int:
        return len(self._list())

    def items(self) -> ItemsView[str, TreeEntry]:
        return self._list().items()

    def values(self) -> ValuesView[TreeEntry]:
        return self._list().values()

    def _list(self) -> Mapping[str, TreeEntry]:
        return self._view.entries_below(self._prefix)
