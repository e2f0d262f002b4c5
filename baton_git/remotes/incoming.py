"""A pack from a server: unpacked, and looked through before anything of it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Final

from dulwich.object_format import ObjectFormat
from dulwich.pack import OFS_DELTA, REF_DELTA, PackStreamReader, UnpackedObject, apply_delta

from baton_git.errors import Corrupt
from baton_git.names import Oid
from baton_git.remotes.trees import brought
from baton_git.store import Store
from baton_git.store.objects import COMMIT, CommitInfo, decoded_commit, object_id
from baton_git.store.pack_reading import Raw

LARGEST: Final = 1 << 30
"""Bytes of a pack; more than that is not the memory of an agent."""


def unpacked(pack: bytes, store: Store) -> dict[Oid, Raw]:
    """The objects of a pack, whose deltas may be based on what is stored here.

    Raises:
        Corrupt: a base is in neither, or the pack is damaged.
    """
    form = store.repository.object_format
    waiting = list(PackStreamReader(form.hash_func, BytesIO(pack).read).read_objects())
    by_offset: dict[int, Raw] = {}
    found: dict[Oid, Raw] = {}
    while waiting:
        left = []
        for one in waiting:
            raw = _resolved(one, by_offset, found, store)
            if raw is None:
                left.append(one)
            else:
                by_offset[one.offset or 0] = raw
                found[object_id(*raw, form)] = raw
        if len(left) == len(waiting):
            raise Corrupt("the pack of the server", "is based on objects that are not here")
        waiting = left
    return found


def _resolved(one: UnpackedObject, by_offset: Mapping[int, Raw], by_id: Mapping[Oid, Raw], store: Store) -> Raw | None:
    """The object itself; None while its base is not known."""
    data = b"".join(one.decomp_chunks)
    base = one.delta_base
    if one.pack_type_num == OFS_DELTA and isinstance(base, int):
        raw = by_offset.get((one.offset or 0) - base)
    elif one.pack_type_num == REF_DELTA and isinstance(base, bytes):
        name = Oid(base.hex())
        raw = by_id.get(name) or (store.raw(name) if store.has(name) else None)
    else:
        return one.pack_type_num, data
    return None if raw is None else (raw[0], b"".join(apply_delta(raw[1], data)))


class Arrivals:
    """Objects that came, in front of those that are stored."""

    def __init__(self, objects: Mapping[Oid, Raw], store: Store) -> None:
        self.objects = objects
        self._store = store
        self._form: ObjectFormat = store.repository.object_format

    def read(self, oid: Oid, kind: int) -> bytes:
        """Raises Corrupt when it is nowhere, or of another kind."""
        actual, data = self.objects.get(oid) or self._store.raw(oid)
        if actual != kind:
            raise Corrupt(f"object {oid}", "is not of the kind that refers to it")
        return data

    def commit(self, oid: Oid) -> CommitInfo:
        here = oid in self.objects
        return decoded_commit(oid, self.read(oid, COMMIT)) if here else self._store.commit(oid)

    def check_whole(self, tips: Iterable[Oid]) -> None:
        """Raises Corrupt unless everything behind the tips is here, or came. What is stored is taken to be whole."""
        waiting = list(tips)
        seen = set(waiting)
        while waiting:
            oid = waiting.pop()
            commit = self.commit(oid)
            if oid not in self.objects:
                continue
            older = [self.commit(parent).tree for parent in commit.parents]
            for part, kind in brought(self.read, self._form, commit.tree, older):
                self.read(part, kind)
            waiting += [parent for parent in commit.parents if parent not in seen]
            seen.update(commit.parents)
