"""Read and write the index of a pack (version 2).

    index ::= "\\377tOc" 2 fan-out[256] id[n] crc32[n] offset[n] long-offset[m] pack-checksum index-checksum

Numbers are big-endian and have 4 bytes, or 8 in the table of long offsets. If the top bit of an offset is set, the
other bits are a position in that table.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from dulwich.object_format import ObjectFormat

from baton_git.core.errors import Corrupt

_MAGIC: Final = b"\377tOc\0\0\0\2"
_NAMES: Final = 8 + 1024
_FANOUT: Final = struct.Struct(">256L")
_LONG: Final = 0x80000000


class Indexed(NamedTuple):
    """An entry of the index: binary id, offset in the pack, and CRC-32. Sorts like the index."""

    name: bytes
    offset: int
    crc: int


class PackIndex:
    """The index of a pack; `table` has the bytes of the file at `path`.

    Version 1, which git wrote before 2008, is also read.

    Raises:
        Corrupt: the index is truncated or has an unknown version.
    """

    def __init__(self, path: Path, table: bytes | mmap.mmap, form: ObjectFormat) -> None:
        self._table = table
        self._width = width = form.oid_length
        self._is_old = table[:4] != _MAGIC[:4]
        fanout_at = 0 if self._is_old else 8
        if len(table) < fanout_at + 1024 or not (self._is_old or table[:8] == _MAGIC):
            raise Corrupt(f"pack index {path.name}", "is truncated or has an unknown version", hint="run `git fsck`")
        self._fanout = _FANOUT.unpack_from(table, fanout_at)
        self.count = self._fanout[-1]
        if self._is_old:
            self._names, self._name_step = 1024 + 4, width + 4
            self._offsets, self._offset_step = 1024, width + 4
            self._longs = 1024 + (width + 4) * self.count
        else:
            self._names, self._name_step = _NAMES, width
            self._offsets, self._offset_step = _NAMES + (width + 4) * self.count, 4
            self._longs = self._offsets + 4 * self.count
        if len(table) < self._longs + 2 * width:
            raise Corrupt(f"pack index {path.name}", "is truncated", hint="run `git fsck`")

    def offset(self, name: bytes) -> int | None:
        """Return the offset of the object with this binary id, or None if the pack does not have it."""
        low = self._fanout[name[0] - 1] if name[0] else 0
        high = self._fanout[name[0]]
        table, start, step, width = self._table, self._names, self._name_step, self._width
        while low < high:
            middle = (low + high) // 2
            at = start + middle * step
            present = table[at : at + width]
            if present == name:
                return self._offset(middle)
            if present < name:
                low = middle + 1
            else:
                high = middle
        return None

    def entries(self) -> list[Indexed]:
        """Return all entries, sorted by id; only for an index of version 2."""
        # All at once takes a third of the time of each by itself; merges list packs of many objects.
        width, end = self._width, self._offsets - 4 * self.count
        names = self._table[self._names : end]
        ids = (names[at : at + width] for at in range(0, len(names), width))
        crcs = struct.unpack_from(f">{self.count}L", self._table, end)
        shorts = struct.unpack_from(f">{self.count}L", self._table, self._offsets)
        offsets = (short if not short & _LONG else self._offset(number) for number, short in enumerate(shorts))
        return list(map(Indexed, ids, offsets, crcs))

    def _offset(self, number: int) -> int:
        short: int = struct.unpack_from(">L", self._table, self._offsets + self._offset_step * number)[0]
        if self._is_old or not short & _LONG:
            return short
        long: int = struct.unpack_from(">Q", self._table, self._longs + 8 * (short & ~_LONG))[0]
        return long


def encode_index(entries: Sequence[Indexed], pack_checksum: bytes, form: ObjectFormat) -> bytes:
    """Encode the index of a pack with these entries (sorted by id) and this checksum."""
    counts = [0] * 256  # number of ids by their first byte
    for entry in entries:
        counts[entry.name[0]] += 1
    long = [entry.offset for entry in entries if entry.offset >= _LONG]
    numbers = iter(range(len(long)))
    offsets = [entry.offset if entry.offset < _LONG else _LONG | next(numbers) for entry in entries]
    parts = [
        _MAGIC,
        _FANOUT.pack(*accumulate(counts)),
        b"".join(entry.name for entry in entries),
        struct.pack(f">{len(entries)}L", *(entry.crc for entry in entries)),
        struct.pack(f">{len(entries)}L", *offsets),
        struct.pack(f">{len(long)}Q", *long),
        pack_checksum,
    ]
    table = b"".join(parts)
    digest = form.hash_func()
    digest.update(table)
    return table + digest.digest()
