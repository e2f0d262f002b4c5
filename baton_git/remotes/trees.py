"""Which objects a commit brings that its parents do not have, by comparing trees: as little as possible is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from dulwich.object_format import ObjectFormat

from baton_git.names import Oid
from baton_git.store.objects import BLOB, TREE, decoded_tree

Read = Callable[[Oid, int], bytes]
"""The content of the object of this id and kind; raises Corrupt when it is not there."""

_KIND: Final = 0o170000
_SUBMODULE: Final = 0o160000  # its commit lives in another repository


def brought(read: Read, form: ObjectFormat, tree: Oid, older: Sequence[Oid]) -> Iterator[tuple[Oid, int]]:
    """The trees and blobs (id, kind) below `tree`, itself included, that are not at the same place of an older tree.

    Raises:
        Corrupt: a tree is missing or damaged.
    """
    if tree in older:
        return
    yield tree, TREE
    before = [decoded_tree(read(one, TREE), form, f"tree {one}") for one in older]
    for name, entry in decoded_tree(read(tree, TREE), form, f"tree {tree}").items():
        there = [entries[name] for entries in before if name in entries]
        if entry.mode & _KIND == _SUBMODULE or any(entry.oid == one.oid for one in there):
            continue
        if entry.is_folder:
            yield from brought(read, form, entry.oid, [one.oid for one in there if one.is_folder])
        else:
            yield entry.oid, BLOB
