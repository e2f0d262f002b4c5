"""Lanes: refs on a remote by which many machines send at the same time, without waiting for each other.

All machines push to one branch, so of those that push at the same time one wins and the others start again. With the
setting `remote.<name>.batonLanes`, a machine that was overtaken also pushes its own tip to a ref of its own, its lane,
which nobody else writes: then its commits are sent. Whoever pushes to the branch next merges the lanes first. Lanes are
data of the remote like the branch: they pass the same checks, and the policy applies to what they add.

refs/baton-lanes/<namespace>/<lane>                    a lane on the remote
refs/baton-incoming/=lanes/<remote>/<namespace>/<lane> the tip that was fetched last
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from baton_git.core.errors import BatonError
from baton_git.core.names import LANES, Oid, is_lane_name
from baton_git.core.output import one_line
from baton_git.git.remotes import Push
from baton_git.git.store import ObjectDraft, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.ingest.fetch import FetchResult
from baton_git.namespace.merge_commit import create_merge_commit, sort_parents
from baton_git.namespace.provenance.ledger import record_draft
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.actions import Settle
from baton_git.namespace.sync.tracking_refs import (
    TRACKED_LANES,
    encode_remote,
    lanes_of,
    list_tracked_lanes,
    track_lane,
    tracking_refs_of,
)

MAX_MERGED = 64
"""Maximum number of lanes that one sync merges; the next one merges the others."""
_MAX_REMOVED = 20
ABANDONED = 86_400.0
"""Age in seconds of the last commit of a lane at which any machine removes it, once the branch has its commits."""
_NEW = 60.0
"""Age in seconds below which a sync that sends nothing leaves a lane to the machines that send. Merges made only for
reading would stay in the history: with 16 machines they were 7 for each write."""
_DIGITS = 16
_PURGED = "it has commits that were purged here"


class Lanes(NamedTuple):
    """The lanes of a namespace.

    Attributes:
        name: the ref of our own lane on the remote.
        plain: the tip of the branch on the remote; None if it has none, or it was not accepted.
        own: the tip of that lane; None if it does not exist.
        waiting: the tips of the lanes whose commits are not on the branch, by ref.
        merged: the tips of the others, by ref.
        purged: the tips of lanes with commits that were purged here and none that are new here, by ref.
        notes: messages about lanes that were not accepted.
        present: the refs of all lanes on the remote.
    """

    name: str
    plain: Oid | None = None
    own: Oid | None = None
    waiting: Mapping[str, Oid] = {}
    merged: Mapping[str, Oid] = {}
    purged: Mapping[str, Oid] = {}
    notes: tuple[str, ...] = ()
    present: frozenset[str] = frozenset()


class Folded(NamedTuple):
    """The branch of a remote merged with lanes: a pure function of their tips. `draft` has the new commits."""

    commit: Oid
    draft: ObjectDraft
    notes: tuple[str, ...] = ()


def wanted_lanes(branches: Sequence[Branch], remote: str, *, everything: bool = False) -> dict[str, str]:
    """Return the private ref for each ref of a lane to fetch, as patterns."""
    patterns = [f"{LANES}*"] if everything else [f"{lanes_of(branch)}*" for branch in branches]
    return {pattern: track_lane(pattern, remote) for pattern in patterns}


def name_lane(branch: Branch, machine: str | None) -> str:
    """Return the ref of the lane of this clone. It is derived, so that no file can be lost or copied with the clone.

    Clones in equal containers can get the same name; `plan_lane` copes with that.
    """
    folder = branch.store.repository.common_dir
    place = folder.stat()
    text = f"{machine}\0{folder}\0{place.st_dev}\0{place.st_ino}"
    digest = sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{lanes_of(branch)}{digest[:_DIGITS]}"


def read_lanes(branch: Branch, fetched: FetchResult, plain: Oid | None, name: str) -> Lanes:
    """Sort the fetched lanes of a namespace. Without a branch on the remote, its lanes are what was left of it."""
    prefix, store = lanes_of(branch), branch.store
    purged = {ref: lane.tip for ref, lane in fetched.purged.items() if ref.startswith(prefix) and not lane.others}
    found = (ref for refs in (fetched.tips, fetched.rejected, fetched.purged) for ref in refs)
    present = frozenset(ref for ref in found if ref.startswith(prefix))
    if plain is None:
        return Lanes(name, purged=purged, present=present)
    tips = {ref: tip for ref, tip in fetched.tips.items() if ref.startswith(prefix)}
    named = {ref: tip for ref, tip in tips.items() if is_lane_name(ref.removeprefix(prefix))}
    merged = {ref: tip for ref, tip in named.items() if store.is_ancestor(tip, plain)}
    faulty = {ref: str(error) for ref, error in fetched.rejected.items() if ref.startswith(prefix)}
    faulty |= {ref: f"{_PURGED} (baton sync --settle ours removes it)" for ref in fetched.purged if ref in purged}
    faulty |= {ref: f"{_PURGED}, and others" for ref in fetched.purged if ref.startswith(prefix) and ref not in purged}
    faulty |= {ref: "it is not the name of a lane" for ref in tips if ref not in named}
    for ref, tip in tips.items():
        try:
            branch.revision_at(tip)
        except BatonError as error:
            faulty[ref] = str(error)
    notes = tuple(one_line(f"{ref} was left out: {why}", 300) for ref, why in sorted(faulty.items()))
    waiting = {ref: tip for ref, tip in tips.items() if ref not in merged and ref not in faulty}
    return Lanes(name, plain, tips.get(name), waiting, merged, purged, notes, present)


def fold_lanes(
    store: Store, plain: Oid, lanes: Lanes, own: Oid | None, *, now: float | None = None
) -> Folded | None:  # fmt: skip
    """Merge the branch of the remote with the lanes that wait; None if none of them has a commit that `own` lacks.

    Args:
        own: the local tip.
        now: leave out lanes whose last commit is newer than a minute, in seconds since 1970; None: take all.
    """
    tips = [tip for tip in set(lanes.waiting.values()) if own is None or not store.is_ancestor(tip, own)]
    if now is not None:
        tips = [tip for tip in tips if not 0 <= now - store.commit(tip).time < _NEW]
    if not tips:
        return None
    chosen = sort_parents(store, tips)[:MAX_MERGED]
    return fold_tips(store, plain, [info.oid for info in chosen])


def fold_tips(store: Store, plain: Oid, tips: Sequence[Oid]) -> Folded:
    """Merge commits into that of the branch, one after the other in a fixed order, whatever the order of `tips` is.

    A commit that cannot be merged is left out, with a note.
    """
    tip, draft, notes = plain, store.draft(), []
    with store.expose(draft):
        for info in sort_parents(store, dict.fromkeys(tips)):
            if store.is_ancestor(info.oid, tip):
                continue
            if store.is_ancestor(tip, info.oid):
                tip = info.oid
                continue
            try:
                merged = create_merge_commit(store, tip, info.oid)
            except BatonError as error:
                notes.append(one_line(f"commit {info.oid[:10]} was left out: {error}", 300))
                continue
            draft.take_over(merged.draft)
            tip = merged.commit
    return Folded(tip, draft, tuple(notes))


def has_commit(store: Store, lanes: Lanes, tip: Oid) -> bool:
    """Return whether a lane that waits has a commit."""
    return any(store.is_ancestor(tip, other) for other in lanes.waiting.values())


def plan_lane(store: Store, lanes: Lanes, plain: Oid | None, tip: Oid) -> Push | None:
    """Return the push of the local tip to our lane; None if the remote has the tip already.

    If another clone has the same lane, the tip gets a lane with another name.
    """
    if has_commit(store, lanes, tip) or (plain is not None and store.is_ancestor(tip, plain)):
        return None
    if lanes.own is None or lanes.name in lanes.merged or store.is_ancestor(lanes.own, tip):
        return Push(lanes.name, tip, lanes.own)
    name = lanes.name[:-_DIGITS] + sha256(f"{lanes.name}\0{tip}".encode()).hexdigest()[:_DIGITS]
    return Push(name, tip, None)


def plan_removals(store: Store, lanes: Lanes, pushed: Push | None, now: float, settle: Settle | None) -> list[Push]:
    """Return the removals of lanes whose commits the branch has: our own, and those that were abandoned.

    If `settle` is `ours`, lanes with purged commits are removed too.
    """
    used = pushed.ref if pushed is not None else None
    merged = {
        ref: tip
        for ref, tip in lanes.merged.items()
        if ref != used and (ref == lanes.name or now - store.commit(tip).time > ABANDONED)
    }
    removed = {**merged, **(lanes.purged if settle == "ours" else {})}
    return [Push(ref, None, tip) for ref, tip in removed.items()][:_MAX_REMOVED]


def store_folded(branch: Branch, folded: Folded, ref: str, stamp: CommitStamp) -> None:
    """Store the merges with lanes, and move the private ref of what was fetched to them."""
    record_draft(branch.ledger, folded.draft)
    branch.store.publish(folded.draft, ref, branch.store.tip(ref), folded.commit, stamp.reflog_entry())


def find_stale(branch: Branch, remote: str, present: Collection[str] | None) -> dict[str, Oid]:
    """Return the private refs of lanes that a sync no longer needs, with their tips.

    Args:
        present: the refs of lanes that the remote has; None if they were not fetched. Then those are left that say
            which of our commits the remote has in a lane only.
    """
    tracked, store = list_tracked_lanes(branch, remote), branch.store
    if present is not None:
        kept = {track_lane(ref, remote) for ref in present}
        return {ref: tip for ref, tip in tracked.items() if ref not in kept}
    seen, local = store.tip(tracking_refs_of(branch, remote).seen), branch.tip()

    def tells_of_ours(tip: Oid) -> bool:
        is_ours = local is not None and store.has(tip) and store.is_ancestor(tip, local)
        return is_ours and not (seen is not None and store.is_ancestor(tip, seen))

    return {ref: tip for ref, tip in tracked.items() if not tells_of_ours(tip)}


def list_lanes_of_others(branch: Branch, remotes: Collection[str]) -> dict[str, Oid]:
    """Return the private refs of the namespace's lanes on remotes that are not configured any more, with their tips."""
    store, known = branch.store, {encode_remote(remote) for remote in remotes}
    folders = [folder for folder in store.ref_folders(TRACKED_LANES) if folder not in known]
    prefixes = (f"{TRACKED_LANES}{folder}/{branch.namespace.component}/" for folder in folders)
    return {ref: tip for prefix in prefixes for ref, tip in store.refs(prefix).items()}


def plan_last_removal(branch: Branch, remote: str, name: str) -> Push | None:
    """Return the removal of our lane after the setting was switched off, once the branch there has its commits."""
    own = branch.store.tip(track_lane(name, remote))
    seen = branch.store.tip(tracking_refs_of(branch, remote).seen)
    if own is None or seen is None or not branch.store.has(own) or not branch.store.is_ancestor(own, seen):
        return None
    return Push(name, None, own)


def goes_on(lanes: Lanes, now: float) -> bool:
    """Return whether this machine goes on to push to the branch after its lane was accepted.

    Of the machines whose lanes wait, the one that comes first by a number that changes each minute does. So after a
    burst of pushes the branch gets all commits, and of those that push meanwhile only one waits for that.
    """

    def rank(ref: str) -> str:
        return sha256(f"{now // 60:.0f}\0{ref}".encode()).hexdigest()

    return all(rank(lanes.name) <= rank(ref) for ref in lanes.waiting)
