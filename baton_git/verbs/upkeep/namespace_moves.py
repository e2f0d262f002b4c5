"""The verbs `namespace rename` and `namespace delete`: here, and on a remote."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import Field

from baton_git.core.kinds import KINDS
from baton_git.core.names import Namespace
from baton_git.core.verb import REPLACES, Input, Option, Result, verb
from baton_git.git.remotes import open_remote
from baton_git.namespace.branch import Branch
from baton_git.namespace.moving import check_rename, delete_branch, rename_branch
from baton_git.namespace.remote_selection import configured_remote
from baton_git.namespace.results import COMMIT
from baton_git.namespace.sync.remote_names import NamedRemote, check_remote, delete_on_remote, rename_on_remote
from baton_git.namespace.workspace import Workspace

Name = Field(min_length=1, description="The namespace.", examples=["project:memory-hall"])
RemoteName = Field(None, description="Do it on this remote too.", examples=["origin"])
DryRun = Field(False, description="Only say what would be done.")


class RenameNamespace(Input):
    """A namespace, and what it is to be called."""

    name: str = Name
    new_name: str = Field(min_length=1, description="What it is to be called.", examples=["memory-hall"])
    remote: str | None = RemoteName
    dry_run: bool = DryRun


class DeleteNamespace(Input):
    """A namespace that is to be deleted."""

    name: str = Name
    remote: str | None = RemoteName
    dry_run: bool = DryRun


class NamespaceChange(Result):
    """What became of a namespace, or would."""

    namespace: str = Field(description="The namespace.", examples=["project:memory-hall"])
    revision: int = Field(description="The number of its newest revision.", examples=[12])
    commit: str = Field(description="Its newest commit.", examples=[COMMIT])
    records: int = Field(description="How many live records it has.", examples=[31])
    remote: str | None = Field(description="The remote where the same was done; null where it was done only here.")
    dry_run: bool = Field(description="Whether nothing was done.")


class RenamedNamespace(NamespaceChange):
    """What a namespace is called now, or would be."""

    new_name: str = Field(description="What it is called now.", examples=["memory-hall"])


class DeletedNamespace(NamespaceChange):
    """Where a deleted namespace is kept."""

    backup: str | None = Field(
        description="The ref that keeps its newest revision; null where nothing was deleted.",
        examples=["refs/baton-backup/memory-hall/20260617T123000Z-4f2a91c0"],
    )


@verb(
    "namespace rename",
    "POST /v1/namespaces/{name}/rename",
    effect=REPLACES,
    anywhere=True,
    refuses=(502, 504),
    tag="state",
    positional=("name", "new_name"),
    options={"name": Option(metavar="NAME"), "new_name": Option(metavar="NEW")},
    examples=("baton namespace rename shop webshop", "baton namespace rename shop webshop --remote origin"),
)
def rename_namespace(ws: Workspace, now: datetime, asked: RenameNamespace) -> RenamedNamespace:
    """Give a namespace another name.

    What others write meanwhile is taken along, or refused with the new name. This repository's commands and hooks use
    the new name from then on. On other machines give the same command, with the name that they have.

    Raises:
        NotFound: there is no such namespace, or remote.
        NotAllowed: the new name is taken, or the remote refuses.
        Unsettled: the remote has commits that are not here.
        Busy: others kept writing.
    """
    old, new_name = _branch_of(ws, asked.name), Namespace(asked.new_name)
    new = check_rename(old, new_name)
    remote, stamp = _open(ws, asked.remote), ws.stamp("rename", now)
    here = old if old.store.tip(old.ref) is not None else new  # an interrupted rename is finished
    about = {**_describe(here), "namespace": asked.name, "new_name": str(new_name)}
    if remote is not None:
        for branch in (old, new):
            check_remote(remote.remote, branch, here.store.tip(here.ref))
    if not asked.dry_run:
        rename_branch(old, new_name, stamp, ws.environment)
        if remote is not None:
            rename_on_remote(remote, old, new, stamp)
    return RenamedNamespace(**about, remote=asked.remote, dry_run=asked.dry_run)


@verb(
    "namespace delete",
    "POST /v1/namespaces/{name}/delete",
    effect=REPLACES,
    anywhere=True,
    refuses=(502, 504),
    tag="state",
    positional=("name",),
    options={"name": Option(metavar="NAME")},
    examples=("baton namespace delete old-experiment --dry-run", "baton namespace delete old-experiment --yes"),
)
def delete_namespace(ws: Workspace, now: datetime, asked: DeleteNamespace) -> DeletedNamespace:
    """Delete a namespace; its newest revision is kept under a backup ref of this repository.

    Nobody begins it anew by writing to it; only `init` does.

    Raises:
        NotFound: there is no such namespace, or remote.
        NotAllowed: the remote refuses.
        Unsettled: the remote has commits that are not here.
        Busy: others kept writing.
    """
    branch = _branch_of(ws, asked.name)
    branch.check_exists()
    about, remote = _describe(branch), _open(ws, asked.remote)
    kept = branch.store.tip(branch.ref)
    if remote is not None:
        check_remote(remote.remote, branch, kept)
    backup = None
    if not asked.dry_run:
        backup = delete_branch(branch, ws.stamp("delete", now), ws.environment)
        if remote is not None:
            delete_on_remote(remote, branch, branch.store.tip(backup))
    return DeletedNamespace(**about, remote=asked.remote, dry_run=asked.dry_run, backup=backup)


def _branch_of(ws: Workspace, name: str) -> Branch:
    return replace(ws.branch, namespace=Namespace(name), may_begin=False, is_named=True)


def _open(ws: Workspace, name: str | None) -> NamedRemote | None:
    name = configured_remote(ws, name)
    if name is None:
        return None
    return NamedRemote(open_remote(ws.branch.store.repository, name, ws.environment), name, ws.environment)


def _describe(branch: Branch) -> dict[str, Any]:
    version = branch.read()
    return {
        "namespace": str(branch.namespace),
        "revision": version.number,
        "commit": version.commit,
        "records": sum(len(version.state.ids(kind)) for kind in KINDS),
    }
