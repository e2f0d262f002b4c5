"""One pack with its index, open for reading; small files are read whole, so that many packs need no descriptors."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from dulwich.errors import ApplyDeltaError
from dulwich.object_format import ObjectFormat

from baton_git.core.errors import Corrupt
from baton_git.core.value_cache import ValueCache
from baton_git.git.objects.pack_index import PackIndex

try:
    # The compiled function alone: dulwich.pack also loads logging and difflib, a twentieth of a command's time.
    from dulwich._pack import apply_delta  # type: ignore[import-not-found]
except ImportError:
    from dulwich.pack import apply_delta

_READ_WHOLE: Final = 1 << 18
_CACHED_BYTES: Final = 8 << 20
_CACHED_SIZE: Final = 1 << 16
_SLICE: Final = 1 << 16
_SLACK: Final = 64
"""How much longer than its content a zlib stream is taken to be at first."""
_DEEPEST: Final = 4096  # git makes chains of 50; a chain longer than this goes round in a circle

OFS_DELTA: Final = 6
REF_DELTA: Final = 7
"""The type numbers of deltas: the base is named by how far it stands before them, or by its binary id."""

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


class EntryHead(NamedTuple):
    """What stands before the zlib stream of a pack entry.

    Attributes:
        kind: its type number, which may be that of a delta.
        size: of what the stream holds: the content, or the delta.
        base: of a delta: how many bytes before it the base stands, or the binary id of the base.
        start: where the stream begins.
    """

    kind: int
    size: int
    base: int | bytes | None
    start: int


def entry_head(body: bytes | mmap.mmap, offset: int, id_length: int) -> EntryHead:
    """The head of the entry at `offset`.

    Raises:
        IndexError: the pack is cut off there.
    """
    byte = body[offset]
    kind, size, shift, at = byte >> 4 & 7, byte & 15, 4, offset + 1
    while byte & 0x80:
        byte = body[at]
        size |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
    if kind == OFS_DELTA:
        back, at = _back(body, at)
        return EntryHead(kind, size, back, at)
    if kind == REF_DELTA:
        return EntryHead(kind, size, bytes(body[at : at + id_length]), at + id_length)
    return EntryHead(kind, size, None, at)


def _back(body: bytes | mmap.mmap, at: int) -> tuple[int, int]:
    """How far before a delta its base stands, and where the number ends."""
    byte = body[at]
    back = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = body[at]
        back = (back + 1 << 7) | byte & 0x7F
    return back, at + 1


def encode_entry_head(kind: int, size: int, back: int | None = None) -> bytes:
    """The bytes before the zlib stream of a pack entry, as `entry_head` reads them.

    Args:
        back: of an `OFS_DELTA`: how many bytes before it its base stands.
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
    """The content of the zlib stream at `start`, which has to be of this size; no more than that is expanded.

    Raises:
        zlib.error: it is damaged, cut off, or of another size.
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
        raise zlib.error("an object is not of the size that its head says")
    return b"".join(parts) if len(parts) > 1 else parts[0]


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
        self._bases = ValueCache(_CACHED_BYTES)

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
        base_object: Raw | None
        while (base_object := self._bases.get(offset)) is None:
            head = entry_head(self.body, offset, self.form.oid_length)
            data = _inflate(self.body, head.start, head.size)
            if head.base is None:
                base_object = (head.kind, data)
                self._remember(offset, base_object)
                break
            deltas.append((offset, data))
            if len(deltas) > _DEEPEST:
                raise ValueError("a chain of deltas without an end")
            base = self.base_offset(offset, head.base)
            if base is None:
                base_object = elsewhere(bytes(head.base))
                break
            offset = base
        return self._apply(base_object, deltas) if deltas else base_object

    def base_offset(self, offset: int, base: bytes | int) -> int | None:
        """Where the base of the delta at `offset` stands; None when it is in another pack."""
        return offset - base if isinstance(base, int) else self.index.offset(base)

    def _apply(self, base: Raw, deltas: list[tuple[int, bytes]]) -> Raw:
        kind, data = base
        for offset, delta in reversed(deltas):
            data = b"".join(apply_delta(data, delta))
            self._remember(offset, (kind, data))
        return kind, data

    def _remember(self, offset: int, raw: Raw) -> None:
        """Keep what was resolved for the next delta of its chain.

        Records are read in the order of their names, deltas stand in the order of their chains: with room for a few
        hundred objects only, each of 20,000 records costs half of its chain.
        """
        if len(raw[1]) <= _CACHED_SIZE:
            self._bases.put(offset, raw, len(raw[1]))

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
