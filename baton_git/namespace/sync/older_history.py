"""The newest part of a long history first: where it ends for now, and how the older part follows.

When this machine first meets a branch that a trusted remote has, it takes the newest commits, so that a session starts
with the whole state at once. The older commits follow in parts, each of which is checked and stored before the next one
is fetched; a process that is killed loses only the part at hand. Until then every record at the boundary counts as
received from the remote, which is the least that is known of it.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from itertools import islice
from typing import Final

from baton_git.core.errors import BatonError, Rejected
from baton_git.core.names import Oid
from baton_git.core.times import iso
from baton_git.git.objects.values import decode_commit
from baton_git.git.remotes import Depth, Remote
from baton_git.git.store import Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.history import is_root
from baton_git.namespace.ingest.budget import Budget
from baton_git.namespace.ingest.fetch import fetch_older
from baton_git.namespace.ingest.trees import find_unsafe_files
from baton_git.namespace.provenance.labels import load_marks
from baton_git.namespace.sync.actions import Terms

NEWEST: Final = Depth(100)
"""How much is fetched at the first meeting: of 250 agents, 100 generations have 8,000 commits."""
GLIMPSE: Final = Depth(10)
"""How much of it a session's start fetches first: of 250 agents, 10 generations have 73 commits, and take git a quarter
of the processor time."""
GENERATIONS: Final = 500
"""How many generations are taken at the first meeting if git has fetched them."""
MOST_NEWEST: Final = 2_000
"""Maximum number of commits in the newest part of a history that git has fetched; one more generation may exceed it."""
PART: Final = 5_000
"""Maximum number of generations of commits in one part of the older history."""
FIRST_PART: Final = 200
"""The number of generations in the first part; those of further parts depend on how many commits it had."""
COMMITS: Final = 20_000
"""How many commits a part is to have; of 250 agents, 500 generations have 40,000, and 5,000 have a year's quarter."""
_MANY: Final = 20_000
_LEAST_SECONDS: Final = 0.5
_MOST_OWN: Final = 1_000
"""Commits in which a namespace that began here is told from one that was synced before."""


def describe_boundary(branch: Branch) -> str:
    """Return a line about the part of the history that is not here yet; empty if all of it is."""
    ends = [end for end in branch.store.boundary.of(branch.ref) if branch.store.is_stored(end)]
    if not ends:
        return ""
    oldest = min(branch.load_entry(end).time for end in ends)
    return (
        f"the history before {iso(oldest)[:10]} is not here yet, so log, undo and recall reach no further "
        "(baton sync fetches it)"
    )


def begin_at_newest(branch: Branch, tip: Oid) -> None:
    """Let the history of a branch that git has fetched end at its newest commits, until the older ones are recorded."""
    store, local = branch.store, branch.tip()
    ends = _find_end(store, tip)
    if ends and (local is None or began_here(branch, local, ends)):
        store.change_boundary(branch.ref, unread=ends)


def began_here(branch: Branch, local: Oid, ends: Collection[Oid]) -> bool:
    """Return whether the local branch shares no commit but the root with a history that ends at a boundary.

    That is certain enough if this machine made all its commits, after those at the boundary. Then a merge is the same
    as with the whole history, whose only merge base is the root.
    """
    store, ledger = branch.store, branch.ledger
    commits = list(islice(store.log(local), _MOST_OWN + 1))
    *own, first = commits
    if not is_root(store, first.oid) or not all(ledger.is_made_here(info.oid) for info in own):
        return False
    newest = max((store.commit(end).time for end in ends if store.is_stored(end)), default=0)
    return all(info.time > newest for info in own)


def _find_end(store: Store, tip: Oid) -> set[Oid]:
    """Return the commits with parents at which the newest part of the history ends, as for `git fetch --depth`.

    It has `GENERATIONS` generations, or fewer if they have more than `MOST_NEWEST` commits: those of 250 agents have
    40,000 commits, and reading them took a start two minutes.
    """
    level, seen = {tip}, {tip}
    for _ in range(GENERATIONS - 1):
        if len(seen) > MOST_NEWEST:
            break
        level = {parent for commit in level for parent in store.commit(commit).parents} - seen
        seen |= level
        if not level:
            return set()
    return {commit for commit in level if store.commit(commit).parents}


def refuse_unrelated(branch: Branch, local: Oid, theirs: Oid) -> None:
    """Check that a merge knows where two histories parted.

    Raises:
        Rejected: they meet in the part of the history that is not here yet.
    """
    store = branch.store
    if store.boundary.of(branch.ref) and not store.merge_bases(local, theirs):
        raise Rejected(
            "the commits of the remote are here, but not yet the history in which they meet those of this machine",
            hint="run baton sync, which fetches it",
            for_now=True,
            is_for_sync=True,
        )


def complete_history(
    branch: Branch,
    remote: Remote,
    incoming: str,
    terms: Terms,
    budget: Budget,
    end: float,
    *,
    prepares: bool = False,
) -> str:
    """Fetch and record the older history until it is complete or the time is up; return what is left to say about it.

    Args:
        incoming: the private ref of the remote branch.
        end: monotonic time.
        prepares: then also compute who vouches for each record, which the next start of a session would have to do.
            After many commits this is done in any case.
    """
    if not branch.store.boundary.of(branch.ref):
        return ""
    try:
        _adopt_ends(branch, incoming)
        generations = min(FIRST_PART, PART)
        before: set[str] = set()  # a remote that answers with the same boundary again is not asked for ever
        while branch.store.boundary.of(branch.ref) and branch.store.boundary.digest not in before:
            if (left := end - time.monotonic()) <= _LEAST_SECONDS:
                break
            before.add(branch.store.boundary.digest)
            commits = _complete_part(branch, remote, incoming, terms, budget, left, generations)
            generations = max(1, min(PART, generations * COMMITS // max(1, commits)))
        tip = branch.store.tip(branch.ref)
        is_complete = tip is not None and not branch.store.boundary.of(branch.ref)
        if tip is not None and is_complete and (prepares or branch.revision_at(tip).number > _MANY):
            load_marks(branch, tip)
    except BatonError as error:
        hint = f" ({error.hint})" if error.hint else ""
        return f"the older history is still missing: {error}{hint}"
    return describe_boundary(branch) or _find_unread_fault(branch)


def widen_glimpse(
    branch: Branch, remote: Remote, incoming: str, terms: Terms, budget: Budget, *, seconds: float, generations: int
) -> None:
    """Fetch the rest of the newest part after a glimpse of it, if there is time for it.

    Args:
        generations: how many generations the rest has.
    """
    with suppress(BatonError):
        if branch.store.boundary.of(branch.ref):
            _complete_part(branch, remote, incoming, terms, budget, seconds, generations)


def _find_unread_fault(branch: Branch) -> str:
    """Return a line about a fault in the files that the first start had no time to read; empty if there is none."""
    store, tip = branch.store, branch.tip()
    if tip is None:
        return ""
    try:
        fault = next(find_unsafe_files(store.folder(None), store.folder(store.commit(tip).tree)), None)
    except BatonError as error:
        return f"the files of the first fetch cannot be checked: {error}"
    return f"{fault[0]} {fault[1]}; that part is not read (baton validate lists all)" if fault is not None else ""


def _adopt_ends(branch: Branch, incoming: str) -> None:
    """Count the commits as baton's at which the branch ends after a `git fetch --depth` or `--deepen`.

    These put other commits of the branch into git's file, which nothing would remove: the history would never be
    complete, and each part would begin at the newest of them.
    """
    store = branch.store
    ours, shallow = store.boundary.own, store.boundary.shallow
    if shallow <= ours.keys():
        return
    kept = {end: ref for end, ref in ours.items() if end not in shallow and not _has_parents(store, end)}
    with Store(store.repository, boundary_there=store.boundary._replace(own=kept)) as whole:
        tips = [tip for ref in (branch.ref, incoming) if (tip := whole.tip(ref)) is not None]
        moved = {info.oid for info in whole.log(*tips) if info.oid in shallow and info.oid not in ours}
    if moved:
        store.change_boundary(branch.ref, missing=moved)


def _complete_part(
    branch: Branch, remote: Remote, incoming: str, terms: Terms, budget: Budget, seconds: float, generations: int
) -> int:
    """Move the boundary back by one part; return the number of commits in it."""
    store = branch.store
    ends = store.boundary.of(branch.ref)

    def record(commits: Collection[Oid]) -> None:
        ledger = branch.ledger
        received = [commit for commit in commits if not ledger.is_made_here(commit)]
        ledger.record_received(terms.address or terms.name, terms.name, received)

    here = [end for end in ends if end not in store.boundary.shallow]
    if here:
        whole = [end for end in here if _has_parents(store, end)]  # else a fetch was killed before any ref moved
        older = _list_older(store, whole)
        record(older)
        store.change_boundary(branch.ref, gone=here)
        return len(older)
    return fetch_older(
        store, remote, branch.ref, incoming, record, seconds=seconds, budget=budget, generations=generations
    )


def _has_parents(store: Store, end: Oid) -> bool:
    if not store.is_stored(end):
        return False
    return all(store.is_stored(parent) for parent in decode_commit(end, store.raw_commit(end)).parents)


def _list_older(store: Store, ends: Collection[Oid]) -> Collection[Oid]:
    """Return the commits behind a boundary that git has fetched."""
    behind = store.boundary.without(ends)
    with Store(store.repository, boundary_there=behind) as whole:
        parents = {parent for end in ends for parent in whole.commit(end).parents}
        return [info.oid for info in whole.log(*parents)] if parents else []
