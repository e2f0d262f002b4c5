"""Check that the objects of a branch's newest revision are present and readable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from baton_git.core.errors import Corrupt
from baton_git.core.kinds import ARCHIVE
from baton_git.core.names import Oid
from baton_git.git.store import Folder, Store

MOST_READ: Final = 2_000
"""Maximum number of files that are read. Of more files than these it is only checked that they exist; `baton doctor`
reads them all."""


def find_first_damage(store: Store, tip: Oid | None, *, thorough: bool) -> Corrupt | None:
    """Return the error of the first missing or unreadable object of a commit's tree; None if it is complete.

    Args:
        thorough: read the files, the archive last; otherwise only check that they exist.
    """
    if tip is None:
        return None
    try:
        for number, (folder, name, oid) in enumerate(_files(store.folder(store.commit(tip).tree).stored())):
            if thorough and number < MOST_READ:
                folder.read(name)
            if not store.is_stored(oid):
                return Corrupt(f"{folder.path}/{name}", f"object {oid} is missing")
    except Corrupt as error:
        return error
    return None


def _files(folder: Folder) -> Iterator[tuple[Folder, str, Oid]]:
    for name, entry in sorted(folder.entries().items(), key=lambda item: item[0] == ARCHIVE):
        if entry.is_folder:
            yield from _files(folder.folder(name))
        else:
            yield folder, name, entry.oid
