"""Follow a purge: a run of `git filter-repo` here, with which a person removed something from the history.

The refs of baton that the run did not rewrite follow its map, so that they keep no purged commit from gc; the ledger
learns the new ids. Confirmations are not carried over: they cover exactly the change in their commit, and the purge may
have changed that. The old ids are stored in `baton/purged` of the common directory, so that a sync recognises a remote
that still has them, also after `.git/filter-repo` was deleted. If that file is lost, it is made again from the map.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from baton_git.core.errors import BatonError, Corrupt, StoreError
from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.files.atomic_files import read_bytes, write_all
from baton_git.git.refs.kept_refs import KEPT
from baton_git.git.rewritten import PurgeMap, read_purge_map, read_stamp
from baton_git.git.store import Store
from baton_git.namespace.commit_log import parse_entry
from baton_git.namespace.provenance.ledger import find_ledger

FORMAT = 1
TRACKING = ("refs/baton-remotes/", "refs/baton-incoming/")
PRIVATE = (KEPT, *TRACKING, "refs/baton-backup/")
"""The refs of baton besides the branches of namespaces."""


class Purged(NamedTuple):
    """The commits that were purged here: the new id of each, or None for a removed one."""

    commits: Mapping[Oid, Oid | None] = {}
    stamp: str = ""


def read_purged(store: Store) -> Purged:
    """Return the purged commits; none if nothing was purged, or the file is damaged or of a newer version."""
    with suppress(BatonError, ValueError, KeyError, TypeError, RecursionError):
        data = json.loads(read_bytes(_path(store)))
        if data["format"] == FORMAT:
            return Purged({Oid(old): Oid(new) if new else None for old, new in data["commits"].items()}, data["stamp"])
    return Purged()


def begins_midway(store: Store, tip: Oid) -> bool:
    """Return whether a history lacks the commit with which every namespace begins.

    `git filter-repo` makes the oldest commit of a shallow repository a first commit and drops the boundary, so a purge
    before the older history has come cuts it off.

    Raises:
        Corrupt: a commit cannot be read.
    """
    return not any(parse_entry(info).op == "root" for info in store.log(tip) if not info.parents)


def follow_purge(store: Store) -> None:
    """If `git filter-repo` ran here since the last call, move baton's refs and notes along with its map.

    Errors are ignored, as in a repository that is not writable: the next call tries again.
    """
    common_dir = store.repository.common_dir
    stamp = read_stamp(common_dir)
    if not stamp or store.memory.get(("purge", stamp)):
        return
    with suppress(StoreError, OSError):
        known = read_purged(store)
        if known.stamp != stamp:
            _follow(store, known, read_purge_map(common_dir))
        store.memory.put(("purge", stamp), True, 0)


def forget_purge(store: Store) -> None:
    """Forget the purged commits, because a person decided to bring them back.

    Raises:
        WriteFailed: writing to disk failed.
    """
    _write(store, Purged({}, read_stamp(store.repository.common_dir)))


def is_removed_by_filter(store: Store, commit: Oid) -> bool:
    """Return whether `git filter-repo` removed a commit here without a new one in its place."""
    purged = read_purged(store).commits
    return commit in purged and purged[commit] is None


def find_purged(store: Store, tip: Oid, purged: Mapping[Oid, Oid | None]) -> int:
    """Return how many commits in the history of a tip were purged here.

    Raises:
        Corrupt: a commit cannot be read.
    """
    return sum(info.oid in purged for info in store.log(tip)) if purged else 0


def _follow(store: Store, known: Purged, purge: PurgeMap) -> None:
    ledger = find_ledger(store.repository.common_dir)
    made = [old for old in purge.commits if ledger.is_made_here(old)]
    sources = {old: list(ledger.sources_of(old)) for old in purge.commits}
    _move_refs(store, PRIVATE, purge.commits)
    for ref, value in store.ref_files.last_good.all().items():
        new = purge.commits.get(Oid(value))
        if new is not None:
            store.ref_files.last_good.note(ref, new)
    ledger.record_made([new for old in made if (new := purge.commits[old]) is not None])
    for source in {source for of_commit in sources.values() for source in of_commit}:
        new_ids = [new for old, of_commit in sources.items() if source in of_commit and (new := purge.commits[old])]
        ledger.record_received(source.url, source.name, new_ids)
    if purge.commits:
        store.housekeeping.release_packs()
    kept = {old: purge.commits.get(new, new) if new is not None else None for old, new in known.commits.items()}
    _write(store, Purged({**kept, **purge.commits}, purge.stamp))


def record_rewrite(store: Store, known: Oid, now: Oid) -> None:
    """Record that a person accepted a rewritten branch: a sync must not bring the removed commits back by itself.

    Args:
        known: the last known tip.
        now: the tip that was accepted.

    Raises:
        Corrupt: a commit cannot be read.
        StoreError, WriteFailed: a ref cannot be read or written.
    """
    lost: dict[Oid, Oid | None] = {info.oid: now for info in store.only_in(known, now)}
    _move_refs(store, TRACKING, lost)
    purged = read_purged(store)
    _write(store, Purged({**purged.commits, **lost}, purged.stamp))


def _move_refs(store: Store, prefixes: Iterable[str], commits: Mapping[Oid, Oid | None]) -> None:
    """Move the refs that point to one of the commits to the new one in its place, if that is here."""
    for prefix in prefixes:
        with suppress(Corrupt):
            for ref, tip in store.refs(prefix).items():
                new = commits.get(tip)
                if new is not None and store.is_stored(new):
                    store.move(ref, new)


def _write(store: Store, purged: Purged) -> None:
    data = {"format": FORMAT, "stamp": purged.stamp, "commits": dict(purged.commits)}
    path = _path(store)
    durable_files.make_folder(path.parent)
    write_all({path: json.dumps(data, indent=0).encode() + b"\n"}, mode=0o600)


def _path(store: Store) -> Path:
    return store.repository.common_dir / "baton" / "purged"
