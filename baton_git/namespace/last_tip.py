"""Compare a branch with its last known tip, so that a deleted or moved branch is not taken for a new or an older one.

Two places have the last tip: the kept ref (see `kept_refs`), and the note of the last write, which older versions of
baton write too. The branch may be ahead of them, because `git pull`, `git commit` and `git merge` move it forward. It
may not be behind or beside them, or gone: then somebody else deleted or moved it.
"""

from __future__ import annotations

import shlex
from contextlib import suppress
from itertools import islice
from typing import Literal, NamedTuple

from baton_git.core import layout
from baton_git.core.errors import (
    BatonError,
    BranchMoved,
    BrokenFormat,
    Busy,
    Corrupt,
    InvalidName,
    NewerLayout,
    StoreError,
)
from baton_git.core.names import Namespace, Oid
from baton_git.core.output import one_line
from baton_git.git.store import Store
from baton_git.namespace.commit_log import read_revision_number
from baton_git.namespace.machine_state import GoneNamespaces
from baton_git.namespace.provenance.ledger import find_ledger
from baton_git.namespace.purges import follow_purge, is_removed_by_filter

BACKUP = "refs/baton-backup/"
"""The backups of branches that baton reset or deleted, one folder for each namespace."""
_MOST_BEHIND = 1000
"""Maximum number of commits behind a tip among which a revision of baton is searched for."""


Change = Literal["deleted", "older", "different", "unclear", "foreign"]


class MovedBranch(NamedTuple):
    """A branch that another program moved.

    Attributes:
        change: `deleted`; `older`: it was moved back; `different`: it does not have the known tip in its history;
            `unclear`: its history is cut off, as in a shallow clone; `foreign`: its tip is no revision of baton, such
            as a commit of the project, or one that removed or broke `format.toml`.
        known: the last known tip, or the newest revision behind it if that is itself no revision of baton.
        now: the present tip; None if the branch is gone.
    """

    namespace: Namespace
    ref: str
    change: Change
    known: Oid
    now: Oid | None

    @property
    def newest(self) -> Oid:
        """The present tip if it is a revision of baton; otherwise the last known one."""
        return self.known if self.now is None or self.change == "foreign" else self.now


def read_tip(store: Store, prefix: str, namespace: Namespace) -> Oid | None:
    """Return the tip of the branch of a namespace; None if it does not exist.

    If another program moved the branch forward, its tip becomes the last known one; so does the rewritten tip after a
    purge, which is a person's decision.

    Raises:
        BranchMoved: another program deleted the branch, moved it back or replaced it.
        Corrupt: the value of the ref is not an object id.
        StoreError: a ref cannot be read.
    """
    follow_purge(store)
    ref = prefix + namespace.component
    kept, tip, moved = _examine(store, ref, namespace)
    if tip is not None and tip == kept:
        return tip
    if moved is not None:
        raise BranchMoved(
            describe_move(store, moved), hint=_describe_choice(moved), namespace=str(namespace), ref=ref,
            change=moved.change, known=moved.known, now=moved.now,
        )  # fmt: skip
    if tip is not None and kept is not None and (tip == store.ref_files.noted(ref) or _follows(store, tip, kept)):
        accept_tip(store, ref, tip)
    return tip


def find_moved(store: Store, prefix: str, namespace: Namespace) -> MovedBranch | None:
    """Return what another program did to the branch of a namespace; None if it may be where it is.

    Raises:
        Corrupt: the value of the ref is not an object id.
        StoreError: a ref cannot be read.
    """
    follow_purge(store)
    ref = prefix + namespace.component
    _, tip, moved = _examine(store, ref, namespace)
    return moved if moved is not None or tip is None else _find_known_break(store, namespace, ref, tip)


def list_moved(store: Store, prefix: str) -> list[MovedBranch]:
    """Return the branches below `prefix` that other programs moved, sorted by name. Unreadable refs are left out."""
    moved = []
    for name in sorted({*list_remembered(store, prefix), *store.refs(prefix)}):
        with suppress(InvalidName, Corrupt):
            moved.append(find_moved(store, prefix, Namespace.from_component(name.removeprefix(prefix))))
    return [branch for branch in moved if branch is not None]


def list_remembered(store: Store, prefix: str) -> set[str]:
    """Return the branches below `prefix` of which this machine knows a tip, whether or not they or their commits are
    still here."""
    noted = (ref for ref in store.ref_files.last_good.all() if ref.startswith(prefix))
    return {*store.kept_refs.below(prefix), *noted}


def was_here(store: Store, ref: str) -> bool:
    """Return whether this machine knows a tip of a branch, whether or not the branch exists."""
    return store.kept_refs.value(ref) is not None or store.ref_files.noted(ref) is not None


def accept_tip(store: Store, ref: str, tip: Oid) -> None:
    """Make a tip the last known one. Errors are ignored: the next read compares again."""
    with suppress(Busy, StoreError, OSError):
        store.kept_refs.set(ref, tip)
        store.ref_files.last_good.note(ref, tip)


def _examine(store: Store, ref: str, namespace: Namespace) -> tuple[Oid | None, Oid | None, MovedBranch | None]:
    """Return the kept tip of a branch, its tip, and what another program did to it."""
    before: tuple[Oid | None, Oid | None] | None = None
    while True:
        kept = store.kept_refs.value(ref)  # read first: a writer moves the branch first
        tip = store.tip(ref)
        moved = _compare(store, namespace, ref, kept, tip) if tip is None or tip != kept else None
        if moved is None or (kept, tip) == before:
            return kept, tip, moved
        before = kept, tip  # look twice: the kept ref is overwritten in place, and may be read half-written


def _compare(store: Store, namespace: Namespace, ref: str, kept: Oid | None, tip: Oid | None) -> MovedBranch | None:
    noted = store.ref_files.noted(ref)
    if tip is not None and tip in (kept, noted):  # an older baton sets only the note, also when it resets the branch
        return None
    known = _choose_newest(store, kept, noted)
    if known is None:
        return None
    if tip is None:
        is_meant = _is_meant(store, namespace, known)
        return None if is_meant else MovedBranch(namespace, ref, "deleted", known, None)
    if store.ref_files.is_symbolic(ref):
        return None  # it cannot be written, and reading it says what it leads to
    if noted is None and not find_ledger(store.repository.common_dir).is_made_here(known):
        return None  # `git push --mirror` brought the kept ref of another repository
    change = _relate(store, known, tip)
    return None if change is None else MovedBranch(namespace, ref, change, known, tip)


def _find_known_break(store: Store, namespace: Namespace, ref: str, tip: Oid) -> MovedBranch | None:
    """Return the branch as a moved one if the tip, although a known one, is no revision of baton, but has some behind
    it: a clone can begin with a commit that broke `format.toml`, and older versions of baton accepted one."""
    with suppress(Corrupt):
        commits = (info.oid for info in islice(store.log(tip, first_parent=True), _MOST_BEHIND))
        known = next((commit for commit in commits if is_revision(store, commit)), tip)
        return None if known == tip else MovedBranch(namespace, ref, "foreign", known, tip)
    return None


def _choose_newest(store: Store, kept: Oid | None, noted: Oid | None) -> Oid | None:
    """Return the newer of two known tips. If neither contains the other, the kept ref's, which gc does not remove."""
    if kept is None or noted is None or kept == noted:
        return kept or noted
    if not store.is_stored(noted) or not store.is_stored(kept):
        return kept if store.is_stored(kept) else noted
    with suppress(Corrupt):
        return noted if store.is_ancestor(kept, noted) else kept
    return kept


def _relate(store: Store, known: Oid, tip: Oid) -> Change | None:
    """Return how a tip relates to the last known one; None if it contains that, or is damaged, which others report."""
    try:
        if store.is_stored(tip) and not is_revision(store, tip):
            return "foreign"
        if not store.is_stored(known):
            return "different"
        if not store.is_stored(tip) or store.is_ancestor(known, tip):
            return None
        if store.is_ancestor(tip, known):
            return "older"
    except Corrupt:
        return None
    return "unclear" if store.is_shallow else "different"


def is_revision(store: Store, commit: Oid) -> bool:
    """Return whether a commit is a revision of baton, whoever made it: its `format.toml` can be read, or is newer.

    Raises:
        Corrupt: the commit or its tree cannot be read.
    """
    root = store.folder(store.commit(commit).tree)
    if layout.FORMAT_FILE not in root.entries():
        return False
    try:
        layout.check_layout(root)
    except NewerLayout:
        return True
    except BrokenFormat:
        return False
    return True


def _follows(store: Store, tip: Oid, commit: Oid) -> bool:
    """Return whether a tip is there, is a revision of baton and contains a commit."""
    with suppress(Corrupt):
        return store.is_stored(tip) and is_revision(store, tip) and store.is_ancestor(commit, tip)
    return False


def _is_meant(store: Store, namespace: Namespace, known: Oid) -> bool:
    """Return whether baton itself deleted or renamed a namespace after it had this tip."""
    gone = GoneNamespaces(store.repository.common_dir).find(namespace)
    if gone is None or gone.renamed_to is not None:
        return gone is not None
    backups = store.refs(f"{BACKUP}{namespace.component}/").values()
    with suppress(Corrupt):
        return any(store.is_stored(backup) and store.is_ancestor(known, backup) for backup in backups)
    return False


def describe_move(store: Store, moved: MovedBranch) -> str:
    """Return one line about a moved branch: what happened, its last known revision, and the command to restore it."""
    branch = moved.ref.removeprefix("refs/heads/")
    known = _name(store, moved.known)
    now = "" if moved.now is None else _name(store, moved.now)
    what = {
        "deleted": f"its branch {branch} was deleted by another program than baton; last known: {known}",
        "older": f"another program than baton moved its branch {branch} back from {known} to {now}",
        "different": f"another program than baton moved its branch {branch} to {now}, which does not contain "
        f"the last known {known}",
        "foreign": f"another program than baton moved its branch {branch} to {(moved.now or '')[:10]}, which is no "
        f"revision of baton ({layout.FORMAT_FILE} is missing or cannot be read); last known: {known}",
        "unclear": f"another program than baton moved its branch {branch} to {now}, and its history is cut off, so it "
        f"may not contain the last known {known}",
    }[moved.change]
    if store.is_stored(moved.known):
        back = f"to bring it back: baton namespace restore {_argument(moved)}"
    else:
        back = f"its commits are no longer here; {describe_return(moved.namespace)}"
    if moved.change == "deleted" and is_removed_by_filter(store, moved.known):
        what = (
            f"git filter-repo removed its branch {branch}, because its filter kept no file of it; last known: {known}"
        )
        if not store.is_stored(moved.known):
            back = (
                "its commits are no longer here; to bring it back: git remote add origin URL (git filter-repo removes "
                f"the remote), baton sync, then baton namespace restore {_argument(moved)}"
            )
    return one_line(f"{moved.namespace}: {what}; {back}", 1000)


def describe_return(namespace: Namespace) -> str:
    """Return what to do if the commits of a last known revision are no longer here."""
    name = shlex.quote(one_line(namespace.text, 200))
    return f"git fetch them from another clone that has them, then: baton namespace restore {name}"


def _describe_choice(moved: MovedBranch) -> str:
    if moved.change == "deleted":
        return f"if it shall stay deleted: baton namespace delete {_argument(moved)}"
    if moved.change == "foreign":
        return f"if nobody needs the namespace any more: baton namespace delete {_argument(moved)}"
    return f"if it shall stay where it is: baton namespace accept {_argument(moved)}"


def _argument(moved: MovedBranch) -> str:
    return shlex.quote(one_line(moved.namespace.text, 200))


def _name(store: Store, commit: Oid) -> str:
    with suppress(BatonError):
        return f"revision {read_revision_number(store, store.commit(commit))} ({commit[:10]})"
    return commit[:10]
