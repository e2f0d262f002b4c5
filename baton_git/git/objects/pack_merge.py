"""Merge several packs that baton wrote into one.

Packs from earlier merges are copied as a block, which is fast even for large packs. This is possible because their
deltas refer to their bases by relative distance. If the result already contains some objects of a pack, the other
entries of that pack are copied one by one.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from dulwich.object_format import ObjectFormat
from dulwich.pack import apply_delta, create_delta, unpack_object_at

from baton_git.core.errors import Corrupt
from baton_git.core.names import Oid
from baton_git.core.progress import Progress, ignore_progress
from baton_git.git.objects.pack_reader import OFS_DELTA, REF_DELTA, Indexed, OpenPack, Raw, encode_entry_head
from baton_git.git.objects.pack_writer import HEADER_SIZE, entry_bytes, pack_header
from baton_git.git.objects.values import COMMIT, TREE, CommitInfo, count_equal, decode_commit, object_id

_LONGEST_CHAIN: Final = 50  # as in git (pack.depth)
_LARGEST: Final = 1 << 16  # sizes in bytes
_SMALLEST: Final = 50
_SURELY_CHEAP: Final = 512
_COPY: Final = struct.Struct("<BHH").pack  # the bits of 0xB3: two bytes of the offset and two of the length follow
_LONGEST_INSERT: Final = 0x7F
_EQUAL: Final = re.compile(rb"\0{8,}")  # a shorter copy takes as many bytes as the text

Read = Callable[[Oid], Raw]
Chain = list[Oid]

# --- deltas
#
# The newest version of a path is read most and is stored whole; older ones are differences from the next newer one, if
# this saves enough space. Objects are grouped by their path in the commits that are packed with them, so that the
# versions of a record, of its folder and of the root tree are compared with each other.


def group_into_chains(known: dict[Oid, int], read: Read, form: ObjectFormat) -> list[Chain]:
    """Group the objects of `known` (id → type number) into chains of versions, newest first."""
    commits = [decode_commit(oid, read(oid)[1]) for oid, kind in known.items() if kind == COMMIT]
    commits.sort(key=lambda commit: (-commit.time, commit.oid))
    commits = [*_follow_first_parents(commits)]
    grouping = _Grouping({bytes.fromhex(oid): kind for oid, kind in known.items()}, read, form)
    for commit in commits:
        del grouping.ungrouped[bytes.fromhex(commit.oid)]
        grouping.add(bytes.fromhex(commit.tree), b"")
    rest = [Oid(name.hex()) for name in grouping.ungrouped]
    chains = ([commit.oid for commit in commits], *grouping.chains_by_path.values(), rest)
    return [chain for chain in chains if chain]


def _follow_first_parents(commits: Sequence[CommitInfo]) -> Iterator[CommitInfo]:
    """Yield each commit before its first parent, so that versions of one namespace, or of one session's documents,
    follow each other. In the order of their times, those of 32 namespaces alternate, and hardly any delta is small."""
    waiting = {commit.oid: commit for commit in commits}
    followed = {commit.parents[0] for commit in commits if commit.parents}
    for tip in (commit for commit in commits if commit.oid not in followed):
        commit = waiting.pop(tip.oid, None)
        while commit is not None:
            yield commit
            commit = waiting.pop(commit.parents[0], None) if commit.parents else None


class _Grouping:
    """Groups the objects below commits by their paths.

    Attributes:
        ungrouped: the type numbers of the objects that are in no chain yet, by binary id.
    """

    def __init__(self, ungrouped: dict[bytes, int], read: Read, form: ObjectFormat) -> None:
        self.ungrouped = ungrouped
        self.chains_by_path: dict[bytes, Chain] = {}
        self._read = read
        # A fifth of the time of `decode_tree`; of most trees, only one or two entries are in no chain yet.
        self._entry = re.compile(rb"[0-7]+ ([^\0]+)\0(.{%d})" % form.oid_length, re.DOTALL)

    def add(self, name: bytes, path: bytes) -> None:
        """Append an object, and all objects below it that are in no chain yet, to the chains of their paths."""
        kind = self.ungrouped.pop(name, None)
        if kind is None:
            return
        if kind == TREE:
            path += b"/"
        oid = Oid(name.hex())
        self.chains_by_path.setdefault(path, []).append(oid)
        for part, below in self._entry.findall(self._read(oid)[1]) if kind == TREE else ():
            if below in self.ungrouped:
                self.add(below, path + part)


def encode_chain(chain: Iterable[Oid], read: Read, start: int) -> Iterator[tuple[bytes, Indexed]]:
    """Yield the pack entries of a chain and their index entries; the first entry is placed at offset `start`."""
    offset, depth = start, 0
    base: tuple[int, Raw] | None = None
    for oid in chain:
        raw = read(oid)
        entry = None
        if base is not None and depth < _LONGEST_CHAIN and base[1][0] == raw[0]:
            entry = _as_delta(base[1][1], raw[1], offset - base[0])
        depth = 0 if entry is None else depth + 1
        entry = entry or entry_bytes(*raw)
        yield entry, Indexed(bytes.fromhex(oid), offset, zlib.crc32(entry))
        base = (offset, raw)
        offset += len(entry)


def _as_delta(base: bytes, data: bytes, distance: int) -> bytes | None:
    """Encode `data` as a delta to `base`, an entry `distance` bytes before.

    Returns:
        None if a delta saves less than a third or does not restore `data`, or is not attempted because of the sizes or
            the contents.
    """
    if not _SMALLEST <= len(data) <= _LARGEST or len(base) > _LARGEST:
        return None
    delta = encode_in_place(base, data)
    if len(delta) > len(data) // 2 and len(base) != len(data):
        if not _are_similar(base, data):
            return None
        delta = b"".join(create_delta(base, data))
    if len(delta) > len(data) * 2 // 3 or b"".join(apply_delta(base, delta)) != data:
        return None
    return encode_entry_head(OFS_DELTA, len(delta), distance) + zlib.compress(delta)


def encode_in_place(base: bytes, data: bytes) -> bytes:
    """Encode `data` as a delta to `base` that finds the same content in the same place: at the beginning, at the end,
    and between them if the rest has the same length.

    Most versions of a record, a folder or a commit differ like this. dulwich's `create_delta` takes 80 to 165 µs for
    each, several times as long, which was half of the time of a merge of packs.
    """
    start = count_equal(base, data)
    end = count_equal(base[start:][::-1], data[start:][::-1])
    old, new = base[start : len(base) - end], data[start : len(data) - end]
    parts = [_encode_size(len(base)), _encode_size(len(data)), _copy(0, start)]
    done = 0
    # A byte for each place, which is 0 if the texts are equal there: in C, while a loop would take 100 times as long.
    differing = int.from_bytes(old, "big") ^ int.from_bytes(new, "big") if len(old) == len(new) else 0
    for run in _EQUAL.finditer(differing.to_bytes(len(old), "big")) if len(old) == len(new) else ():
        parts += [*_insert(new[done : run.start()]), _copy(start + run.start(), run.end() - run.start())]
        done = run.end()
    return b"".join([*parts, *_insert(new[done:]), _copy(len(base) - end, end)])


def _encode_size(size: int) -> bytes:
    parts = bytearray()
    while size > 0x7F:
        parts.append(0x80 | (size & 0x7F))
        size >>= 7
    return bytes([*parts, size])


def _copy(offset: int, length: int) -> bytes:
    """Return the instruction of a delta that copies a part of the base, which is at most `_LARGEST` bytes long."""
    return _COPY(0xB3, offset, length) if length else b""


def _insert(data: bytes) -> Iterator[bytes]:
    """Yield the instructions of a delta that contain new content."""
    for place in range(0, len(data), _LONGEST_INSERT):
        part = data[place : place + _LONGEST_INSERT]
        yield bytes([len(part)]) + part


def _are_similar(base: bytes, data: bytes) -> bool:
    """Estimate whether a delta is worthwhile, because computing one takes quadratic time for unrelated contents."""
    if len(data) <= _SURELY_CHEAP and len(base) <= _SURELY_CHEAP:
        return True
    if data[:128] == base[:128] or data[-128:] == base[-128:]:
        return True
    lines = set(data.split(b"\n"))
    return len(lines & set(base.split(b"\n"))) * 3 > len(lines)


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
            _copy_pack(pack, result)
    _add_fresh(fresh, result, progress)
    return result


def _is_fresh(pack: OpenPack) -> bool:
    """Return whether a pack has no deltas, like the pack of a single write."""
    # The first byte of an entry contains its type.
    first_bytes = (pack.body[entry.offset : entry.offset + 1] for entry in pack.index.entries())
    return not any(first and first[0] >> 4 & 7 == OFS_DELTA for first in first_bytes)


def _copy_pack(pack: OpenPack, result: MergedPack) -> None:
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
