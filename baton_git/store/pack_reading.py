"""One pack with its index, open for reading; small files are read whole, so that many packs need no descriptors."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dulwich.errors import ApplyDeltaError
from dulwich.object_format import ObjectFormat
from dulwich.pack import OFS_DELTA, REF_DELTA, apply_delta, unpack_object_at

from baton_git.errors import Corrupt
from baton_git.store.pack_index import PackIndex

_READ_WHOLE: Final = 1 << 18
_CACHED_BASES: Final = 256
_CACHED_SIZE: Final = 1 << 16
_DEEPEST: Final = 4096  # git makes chains of 50; a chain longer than this goes round in a circle

DAMAGE: Final = (
    ApplyDeltaError, AssertionError, IndexError, KeyError, OverflowError, ValueError, struct.error, zlib.error,
)  # fmt: skip
"""What the decoders raise at bytes that are not a pack; caught where a pack is read, and told as `Corrupt`."""

Raw = tuple[int, bytes]
"""Type number and content of an object."""


def contents(path: Path) -> bytes | mmap.mmap:
    """The bytes of a file: copied when small, else mapped."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= _READ_WHOLE:
            return file.read()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class OpenPack:
    """A pack whose index was read; the pack itself is opened at its first object.

    Raises:
        FileNotFoundError: git or baton has packed it away.
        Corrupt: the index is damaged.
    """

    def __init__(self, index_path: Path, form: ObjectFormat) -> None:
        self.path = index_path.with_suffix(".pack")
        self.form = form
        self._table = contents(index_path)
        self.index = PackIndex(index_path, self._table, form)
        self._body: bytes | mmap.mmap | None = None
        self._bases: dict[int, Raw] = {}

    @property
    def body(self) -> bytes | mmap.mmap:
        """The bytes of the pack file.

        Raises:
            FileNotFoundError: it was packed away.
            Corrupt: it is cut off.
        """
        if self._body is None:
            self._body = contents(self.path)
            if self._body[:4] != b"PACK":
                raise Corrupt(f"pack {self.path.name}", "does not begin like a pack", hint="run `git fsck`")
        return self._body

    def read(self, offset: int, elsewhere: Callable[[bytes], Raw]) -> Raw:
        """The object at `offset`, whole; `elsewhere` reads a delta's base that is in another pack."""
        deltas: list[tuple[int, bytes]] = []
        while (found := self._bases.get(offset)) is None:
            unpacked, _ = unpack_object_at(self.body, offset, self.form.hash_func)
            data = b"".join(unpacked.decomp_chunks)
            if unpacked.pack_type_num not in (OFS_DELTA, REF_DELTA):
                found = (unpacked.pack_type_num, data)
                self._remember(offset, found)
                break
            deltas.append((offset, data))
            if len(deltas) > _DEEPEST:
                raise ValueError("a chain of deltas without an end")
            base = self._base_offset(offset, unpacked.delta_base)
            if base is None:
                found = elsewhere(bytes(unpacked.delta_base))  # type: ignore[arg-type]
                break
            offset = base
        return self._apply(found, deltas)

    def _base_offset(self, offset: int, base: bytes | int | None) -> int | None:
        if isinstance(base, int):
            return offset - base
        return self.index.offset(base or b"")

    def _apply(self, base: Raw, deltas: list[tuple[int, bytes]]) -> Raw:
        kind, data = base
        for offset, delta in reversed(deltas):
            data = b"".join(apply_delta(data, delta))
            self._remember(offset, (kind, data))
        return kind, data

    def _remember(self, offset: int, raw: Raw) -> None:
        """Keeps what was resolved, since the next delta of the chain will want it."""
        if len(raw[1]) > _CACHED_SIZE:
            return
        if len(self._bases) >= _CACHED_BASES:
            del self._bases[next(iter(self._bases))]
        self._bases[offset] = raw

    def check(self) -> None:
        """Compares the checksum of the whole pack with its bytes.

        Raises:
            Corrupt: they differ.
        """
        width = self.form.oid_length
        digest = self.form.hash_func()
        digest.update(memoryview(self.body)[:-width])
        if digest.digest() != self.body[-width:]:
            raise Corrupt(f"pack {self.path.name}", "is not what was written", hint="run `git fsck`")

    def close(self) -> None:
        """Lets go of the maps."""
        for held in (self._table, self._body):
            if isinstance(held, mmap.mmap):
                held.close()
        self._body = None
