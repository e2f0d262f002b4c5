"""Map the places of records to paths and back, without the records' models. The folders are described in `layout`."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from baton_git.core.kinds import ARCHIVE, CLOSED, KIND_OF_FOLDER, KINDS, SINGLETONS

MAX_FOLDERS = 64
"""Maximum depth of nested folders in a tree."""
NAMES_KNOWN = 8_192
"""Maximum number of entries in each cache that maps paths to ids or ids to paths."""


class Place(NamedTuple):
    """Where a record is: the fields of its `Key`. Singletons have the empty id."""

    kind: str
    id: str = ""
    archived: bool = False


def path_to(kind: str, id_: str, *, archived: bool = False) -> str:
    """Return the path of the record of this kind and id."""
    if kind in SINGLETONS:
        return SINGLETONS[kind].folder
    row = (CLOSED if archived else KINDS)[kind]
    path = row.path(id_)
    return f"{row.folder}/{shard(id_)}/{path}" if archived else f"{row.folder}/{path}"


@lru_cache(maxsize=NAMES_KNOWN)
def place_at(path: str) -> Place | None:
    """Return the place of the record at `path`; None for a file that is not a record."""
    for single in SINGLETONS.values():
        if path == single.folder:
            return Place(single.kind)
    folder, _, rest = path.removeprefix(f"{ARCHIVE}/").partition("/")
    archived = path.startswith(f"{ARCHIVE}/")
    kind = KIND_OF_FOLDER.get(folder)
    if kind is None:
        return None
    if not archived:
        id_ = KINDS[kind].id_of(rest)
        return None if id_ is None else Place(kind, id_)
    shard_name, _, name = rest.partition("/")
    id_ = CLOSED[kind].id_of(name)
    return None if id_ is None or shard_name != shard(id_) else Place(kind, id_, archived=True)


def shard(id_: str) -> str:
    """Return the name of the archive's subfolder for an id: the first two hex digits of its SHA-256."""
    return sha256(id_.encode()).hexdigest()[:2]
