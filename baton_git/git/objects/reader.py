"""Read objects from packs, loose files and alternates, and verify each against its id."""

from __future__ import annotations

import math
import os
import re
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Final, NamedTuple, Protocol

from dulwich.object_format import ObjectFormat

from baton_git.core.errors import Corrupt, Rejected, StoreError
from baton_git.core.names import Oid
from baton_git.core.value_cache import ValueCache
from baton_git.git import child_process
from baton_git.git.files.atomic_files import advise_access
from baton_git.git.objects.pack_reader import DAMAGE, OpenPack, Raw
from baton_git.git.objects.values import BLOB, TYPE_NAMES, TYPE_NUMBERS, PartOid, SubmoduleOid, object_id


class TimeLimit(threading.local):
    """The time limit of the current thread; initially none."""

    def __init__(self) -> None:
        self.end = math.inf
        self.what = ""

    @contextmanager
    def until(self, end: float, what: str) -> Iterator[None]:
        """Set the limit inside the `with` block: `check` raises after `end` on the monotonic clock.

        `what` names the limited work in the error. An earlier limit of an outer block remains in force.
        """
        before = self.end, self.what
        self.end, self.what = min(end, self.end), what
        try:
            yield
        finally:
            self.end, self.what = before

    def check(self) -> None:
        """Raise Rejected if the time limit has passed."""
        if time.monotonic() > self.end:
            hint = "allow it more time: baton sync --timeout SECONDS"
            raise Rejected(f"{self.what} exceeds the time limit", hint=hint, for_now=True, is_for_sync=True)


_CACHED_BYTES: Final = 16 << 20
_CACHED_SIZE: Final = 1 << 18
_ALTERNATES_DEEP: Final = 5
_ATTEMPTS: Final = 5
_REPAIR: Final = (
    "baton sync fetches it again from the remote (for an older revision: baton doctor --fix); without a remote, git "
    "fsck shows what is lost"
)


class ObjectSupplier(Protocol):
    """Fetches objects that a partial clone left out, when they are needed."""

    def supply(self, oid: Oid) -> str:
        """Store a missing object in the repository; return why this failed, or an empty text."""
        ...

    def limit(self, seconds: float) -> None:
        """Reduce the time that is left for all further fetches."""
        ...


class ObjectFolder:
    """An `objects/` folder. Its packs are listed on first use, and again when an object is not found."""

    def __init__(self, path: Path, form: ObjectFormat) -> None:
        self.path = path
        self.form = form
        self._packs: dict[str, OpenPack | None] = {}
        self._order: list[str] = []
        self._listed = False
        self._pack_vanished = False

    def rescan(self) -> bool:
        """List the packs again; return whether anything changed, so that a second search may succeed."""
        folder = self.path / "pack"
        try:
            files = {file.name: file for file in folder.iterdir() if file.suffix == ".idx"}
        except FileNotFoundError:
            files = {}
        except OSError as error:
            raise StoreError(f"cannot list {folder}: {error.strerror}", hint=advise_access(folder, error)) from error
        gone = self._packs.keys() - files.keys()
        for name in gone:
            self._drop(name)
        new = [name for name in files if name not in self._packs]
        new.sort(key=lambda name: _mtime(files[name]), reverse=True)
        for name in new:
            self._packs[name] = None
        self._order = [*new, *(name for name in self._order if name in self._packs)]
        self._listed = True
        changed = bool(new or gone) or self._pack_vanished
        self._pack_vanished = False
        return changed

    def sources(self, name: bytes, damage: list[StoreError]) -> Iterator[tuple[OpenPack, int]]:
        """Yield each pack that has the object with this binary id, and its offset; add unreadable indexes to `damage`.

        Raises:
            StoreError: the packs cannot be listed.
        """
        if not self._listed:
            self.rescan()
        for file in list(self._order):
            pack = self._open_pack(file, damage)
            offset = None if pack is None else _look_up(pack, name, damage)
            if pack is None or offset is None:
                continue
            if file in self._order[1:]:  # the next object is likely to be in the same pack
                self._order.remove(file)
                self._order.insert(0, file)
            yield pack, offset

    def loose(self, oid: Oid) -> bytes | None:
        """Return the compressed bytes of a loose object, or None if there is no such file."""
        path = self.path / oid[:2] / oid[2:]
        try:
            return path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise StoreError(f"cannot read object {oid}: {error.strerror}", hint=advise_access(path, error)) from error

    def has_file(self, oid: Oid) -> bool:
        """Return whether a loose object with this id exists."""
        return os.path.exists(f"{self.path}/{oid[:2]}/{oid[2:]}")  # pathlib takes 4 times as long

    def _open_pack(self, file: str, damage: list[StoreError]) -> OpenPack | None:
        pack = self._packs.get(file)
        if pack is None:
            try:
                pack = OpenPack(self.path / "pack" / file, self.form)
            except FileNotFoundError:
                self.forget(file)
                return None
            except Corrupt as error:  # another pack may have the object
                damage.append(error)
                return None
            except OSError as error:
                damage.append(_unreadable(self.path / "pack" / file, error))
                return None
            self._packs[file] = pack
        return pack

    def forget(self, file: str) -> None:
        """Close a pack that was deleted from the disk; `rescan` then reports a change."""
        self._drop(file)
        self._order = [name for name in self._order if name != file]
        self._pack_vanished = True

    def _drop(self, file: str) -> None:
        pack = self._packs.pop(file, None)
        if pack is not None:
            pack.close()

    def close(self) -> None:
        for file in list(self._packs):
            self._drop(file)
        self._order = []
        self._listed = False


class Objects:
    """All objects that the repository can read, including those of alternates. Safe for use by several threads.

    `memory` is a cache for values that callers derive from objects. `supplier` fetches missing objects; None if the
    reader must not wait for a remote.
    """

    def __init__(self, folder: Path, form: ObjectFormat, more: Sequence[Path] = ()) -> None:
        """`more`: additional object folders to read from, such as the quarantine of a push."""
        self.form = form
        paths = (path for start in (folder, *more) for path in _with_alternates(start, _ALTERNATES_DEEP))
        self.folders = [ObjectFolder(path, form) for path in dict.fromkeys(paths)]
        self.memory = ValueCache()
        self.limit = TimeLimit()
        self.supplier: ObjectSupplier | None = None
        self._unstored: tuple[Mapping[Oid, Raw], ...] = ()
        self._cache = ValueCache(_CACHED_BYTES)
        self._lock = RLock()

    def get(self, oid: Oid) -> Raw:
        """Return the type number and content of an object.

        Raises:
            Corrupt: the object is missing, damaged, or does not match its id.
            StoreError: its file cannot be read.
            Rejected: the time limit has passed.
        """
        self.limit.check()
        if isinstance(oid, PartOid):
            return BLOB, self.read(oid.container, BLOB)[oid.start : oid.end]
        if isinstance(oid, SubmoduleOid):
            return BLOB, oid.content
        with self._lock:
            raw: Raw | None = self._cache.get(oid)
            if raw is not None:
                return raw
            for objects in self._unstored:  # not stored yet, so it must not be cached
                if oid in objects:
                    return objects[oid]
            raw = self._find(oid) or self._find_supplied(oid)
            self.add(oid, raw)
            return raw

    def _find_supplied(self, oid: Oid) -> Raw:
        """Return a missing object after fetching it.

        Raises:
            Corrupt: there is no supplier, or it failed; the message says why.
        """
        why = self.supplier.supply(oid) if self.supplier is not None else ""
        raw = self._find(oid) if self.supplier is not None and not why else None
        if raw is None:
            raise Corrupt(f"object {oid}", f"is missing{why and f' ({why})'}", hint=_REPAIR)
        return raw

    def read(self, oid: Oid, kind: int) -> bytes:
        """Return the content of an object like `get`; also raises Corrupt if it has another type than `kind`."""
        actual, data = self.get(oid)
        if actual != kind:
            raise Corrupt(f"object {oid}", f"is a {_type(actual)} where a {_type(kind)} should be")
        return data

    def read_again(self, oid: Oid, kind: int) -> bytes:
        """Return the same as `read`, but from the disk; a cached unreachable object may have been pruned meanwhile."""
        with self._lock:
            self._cache.drop(oid.container if isinstance(oid, PartOid) else oid)
            return self.read(oid, kind)

    def has(self, oid: Oid) -> bool:
        """Return whether the object exists, verified like in `get`.

        Raises:
            Corrupt, StoreError: the object exists, but no copy of it is undamaged and readable.
        """
        if isinstance(oid, PartOid):
            return self.has(oid.container)
        if isinstance(oid, SubmoduleOid):
            return True
        with self._lock:
            return self._cache.get(oid) is not None or self._find(oid) is not None

    def largest_index(self) -> int:
        """Return the size of the largest index of a pack, in bytes; 0 if there is none."""
        files = (file for folder in self.folders for file in (folder.path / "pack").glob("pack-*.idx"))
        return max((_size(file) for file in files), default=0)

    def is_stored(self, oid: Oid) -> bool:
        """Return whether a pack index or a loose file has the object, without reading its content."""
        if isinstance(oid, SubmoduleOid):
            return True
        whole = oid.container if isinstance(oid, PartOid) else oid
        name, damage = bytes.fromhex(whole), list[StoreError]()
        with self._lock:
            for _ in range(2):
                if any(next(folder.sources(name, damage), None) for folder in self.folders):
                    return True
                if any(folder.has_file(whole) for folder in self.folders):
                    return True
                if not any([folder.rescan() for folder in self.folders]):  # noqa: C419  rescan every folder
                    return False
        return False

    @contextmanager
    def expose(self, unstored: Mapping[Oid, Raw]) -> Iterator[None]:
        """Make the objects `unstored` readable inside the `with` block, including those added to it later."""
        with self._lock:
            self._unstored = (*self._unstored, unstored)
        try:
            yield
        finally:
            with self._lock:
                self._unstored = tuple(objects for objects in self._unstored if objects is not unstored)

    def limit_cache(self, room: int) -> None:
        """Limit the total size of the cached objects in bytes."""
        self._cache.room = room

    def add(self, oid: Oid, raw: Raw) -> None:
        """Cache an object that was read or is known to be stored, unless it is large."""
        size = len(raw[1])
        if size <= _CACHED_SIZE:
            self._cache.put(oid, raw, size)

    def close(self) -> None:
        """Close all open packs."""
        with self._lock:
            for folder in self.folders:
                folder.close()

    def _find(self, oid: Oid) -> Raw | None:
        damage: list[StoreError] = []
        for _ in range(_ATTEMPTS):
            for search in (self._in_packs, self._in_file):  # all packs first: looking for a file costs a system call
                for folder in self.folders:
                    raw = search(folder, oid, damage)
                    if raw is not None:
                        return raw
            if not any([folder.rescan() for folder in self.folders]):  # noqa: C419  rescan every folder
                break
        if damage:
            raise damage[0]
        return None

    def _in_packs(self, folder: ObjectFolder, oid: Oid, damage: list[StoreError]) -> Raw | None:
        for pack, offset in folder.sources(bytes.fromhex(oid), damage):
            try:
                return self._verify(oid, *pack.read(offset, self._base))
            except FileNotFoundError:  # the pack was removed by a repack after its index was read
                folder.forget(pack.path.with_suffix(".idx").name)
            except OSError as error:
                damage.append(_unreadable(pack.path, error))
            except StoreError as error:  # another copy of the object may be undamaged
                damage.append(error)
            except DAMAGE as error:
                where = f"is damaged in {pack.path.name} ({error or type(error).__name__})"
                damage.append(Corrupt(f"object {oid}", where, hint=_REPAIR))
        return None

    def _in_file(self, folder: ObjectFolder, oid: Oid, damage: list[StoreError]) -> Raw | None:
        packed = folder.loose(oid)
        if packed is None:
            return None
        try:
            return self._verify(oid, *_parse_loose(packed))
        except Corrupt as error:
            damage.append(error)
        except DAMAGE as error:
            damage.append(Corrupt(f"object {oid}", f"is damaged ({error or type(error).__name__})", hint=_REPAIR))
        return None

    def _verify(self, oid: Oid, kind: int, data: bytes) -> Raw:
        if kind not in TYPE_NAMES or object_id(kind, data, self.form) != oid:
            raise Corrupt(f"object {oid}", "has content that does not match its id", hint=_REPAIR)
        return kind, data

    def _base(self, name: bytes) -> Raw:
        raw = self._find(Oid(name.hex()))
        if raw is None:
            raise Corrupt(f"object {name.hex()}", "is missing, and a delta is based on it", hint=_REPAIR)
        return raw


def _look_up(pack: OpenPack, name: bytes, damage: list[StoreError]) -> int | None:
    try:
        return pack.index.offset(name)
    except (IndexError, struct.error) as error:
        damage.append(Corrupt(f"index of {pack.path.name}", f"is damaged ({error})", hint=_REPAIR))
        return None


def _parse_loose(packed: bytes) -> Raw:
    """Parse a loose object: zlib of "type size NUL content"."""
    header, _, data = zlib.decompress(packed).partition(b"\0")
    kind, _, size = header.partition(b" ")
    if kind not in TYPE_NUMBERS or int(size) != len(data):
        raise ValueError("its header is invalid")
    return TYPE_NUMBERS[kind], data


def _with_alternates(folder: Path, deeper: int) -> list[Path]:
    """Return `folder` and its alternates (`info/alternates`), followed at most `deeper` levels.

    Raises:
        StoreError: a file with alternates cannot be read.
    """
    file = folder / "info" / "alternates"
    try:
        lines = file.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return [folder]
    except OSError as error:
        raise _unreadable(file, error) from error
    folders = [folder]
    for line in lines if deeper else ():
        if line and not line.startswith("#"):
            folders += [path for path in _with_alternates(folder / line, deeper - 1) if path not in folders]
    return folders


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # merged meanwhile, or reported when the file is opened
        return 0


def _mtime(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # reported when the file is opened
        return 0.0


def _unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot read {path}: {error.strerror}", hint=advise_access(path, error))


def _type(kind: int) -> str:
    return TYPE_NAMES.get(kind, b"thing of unknown type").decode()


# --- id, type and size of all objects in an object folder, by `git cat-file`, which expands no contents

_HEADER: Final = re.compile(r"([0-9a-f]+) (\w+) (\d+)")
_KINDS: Final = {name.decode(): number for name, number in TYPE_NUMBERS.items()}
_COMMAND: Final = ("cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch-check")
_HARMLESS: Final = "warning: "
"""What git prints before a message about the repository or its settings: it uses promisor remotes, for example, or
core.fsyncObjectFiles is set, which is deprecated since git 2.36. Before one about damage is `error: ` or `fatal: `."""


class Header(NamedTuple):
    """Id, type number and size in bytes of an object."""

    oid: Oid
    kind: int
    size: int


def read_headers(git_dir: Path, folder: Path, environment: Mapping[str, str], seconds: float) -> list[Header]:
    """List the objects in the packs and loose files of `folder`.

    Args:
        git_dir: any git directory with the same object format.
        folder: an object directory. The objects of alternates that its `info/alternates` names are listed, too.
        environment: the variables of git's process; without a PATH, git is looked for in the usual places.

    Raises:
        Corrupt: a pack or a loose object is damaged.
        StoreError: git cannot be started, or did not finish within `seconds`.
    """
    own = {name: text for name, text in environment.items() if not name.startswith("GIT_")}
    own |= {"GIT_OBJECT_DIRECTORY": str(folder), "LC_ALL": "C", "LANGUAGE": "C"}
    own["GIT_NO_REPLACE_OBJECTS"] = "1"  # up to git 2.33, the size would be that of an object in refs/replace
    argv = ["git", f"--git-dir={git_dir}", *_COMMAND]
    try:
        done = child_process.run(argv, own, folder, seconds, most_bytes=child_process.ALL)
    except OSError as error:
        raise StoreError(f"cannot start git: {error.strerror}", hint="install git") from error
    if done is None:
        raise StoreError(f"git cat-file did not finish within {seconds:.3g} seconds")
    found = [_HEADER.fullmatch(line) for line in done.out.splitlines()]
    # git leaves out the objects of a pack that it cannot open, prints why, and ends with 0.
    printed = [line for line in done.err.splitlines() if not line.startswith(_HARMLESS)]
    if done.code != 0 or printed or None in found:
        raise Corrupt("a new object", f"is damaged (git cat-file: {next(iter(printed), 'it cannot be read')})")
    return [Header(Oid(match[1]), _KINDS[match[2]], int(match[3])) for match in found if match]
