"""Merge several packs that baton wrote into one.

Packs from earlier merges are copied as a block, which is fast even for large packs. This is possible because their
deltas refer to their bases by relative distance. If the result already contains some objects of a pack, the other
entries of that pack are copied one by one.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from dulwich.object_format import ObjectFormat
from dulwich.pack import unpack_object_at

from baton_git.core.errors import Corrupt
from baton_git.core.names import Oid
from baton_git.core.progress import Progress, ignore_progress
from baton_git.git.objects.deltas import Read, encode_chain, group_into_chains
from baton_git.git.objects.pack_index import Indexed
from baton_git.git.objects.pack_reader import OFS_DELTA, REF_DELTA, OpenPack, Raw, encode_entry_head
from baton_git.git.objects.pack_writer import HEADER_SIZE, pack_header
from baton_git.git.objects.values import object_id

_CACHED_BYTES: Final = 64 << 20


@dataclass
class MergedPack:
    """A pack that is being built: the bytes of its entries, and its index entries by binary id."""

    form: ObjectFormat
    parts: list[bytes] = field(default_factory=list)
    entries: dict[bytes, Indexed] = field(default_factory=dict)
    size: int = HEADER_SIZE

    def body(self) -> list[bytes]:
        """Return the bytes of the pack without its checksum."""
        return [pack_header(len(self.entries)), *self.parts]

    def index(self) -> list[Indexed]:
        """Return the index entries, sorted by id."""
        return sorted(self.entries.values())

    def add(self, entry: bytes, indexed: Indexed) -> None:
        """Append an entry with its index entry."""
        self.parts.append(entry)
        self.entries[indexed.name] = indexed
        self.size += len(entry)


def merge_packs(
    packs: Sequence[OpenPack], form: ObjectFormat, *, anew: bool, progress: Progress = ignore_progress
) -> MergedPack:
    """Merge all objects of `packs` into one pack.

    Args:
        anew: recompute all deltas, which takes longer; otherwise compute deltas only for packs without any.
        progress: receives the number of objects that are done, and the total.

    Raises:
        Corrupt: a pack is damaged.
        FileNotFoundError: a pack was deleted.
    """
    result = MergedPack(form)
    fresh = [pack for pack in packs if anew or _is_fresh(pack)]
    for pack in sorted(packs, key=lambda pack: -pack.index.count):
        if pack not in fresh:
            pack.check()
            _copy(pack, result)
    _add_fresh(fresh, result, progress)
    return result


def _is_fresh(pack: OpenPack) -> bool:
    """Return whether a pack has no deltas, like the pack of a single write."""
    # The first byte of an entry contains its type.
    first_bytes = (pack.body[entry.offset : entry.offset + 1] for entry in pack.index.entries())
    return not any(first and first[0] >> 4 & 7 == OFS_DELTA for first in first_bytes)


def _copy(pack: OpenPack, result: MergedPack) -> None:
    entries = pack.index.entries()
    if any(entry.name in result.entries for entry in entries):
        _copy_missing(pack, entries, result)
        return
    shift = result.size - HEADER_SIZE
    block = bytes(pack.body[HEADER_SIZE : len(pack.body) - pack.form.oid_length])
    result.parts.append(block)
    result.size += len(block)
    for name, offset, crc in entries:
        result.entries[name] = Indexed(name, offset + shift, crc)


def _copy_missing(pack: OpenPack, entries: Iterable[Indexed], result: MergedPack) -> None:
    """Copy the entries that `result` does not have yet, one by one."""
    by_offset = sorted(entries, key=lambda entry: entry.offset)
    names = {entry.offset: entry.name for entry in by_offset}
    for entry in by_offset:
        if entry.name in result.entries:
            continue
        unpacked, _ = unpack_object_at(pack.body, entry.offset, pack.form.hash_func, include_comp=True)
        base, back = unpacked.delta_base, None
        if unpacked.pack_type_num == REF_DELTA or unpacked.comp_chunks is None:
            raise Corrupt(f"pack {pack.path.name}", "was not written by baton")
        if unpacked.pack_type_num == OFS_DELTA and isinstance(base, int):
            back = result.size - result.entries[names[entry.offset - base]].offset
        head = encode_entry_head(unpacked.pack_type_num, unpacked.decomp_len or 0, back)
        data = head + b"".join(unpacked.comp_chunks)
        result.add(data, Indexed(entry.name, result.size, zlib.crc32(data)))


def _add_fresh(packs: Iterable[OpenPack], result: MergedPack, progress: Progress) -> None:
    """Add the objects of these packs, with new deltas."""
    sources: dict[Oid, tuple[OpenPack, int]] = {}
    for pack in packs:
        for name, offset, _ in pack.index.entries():
            if name not in result.entries:
                sources[Oid(name.hex())] = (pack, offset)
    read = _make_reader(sources, result.form)
    known = {oid: read(oid)[0] for oid in sources}
    before = len(result.entries)
    for chain in group_into_chains(known, read, result.form):
        for entry, indexed in encode_chain(chain, read, result.size):
            result.add(entry, indexed)
        progress(len(result.entries), before + len(sources))


def _make_reader(sources: dict[Oid, tuple[OpenPack, int]], form: ObjectFormat) -> Read:
    """Return a function that reads an object of `sources` and verifies its id.

    The function caches up to `_CACHED_BYTES`, because each object is read three times.
    """
    cached: dict[Oid, Raw] = {}
    room = _CACHED_BYTES

    def read(oid: Oid) -> Raw:
        nonlocal room
        if oid in cached:
            return cached[oid]
        pack, offset = sources[oid]
        kind, data = pack.read(offset, lambda name: read(Oid(name.hex())))
        if object_id(kind, data, form) != oid:
            raise Corrupt(f"object {oid}", f"is damaged in {pack.path.name}", hint="run `git fsck`")
        if len(data) < room:
            room -= len(data) + 200
            cached[oid] = kind, data
        return kind, data

    return read
