"""Write new objects as one small durable pack, protected from git's gc until a ref points into it.

`git gc --prune=now` could prune loose objects before the ref is moved; a pack with a `.keep` file is not pruned. A pack
also needs only three syncs, while loose objects need two each.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Final

from dulwich.object_format import ObjectFormat

from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.objects.pack_reader import Indexed, OpenPack, Raw, encode_entry_head, encode_index
from baton_git.git.objects.values import TREE

KEEP_MARK: Final = b"baton "
"""Beginning of a `.keep` file that baton wrote; the process id follows."""

TEMPORARY_PACK: Final = "tmp_pack_baton_"
TEMPORARY_INDEX: Final = "tmp_idx_baton_"

HEADER_SIZE: Final = 12

_SMALL_WINDOW: Final = 13  # zlib's parameters: the window is 2**13 bytes
_SMALL: Final = 1 << _SMALL_WINDOW
_SMALL_MEMORY: Final = 5
_STORED_TREE: Final = 1 << 11
"""Size of a tree in bytes above which a write does not compress it."""

_ATTEMPTS: Final = 5


def temporary_path(folder: str | Path, prefix: str) -> str:
    """Return a unique name for a temporary file, containing the process id."""
    return f"{folder}{os.sep}{prefix}{os.getpid()}_{durable_files.random_name()}"


def entry_bytes(kind: int, data: bytes) -> bytes:
    """Encode an object as a pack entry: its header and its compressed content."""
    head = encode_entry_head(kind, len(data))
    if len(data) > _SMALL:
        return head + zlib.compress(data)
    # A small window, because zlib would first clear 256 kB for the default one.
    stream = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, _SMALL_WINDOW, _SMALL_MEMORY)
    return head + stream.compress(data) + stream.flush()


def pack_header(count: int) -> bytes:
    return b"PACK" + (2).to_bytes(4, "big") + count.to_bytes(4, "big")


def encode_pack(objects: Mapping[Oid, Raw]) -> tuple[bytes, list[Indexed]]:
    """Encode objects as a pack without deltas and without checksum; return its bytes and its sorted index entries."""
    parts = [pack_header(len(objects))]
    offset = len(parts[0])
    entries = []
    for oid, (kind, data) in objects.items():
        # A large tree is not compressed. It consists mostly of ids, so it would shrink by a sixth to a third only, and
        # that takes 0.3 ms for 200 entries, and for 1,300 longer than all the rest of a write. The next merge of packs
        # replaces it by a delta.
        if kind == TREE and len(data) > _STORED_TREE:
            entry = encode_entry_head(kind, len(data)) + zlib.compress(data, 0)
        else:
            entry = entry_bytes(kind, data)
        entries.append(Indexed(bytes.fromhex(oid), offset, zlib.crc32(entry)))
        parts.append(entry)
        offset += len(entry)
    return b"".join(parts), sorted(entries)


@dataclass(frozen=True)
class KeptPack:
    """A pack on disk that git does not remove as long as its `.keep` file exists.

    `objects` is the number of objects, `size` the size of the pack and its index in bytes.
    """

    folder: Path
    name: str
    objects: int
    size: int

    @cached_property
    def path(self) -> str:
        return f"{self._stem}.pack"

    @cached_property
    def index_path(self) -> str:
        return f"{self._stem}.idx"

    @cached_property
    def keep_path(self) -> str:
        return f"{self._stem}.keep"

    @cached_property
    def _stem(self) -> str:
        return f"{self.folder}{os.sep}pack-{self.name}"

    def exists(self) -> bool:
        """Return whether the pack and its index still exist."""
        return durable_files.exists(self.index_path) and durable_files.exists(self.path)

    def release(self) -> None:
        """Remove the `.keep` file, so that git and baton may repack the objects."""
        durable_files.remove(self.keep_path)

    def discard(self) -> None:
        """Delete the pack; only allowed if no ref can point into it."""
        for path in (self.index_path, self.path, self.keep_path):
            durable_files.remove(path)


def write_temporary(folder: Path, objects: Mapping[Oid, Raw], form: ObjectFormat) -> None:
    """Write objects as a pack to an object directory that is deleted soon: nothing is synced, and no `.keep` is made.

    Raises:
        OSError: writing to disk failed.
    """
    body, entries = encode_pack(objects)
    digest = form.hash_func()
    digest.update(body)
    checksum = digest.digest()
    packs = folder / "pack"
    packs.mkdir(parents=True)
    (packs / "pack-draft.pack").write_bytes(body + checksum)
    (packs / "pack-draft.idx").write_bytes(encode_index(entries, checksum, form))


def write_kept(
    folder: Path, body: Sequence[bytes], entries: Sequence[Indexed], form: ObjectFormat, also_sync: Sequence[int] = ()
) -> KeptPack:
    """Write a pack and its index durably to `folder` (`objects/pack`), with a `.keep` file.

    Args:
        body: bytes of the pack without the checksum.
        entries: index entries, sorted by id.
        also_sync: descriptors of other files to sync together with the pack.

    Raises:
        OSError: writing to disk failed; the incomplete files were removed.
    """
    digest = form.hash_func()
    for part in body:
        digest.update(part)
    checksum = digest.digest()
    table = encode_index(entries, checksum, form)
    data = b"".join((*body, checksum))
    durable_files.make_folder(folder)
    for _ in range(_ATTEMPTS):
        pack = KeptPack(folder, durable_files.random_name(form.hex_length), len(entries), len(data) + len(table))
        with suppress(FileNotFoundError):  # `git gc --prune=now` also removes temporary files of running processes
            _write(pack, data, table, also_sync)
            return pack
    _write(pack, data, table, also_sync)
    return pack


def _write(pack: KeptPack, data: bytes, table: bytes, also_sync: Sequence[int]) -> None:
    with _keeping(pack):
        files = ((data, TEMPORARY_PACK, pack.path), (table, TEMPORARY_INDEX, pack.index_path))
        _write_files(pack.folder, files, also_sync)


@contextmanager
def _keeping(pack: KeptPack) -> Iterator[None]:
    """Write the `.keep` file before the files of a pack, and sync the folder after them; delete all if this fails."""
    try:
        durable_files.write_new(pack.keep_path, KEEP_MARK + b"%d\n" % os.getpid(), mode=0o644, sync=False)
        yield
        durable_files.sync_folder(pack.folder)
    except BaseException:
        pack.discard()
        raise


def _write_files(folder: Path, files: Iterable[tuple[bytes, str, str]], also_sync: Sequence[int]) -> None:
    """Write all files under temporary names that git would clean up, then rename them in order, the index last."""
    named: list[tuple[str, str, int]] = []
    try:
        for data, prefix, path in files:
            temporary = temporary_path(folder, prefix)
            named.append((temporary, path, durable_files.open_new(temporary, data, mode=0o444)))
        durable_files.sync_files([*(fd for _, _, fd in named), *also_sync])
        for temporary, path, _ in named:
            os.replace(temporary, path)
    except BaseException:
        for temporary, _, _ in named:
            durable_files.remove(temporary)
        raise
    finally:
        for _, _, fd in named:
            os.close(fd)


# --- packs from another folder


def adopt_pack(source: Path, folder: Path, form: ObjectFormat) -> KeptPack:
    """Link or copy the pack at `source` and its index into `folder` (`objects/pack`), with a `.keep` file.

    Raises:
        Corrupt: the index is damaged.
        OSError: writing to disk failed; the incomplete files were removed.
    """
    with closing(OpenPack(source.with_suffix(".idx"), form)) as opened:
        count = opened.index.count
    size = sum(source.with_suffix(suffix).stat().st_size for suffix in (".pack", ".idx"))
    durable_files.make_folder(folder)
    pack = KeptPack(folder, durable_files.random_name(form.hex_length), count, size)
    with _keeping(pack):
        _place(source.with_suffix(".pack"), TEMPORARY_PACK, pack.path)
        _place(source.with_suffix(".idx"), TEMPORARY_INDEX, pack.index_path)
    return pack


def _place(source: Path, prefix: str, path: str) -> None:
    """Sync a file and link or copy it to `path`."""
    with open(source, "rb") as file:
        mode = durable_files.file_mode(os.path.dirname(path), 0o444)
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())
        try:
            os.link(source, path)
        except OSError:  # `objects` is on another disk, or the file system has no hard links
            _copy(file, prefix, path)


def _copy(file: BinaryIO, prefix: str, path: str) -> None:
    for attempt in range(_ATTEMPTS):
        file.seek(0)
        temporary = temporary_path(os.path.dirname(path), prefix)
        fd = durable_files.open_new(temporary, b"", mode=0o444)
        try:
            with open(fd, "wb", closefd=False) as written:
                shutil.copyfileobj(file, written, 1 << 20)
            os.fsync(fd)
            os.replace(temporary, path)
        except FileNotFoundError:  # `git gc --prune=now` also removes temporary files of running processes
            if attempt + 1 == _ATTEMPTS:
                raise
        except BaseException:
            durable_files.remove(temporary)
            raise
        else:
            return
        finally:
            os.close(fd)
