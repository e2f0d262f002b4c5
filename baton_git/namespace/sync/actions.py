"""Plan a sync: the actions that bring a local branch and its remote branch to the same state under the user's terms."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from baton_git.core.errors import InvalidArgument
from baton_git.core.names import Oid
from baton_git.core.output import count_noun
from baton_git.git.store import CommitInfo, Store
from baton_git.namespace.branch import Branch
from baton_git.namespace.commit_log import LogEntry
from baton_git.namespace.ingest.trees import MOST_BUNDLES, find_unsafe_files
from baton_git.namespace.provenance.claims import Trusted, is_vouched_for
from baton_git.namespace.silent_reverts import find_reverts
from baton_git.namespace.sync.tracking_refs import count_commits

Policy = Literal["auto", "review", "signed"]
POLICIES: tuple[Policy, ...] = ("auto", "review", "signed")
Settle = Literal["merge", "theirs", "ours"]


@dataclass(frozen=True)
class Terms:
    """The terms for one remote.

    Attributes:
        policy: `auto`: merge all commits; `review`: leave them for review by a person; `signed`: merge up to the first
            commit that is not signed by an allowed key, and leave the others for review. Under every policy, commits
            that silently revert others wait (unless `settle` is set), and so do commits with a file that is not
            allowed in a namespace.
        trusted: tells whether a commit is signed by an allowed key; None if signing is not configured.
        settle: what to do if the branch was rewritten or deleted on the remote, or if a local commit silently reverts
            others; `ours` settles only a purge here, by replacing the branch of the remote; None: stop and report it.
        lanes: whether to send by lanes (see `lanes`).
        machine: the name of this machine, from which the name of its lane is derived.
        name: the name of the remote in the configuration.
        address: its URL, without credentials.
    """

    policy: Policy = "auto"
    trusted: Trusted | None = None
    settle: Settle | None = None
    name: str = ""
    address: str = ""
    lanes: bool = False
    machine: str | None = None


def parse_policy(text: str | None, where: str) -> Policy:
    """Parse the policy in a setting; `auto` if it is not set.

    Args:
        where: the name of the setting, for the error.

    Raises:
        InvalidArgument: the value is not a policy.
    """
    for policy in POLICIES:
        if text in (policy, None):
            return policy
    raise InvalidArgument(f"{where} is {text!r}, which is not a policy", hint=f"choose one of {', '.join(POLICIES)}")


Kind = Literal["nothing", "take", "forward", "merge", "wait", "send", "create", "reset", "stop"]


class SyncAction(NamedTuple):
    """One action of a plan.

    Attributes:
        kind: `nothing`: both sides have the same commits; `take`: create the local branch at the remote tip;
            `forward`: fast-forward ours; `merge`: merge, because both sides have new commits; `wait`: leave remote
            commits for review; `create`: push ours as a new branch; `send`: push ours; `reset`: reset ours to the
            rewritten remote branch, with unsent changes on top; `stop`: do nothing until a person chooses.
        commits: the number of commits concerned.
        why: the reason of a `wait` or `stop`, for people.
        hint: the commands that help.
    """

    kind: Kind
    namespace: str
    commits: int = 0
    why: str = ""
    hint: str = ""

    def as_data(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value not in ("", 0)}


class BranchTips(NamedTuple):
    """The tips of a branch: here (`local`), on the remote now (`theirs`) and when it was last seen (`seen`).

    `folded` is the tip on the remote merged with the lanes there (see `lanes`); None if there are none to merge.
    """

    local: Oid | None
    theirs: Oid | None
    seen: Oid | None
    folded: Oid | None = None

    @property
    def newest(self) -> Oid | None:
        """What the remote has, lanes included."""
        return self.folded or self.theirs


class Plan(NamedTuple):
    """The actions, and the newest remote commit to merge without a review (None if there is none)."""

    actions: tuple[SyncAction, ...]
    accepted: Oid | None = None

    @property
    def sends(self) -> bool:
        return any(action.kind in ("send", "create") for action in self.actions)

    @property
    def waiting(self) -> int:
        return sum(action.commits for action in self.actions if action.kind == "wait")


def plan_sync(branch: Branch, tips: BranchTips, terms: Terms) -> Plan:
    """Plan the sync of one branch.

    Raises:
        Corrupt: a commit cannot be read.
    """
    name = str(branch.namespace)
    stop = _find_stop(branch, tips, terms)
    if stop is not None:
        return Plan((stop,))
    if tips.theirs is None:
        ahead = count_commits(branch.store, tips.local, None)
        return Plan((SyncAction("create" if ahead else "nothing", name, ahead),))
    theirs = tips.folded or tips.theirs
    tips = tips._replace(theirs=theirs)
    behind = count_commits(branch.store, tips.theirs, tips.local)
    accepted, waits = _find_accepted(branch, tips, terms) if behind else (None, [])
    actions = [*(_plan_incoming(branch, tips, accepted) if accepted is not None else ()), *waits]
    sends = tips.local is not None and not waits and not branch.store.is_ancestor(tips.local, theirs)
    if sends:
        merges = any(action.kind == "merge" for action in actions)
        actions.append(SyncAction("send", name, count_commits(branch.store, tips.local, tips.theirs) + merges))
    return Plan(tuple(actions) or (SyncAction("nothing", name),), accepted)


def is_rewritten(store: Store, tips: BranchTips) -> bool:
    """Return whether the remote branch exists, but has lost commits since it was last seen."""
    if tips.seen is None or tips.theirs is None:
        return False
    return not store.is_ancestor(tips.seen, tips.theirs)


def _find_stop(branch: Branch, tips: BranchTips, terms: Terms) -> SyncAction | None:
    """Return `stop` if the remote branch was rewritten or deleted, or if a local commit silently reverts others.

    If `terms.settle` is `merge` or `theirs`, the sync stops only if it is `theirs` and the branch was deleted on the
    remote.
    """
    name = str(branch.namespace)
    if tips.seen is not None and tips.theirs is None and terms.settle == "theirs":
        return SyncAction("stop", name, 0, "the branch was deleted on the remote, so --settle theirs is not possible",
                      "baton sync --settle merge sends it again")  # fmt: skip
    if terms.settle in ("merge", "theirs"):
        return None
    known = tips.theirs or tips.seen
    reverts = _find_new_reverts(branch, tips.local, known) if tips.local is not None and known is not None else {}
    for commit, older in reverts.items():
        return SyncAction(
            "stop", name, 0,
            f"a commit made by hand here silently reverts to {branch.name_commit(older.commit)}",
            f"baton undo {commit[:10]} undoes that commit; baton sync --settle merge sends it anyway",
        )  # fmt: skip
    if tips.seen is not None and tips.theirs is None:
        return SyncAction(
            "stop", name, 0, "the branch was deleted on the remote",
            f"if it was renamed, rename it here too: baton namespace rename {shlex.quote(name)} NEW; "
            "baton sync --settle merge sends it again; git config baton.autosync false stops syncing",
        )  # fmt: skip
    if not is_rewritten(branch.store, tips):
        return None
    lost = count_commits(branch.store, tips.seen, tips.theirs)
    return SyncAction(
        "stop", name, lost, f"the branch was rewritten on the remote, without {count_noun(lost, 'commit')} that it had",
        "baton sync --settle merge restores them; "
        "--settle theirs removes them here too, and keeps them in a backup ref",
    )  # fmt: skip


def _plan_incoming(branch: Branch, tips: BranchTips, accepted: Oid) -> Iterator[SyncAction]:
    """Yield the action that adds the remote commits up to `accepted` to the branch; nothing if it has them all."""
    name, store = str(branch.namespace), branch.store
    commits = count_commits(store, accepted, tips.local)
    if tips.local is None:
        yield SyncAction("take", name, commits)
    elif commits:
        yield SyncAction("forward" if store.is_ancestor(tips.local, accepted) else "merge", name, commits)


def _find_accepted(branch: Branch, tips: BranchTips, terms: Terms) -> tuple[Oid | None, list[SyncAction]]:
    """Return the newest accepted remote commit, and a `wait` action for the commits that are not accepted, if any."""
    assert tips.theirs is not None
    why, accepted = _find_newest_accepted(branch, tips, terms)
    if not why:
        return tips.theirs, []
    commits = count_commits(branch.store, tips.theirs, accepted or tips.local)
    waits = SyncAction("wait", str(branch.namespace), commits, why, "baton review")
    return accepted, [waits]


def _find_newest_accepted(branch: Branch, tips: BranchTips, terms: Terms) -> tuple[str, Oid | None]:
    """Return why some remote commits are not accepted (empty if all are), and the newest accepted commit."""
    assert tips.theirs is not None
    store = branch.store
    unsafe_file = _find_unsafe_file(branch, tips)
    if unsafe_file:
        return unsafe_file, None
    if terms.policy == "review":
        return "the remote's policy is review", None
    reverted = _find_new_reverts(branch, tips.theirs, tips.local) if terms.settle in (None, "ours") else {}
    if not reverted and terms.policy == "auto":
        return "", tips.theirs
    new = list(store.only_in(tips.theirs, *([tips.local] if tips.local is not None else [])))
    why = _UNSIGNED[terms.trusted is None]
    if reverted:
        older = next(iter(reverted.values()))
        why = f"a commit made by hand silently reverts to {branch.name_commit(older.commit)}"

    def fits(info: CommitInfo) -> bool:
        return info.oid not in reverted and (terms.policy != "signed" or is_vouched_for(store, info, terms.trusted))

    newest = _find_newest_fitting(new, fits)
    return ("", newest) if newest == tips.theirs else (why, newest)


_UNSIGNED = (
    "not signed by an allowed key",
    "not signed by an allowed key (none is configured: git config baton.allowedSigners FILE)",
)
"""Why commits wait under the policy `signed`, with and without configured keys."""


def _find_newest_fitting(new: list[CommitInfo], fits: Callable[[CommitInfo], bool]) -> Oid | None:
    """Return the newest commit in `new` that passes `fits`, as do all its ancestors in `new`; None if there is none."""
    fitting: dict[Oid, bool] = {}
    newest: Oid | None = None
    for info in reversed(new):
        fitting[info.oid] = fits(info) and all(fitting.get(parent, True) for parent in info.parents)
        newest = info.oid if fitting[info.oid] else newest
    return newest


def _find_new_reverts(branch: Branch, tip: Oid, known: Oid | None) -> dict[Oid, LogEntry]:
    """Return the new hand-made commits that silently revert others (see `find_reverts`)."""
    branch.revision_at(tip)  # raises if this is not a namespace
    if known is None:
        return {}  # the branch is new here, so nothing of it can be lost
    return find_reverts(branch, tip, list(branch.store.only_in(tip, known)))


def _find_unsafe_file(branch: Branch, tips: BranchTips) -> str:
    """Return the path of a file that the remote branch must not change, and why; empty if there is none."""
    assert tips.theirs is not None
    store = branch.store
    is_partial = tips.local is None and bool(store.boundary.of(branch.ref))  # then `complete_history` reads the rest
    trees = [store.commit(commit).tree if commit is not None else None for commit in (tips.local, tips.theirs)]
    bases = store.merge_bases(tips.local, tips.theirs)[:1] if tips.local is not None else []
    base = next((store.folder(store.commit(commit).tree) for commit in bases), None)
    before, after = (store.folder(tree) for tree in trees)
    fault = next(find_unsafe_files(before, after, base=base, bundles=MOST_BUNDLES if is_partial else None), None)
    return "" if fault is None else f"{fault[0]} {fault[1]}".strip()
