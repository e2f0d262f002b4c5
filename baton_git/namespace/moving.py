"""Rename, move or delete the branch of a namespace while others write to it.

A rename brings the new branch up to date with the old one, records the new name for later commands, and deletes the old
branch if its tip has not moved; otherwise it starts over. A concurrent write is therefore either included, or refused
with the new name. Repeating the command completes an interrupted rename, and the opposite command takes it back.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace

from baton_git.core import layout
from baton_git.core.errors import Busy, NotAllowed, NotFound
from baton_git.core.names import Namespace, Oid
from baton_git.core.state import State
from baton_git.git.files import durable_files
from baton_git.git.local_git import LocalGit
from baton_git.git.refs.kept_refs import kept_name
from baton_git.git.remotes.git_command import for_git
from baton_git.namespace.branch import Branch
from baton_git.namespace.guard import refuse_losses
from baton_git.namespace.last_tip import MovedBranch, find_moved
from baton_git.namespace.machine_state import GoneNamespaces, PendingRename, PendingRenames, move_namespace_files
from baton_git.namespace.merge_commit import create_merge_commit
from baton_git.namespace.purges import forget_purge, is_removed_by_filter, record_rewrite
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.tracking_refs import create_backup, list_known_remotes, tracking_refs_of

_ATTEMPTS = 50
"""Maximum number of attempts of a rename or deletion; a concurrent write makes an attempt fail."""

LOCK_SECONDS = 10.0
"""Seconds to wait for another rename in the repository."""


def check_rename(branch: Branch, new: Namespace) -> Branch:
    """Check that a namespace may be renamed to `new`; return the branch with that name.

    Raises:
        NotFound: the namespace does not exist.
        BranchMoved: another program moved or deleted the branch of either name.
        NotAllowed: the new name is taken, other than by an interrupted rename of this namespace.
        InvalidDocument: the new name contains a secret.
    """
    target = replace(branch, namespace=new, may_begin=True)
    target.check_chosen_name()
    common_dir = branch.store.repository.common_dir
    gone_to = GoneNamespaces(common_dir).find(branch.namespace)
    pending = PendingRenames(common_dir)
    is_interrupted = gone_to is not None and gone_to.renamed_to == new
    is_interrupted = is_interrupted or any(
        {rename.old, rename.new} == {branch.namespace, new} for rename in pending.all()
    )
    if new == branch.namespace or (not is_interrupted and target.tip() is not None):
        raise NotAllowed(
            f"the namespace {new} exists already",
            hint="choose another name; to list the names in use: baton namespace list",
        )
    if not is_interrupted:
        branch.check_exists()
        _check_pending(pending, branch.namespace, new)
    return target


def _check_pending(pending: PendingRenames, *names: Namespace) -> None:
    """Raises NotAllowed if another rename of one of the namespaces was interrupted."""
    for rename in pending.all():
        if rename.old in names or rename.new in names:
            raise NotAllowed(
                f"a rename of {rename.old} to {rename.new} was interrupted",
                hint=f"to finish it: {describe_rename(rename)}; to take it back: {describe_rename(rename, back=True)}",
            )


def describe_rename(rename: PendingRename, *, back: bool = False) -> str:
    """Return the command that finishes an interrupted rename, or takes it back."""
    names = (rename.new, rename.old) if back else (rename.old, rename.new)
    remote = f" --remote {shlex.quote(rename.remote)}" if rename.remote is not None else ""
    return f"baton namespace rename {' '.join(shlex.quote(str(name)) for name in names)}{remote}"


def rename_branch(
    branch: Branch, new: Namespace, stamp: CommitStamp, environment: Mapping[str, str], remote: str | None = None
) -> Oid:
    """Rename a namespace; return the tip of the new branch.

    Args:
        remote: a remote that the caller renames it on afterwards; then the caller must call `PendingRenames.end`.

    Raises:
        NotFound, NotAllowed, InvalidDocument: under the same conditions as `check_rename`; NotFound also if the renamed
            namespace was deleted concurrently.
        Busy: other writers moved a branch at every attempt.
        Corrupt, StoreError, WriteFailed: a branch cannot be read or written.
    """
    target = check_rename(branch, new)
    common_dir = branch.store.repository.common_dir
    pending = PendingRenames(common_dir)
    with pending.hold(LOCK_SECONDS) as is_alone:
        if is_alone is False:
            raise Busy("another process renames a namespace", hint="wait until it has ended, then try again")
        pending.note(PendingRename(branch.namespace, new, remote))
        pending.end(new)  # a rename that is taken back
        _move(branch, target, stamp, environment)
        move_namespace_files(common_dir, branch.namespace, new)
        moved = branch.store.tip(target.ref)
        if moved is None:
            raise NotFound("namespace", str(new), hint="another process has just deleted it")
        if remote is None:
            pending.end(branch.namespace)
        return moved


def move_to_prefix(branch: Branch, target: Branch, stamp: CommitStamp, environment: Mapping[str, str]) -> None:
    """Move the branch of a namespace to another prefix, that of `target`. Repeating it finishes an interrupted move.

    Raises:
        NotAllowed: a rename of the namespace was interrupted.
        Busy: other writers moved a branch at every attempt.
        Corrupt, StoreError, WriteFailed: a branch cannot be read or written.
    """
    pending = PendingRenames(branch.store.repository.common_dir)
    with pending.hold(LOCK_SECONDS) as is_alone:
        if is_alone is False:
            raise Busy("another process renames a namespace", hint="wait until it has ended, then try again")
        _check_pending(pending, branch.namespace)
        _move(branch, target, stamp, environment)
    for remote in list_known_remotes(target):  # they have the branch below the old prefix
        seen = tracking_refs_of(target, remote).seen
        known = target.store.tip(seen)
        if known is not None:
            delete_ref(target, seen, known, environment)


def _move(branch: Branch, target: Branch, stamp: CommitStamp, environment: Mapping[str, str]) -> None:
    """Bring the new branch up to date with the old one, and delete the old one."""
    new = target.namespace
    gone = GoneNamespaces(branch.store.repository.common_dir)
    gone.clear(new)
    for _ in range(_ATTEMPTS):
        tip = branch.store.tip(branch.ref)
        if tip is None:
            break
        if _include(target, tip, stamp):
            if new != branch.namespace:
                gone.note(branch.namespace, new)
            if delete_ref(branch, branch.ref, tip, environment):
                break
    else:
        raise _busy(branch)
    with durable_files.writing(f"the kept ref of {target.ref}"):
        target.store.kept_refs.follow(target.ref)  # a killed rename may have created the branch only
    forget_kept(branch, environment)


def delete_branch(branch: Branch, stamp: CommitStamp, environment: Mapping[str, str]) -> str | None:
    """Delete a namespace, also one whose branch another program deleted; return the backup ref of its last
    revision, None if that is gone too.

    Raises:
        NotFound: the namespace does not exist.
        Protected: it contains records that a person confirmed, and the caller is no person.
        Busy: other writers moved the branch at every attempt.
        StoreError, WriteFailed: the branch cannot be read or deleted.
    """
    gone = GoneNamespaces(branch.store.repository.common_dir)
    moved = find_moved(branch.store, branch.prefix, branch.namespace)
    if moved is not None:
        backup = _back_up_known(branch, moved, stamp)
        if moved.now is None:
            gone.note(branch.namespace, None)
            forget_kept(branch, environment)
            PendingRenames(branch.store.repository.common_dir).forget(branch.namespace)
            return backup
        if moved.change == "foreign":
            return _delete_foreign(branch, moved.now, backup, stamp, environment)
        accept_move(branch, moved, stamp)
    branch.check_exists()
    for _ in range(_ATTEMPTS):
        tip = branch.store.tip(branch.ref)
        if tip is None:
            raise NotFound("namespace", str(branch.namespace), hint="another process has just deleted it")
        if stamp.caller.person is None:  # a person may also delete what cannot be read
            refuse_losses(branch, branch.revision_at(tip), State(), stamp.caller)
        backup = create_backup(branch, tip, stamp)
        gone.note(branch.namespace, None)
        if delete_ref(branch, branch.ref, tip, environment):
            forget_kept(branch, environment)
            PendingRenames(branch.store.repository.common_dir).forget(branch.namespace)
            return backup
    gone.clear(branch.namespace)
    raise _busy(branch)


def _delete_foreign(
    branch: Branch, tip: Oid, backup: str | None, stamp: CommitStamp, environment: Mapping[str, str]
) -> str | None:
    """Delete a branch whose tip is no revision of baton, with a backup ref of that commit; return `backup`.

    Raises:
        Busy: the branch was moved again meanwhile.
        StoreError, WriteFailed: the branch cannot be deleted.
    """
    gone = GoneNamespaces(branch.store.repository.common_dir)
    create_backup(branch, tip, stamp)
    gone.note(branch.namespace, None)
    if not delete_ref(branch, branch.ref, tip, environment):
        gone.clear(branch.namespace)
        raise _busy(branch)
    forget_kept(branch, environment)
    PendingRenames(branch.store.repository.common_dir).forget(branch.namespace)
    return backup


def restore_branch(branch: Branch, moved: MovedBranch, stamp: CommitStamp) -> str | None:
    """Put a branch that another program moved back to its last known tip; return the backup ref of its present one.

    Raises:
        Protected: the present tip has records that a person confirmed, and the caller is no person.
        Busy: the branch was moved again meanwhile.
        Corrupt: the commit of the last known tip is no longer here.
        StoreError, WriteFailed: the branch cannot be read or written.
    """
    store = branch.store
    backup = create_backup(branch, moved.now, stamp) if moved.now is not None else None
    if not branch.advance(store.draft(), moved.now, moved.known, stamp, by="caller"):
        raise Busy(f"{branch.namespace}: another program moved the branch again", hint="try again")
    if is_removed_by_filter(store, moved.known):
        forget_purge(store)  # the commits are wanted, so a sync may receive them
    return backup


def accept_move(branch: Branch, moved: MovedBranch, stamp: CommitStamp) -> str | None:
    """Accept where another program moved a branch; return the backup ref of the last known tip, if that is still here.

    Raises:
        NotFound: the branch was deleted.
        NotAllowed: its tip is no revision of baton.
        Protected: the last known tip has records that a person confirmed, and the caller is no person.
        StoreError, WriteFailed: the branch cannot be read, or the kept ref cannot be written.
    """
    if moved.now is None:
        hint = f"to accept that: baton namespace delete {shlex.quote(branch.namespace.text)}"
        raise NotFound("namespace", str(branch.namespace), hint=hint)
    refuse_foreign(branch, moved)
    store = branch.store
    backup = _back_up_known(branch, moved, stamp)
    if moved.change == "different" and store.is_stored(moved.known):
        record_rewrite(store, moved.known, moved.now)
    with durable_files.writing(f"the kept ref of {branch.ref}"):
        store.kept_refs.set(branch.ref, moved.now)
    store.ref_files.last_good.note(branch.ref, moved.now)
    return backup


def refuse_foreign(branch: Branch, moved: MovedBranch) -> None:
    """Raise NotAllowed if the present tip of a moved branch is no revision of baton."""
    if moved.now is not None and moved.change == "foreign":
        name = shlex.quote(branch.namespace.text)
        raise NotAllowed(
            f"{branch.namespace} cannot go on at {moved.now[:10]}: its {layout.FORMAT_FILE} is missing or cannot "
            "be read, so it is no revision of baton",
            hint=f"to bring the last known revision back: baton namespace restore {name}; to give the namespace up: "
            f"baton namespace delete {name}",
        )


def _back_up_known(branch: Branch, moved: MovedBranch, stamp: CommitStamp) -> str | None:
    """Create a backup ref for the last known tip of a moved branch, unless its commits are gone.

    Raises:
        Protected: what the move takes away has records that a person confirmed, and the caller is no person.
    """
    if not branch.store.is_stored(moved.known):
        return None
    if stamp.caller.person is None:
        is_gone = moved.now is None or moved.change == "foreign"
        after = State() if is_gone else branch.revision_at(moved.newest).state
        refuse_losses(branch, branch.revision_at(moved.known), after, stamp.caller)
    return create_backup(branch, moved.known, stamp)


def _include(target: Branch, tip: Oid, stamp: CommitStamp) -> bool:
    """Fast-forward or merge the new branch so that it includes a commit; False if another writer moved it meanwhile."""
    store = target.store
    target_tip = store.tip(target.ref)
    if target_tip is not None and store.is_ancestor(tip, target_tip):
        return True
    draft, commit = store.draft(), tip
    if target_tip is not None and not store.is_ancestor(target_tip, tip):
        merged = create_merge_commit(store, target_tip, tip)
        draft, commit = merged.draft, merged.commit
    return target.advance(draft, target_tip, commit, stamp, by="caller")


def delete_ref(branch: Branch, ref: str, tip: Oid, environment: Mapping[str, str]) -> bool:
    """Delete a ref if it is at `tip`; return False if it is not.

    Raises:
        StoreError: git cannot delete the ref.
    """
    repository = branch.store.repository
    git = LocalGit(repository.common_dir, for_git(environment))
    arguments = (f"--git-dir={repository.common_dir}", "update-ref", "-d", ref, tip)
    if git.ask(*arguments) is not None:
        return True
    if branch.store.tip(ref) == tip:
        git.do(*arguments)  # raises with the reason that git prints
        return True
    return False


def forget_kept(branch: Branch, environment: Mapping[str, str]) -> None:
    """Delete the kept ref of a branch that was deleted or renamed, and baton's note of its last value.

    Raises:
        StoreError: git cannot delete the ref.
    """
    branch.store.ref_files.last_good.clear(branch.ref)
    while (kept := branch.store.kept_refs.value(branch.ref)) is not None:
        if delete_ref(branch, kept_name(branch.ref), kept, environment):
            break


def _busy(branch: Branch) -> Busy:
    return Busy(f"{branch.namespace}: others kept writing", hint="run the command again; it continues from here")
