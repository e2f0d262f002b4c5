"""Fetch branches into a quarantine, check the objects there, store the packs, and only then move the tracking refs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from baton_git import __version__
from baton_git.core.errors import Rejected, RemoteError
from baton_git.core.names import Oid
from baton_git.git.files import durable_files
from baton_git.git.objects.values import decode_commit
from baton_git.git.remotes import Depth, FetchLimits, Quarantine, Remote
from baton_git.git.remotes.remote import matches
from baton_git.git.store import Store
from baton_git.namespace.ingest.budget import SYNC, Budget, IngestDeadline, Limits
from baton_git.namespace.ingest.checking import Before, check_older_part, find_rejections


@dataclass(frozen=True)
class RejectedTips:
    folder: Path

    @classmethod
    def of(cls, common_dir: Path) -> RejectedTips:
        return cls(common_dir / "baton" / "rejected")

    def any(self) -> bool:
        return self.folder.is_dir() and any(self.folder.iterdir())

    def get(self, tip: Oid, budget: Budget) -> Rejected | None:
        """Return the earlier rejection of a tip, which `budget` would not lift.

        Returns:
            None if there is none, if it may be lifted, or if the file cannot be read. The tip is then checked again.
        """
        with suppress(OSError, ValueError, TypeError, AttributeError):
            version, limits, why, hint = self._file(tip).read_text(encoding="utf-8").split("\n")[:4]
            then = json.loads(limits)
            then["owner"] = Limits(*then["owner"])
            if version == __version__ and budget.allows_no_more_than(Budget(**then)):
                return Rejected(why, hint=hint)
        return None

    def add(self, tip: Oid, error: Rejected, budget: Budget) -> None:
        """Remember why a tip was rejected.

        Raises:
            WriteFailed: writing to disk failed.
        """
        lines = (__version__, json.dumps(asdict(budget)), _flat(str(error)), _flat(error.hint))
        with durable_files.writing(str(self.folder)):
            durable_files.make_folder(self.folder)
            durable_files.replace_file(self._file(tip), "\n".join((*lines, "")).encode(), mode=0o644, sync=False)

    def clear(self) -> None:
        """Forget all rejected tips."""
        for file in self.folder.iterdir() if self.any() else ():
            durable_files.remove(file)

    def _file(self, tip: Oid) -> Path:
        return self.folder / f"{tip}.2"


def _flat(text: str) -> str:
    return " ".join(text.splitlines())


class PurgedTip(NamedTuple):
    """A tip of the remote that was not accepted, because commits in its history were purged here.

    Attributes:
        purged: the number of purged commits in its history, as far as that was fetched.
        others: the number of commits in its history that were not purged and are not here.
    """

    tip: Oid
    purged: int = 1
    others: int = 0


@dataclass(frozen=True)
class FetchResult:
    """The result of a fetch.

    Attributes:
        tips: the accepted tips by ref of the remote; the tracking refs have the same tips.
        rejected: the rejections of the other tips, by ref of the remote; their tracking refs are unchanged.
        purged: the tips with commits that were purged here, by ref of the remote; nothing of them is stored.
    """

    tips: dict[str, Oid] = field(default_factory=dict)
    rejected: dict[str, Rejected] = field(default_factory=dict)
    purged: dict[str, PurgedTip] = field(default_factory=dict)


def fetch_and_check(
    store: Store, remote: Remote, wants: Mapping[str, str], *, seconds: float, budget: Budget = SYNC,
    retry: bool = True, everything: bool = False, purged: Collection[Oid] = (),
    met: Callable[[str], bool] | None = None,
    depth: Depth | None = None,
) -> FetchResult:  # fmt: skip
    """Fetch branches of a remote and accept those within the budget.

    Args:
        wants: the local tracking ref for each full name of a remote ref; both may contain one `*`.
        seconds: time limit for the whole fetch.
        retry: whether to fetch tips again that were rejected before.
        everything: whether to fetch objects again that are already here, because some may be damaged.
        purged: commits that must not come back; a tip that is one of them is not fetched at all.
        met: tells whether this machine met a ref of a trusted remote before; all others have what the remote had before
            that, which is no reason to refuse them. None if the remote is not trusted so far.
        depth: how much of the history of a single branch to fetch; None for all of it.

    Raises:
        Rejected: the received data exceeded the limits before it could be assigned to a ref.
        Unreachable, AccessDenied, RemoteError: under the same conditions as `Remote.fetch`.
        StoreError: under the same conditions as `Store.adopt_packs` and `Store.move`.
    """
    deadline = IngestDeadline.after(seconds)
    memory = RejectedTips.of(store.repository.common_dir)
    rejected: dict[str, Rejected] = {}
    if not retry and memory.any():
        # Otherwise each start of a session would fetch, check and refuse the same megabytes again.
        wants, rejected = _without_rejected(remote, wants, memory, budget, deadline)
    refused: dict[str, PurgedTip] = {}
    if purged:
        tips = remote.tips(wants, seconds=deadline.seconds_left)
        refused = {ref: PurgedTip(tip) for ref, tip in tips.items() if tip in purged}
        wants = {ref: local_ref for ref, local_ref in matches(wants, tips).items() if ref not in refused}
        if not wants:
            return FetchResult({}, rejected, refused)
    limits = FetchLimits(budget.total_bytes, budget.object_bytes)
    try:
        with remote.fetch(
            wants, seconds=deadline.seconds_left, limits=limits, everything=everything, depth=depth
        ) as quarantine:
            rejections = _check_quarantine(store, quarantine, budget, deadline, met)
            sound = {ref: tip for ref, tip in quarantine.tips.items() if ref not in rejections}
            refused |= _find_purged(store, quarantine, sound, purged) if purged else {}
            accepted = {ref: tip for ref, tip in sound.items() if ref not in refused}
            packs = quarantine.packs(accepted.values(), max(1.0, deadline.seconds_left))
            # Only what passed the checks leaves the quarantine: nothing of a refused branch is ever in the repository.
            with store.adopt_packs(packs):
                if quarantine.boundary and accepted:
                    store.change_boundary(next(iter(accepted)), missing=_find_missing_ends(store, quarantine))
                for ref, tip in accepted.items():
                    store.move(quarantine.refs[ref], tip)
    except Rejected as error:
        error = _name_command(error, budget)
        _remember_rejected_fetch(remote, wants, memory, error, budget, deadline)
        raise error from None
    for ref, rejection in rejections.items():
        if not rejection.data.get("for_now"):  # a check that took too long may succeed next time
            memory.add(quarantine.tips[ref], rejection, budget)
    if not rejections and not rejected:
        memory.clear()
    return FetchResult(accepted, {**rejected, **rejections}, refused)


def _name_command(error: Rejected, budget: Budget) -> Rejected:
    """Return the rejection of a fetch with too many bytes with the command that lifts it."""
    if not error.data.get("is_over_bytes"):
        return error
    return budget.refuse(str(error), "total_bytes", budget.total_bytes * 2)  # git was stopped: the size is unknown


def fetch_older(
    store: Store,
    remote: Remote,
    ref: str,
    incoming: str,
    record: Callable[[Collection[Oid]], None],
    *,
    seconds: float,
    budget: Budget,
    generations: int,
) -> int:
    """Fetch the next part of a history that ends at a boundary, and move the boundary back.

    Returns:
        The number of commits in it.

    Args:
        record: called with the new commits before they become visible.

    Raises:
        Rejected: the older commits do not pass the checks; nothing changed.
        Unreachable, AccessDenied, RemoteError: under the same conditions as `Remote.fetch`.
        Busy, StoreError: the packs or the boundary cannot be written.
    """
    deadline = IngestDeadline.after(seconds)
    limits = FetchLimits(budget.total_bytes, budget.object_bytes)
    depth = Depth(generations, is_relative=True)
    with remote.fetch({ref: incoming}, seconds=seconds, limits=limits, depth=depth) as quarantine:
        reached = [end for end in store.boundary.of(ref) if end not in quarantine.shallow]
        with _extend(store, quarantine) as extended:
            parents = sorted({parent for end in reached for parent in extended.commit(end).parents})
            checks = deadline.at_most(budget.seconds)
            check_older_part(extended, quarantine.objects, ref, parents, budget, checks)
            new = [info.oid for info in extended.log(*parents)] if parents else []
        with store.adopt_packs(quarantine.fetched_packs):
            record(new)
            store.change_boundary(ref, missing=_find_missing_ends(store, quarantine), gone=reached)
    return len(new)


def _find_missing_ends(store: Store, quarantine: Quarantine) -> list[Oid]:
    """Return the fetched commits whose parents were left out. git also counts a first commit at that depth."""
    return [end for end in quarantine.boundary if decode_commit(end, store.raw_commit(end)).parents]


def _extend(store: Store, quarantine: Quarantine) -> Store:
    """Return a store that also reads the objects in a quarantine."""
    there = store.boundary.within(quarantine.shallow)
    more = (quarantine.objects,)
    return Store(store.repository, more_objects=more, boundary_there=there, environment=store.environment)


def _find_purged(
    store: Store, quarantine: Quarantine, tips: Mapping[str, Oid], purged: Collection[Oid]
) -> dict[str, PurgedTip]:
    """Return the tips in whose history are purged commits."""
    found = {}
    with _extend(store, quarantine) as extended:
        for ref, tip in tips.items():
            history = [info.oid for info in extended.log(tip)]
            number = sum(commit in purged for commit in history)
            if number:
                others = sum(commit not in purged and not store.is_stored(commit) for commit in history)
                found[ref] = PurgedTip(tip, number, others)
    return found


def _without_rejected(
    remote: Remote, wants: Mapping[str, str], memory: RejectedTips, budget: Budget, deadline: IngestDeadline
) -> tuple[dict[str, str], dict[str, Rejected]]:
    """Return the refs to fetch, and the rejections by ref of those that were rejected before."""
    tips = remote.tips(wants, seconds=deadline.seconds_left)
    known = {ref: error for ref, tip in tips.items() if (error := memory.get(tip, budget)) is not None}
    if not known:
        return dict(wants), {}
    return {ref: local_ref for ref, local_ref in matches(wants, tips).items() if ref not in known}, known


def _check_quarantine(
    store: Store, quarantine: Quarantine, budget: Budget, deadline: IngestDeadline, met: Callable[[str], bool] | None
) -> dict[str, Rejected]:
    accepted = {
        ref: [tip for one in (ref, quarantine.refs[ref]) if (tip := store.tip(one)) is not None and store.has(tip)]
        for ref in quarantine.tips
    }
    first = set() if met is None else {ref for ref in quarantine.tips if not met(ref)}
    before = Before(accepted, first, store if quarantine.has_everything else None)
    with _extend(store, quarantine) as extended:
        checks = deadline.at_most(budget.seconds)
        return find_rejections(extended, quarantine.objects, quarantine.tips, budget, checks, before)


def _remember_rejected_fetch(
    remote: Remote,
    wants: Mapping[str, str],
    memory: RejectedTips,
    error: Rejected,
    budget: Budget,
    deadline: IngestDeadline,
) -> None:
    """Record the tip of a fetch that was rejected as a whole.

    If the fetch had several tips, none is recorded, because any of them may be the cause.
    """
    if len(wants) != 1:
        return
    try:
        tips = remote.tips(wants, seconds=max(0.5, deadline.seconds_left))
    except RemoteError:  # the tip stays unrecorded and will be fetched again
        return
    for tip in tips.values() if len(tips) == 1 else ():
        memory.add(tip, error, budget)
