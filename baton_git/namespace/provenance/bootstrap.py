"""Create the ledger of a repository that an older version of baton used without one.

The reflogs of the branches name the ref updates that baton made (`baton: <verb>`). The commits reachable from tracking
refs were received from their remotes. The origin of all other commits is unknown; they count as made by hand.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress

from baton_git.core.errors import BatonError, Corrupt, InvalidName, StoreError
from baton_git.core.names import Oid, decode, parse_oid
from baton_git.git.files import durable_files
from baton_git.git.store import CommitInfo, Store
from baton_git.namespace.commit_log import CONFIRMED, parse_entry
from baton_git.namespace.provenance.ledger import Ledger, find_ledger

_MOVE = re.compile(
    rb"[0-9a-f]{40,64} ([0-9a-f]{40,64}) [^\t]*\tbaton: (?!sync$|review$)[a-z][a-z-]*(?: and (\d+) more)?$"
)
"""A ref update to commits that baton made. Those of syncs and reviews do not match: they also add commits of others."""
_TRACKING = ("refs/remotes/", "refs/baton-remotes/", "refs/baton-incoming/")


def open_ledger(store: Store, prefix: str) -> Ledger:
    """Return the ledger of a store; create it if it does not exist.

    Args:
        prefix: the prefix of the branches of namespaces.

    Raises:
        Corrupt: a commit cannot be read.
        StoreError: a reflog cannot be read.
        WriteFailed: writing to disk failed.
    """
    known: Ledger | None = store.memory.get(("ledger", prefix))
    if known is not None and known.exists:
        return known
    ledger = find_ledger(store.repository.common_dir)
    if not ledger.exists:
        _begin(store, prefix, ledger)
    return store.memory.put(("ledger", prefix), ledger, 0)


def _begin(store: Store, prefix: str, ledger: Ledger) -> None:
    """Write the ledger to a temporary folder and rename that, unless another process was faster."""
    fresh = Ledger(ledger.folder.with_name(f"ledger-{durable_files.random_name()}"))
    with durable_files.writing(str(ledger.folder)):
        durable_files.make_folder(fresh.folder)
    try:
        made = {info.oid: info for info in _made_here(store, prefix)}
        confirmed = [info.oid for info in made.values() if parse_entry(info).trailer_values(CONFIRMED)]
        fresh.record_made(made, confirmed)
        for remote, commits in _find_received(store, prefix, made).items():
            url = store.repository.config().get(f"remote.{remote}.url") or remote
            fresh.record_received(url, remote, sorted(commits))
        with durable_files.writing(str(ledger.folder)):
            try:
                fresh.folder.rename(ledger.folder)
            except OSError:
                if not ledger.exists:
                    raise
    finally:
        shutil.rmtree(fresh.folder, ignore_errors=True)


def _made_here(store: Store, prefix: str) -> Iterator[CommitInfo]:
    for ref in store.refs(prefix):
        for new, count in _list_moves(store, ref):
            with suppress(Corrupt):  # a reflog may name commits that no longer exist
                for info in _list_first_parents(store, new, count):
                    yield info
                    yield from _find_own_second_parent(store, info)


def _list_moves(store: Store, ref: str) -> Iterator[tuple[Oid, int]]:
    """Yield the commits to which baton moved a branch, each with the number of commits that the update added."""
    try:
        lines = (store.repository.common_dir / "logs" / ref).read_bytes().splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"cannot read the reflog of {ref}: {error.strerror}", hint="check that file") from error
    for line in lines:
        if match := _MOVE.match(line):
            yield parse_oid(match[1].decode()), 1 + int(match[2] or 0)


def _list_first_parents(store: Store, new: Oid, count: int) -> Iterator[CommitInfo]:
    for number, info in enumerate(store.log(new, first_parent=True)):
        if number >= count or not info.parents:
            return
        yield info


def _find_own_second_parent(store: Store, info: CommitInfo) -> Iterator[CommitInfo]:
    """Yield the second parent of a commit if the same call of a verb made both."""
    for parent in info.parents[1:]:
        side = store.commit(parent)
        same = (side.author, side.time, f"{parse_entry(side).op}-merge") == (
            info.author,
            info.time,
            parse_entry(info).op,
        )
        if same:
            yield side


def _find_received(store: Store, prefix: str, made: Collection[Oid]) -> dict[str, set[Oid]]:
    """Return by remote the commits that its tracking refs lead to and that were not made here."""
    received: dict[str, set[Oid]] = {}
    for tracking in _TRACKING:
        for folder in store.ref_folders(tracking):
            below = f"{tracking}{folder}/"
            branches = below + prefix.removeprefix("refs/heads/") if tracking == "refs/remotes/" else below
            for tip in store.refs(branches).values():
                with suppress(BatonError):
                    commits = {info.oid for info in store.log(tip)}
                    received.setdefault(_decode_name(folder), set()).update(commits - set(made))
    return received


def _decode_name(component: str) -> str:
    try:
        return decode(component)
    except InvalidName:
        return component
