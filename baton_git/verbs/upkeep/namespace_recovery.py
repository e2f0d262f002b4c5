"""The verbs `namespace restore` and `namespace accept`, for a branch that another program deleted or moved."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from baton_git.core.errors import NotFound
from baton_git.core.output import flat
from baton_git.core.verb import REPLACES, SETTLES, Input, Option, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.branch import Branch
from baton_git.namespace.extent import YES_OPTION, make_unconfirmed
from baton_git.namespace.last_tip import describe_return, find_moved
from baton_git.namespace.moving import accept_move, refuse_foreign, restore_branch
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.upkeep.namespace_moves import DryRun, Name, NamespaceChange, branch_named, describe_namespace


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
