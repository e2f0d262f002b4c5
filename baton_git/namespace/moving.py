"""Rename or delete the branch of a namespace while others write to it.

A rename gives the new name all that the old one has, notes where the namespace went, and deletes the old branch if it
has not moved; else it starts over. So a write that comes at the same moment is either taken along, or refused with the
new name. A rename that was interrupted is finished by giving it once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from baton_git.core.errors import Busy, NotAllowed, NotFound
from baton_git.core.names import Namespace, Oid
from baton_git.git.local_git import LocalGit
from baton_git.git.remotes.git_environment import for_git
from baton_git.namespace.branch import Branch
from baton_git.namespace.machine_state import GoneNamespaces, move_namespace_files
from baton_git.namespace.merge_commit import create_merge_commit
from baton_git.namespace.revision import CommitStamp
from baton_git.namespace.sync.tracking_refs import create_backup

_ATTEMPTS = 50
"""How often a rename or a deletion starts over because somebody wrote at the same moment."""


def check_rename(branch: Branch, new: Namespace) -> Branch:
    """Return the branch of the new name.

    Raises:
        NotFound: there is nothing to rename.
        NotAllowed: the new name is taken, and not by an interrupted rename of this namespace.
        InvalidDocument: the new name holds a secret.
    """
    target = replace(branch, namespace=new, may_begin=True)
    target.check_name()
    gone_to = GoneNamespaces(branch.store.repository.common_dir).find(branch.namespace)
    is_interrupted = gone_to is not None and gone_to.renamed_to == new
    if new == branch.namespace or (branch.store.tip(target.ref) is not None and not is_interrupted):
        raise NotAllowed(f"there is a namespace {new} already", hint="choose another name; baton namespace list")
    if not is_interrupted:
        branch.check_exists()
    return target


def rename_branch(branch: Branch, new: Namespace, stamp: CommitStamp, environment: Mapping[str, str]) -> Oid:
    """Give a namespace another name; return where the new branch stands.

    Raises:
        NotFound, NotAllowed, InvalidDocument: as in `check_rename`.
        Busy: others kept writing.
        Corrupt, StoreError, WriteFailed: the branches cannot be read or written.
    """
    target = check_rename(branch, new)
    gone = GoneNamespaces(branch.store.repository.common_dir)
    gone.clear(new)
    for _ in range(_ATTEMPTS):
        tip = branch.store.tip(branch.ref)
        if tip is None:
            break
        if _take_along(target, tip, stamp):
            gone.note(branch.namespace, new)
            if delete_ref(branch, branch.ref, tip, environment):
                break
    else:
        raise _busy(branch)
    move_namespace_files(branch.store.repository.common_dir, branch.namespace, new)
    moved = branch.store.tip(target.ref)
    if moved is None:
        raise NotFound("namespace", str(new), hint="somebody deleted it just now")
    return moved


def delete_branch(branch: Branch, stamp: CommitStamp, environment: Mapping[str, str]) -> str:
    """Delete a namespace; return the ref under which its last revision is kept.

    Raises:
        NotFound: it does not exist.
        Busy: others kept writing.
        StoreError, WriteFailed: the branch cannot be read or deleted.
    """
    branch.check_exists()
    gone = GoneNamespaces(branch.store.repository.common_dir)
    for _ in range(_ATTEMPTS):
        tip = branch.store.tip(branch.ref)
        if tip is None:
            raise NotFound("namespace", str(branch.namespace), hint="somebody deleted it just now")
        backup = create_backup(branch, tip, stamp)
        gone.note(branch.namespace, None)
        if delete_ref(branch, branch.ref, tip, environment):
            return backup
    gone.clear(branch.namespace)
    raise _busy(branch)


def _take_along(target: Branch, tip: Oid, stamp: CommitStamp) -> bool:
    """Have the new branch hold a commit of the old one; False where somebody wrote to the new one meanwhile."""
    store = target.store
    there = store.tip(target.ref)
    if there is not None and store.is_ancestor(tip, there):
        return True
    draft, commit = store.draft(), tip
    if there is not None and not store.is_ancestor(there, tip):
        merged = create_merge_commit(store, there, tip)
        draft, commit = merged.draft, merged.commit
    return target.advance(draft, there, commit, stamp)


def delete_ref(branch: Branch, ref: str, tip: Oid, environment: Mapping[str, str]) -> bool:
    """Delete a ref if it stands at `tip`; False where it does not.

    Raises:
        StoreError: git cannot delete it.
    """
    repository = branch.store.repository
    git = LocalGit(repository.common_dir, for_git(environment))
    words = (f"--git-dir={repository.common_dir}", "update-ref", "-d", ref, tip)
    if git.ask(*words) is not None:
        return True
    if branch.store.tip(ref) == tip:
        git.do(*words)  # it says why
        return True
    return False


def _busy(branch: Branch) -> Busy:
    return Busy(f"{branch.namespace}: others kept writing", hint="try again; it goes on from here")
