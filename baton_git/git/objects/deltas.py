"""Choose and encode deltas: older versions of a path are stored as differences from the next newer version, if this
saves enough space.

The newest version is read most and is stored whole. Objects are grouped by their path in the commits that are packed
with them, so that the versions of a record, of its folder and of the root tree are compared with each other.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from dulwich.object_format import ObjectFormat
from dulwich.pack import apply_delta, create_delta

from baton_git.core.names import Oid
from baton_git.git.objects.pack_index import Indexed
from baton_git.git.objects.pack_reader import OFS_DELTA, Raw, encode_entry_head
from baton_git.git.objects.pack_writer import entry_bytes
from baton_git.git.objects.values import COMMIT, TREE, decode_commit, decode_tree

_LONGEST_CHAIN: Final = 50
_LARGEST: Final = 1 << 16  # sizes in bytes
_SMALLEST: Final = 50
_SURELY_CHEAP: Final = 512

Read = Callable[[Oid], Raw]
Chain = list[Oid]


def group_into_chains(known: dict[Oid, int], read: Read, form: ObjectFormat) -> list[Chain]:
    """Group the objects of `known` (id → type number) into chains of versions, newest first."""
    commits = [decode_commit(oid, read(oid)[1]) for oid, kind in known.items() if kind == COMMIT]
    commits.sort(key=lambda commit: (-commit.time, commit.oid))
    ungrouped = dict(known)
    chains_by_path: dict[str, Chain] = {"": [commit.oid for commit in commits]}
    for commit in commits:
        del ungrouped[commit.oid]
        _add_to_chains(commit.tree, "/", ungrouped, chains_by_path, read, form)
    chains_by_path["?"] = list(ungrouped)
    return [chain for chain in chains_by_path.values() if chain]


def _add_to_chains(
    oid: Oid, path: str, ungrouped: dict[Oid, int], chains_by_path: dict[str, Chain], read: Read, form: ObjectFormat
) -> None:
    """Append the object, and all objects below it that are in no chain yet, to the chains of their paths."""
    kind = ungrouped.pop(oid, None)
    if kind is None:
        return
    chains_by_path.setdefault(path, []).append(oid)
    if kind == TREE:
        for name, entry in decode_tree(read(oid)[1], form, path).items():
            if entry.oid in ungrouped:
                below = f"{path}{name}/" if entry.is_folder else path + name
                _add_to_chains(entry.oid, below, ungrouped, chains_by_path, read, form)


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
    if not _SMALLEST <= len(data) <= _LARGEST or not _are_similar(base, data):
        return None
    delta = b"".join(create_delta(base, data))
    if len(delta) > len(data) * 2 // 3 or b"".join(apply_delta(base, delta)) != data:
        return None
    return encode_entry_head(OFS_DELTA, len(delta), distance) + zlib.compress(delta)


def _are_similar(base: bytes, data: bytes) -> bool:
    """Estimate whether a delta is worthwhile, because computing one takes quadratic time for unrelated contents."""
    if len(base) > _LARGEST:
        return False
    if len(data) <= _SURELY_CHEAP and len(base) <= _SURELY_CHEAP:
        return True
    if data[:128] == base[:128] or data[-128:] == base[-128:]:
        return True
    lines = set(data.split(b"\n"))
    return len(lines & set(base.split(b"\n"))) * 3 > len(lines)
