"""New objects as one small pack, durable before a ref names it and kept from git's gc until then.

Loose objects could be pruned by a `git gc --prune=now` that runs between their writing and the moving of the ref; a
pack with a `.keep` file beside it cannot. It also costs three syncs instead of two for every object.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dulwich.object_format import ObjectFormat
from dulwich.pack import pack_object_header

from baton_git.names import Oid
from baton_git.store import disk
from baton_git.store.pack_index import Indexed, encoded_index
from baton_git.store.pack_reading import Raw

KEEP_MARK: Final = b"baton "
"""How the content of a `.keep` file of ours begins; the process id follows."""

TEMPORARY_PACK: Final = "tmp_pack_baton_"
TEMPORARY_INDEX: Final = "tmp_idx_baton_"

HEADER_SIZE: Final = 12

_ATTEMPTS: Final = 5


def entry_bytes(kind: int, data: bytes, base: int | bytes | None, form: ObjectFormat) -> bytes:
    """One entry of a pack: its header and its compressed content."""
    return bytes(pack_object_header(kind, base, len(data), form)) + zlib.compress(data)


def pack_header(count: int) -> bytes:
    return b"PACK" + (2).to_bytes(4, "big") + count.to_bytes(4, "big")


def encoded_pack(objects: Mapping[Oid, Raw], form: ObjectFormat) -> tuple[bytes, list[Indexed]]:
    """A pack of these objects, each whole, and what its index must say."""
    parts = [pack_header(len(objects))]
    offset = len(parts[0])
    entries = []
    for oid, (kind, data) in objects.items():
        entry = entry_bytes(kind, data, None, form)
        entries.append(Indexed(bytes.fromhex(oid), offset, zlib.crc32(entry)))
        parts.append(entry)
        offset += len(entry)
    return b"".join(parts), sorted(entries)


@dataclass(frozen=True, slots=True)
class KeptPack:
    """A pack on the disk that nobody may remove while its `.keep` stands."""

    folder: Path
    name: str
    objects: int
    size: int

    @property
    def path(self) -> Path:
        return self.folder / f"pack-{self.name}.pack"

    @property
    def index_path(self) -> Path:
        return self.folder / f"pack-{self.name}.idx"

    @property
    def keep_path(self) -> Path:
        return self.folder / f"pack-{self.name}.keep"

    def is_there(self) -> bool:
        """Whether both files are still on the disk."""
        return self.index_path.exists() and self.path.exists()

    def release(self) -> None:
        """From now on git and baton may pack its objects elsewhere."""
        disk.remove(self.keep_path)

    def discard(self) -> None:
        """Removes it; only right when no ref came to need it."""
        for path in (self.index_path, self.path, self.keep_path):
            disk.remove(path)


def write_kept(folder: Path, body: Sequence[bytes], entries: Sequence[Indexed], form: ObjectFormat) -> KeptPack:
    """A durable pack under `folder` (`objects/pack`) of these bytes (without checksum), kept by a `.keep` file.

    `entries` are sorted by name.

    Raises:
        OSError: the disk said no; nothing of it was left.
    """
    digest = form.hash_func()
    for part in body:
        digest.update(part)
    checksum = digest.digest()
    table = encoded_index(entries, checksum, form)
    data = b"".join((*body, checksum))
    disk.make_folder(folder)
    for _ in range(_ATTEMPTS):
        pack = KeptPack(folder, disk.random_name(form.hex_length), len(entries), len(data) + len(table))
        with suppress(FileNotFoundError):  # `git gc --prune=now` removes the temporary files of the living, too
            _write(pack, data, table)
            return pack
    _write(pack, data, table)
    return pack


def _write(pack: KeptPack, data: bytes, table: bytes) -> None:
    try:
        disk.write_new(pack.keep_path, KEEP_MARK + b"%d\n" % os.getpid(), mode=0o644, sync=False)
        _place(pack.folder, ((data, TEMPORARY_PACK, pack.path), (table, TEMPORARY_INDEX, pack.index_path)))
        disk.sync_folder(pack.folder)
    except BaseException:
        pack.discard()
        raise


def _place(folder: Path, files: Iterable[tuple[bytes, str, Path]]) -> None:
    """Writes each file under a temporary name that git would clean up, then gives all their names, the index last."""
    named = []
    try:
        for data, prefix, path in files:
            temporary = folder / (prefix + disk.random_name())
            disk.write_new(temporary, data, mode=0o444, sync=True)
            named.append((temporary, path))
        for temporary, path in named:
            temporary.replace(path)
    except BaseException:
        for temporary, _ in named:
            disk.remove(temporary)
        raise
