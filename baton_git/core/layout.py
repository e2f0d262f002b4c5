"""The layout of a branch: map records to paths and back. The table of kinds is in `kinds`.

    open_loops/<id>.toml               live records, one folder per kind
    checkpoints/<agent>/<name>.toml    if an id has two parts, `<agent>/<name>`, the first part is a folder
    archive/open_loops/<xx>/<id>.toml  closed records; xx = first two hex digits of the SHA-256 of the id
    baton.toml, document.toml          the singletons
    format.toml, .gitattributes        the files of the root commit

All other files are foreign: baton changes them only in a merge of two histories of the branch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

from baton_git.core import names
from baton_git.core.codecs import toml
from baton_git.core.errors import BrokenFormat, Corrupt, InvalidDocument, LimitExceeded
from baton_git.core.kinds import (
    ALL_KINDS,
    CLOSED,
    KINDS,
    MAX_FOLDERS,
    NAMES_KNOWN,
    SINGLETONS,
    path_to,
    place_at,
    shard,
)
from baton_git.core.names import Oid, find_replaced_id
from baton_git.core.outlines import MANY, Listing, SavedListings, make_outline
from baton_git.core.records.base import Archived, Part, Record, parse
from baton_git.core.state import Entry, Key, State, StateSource, Unreadable
from baton_git.core.stored_form import check_format
from baton_git.core.value_cache import ValueCache

FORMAT_FILE = names.FORMAT_FILE
ATTRIBUTES_FILE = ".gitattributes"
MAX_RECORD_BYTES = 256 * 1024
"""Maximum size of a record's file in bytes."""
MOST_CARRIED = 1_000
"""Maximum number of decoded records that a `TreeSource` passes on to that of the next commit; if it has more, none."""
UNSAVED = 50
"""The share of records that the saved listing of a kind lacks, as 1 of so many, from which it is saved again."""
FRAMED = 8
"""Factor on `MAX_RECORD_BYTES` for files that baton derives from records, so that any stored record can be archived."""


class TreeItem(Protocol):
    """An entry of a folder."""

    @property
    def oid(self) -> Oid: ...
    @property
    def is_folder(self) -> bool: ...
    @property
    def mode(self) -> int: ...


class TreeFolder(Protocol):
    """A folder of a commit, read lazily. Folders with equal ids have equal content."""

    @property
    def oid(self) -> Oid | None: ...
    def entries(self) -> Mapping[str, TreeItem]: ...
    def folder(self, name: str) -> TreeFolder: ...
    def read(self, name: str) -> bytes | None: ...

    def with_content(self, oid: Oid) -> TreeFolder:
        """Return the folder of the same path in another commit, as it is stored; `oid` is its id."""
        ...

    def list_differing(self, other: TreeFolder) -> Iterable[str] | None:
        """Return the paths of the files that differ from those of another folder; None if the entries tell them."""


_ArchivedKeys = Mapping[str, tuple[Key, ...]]
"""The keys of archived records, by the id that each had before."""

ROOT_FILES: Mapping[str, bytes] = {
    FORMAT_FILE: b"# The version of this branch's layout. baton-git writes this branch.\nversion = 1\n",
    ATTRIBUTES_FILE: b"*.toml text eol=lf merge=baton\n*.md text eol=lf merge=baton\n"
    b"handover/*.txt text eol=lf merge=baton\n",
}
"""The files of the root commit. They are the same for every namespace, so that all machines share one root commit."""

_WITH_ADDRESS = {
    **ROOT_FILES,
    FORMAT_FILE: b"# The layout of this branch: https://pypi.org/project/baton-git\nversion = 1\n",
}
OLDER_ROOTS: tuple[Mapping[str, bytes], ...] = (
    _WITH_ADDRESS,
    {**_WITH_ADDRESS, ATTRIBUTES_FILE: b"*.toml text eol=lf merge=baton\n*.md text eol=lf merge=baton\n"},
)
"""The files of root commits that earlier versions wrote, newest first: `format.toml` contained a URL, and in the oldest
version `.gitattributes` did not list handovers."""
_FORMAT_TEXTS = frozenset(files[FORMAT_FILE] for files in (ROOT_FILES, *OLDER_ROOTS))


@lru_cache(maxsize=NAMES_KNOWN)
def path_of(key: Key) -> str:
    """Return the path of the record at `key`."""
    return path_to(key.kind, key.id, archived=key.archived)


@lru_cache(maxsize=NAMES_KNOWN)
def key_at(path: str) -> Key | None:
    """Return the key of the record at `path`; None for a file that is not a record."""
    place = place_at(path)
    return None if place is None else Key(*place)


def encode(edits: Mapping[Key, Entry | None], *, limited: bool = True) -> dict[str, bytes | None]:
    """Return the files to write for `edits`: path → content, or None to delete the file.

    Args:
        limited: whether to limit the size of records. Merges do not, so that a merge of stored records never fails.

    Raises:
        LimitExceeded: the file of a record is larger than its limit.
        InvalidDocument: a record has a value that its file format cannot represent; the message names the record.
    """
    files = {path_of(key): None if entry is None else _encode(key, entry) for key, entry in edits.items()}
    for key, text in zip(edits, files.values(), strict=True) if limited else ():
        _check_size(key, text or b"")
    return files


def _encode(key: Key, entry: Entry) -> bytes:
    if isinstance(entry, Unreadable):
        return entry.content()
    row = ALL_KINDS[key.kind]
    try:
        return toml.dumps(entry.as_data()) if key.archived else row.codec.encode(entry)
    except InvalidDocument as error:
        raise InvalidDocument(error.faults, where=key.display_name) from error


def fits(key: Key, entry: Entry) -> bool:
    """Whether the file of a record is within its size limit."""
    return len(_encode(key, entry)) <= _limit(key)


def _limit(key: Key) -> int:
    # Archived records, conflicts and the shape frame what a client supplied.
    is_from_client = not key.archived and not ALL_KINDS[key.kind].is_derived
    return MAX_RECORD_BYTES * (1 if is_from_client else FRAMED)


def _check_size(key: Key, text: bytes) -> None:
    if len(text) > _limit(key):
        hint = "keep the long text in a file and name it"
        raise LimitExceeded(key.display_name, len(text), _limit(key), "bytes", hint=hint)


def decode(key: Key, path: str, text: bytes) -> Entry:
    """Return the record in a stored file, or `Unreadable` with the reason if it is not a valid record of its kind."""
    row = ALL_KINDS[key.kind]
    if names.is_submodule(text):
        return Unreadable(path, "is a submodule, not a record; baton undo takes back the commit that added it", text)
    try:
        if key.archived:
            closed = parse(Archived, toml.loads(text))
            parse(row.model, closed.record, at="record")
            return closed
        record = parse(row.model, row.codec.decode(key.id, text))
    except InvalidDocument as error:
        return Unreadable(path, str(error), text)
    except UnicodeDecodeError as error:
        return Unreadable(path, f"not UTF-8 text: {error.reason} at byte {error.start}", text)
    if isinstance(record, Record) and record.id != key.id:
        return Unreadable(path, f"id: is {record.id!r}, but the file is that of {key.id!r}", text)
    return record


def _round_trips(key: Key, entry: Entry) -> bool:
    """Whether decoding the file of a record returns an equal record: it is TOML, and its id is that of the key."""
    if not isinstance(entry, Part) or (isinstance(entry, Record) and entry.id != key.id):
        return False
    return key.archived or ALL_KINDS[key.kind].suffix == ".toml"


@dataclass(frozen=True)
class TreeSource:
    """The records in a tree of a commit. Everything read is cached, because a commit never changes.

    `memory` caches decoded records by the blob id of their file, for other commits that contain the same file.
    """

    root: TreeFolder
    memory: ValueCache | None = None
    saved: SavedListings | None = field(default=None, compare=False, repr=False)
    _outlines: dict[str, Mapping[str, Any]] = field(default_factory=dict, compare=False, repr=False)
    _loaded: dict[Key, Entry | None] = field(default_factory=dict, compare=False, repr=False)
    _ids: dict[tuple[str, bool], Collection[str]] = field(default_factory=dict, compare=False, repr=False)
    _strays: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False, repr=False)
    _listings: dict[str, tuple[Listing, int]] = field(default_factory=dict, compare=False, repr=False)
    _folders: dict[str, TreeFolder] = field(default_factory=dict, compare=False, repr=False)

    def ids(self, kind: str, *, archived: bool = False) -> Collection[str]:
        ids = self._ids.get((kind, archived))
        if ids is None:
            ids = self._ids[kind, archived] = tuple(self.list_stored_ids(kind, archived=archived))
        return ids

    def list_stored_ids(self, kind: str, *, archived: bool) -> Collection[str]:
        """Read the ids of a kind from the tree."""
        if kind in SINGLETONS:
            return ("",) if SINGLETONS[kind].folder in self.root.entries() else ()
        if not archived:
            return self._find_listing(kind)[0].files.keys()
        row = CLOSED[kind]
        folders = self._subfolders(row.folder)
        ids = (_id_of(kind, archived, path) for folder in folders for path in _files_in(folder, row.parts))
        return [id_ for id_ in ids if id_ is not None]

    def _find_listing(self, kind: str) -> tuple[Listing, int]:
        """Return the listing of the live records of a kind, and how many of them a saved listing lacks."""
        found = self._listings.get(kind)
        if found is None:
            saved = self._load_listing(kind)
            found = None if saved is None else self._update_listing(kind, saved)
            if found is None:
                listing = self.make_listing(kind)
                outlines, before = (saved.outlines, saved.files) if saved is not None else ({}, {})
                known = {id_: one for id_, one in outlines.items() if listing.files.get(id_) == before[id_]}
                found = listing._replace(outlines=known), len(listing.files) - len(known)
            self._listings[kind] = found
            self._strays[kind] = found[0].strays
            self._remember_listing(kind, found[0])
        return found

    def _remember_listing(self, kind: str, listing: Listing) -> None:
        weight = 300 * len(listing.files)
        if self.saved is None or self.memory is None or len(listing.files) < MANY:
            return
        if weight <= self.memory.room // 2:  # a larger one would drop everything else
            self.memory.put(("listing", self.saved.name, kind), listing, weight)

    def _load_listing(self, kind: str) -> Listing | None:
        """Return the newest listing of a kind that this process knows, or else the saved one."""
        if self.saved is None or self._folder(KINDS[kind].folder).oid is None:
            return None
        known = self.memory.get(("listing", self.saved.name, kind)) if self.memory is not None else None
        return known if isinstance(known, Listing) else self.saved.load(kind)

    def make_listing(self, kind: str) -> Listing:
        """List the live records of a kind from the tree."""
        row, files, strays = KINDS[kind], dict[str, Oid](), list[str]()
        for path, item in _entries_in(self._folder(row.folder), row.parts):
            id_ = None if item.is_folder else _id_of(kind, False, path)
            if id_ is None:
                strays.append(path)
            else:
                files[id_] = item.oid
        return Listing(self._identify_folder(kind) if self.saved is not None else "", files, {}, tuple(strays))

    def _identify_folder(self, kind: str) -> str:
        form = self.root.entries().get(FORMAT_FILE)  # it decides how the folder is read
        return f"{self._folder(KINDS[kind].folder).oid} {form and form.oid}"

    def _update_listing(self, kind: str, saved: Listing) -> tuple[Listing, int] | None:
        """Return a listing of an earlier folder with the changes since, and their number; None if they are too many.

        Of 256 parts of a fanned out folder, only those that differ are read. To list 10,000 files takes 0.1 seconds.
        """
        folder, now = self._folder(KINDS[kind].folder), self._identify_folder(kind)
        if saved.folder == now:
            return saved, 0
        before, _, form = saved.folder.partition(" ")
        if form != now.partition(" ")[2] or saved.strays:
            return None
        try:
            paths = list(differing_paths(folder, folder.with_content(Oid(before))))
        except Corrupt:  # the earlier tree is no longer here
            return None
        files, outlines = {**saved.files}, {**saved.outlines}
        for path in paths:
            id_, item = _id_of(kind, False, path), _find_file(folder, path)
            if id_ is None:
                return None
            outlines.pop(id_, None)
            files.pop(id_, None)
            if item is not None:
                files[id_] = item.oid
        return Listing(now, files, outlines), len(paths)

    def load(self, key: Key) -> Entry | None:
        if key not in self._loaded:
            self._loaded[key] = self._read(key)
        return self._loaded[key]

    def outlines(self, kind: str) -> Mapping[str, Any]:
        known = self._outlines.get(kind)
        if known is None:
            known = self._outlines[kind] = self.find_outlines(kind)
        return known

    def find_outlines(self, kind: str) -> Mapping[str, Any]:
        """Return the outlines of the records of a kind; those of many records are saved.

        Return none of many records if they cannot be saved.
        """
        if kind in SINGLETONS:
            return {}
        if len(self.ids(kind)) < MANY:
            entries = (self.load(Key(kind, id_)) for id_ in self.ids(kind))
            return {entry.id: make_outline(entry) for entry in entries if isinstance(entry, Record)}
        if self.saved is None:
            return {}
        listing, changed = self._find_listing(kind)
        outlines = {**listing.outlines}
        for id_ in listing.files.keys() - outlines.keys():
            entry = self.load(Key(kind, id_))
            if isinstance(entry, Record):
                outlines[id_] = make_outline(entry)
        new, listing = max(changed, len(outlines) - len(listing.outlines)), listing._replace(outlines=outlines)
        self._remember_listing(kind, listing)
        if new * UNSAVED > len(listing.files):
            self.saved.save(kind, listing)
        return outlines

    def _read(self, key: Key) -> Entry | None:
        path = path_of(key)
        folder, _, name = path.rpartition("/")
        try:
            return self._load_cached(key, self._folder(folder), name)
        except Corrupt as error:
            return Unreadable(path, f"{error}; to fetch it again: baton sync, or else baton doctor --fix")

    def _load_cached(self, key: Key, folder: TreeFolder, name: str) -> Entry | None:
        item = folder.entries().get(name) if self.memory is not None else None
        known: Part | None = self.memory.get((key, item.oid)) if self.memory is not None and item is not None else None
        if known is not None:
            return known
        text = folder.read(name)
        entry = None if text is None else decode(key, path_of(key), text)
        if self.memory is not None and item is not None and isinstance(entry, Part):
            self.memory.put((key, item.oid), entry, 4 * len(text or b""))
        return entry

    def make_next(self, root: TreeFolder, edits: Mapping[Key, Entry | None]) -> TreeSource:
        """Return the source of the next commit. Its tree is `root`, which differs by exactly these edits.

        The new source takes over the records already decoded, if there are at most `MOST_CARRIED`. An edited record is
        decoded again only if decoding its file might not return the same record.
        """
        known = self._loaded.copy() if len(self._loaded) <= MOST_CARRIED else {}
        new_or_gone = list[Key]()
        following = TreeSource(root, self.memory, self.saved)
        for key, entry in edits.items():
            if entry is None or self.load(key) is None:
                new_or_gone.append(key)
            known.pop(key, None)
            if entry is None or _round_trips(key, entry):
                known[key] = entry
                following.remember_decoded(key, entry)
        return replace(
            following, _outlines=self._follow_outlines(edits), _loaded=known, _ids=self._follow_ids(new_or_gone, edits),
            _strays={**self._strays},
        )  # fmt: skip

    def remember_decoded(self, key: Key, entry: Entry | None) -> None:
        """Remember what decoding the file at `key` returns, so that other commits with the file have this very object:
        merges compare a record with itself much faster than with an equal one."""
        if self.memory is None or not isinstance(entry, Part):
            return
        path, _, name = path_of(key).rpartition("/")
        folder = self._folder(path)
        item = folder.entries().get(name)
        if item is not None:
            self.memory.put((key, item.oid), entry, 4 * len(folder.read(name) or b""))

    def _follow_outlines(self, edits: Mapping[Key, Entry | None]) -> dict[str, Mapping[str, Any]]:
        """Return the outlines found so far after edits; to load those of 10,000 records takes longer than a write."""
        found: dict[str, dict[str, Any]] = {kind: {**known} for kind, known in self._outlines.items() if known}
        for key, entry in edits.items():
            if key.kind in found and not key.archived:
                found[key.kind].pop(key.id, None)
                if isinstance(entry, Record) and _round_trips(key, entry):
                    found[key.kind][key.id] = make_outline(entry)
        return {**found}

    def _follow_ids(
        self, keys: Sequence[Key], edits: Mapping[Key, Entry | None]
    ) -> dict[tuple[str, bool], Collection[str]]:
        """Return the lists of ids after edits that add or remove the records at `keys`.

        Lists of live ids are carried on: to list 10,000 again takes 100 ms, thirty times as long as a write.
        """
        lists = self._ids.copy()
        for kind, archived in {(key.kind, key.archived) for key in keys} & lists.keys():
            changed = [key for key in keys if key.kind == kind and key.archived == archived]
            before = lists.pop((kind, archived))
            if not archived and kind not in SINGLETONS and all(key_at(path_of(key)) == key for key in changed):
                gone = {key.id for key in changed if edits[key] is None}
                lists[kind, archived] = ({*before} - gone).union(key.id for key in changed if edits[key] is not None)
        return lists

    def _folder(self, path: str) -> TreeFolder:
        if not path:
            return self.root
        if path not in self._folders:
            above, _, name = path.rpartition("/")
            self._folders[path] = self._folder(above).folder(name)
        return self._folders[path]

    def differing(self, other: StateSource) -> Iterator[Key]:
        theirs = other.root if isinstance(other, TreeSource) else None
        for path in differing_paths(self.root, theirs):
            key = key_at(path)
            if key is not None:
                yield key

    def list_moved(self, key: Key, before: StateSource) -> Iterator[Key]:
        row, closed = KINDS[key.kind], CLOSED[key.kind]
        earlier = before.root if isinstance(before, TreeSource) else _EMPTY
        for path in _new_files(self._folder(row.folder), _folder_at(earlier, row.folder), row.parts):
            id_ = _id_of(key.kind, False, path)
            if id_ is not None and find_replaced_id(id_) == key.id:
                yield Key(key.kind, id_)
        archive, old_archive = self._folder(closed.folder), _folder_at(earlier, closed.folder)
        if _list_differing(archive, old_archive) is not None:
            ids = (_id_of(key.kind, True, path.rpartition("/")[2]) for path in _new_files(archive, old_archive, 2))
            keys = (Key(key.kind, id_, archived=True) for id_ in ids if id_ is not None)
            yield from (new for new in keys if key.id in self._list_former_ids(new))
            return
        for known in self._find_archived(key.kind, archive, old_archive):
            yield from known.get(key.id, ())

    def _find_archived(self, kind: str, archive: TreeFolder, before: TreeFolder) -> Sequence[_ArchivedKeys]:
        """Return `_list_archived` of each subfolder of an archive that differs in an earlier one.

        Cached for both archives, because most writes archive nothing, and for both subfolders, because of up to 256 few
        are new if a write does.
        """
        whole_key = ("archived", kind, before.oid, archive.oid)
        whole: Sequence[_ArchivedKeys] | None = self.memory.get(whole_key) if self.memory is not None else None
        if whole is not None:
            return whole
        found, old_items = list[_ArchivedKeys](), before.entries()
        for name, item in archive.entries().items():
            old = old_items.get(name)
            if item.is_folder and (old is None or old.oid != item.oid):
                cache_key = ("archived", kind, name, old and old.oid, item.oid)
                known: _ArchivedKeys | None = self.memory.get(cache_key) if self.memory is not None else None
                if known is None:
                    known = self._list_archived(kind, name, archive.folder(name), before.folder(name))
                    if self.memory is not None:
                        self.memory.put(cache_key, known, 100 * len(known))
                found.append(known)
        if self.memory is not None:
            self.memory.put(whole_key, found, 100 * sum(len(known) for known in found))
        return found

    def _list_archived(self, kind: str, name: str, folder: TreeFolder, before: TreeFolder) -> _ArchivedKeys:
        """Return the archived records that a subfolder of the archive has and an earlier one lacks, by former id."""
        found: dict[str, tuple[Key, ...]] = {}
        for path in _new_files(folder, before, CLOSED[kind].parts):
            id_ = _id_of(kind, True, path)
            if id_ is not None and shard(id_) == name:
                key = Key(kind, id_, archived=True)
                for former in {*self._list_former_ids(key)}:
                    found[former] = (*found.get(former, ()), key)
        return found

    def _list_former_ids(self, key: Key) -> Iterator[str]:
        """Yield the ids that the archived record at `key` may have had before."""
        entry = self.load(key)
        if isinstance(entry, Archived):
            yield str(entry.record.get("id"))
        replaced = find_replaced_id(key.id)
        if replaced is not None:
            yield replaced

    def identify_file(self, key: Key) -> object:
        folder, _, name = path_of(key).rpartition("/")
        item = self._folder(folder).entries().get(name)
        return None if item is None else (item.oid, item.mode)

    def unreadable(self) -> Iterator[Unreadable]:
        for kind, row in KINDS.items():
            strays = self._strays.get(kind)
            for path in self._find_listing(kind)[0].strays if strays is None else strays:
                yield Unreadable(f"{row.folder}/{path}".rstrip("/"), "is not the file of a record")

    def _subfolders(self, path: str) -> Iterator[TreeFolder]:
        folder = self._folder(path)
        for name, item in folder.entries().items():
            if item.is_folder:
                yield folder.folder(name)


def _folder_at(folder: TreeFolder, path: str) -> TreeFolder:
    """Return the folder at `path` below a folder; an empty one if there is none."""
    for name in path.split("/"):
        folder = folder.folder(name)
    return folder


def _new_files(folder: TreeFolder, before: TreeFolder, depth: int) -> Iterable[str]:
    """Return the paths of files that an earlier folder lacks."""
    listed = _list_differing(folder, before)
    if listed is not None:
        return [path for path in listed if _has_file(folder, path) and not _has_file(before, path)]
    if depth == 1:
        items = folder.entries()
        return (name for name in items.keys() - before.entries().keys() if not items[name].is_folder)
    return set(_files_in(folder, depth)) - set(_files_in(before, depth))


def _list_differing(ours: TreeFolder, theirs: TreeFolder) -> Iterable[str] | None:
    """Return the paths of the files that differ if one of the folders can tell them without comparing the entries."""
    listed = ours.list_differing(theirs)
    return theirs.list_differing(ours) if listed is None else listed


def _find_file(folder: TreeFolder, path: str) -> TreeItem | None:
    above, _, name = path.rpartition("/")
    item = (_folder_at(folder, above) if above else folder).entries().get(name)
    return None if item is None or item.is_folder else item


def _has_file(folder: TreeFolder, path: str) -> bool:
    return _find_file(folder, path) is not None


def _files_in(folder: TreeFolder, depth: int) -> Iterator[str]:
    return (path for path, item in _entries_in(folder, depth) if not item.is_folder)


def _entries_in(folder: TreeFolder, depth: int, prefix: str = "") -> Iterator[tuple[str, TreeItem]]:
    """Yield the entries at `depth` and the files above it, with their paths."""
    for name, item in folder.entries().items():
        if item.is_folder and depth > 1:
            yield from _entries_in(folder.folder(name), depth - 1, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", item


def differing_paths(ours: TreeFolder, theirs: TreeFolder | None, prefix: str = "") -> Iterator[str]:
    """Yield the paths of files that differ between two folders; folders with equal ids are not read.

    Raises:
        Corrupt: the folders are nested deeper than `MAX_FOLDERS`.
    """
    if theirs is not None:
        if ours.oid is not None and ours.oid == theirs.oid:
            return
        listed = _list_differing(ours, theirs)
        if listed is not None:
            yield from (f"{prefix}{path}" for path in listed)
            return
    if prefix.count("/") > MAX_FOLDERS:
        raise Corrupt(prefix[:60] + "…", f"folders are nested deeper than {MAX_FOLDERS}", hint="remove that folder")
    # The items of a view are listed at once; looking up each of 100,000 bundled records by name would take 20 seconds.
    mine = dict(ours.entries().items())
    other_entries = dict(theirs.entries().items()) if theirs is not None else {}
    for name in {**mine, **other_entries}:
        left, right = mine.get(name), other_entries.get(name)
        if left is None or right is None or left.oid != right.oid or left.mode != right.mode:
            yield from _differing(name, ours, theirs, left, right, prefix)


def _differing(
    name: str,
    ours: TreeFolder,
    theirs: TreeFolder | None,
    ours_item: TreeItem | None,
    theirs_item: TreeItem | None,
    prefix: str,
) -> Iterator[str]:
    if (ours_item is not None and ours_item.is_folder) or (theirs_item is not None and theirs_item.is_folder):
        left = ours.folder(name) if ours_item is not None and ours_item.is_folder else _EMPTY
        right = (
            theirs.folder(name) if theirs is not None and theirs_item is not None and theirs_item.is_folder else _EMPTY
        )
        yield from differing_paths(left, right, f"{prefix}{name}/")
    if any(item is not None and not item.is_folder for item in (ours_item, theirs_item)):
        yield f"{prefix}{name}"


@lru_cache(maxsize=NAMES_KNOWN)
def _id_of(kind: str, archived: bool, path: str) -> str | None:
    return (CLOSED if archived else KINDS)[kind].id_of(path)


class _Empty:
    """An empty folder."""

    oid: Oid | None = None

    def entries(self) -> Mapping[str, TreeItem]:
        return {}

    def folder(self, name: str) -> TreeFolder:
        return self

    def read(self, name: str) -> bytes | None:
        return None

    def with_content(self, oid: Oid) -> TreeFolder:
        return self

    def list_differing(self, other: TreeFolder) -> Iterable[str] | None:
        return None


_EMPTY: TreeFolder = _Empty()


def state_of(root: TreeFolder, memory: ValueCache | None = None, saved: SavedListings | None = None) -> State:
    """Return the state stored in the tree of a commit.

    Args:
        memory: caches decoded records for other commits.
        saved: keeps listings of records for other processes.

    Raises:
        Corrupt: the tree has another layout version, or its format file cannot be read.
    """
    check_layout(root)
    return records_of(root, memory, saved)


def check_layout(root: TreeFolder) -> None:
    """Check the format file of a tree, if it has one.

    Raises:
        NewerLayout, BrokenFormat: as `check_format` does; `BrokenFormat` also if it is no file.
    """
    text = root.read(FORMAT_FILE)
    if text is None and FORMAT_FILE in root.entries():
        raise BrokenFormat(FORMAT_FILE, "it is no file")
    if text not in _FORMAT_TEXTS:
        check_format(text)


def lacks_attributes(root: TreeFolder) -> bool:
    """Return whether `.gitattributes` lacks a line of the root commit, without which git merges records as text."""
    found = set((root.read(ATTRIBUTES_FILE) or b"").splitlines())
    return not found.issuperset(ROOT_FILES[ATTRIBUTES_FILE].splitlines())


def records_of(root: TreeFolder, memory: ValueCache | None = None, saved: SavedListings | None = None) -> State:
    """Return the records stored in a tree like `state_of`, whatever its format file says."""
    return State(TreeSource(root, memory, saved))


def paths_below(root: TreeFolder, prefix: str = "") -> Iterable[str]:
    """Yield the paths of all files of a tree. Raises Corrupt like `differing_paths`."""
    return differing_paths(root, None, prefix)
