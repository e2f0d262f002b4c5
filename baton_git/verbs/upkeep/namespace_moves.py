"""The verbs that rename, delete and recover a namespace."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any, Self

from pydantic import Field, PrivateAttr

from baton_git.core.errors import NotFound
from baton_git.core.kinds import KINDS
from baton_git.core.names import Namespace, Oid
from baton_git.core.output import count_noun, flat
from baton_git.core.verb import REPLACES, SETTLES, Input, Option, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.git.remotes import open_remote
from baton_git.namespace.branch import Branch
from baton_git.namespace.extent import YES_OPTION, make_unconfirmed
from baton_git.namespace.last_tip import describe_return, find_moved
from baton_git.namespace.machine_state import PendingRenames
from baton_git.namespace.moving import (
    accept_move,
    check_rename,
    delete_branch,
    refuse_foreign,
    rename_branch,
    restore_branch,
)
from baton_git.namespace.remote_selection import check_configured
from baton_git.namespace.results import COMMIT
from baton_git.namespace.sync.remote_names import NamedRemote, check_remote, delete_on_remote, rename_on_remote
from baton_git.namespace.workspace import Workspace

# --- the verbs `namespace rename` and `namespace delete`, which change this repository and optionally a remote


Name = Field(min_length=1, description="The namespace.", examples=["project:memory-hall"])
RemoteName = Field(None, description="Make the change on this remote too.", examples=["origin"])
DryRun = Field(False, description="Only show what would be done.")
YES = Option(names=("--yes", "-y"))
"""How the confirmation of a change is given on the command line."""


class RenameNamespace(Input):
    """A namespace, and its new name."""

    name: str = Name
    new_name: str = Field(min_length=1, description="The new name.", examples=["memory-hall"])
    remote: str | None = RemoteName
    dry_run: bool = DryRun
    yes: bool = Field(False, description="Confirm the rename: required for a rename on a remote.")


class DeleteNamespace(Input):
    """The namespace to delete."""

    name: str = Name
    remote: str | None = RemoteName
    dry_run: bool = DryRun
    yes: bool = Field(False, description="Confirm the deletion: required.")


class NamespaceChange(Result):
    """A namespace that was renamed or deleted, or with `dry_run` would be."""

    namespace: str = Field(description="The namespace.", examples=["project:memory-hall"])
    revision: int | None = Field(
        description="The number of its newest revision; null if its commits are no longer here.", examples=[12]
    )
    commit: str = Field(description="The id of its newest commit.", examples=[COMMIT])
    records: int | None = Field(
        description="Number of its live records; null if its commits are no longer here.", examples=[31]
    )
    remote: str | None = Field(description="The remote that was changed too; null for none.")
    dry_run: bool = Field(description="Whether this is a preview and nothing was changed.")

    @property
    def size(self) -> str:
        """How much it contains, in words."""
        return describe_size(self.records, self.revision)

    @property
    def where(self) -> str:
        """Where else it was changed, in words."""
        return f", here and on {self.remote}" if self.remote else ""


def describe_size(records: int | None, revision: int | None) -> str:
    """Return in words how many records a namespace has at a revision; None if its commits are no longer here."""
    if records is None:
        return "its commits are no longer here"
    return f"{count_noun(records, 'record')}, revision {revision}"


class RenamedNamespace(NamespaceChange):
    """The result of a rename."""

    new_name: str = Field(description="The new name.", examples=["memory-hall"])

    def show(self, reader: Reader) -> ResultView:
        verb = "would be renamed" if self.dry_run else "was renamed"
        done = flat(f"{self.namespace} {verb} to {self.new_name} ({self.size}){self.where}")
        others = "on each other machine, run the same command; until then, its changes go to the old name"
        return ResultView("", [done]) if self.dry_run else ResultView(self.new_name, [done, others])


class DeletedNamespace(NamespaceChange):
    """The result of a deletion."""

    backup: str | None = Field(
        description="The backup ref of its newest revision; null if there is none.",
        examples=["refs/baton-backup/memory-hall/20260617T123000Z-4f2a91c0"],
    )

    _ref: str = PrivateAttr("")

    def of(self, ref: str) -> Self:
        """Keep the name of the deleted branch, and return this result."""
        self._ref = ref
        return self

    def show(self, reader: Reader) -> ResultView:
        verb = "would be deleted" if self.dry_run else "was deleted"
        back = () if self.backup is None else [f"to restore it: git update-ref {self._ref} {self.backup}"]
        return ResultView(notes=[flat(f"{self.namespace} {verb} ({self.size}){self.where}"), *back])


@verb(
    "namespace rename",
    "POST /v1/namespaces/{name}/rename",
    effect=REPLACES,
    anywhere=True,
    refuses=(502, 504),
    tag="state",
    positional=("name", "new_name"),
    options={"name": Option(metavar="NAME"), "new_name": Option(metavar="NEW"), "yes": YES},
    examples=("baton namespace rename shop webshop", "baton namespace rename shop webshop --remote origin"),
)
def rename_namespace(ws: Workspace, now: datetime, verb_input: RenameNamespace) -> RenamedNamespace:
    """Rename a namespace.

    After the rename, commands and hooks of this repository use the new name. A concurrent write is either included, or
    fails with an error that gives the new name. Run the same command on other machines. If the command was interrupted,
    the same command finishes the rename, and the opposite one takes it back.

    Raises:
        Unconfirmed: it would rename on a remote, and `yes` is not set.
        NotFound: the namespace or the remote does not exist.
        NotAllowed: the new name is taken, or the remote refuses.
        Unsettled: the remote has commits that are not here.
        Busy: other writers kept changing the branch.
    """
    old, new_name = branch_named(ws, verb_input.name), Namespace(verb_input.new_name)
    new = check_rename(old, new_name)
    remote, stamp = open_named_remote(ws, verb_input.remote), ws.stamp("rename", now)
    here = old if old.tip() is not None else new  # to complete an interrupted rename
    about = {**describe_namespace(here, here.tip()), "namespace": verb_input.name, "new_name": str(new_name)}
    if remote is not None:
        for branch in (old, new):
            check_remote(remote.remote, branch, here.tip())
    if not verb_input.dry_run:
        if remote is not None and not verb_input.yes:
            raise make_unconfirmed(f"{verb_input.name} would be renamed to {new_name} on {verb_input.remote} too")
        rename_branch(old, new_name, stamp, ws.environment, verb_input.remote)
        if remote is not None:
            rename_on_remote(remote, old, new, stamp)
            PendingRenames(ws.branch.store.repository.common_dir).end(old.namespace)
    return RenamedNamespace(**about, remote=verb_input.remote, dry_run=verb_input.dry_run)


@verb(
    "namespace delete",
    "POST /v1/namespaces/{name}/delete",
    effect=REPLACES,
    anywhere=True,
    refuses=(502, 504),
    tag="state",
    positional=("name",),
    options={"name": Option(metavar="NAME"), "yes": YES},
    examples=("baton namespace delete old-experiment --dry-run", "baton namespace delete old-experiment --yes"),
)
def delete_namespace(ws: Workspace, now: datetime, verb_input: DeleteNamespace) -> DeletedNamespace:
    """Delete a namespace. A backup ref of this repository keeps its newest revision.

    Later writes do not create the namespace again; `init` does, and so does `sync` while the remote still has it. If
    another program deleted the branch, this accepts it.

    Raises:
        Unconfirmed: `yes` is not set.
        NotFound: the namespace or the remote does not exist.
        NotAllowed: the remote refuses.
        Unsettled: the remote has commits that are not here.
        Busy: other writers kept changing the branch.
    """
    branch = branch_named(ws, verb_input.name)
    moved = find_moved(branch.store, branch.prefix, branch.namespace)
    if moved is None:
        branch.check_exists()
    kept = branch.tip() if moved is None else moved.newest
    about, remote = describe_namespace(branch, kept), open_named_remote(ws, verb_input.remote)
    if remote is not None:
        check_remote(remote.remote, branch, kept)
    backup = None
    if not verb_input.dry_run:
        if not verb_input.yes:
            where = f" here and on {verb_input.remote}" if remote is not None else ""
            size = describe_size(about["records"], about["revision"])
            raise make_unconfirmed(f"{verb_input.name} would be deleted{where} ({size})")
        backup = delete_branch(branch, ws.stamp("delete", now), ws.environment)
        if remote is not None:
            delete_on_remote(remote, branch, branch.store.tip(backup) if backup is not None else None)
    deleted = DeletedNamespace(**about, remote=verb_input.remote, dry_run=verb_input.dry_run, backup=backup)
    return deleted.of(branch.ref)


def branch_named(ws: Workspace, name: str) -> Branch:
    """Return the branch of a namespace that the caller named, which no write creates."""
    return replace(ws.branch, namespace=Namespace(name), may_begin=False, is_named=True)


def open_named_remote(ws: Workspace, name: str | None) -> NamedRemote | None:
    """Return the configured remote that the caller named; None if no name is given."""
    name = check_configured(ws, name)
    if name is None:
        return None
    return NamedRemote(open_remote(ws.branch.store.repository, name, ws.environment), name, ws.environment)


def describe_namespace(branch: Branch, tip: Oid | None) -> dict[str, Any]:
    """Return the fields of a `NamespaceChange` that describe a namespace at a commit."""
    if tip is not None and not branch.store.is_stored(tip):
        return {"namespace": str(branch.namespace), "revision": None, "commit": tip, "records": None}
    revision = branch.read() if tip is None else branch.revision_at(tip)
    return {
        "namespace": str(branch.namespace),
        "revision": revision.number,
        "commit": revision.commit,
        "records": sum(len(revision.state.ids(kind)) for kind in KINDS),
    }


# --- the verbs `namespace restore` and `namespace accept`, for a branch that another program deleted or moved


class RestoreNamespace(Input):
    """The namespace to restore."""

    name: str = Name
    dry_run: bool = DryRun


class AcceptNamespace(Input):
    """The namespace whose branch may stay where it is."""

    name: str = Name
    dry_run: bool = DryRun
    yes: bool = Field(False, description="Confirm it: required.")


class RecoveredNamespace(NamespaceChange):
    """A namespace whose branch another program moved, as it is after the command, or with `dry_run` would be."""

    backup: str | None = Field(
        description="The backup ref of the other revision: of the one where the branch was when it is restored, and of "
        "the last known one when the move is accepted. Null if there is none.",
        examples=["refs/baton-backup/memory-hall/20260617T123000Z-4f2a91c0"],
    )

    def show(self, reader: Reader) -> ResultView:
        verb = "would be" if self.dry_run else "is"
        other = () if self.backup is None else [f"a backup has the other revision: {self.backup}"]
        return ResultView(notes=[flat(f"{self.namespace} {verb} at {self.commit[:10]} ({self.size})"), *other])


@verb(
    "namespace restore",
    "POST /v1/namespaces/{name}/restore",
    effect=SETTLES,
    anywhere=True,
    tag="state",
    positional=("name",),
    options={"name": Option(metavar="NAME")},
    examples=("baton namespace restore shop",),
)
def restore_namespace(ws: Workspace, now: datetime, verb_input: RestoreNamespace) -> RecoveredNamespace:
    """Bring back the branch of a namespace that another program deleted, moved back or replaced.

    The branch gets its last known revision. If it still existed, a backup ref keeps where it was. A branch that no
    other program moved stays as it is.

    Raises:
        NotFound: the namespace does not exist, or the commits of its last known revision are no longer here.
        Protected: the branch has records that a person confirmed since, and the caller is no person.
        Busy: the branch was moved again meanwhile.
    """
    branch = branch_named(ws, verb_input.name)
    moved = find_moved(branch.store, branch.prefix, branch.namespace)
    if moved is None:
        return _describe_unmoved(branch, dry_run=verb_input.dry_run)
    if not branch.store.is_stored(moved.known):
        raise NotFound("commit", moved.known, hint=describe_return(moved.namespace))
    about = describe_namespace(branch, moved.known)
    backup = None if verb_input.dry_run else restore_branch(branch, moved, ws.stamp("restore", now))
    return RecoveredNamespace(**about, remote=None, dry_run=verb_input.dry_run, backup=backup)


@verb(
    "namespace accept",
    "POST /v1/namespaces/{name}/accept",
    effect=REPLACES,
    anywhere=True,
    tag="state",
    positional=("name",),
    options={"name": Option(metavar="NAME"), "yes": YES_OPTION},
    examples=("baton namespace accept shop --dry-run", "baton namespace accept shop --yes"),
)
def accept_namespace(ws: Workspace, now: datetime, verb_input: AcceptNamespace) -> RecoveredNamespace:
    """Accept that another program moved the branch of a namespace back or replaced it.

    A backup ref keeps the last known revision. To accept a deletion, use `namespace delete`. A branch that no other
    program moved stays as it is.

    Raises:
        Unconfirmed: `yes` is not set.
        NotFound: the namespace does not exist.
        BranchMoved: the branch was deleted.
        NotAllowed: the tip of the branch is no revision of baton.
        Protected: the last known revision has records that a person confirmed, and the caller is no person.
    """
    branch = branch_named(ws, verb_input.name)
    moved = find_moved(branch.store, branch.prefix, branch.namespace)
    if moved is None:
        return _describe_unmoved(branch, dry_run=verb_input.dry_run)
    refuse_foreign(branch, moved)
    about, backup = describe_namespace(branch, moved.now), None
    if not verb_input.dry_run:
        if not verb_input.yes:
            raise make_unconfirmed(f"{verb_input.name} would go on without its last known revision")
        backup = accept_move(branch, moved, ws.stamp("accept", now))
    return RecoveredNamespace(**about, remote=None, dry_run=verb_input.dry_run, backup=backup)


def _describe_unmoved(branch: Branch, *, dry_run: bool) -> RecoveredNamespace:
    branch.check_exists()
    return RecoveredNamespace(**describe_namespace(branch, branch.tip()), remote=None, dry_run=dry_run, backup=None)
