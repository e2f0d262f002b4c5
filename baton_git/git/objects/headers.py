"""Read type and size of all objects in an object folder from their headers, without decompressing the contents.

entry  ::= (more: 1 bit, kind: 3 bits, size: 4 bits) (more: 1 bit, size: 7 bits)* base? zlib-stream
base   ::= distance back to the base (kind 6) | id of the base (kind 7)
delta  ::= size of the base, size of the result, instructions          (in the zlib stream of kinds 6 and 7)

`more` is 1 if another byte follows.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from dulwich.object_format import ObjectFormat

from baton_git.core.errors import Corrupt
from baton_git.core.names import Oid
from baton_git.git.objects.pack_reader import DAMAGE, OpenPack, entry_head
from baton_git.git.objects.values import TYPE_NUMBERS

_LONGEST_HEAD: Final = 32  # bytes; the two sizes of a delta, or `commit 123` and a NUL
_BEFORE_HEAD: Final = 1024  # compressed bytes that contain the header: the Huffman tables alone take up to 300
_DEEPEST: Final = 4096


class Header(NamedTuple):
    """Id, type number and decompressed size in bytes of an object. For a delta, type and size are
    those of the object that it encodes."""

    oid: Oid
    kind: int
    size: int


def read_headers(folder: Path, form: ObjectFormat) -> Iterator[Header]:
    """Yield the headers of all objects in the packs and loose files of `folder`, but not of its alternates.

    Raises:
        Corrupt: a pack or a loose object is damaged.
    """
    for index in sorted((folder / "pack").glob("*.idx")):
        with closing(OpenPack(index, form)) as pack:
            try:
                yield from _PackHeaders(pack).read()
            except DAMAGE as error:
                raise Corrupt(f"pack {pack.path.name}", f"is damaged ({error})") from error
    for path in folder.glob("[0-9a-f][0-9a-f]/*"):
        yield _read_loose(path)


def _read_loose(path: Path) -> Header:
    name = Oid(path.parent.name + path.name)
    try:
        with path.open("rb") as file:
            head = zlib.decompressobj().decompress(file.read(_BEFORE_HEAD), _LONGEST_HEAD).partition(b"\0")[0]
        kind, _, size = head.partition(b" ")
        return Header(name, TYPE_NUMBERS[kind], int(size))
    except DAMAGE as error:
        raise Corrupt(f"object {name}", f"is damaged ({error})") from error


class _PackHeaders:
    """Reads the headers of a pack; the type of an entry is determined only once."""

    def __init__(self, pack: OpenPack) -> None:
        self._pack = pack
        self._body: bytes | mmap.mmap = pack.body
        self._kinds: dict[int, int] = {}

    def read(self) -> Iterator[Header]:
        for name, offset in self._pack.index.offsets():
            kind, size, base, start = self._entry(offset)
            if base is not None:
                size = self._result_size(start)
                kind = self._kind(base)
            self._kinds[offset] = kind
            yield Header(Oid(name.hex()), kind, size)

    def _entry(self, offset: int) -> tuple[int, int, int | None, int]:
        """Return type, size, offset of the base (None unless a delta) and offset of the zlib stream of an entry."""
        kind, size, base, start = entry_head(self._body, offset, self._pack.form.oid_length)
        if base is None:
            return kind, size, None, start
        at = self._pack.base_offset(offset, base)
        if at is None:
            raise ValueError("a delta without its base")
        return kind, size, at, start

    def _result_size(self, start: int) -> int:
        head = zlib.decompressobj().decompress(self._body[start : start + _BEFORE_HEAD], _LONGEST_HEAD)
        _, at = _varint(head, 0)
        return _varint(head, at)[0]

    def _kind(self, offset: int) -> int:
        """Return the type of the entry at `offset`; for a delta, that of the object at the end of its delta chain."""
        seen = []
        for _ in range(_DEEPEST):
            if offset in self._kinds:
                kind = self._kinds[offset]
                break
            kind, _, base, _ = self._entry(offset)
            if base is None:
                break
            seen.append(offset)
            offset = base
        else:
            raise ValueError("a cycle of deltas")
        self._kinds.update(dict.fromkeys(seen, kind))
        return kind


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if not byte & 0x80:
            return value, at
