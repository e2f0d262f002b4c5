"""Read objects from one pack.

Small packs are read into memory, so that a process with many packs does not run out of file descriptors.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from dulwich.errors import ApplyDeltaError
from dulwich.object_format import ObjectFormat

from baton_git.core.errors import Corrupt
from baton_git.core.value_cache import ValueCache

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


try:
    # Only the compiled function: dulwich.pack also loads logging and difflib, which takes 5 % of a command's time.
    from dulwich._pack import apply_delta  # type: ignore[import-not-found]
except ImportError:
    from dulwich.pack import apply_delta

_READ_WHOLE: Final = 1 << 18
_CACHED_BYTES: Final = 8 << 20
_CACHED_SIZE: Final = 1 << 16
_SLICE: Final = 1 << 16
_SLACK: Final = 64
"""Bytes beyond the size of an object that are read at first, since its zlib stream may be longer than its content."""
_DEEPEST: Final = 4096  # maximum length of a delta chain: git makes chains of 50, so a longer one is a cycle

OFS_DELTA: Final = 6
REF_DELTA: Final = 7
"""Type numbers of deltas. `OFS_DELTA` names its base by the distance in bytes, `REF_DELTA` by the binary id."""

DAMAGE: Final = (
    ApplyDeltaError, AssertionError, IndexError, KeyError, OverflowError, ValueError, struct.error, zlib.error,
)  # fmt: skip
"""Exceptions that the decoders raise for damaged packs. Readers catch them and raise `Corrupt`."""

Raw = tuple[int, bytes]
"""Type number and content of an object."""


def contents(path: Path) -> bytes | mmap.mmap:
    """Return the bytes of a file: read into memory if it is small, else memory-mapped."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size <= _READ_WHOLE:
            return file.read()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class EntryHead(NamedTuple):
    """The header of a pack entry, before its zlib stream.

    Attributes:
        kind: type number, which may be that of a delta.
        size: size in bytes of the decompressed stream (the content, or the delta).
        base: for a delta, the distance in bytes back to the base, or the binary id of the base; else None.
        start: offset of the zlib stream.
    """

    kind: int
    size: int
    base: int | bytes | None
    start: int


def entry_head(body: bytes | mmap.mmap, offset: int, id_length: int) -> EntryHead:
    """Parse the header of the entry at `offset`.

    Raises:
        IndexError: the pack is truncated there.
    """
    byte = body[offset]
    kind, size, shift, at = byte >> 4 & 7, byte & 15, 4, offset + 1
    while byte & 0x80:
        byte = body[at]
        size |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
    if kind == OFS_DELTA:
        back, at = _parse_distance(body, at)
        return EntryHead(kind, size, back, at)
    if kind == REF_DELTA:
        return EntryHead(kind, size, bytes(body[at : at + id_length]), at + id_length)
    return EntryHead(kind, size, None, at)


def _parse_distance(body: bytes | mmap.mmap, at: int) -> tuple[int, int]:
    """Parse the distance from a delta back to its base; return it and the offset after it."""
    byte = body[at]
    back = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = body[at]
        back = (back + 1 << 7) | byte & 0x7F
    return back, at + 1


def encode_entry_head(kind: int, size: int, back: int | None = None) -> bytes:
    """Encode the header of a pack entry, the inverse of `entry_head`.

    Args:
        back: for an `OFS_DELTA`, the distance in bytes back to its base.
    """
    head = bytearray()
    byte, size = kind << 4 | size & 15, size >> 4
    while size:
        head.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    head.append(byte)
    return bytes(head) if back is None else bytes(head) + _encode_distance(back)


def _encode_distance(back: int) -> bytes:
    digits = [back & 0x7F]
    while back := back >> 7:
        back -= 1
        digits.append(back & 0x7F | 0x80)
    return bytes(reversed(digits))


def _inflate(body: bytes | mmap.mmap, start: int, size: int) -> bytes:
    """Decompress the zlib stream at `start`, whose content must have exactly `size` bytes; never produce more.

    Raises:
        zlib.error: the stream is damaged, truncated, or has another size.
    """
    stream, step, left = zlib.decompressobj(), min(size + _SLACK, _SLICE), size + 1
    parts = []
    while not stream.eof and left > 0:
        more = body[start : start + step]
        if not more:
            raise zlib.error("the pack ends in the middle of an object")
        parts.append(stream.decompress(stream.unconsumed_tail + more, left))
        left -= len(parts[-1])
        start += step
    if left != 1:
        raise zlib.error("an object does not have the size in its header")
    return b"".join(parts) if len(parts) > 1 else parts[0]


class OpenPack:
    """A pack with its index. The constructor reads the index; the pack file is opened when its bytes are first needed.

    Raises:
        FileNotFoundError: the pack was removed by a repack.
        Corrupt: the index is damaged.
    """

    def __init__(self, index_path: Path, form: ObjectFormat) -> None:
        self.path = index_path.with_suffix(".pack")
        self.form = form
        self._table = contents(index_path)
        self.index = PackIndex(index_path, self._table, form)
        self._body: bytes | mmap.mmap | None = None
        self._bases = ValueCache(_CACHED_BYTES)

    @property
    def body(self) -> bytes | mmap.mmap:
        """The bytes of the pack file.

        Raises:
            FileNotFoundError: the pack was removed by a repack.
            Corrupt: the file does not have the header of a pack.
        """
        if self._body is None:
            body = contents(self.path)
            if body[:4] != b"PACK":
                raise Corrupt(f"pack {self.path.name}", "does not have the header of a pack", hint="run `git fsck`")
            self._body = body
        return self._body

    def read(self, offset: int, elsewhere: Callable[[bytes], Raw]) -> Raw:
        """Return the object at `offset`, with deltas applied; `elsewhere` reads bases that are not in this pack.

        Raises:
            any of `DAMAGE`: the entry cannot be decoded.
            FileNotFoundError, Corrupt: like `body`.
        """
        deltas: list[tuple[int, bytes]] = []
        base_object: Raw | None
        while (base_object := self._bases.get(offset)) is None:
            head = entry_head(self.body, offset, self.form.oid_length)
            data = _inflate(self.body, head.start, head.size)
            if head.base is None:
                base_object = (head.kind, data)
                if deltas:  # most objects are not the base of another one
                    self._remember(offset, base_object)
                break
            deltas.append((offset, data))
            if len(deltas) > _DEEPEST:
                raise ValueError("a cycle of deltas")
            base = self.base_offset(offset, head.base)
            if base is None:
                base_object = elsewhere(bytes(head.base))
                break
            offset = base
        return self._apply(base_object, deltas) if deltas else base_object

    def base_offset(self, offset: int, base: bytes | int) -> int | None:
        """Return the offset of the base of the delta at `offset`, or None if it is not in this pack."""
        return offset - base if isinstance(base, int) else self.index.offset(base)

    def _apply(self, base: Raw, deltas: list[tuple[int, bytes]]) -> Raw:
        kind, data = base
        for offset, delta in reversed(deltas):
            data = b"".join(apply_delta(data, delta))
            self._remember(offset, (kind, data))
        return kind, data

    def _remember(self, offset: int, raw: Raw) -> None:
        """Cache a resolved object as the base of later deltas.

        Records are read in the order of their names, not of their delta chains. With a cache of only a few hundred
        objects, reading each of 20,000 records would apply half of its chain again.
        """
        if len(raw[1]) <= _CACHED_SIZE:
            self._bases.put(offset, raw, len(raw[1]))

    def check(self) -> None:
        """Verify the checksum of the whole pack.

        Raises:
            Corrupt: the checksum does not match the content.
        """
        width = self.form.oid_length
        digest = self.form.hash_func()
        digest.update(memoryview(self.body)[:-width])
        if digest.digest() != self.body[-width:]:
            raise Corrupt(f"pack {self.path.name}", "does not match its checksum", hint="run `git fsck`")

    def close(self) -> None:
        """Close the memory maps."""
        for data in (self._table, self._body):
            if isinstance(data, mmap.mmap):
                data.close()
        self._body = None
