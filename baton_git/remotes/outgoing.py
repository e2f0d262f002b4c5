"""What a push has to send: said explicitly, since dulwich would unpack the whole repository to find it out."""

from __future__ import annotations

from collections.abc import Iterable

from dulwich.objects import ShaFile

from baton_git.errors import Corrupt
from baton_git.names import Oid
from baton_git.remotes.remote import Push
from baton_git.remotes.trees import brought
from baton_git.store import Store


def objects(store: Store, moves: Iterable[Push]) -> list[ShaFile]:
    """What the server lacks: of each new commit what its parents do not have. Nothing else is looked at.

    Raises:
        Corrupt: something of it is missing here.
    """
    form = store.repository.object_format
    found: dict[Oid, None] = {}

    def read(oid: Oid, kind: int) -> bytes:
        actual, data = store.raw(oid)
        if actual != kind:
            raise Corrupt(f"object {oid}", "is not of the kind that refers to it")
        return data

    for move in moves:
        known = [move.expected] if move.expected is not None and store.has(move.expected) else []
        for commit in store.only_in(move.new, *known):
            found[commit.oid] = None
            older = [store.commit(parent).tree for parent in commit.parents]
            found.update((oid, None) for oid, _ in brought(read, form, commit.tree, older))
    return [ShaFile.from_raw_string(*store.raw(oid)) for oid in found]
