"""The verb `namespace move`: move the branches of all namespaces to the prefix that the settings name."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from pydantic import Field

from baton_git.core.output import flat
from baton_git.core.verb import SETTLES, Input, Result, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.branch import Branch
from baton_git.namespace.extent import make_unconfirmed
from baton_git.namespace.moving import move_to_prefix
from baton_git.namespace.namespaces import PREFIXES, list_misplaced, list_namespaces
from baton_git.namespace.results import COMMIT, ResultPart
from baton_git.namespace.sync.remote_names import check_remote, move_on_remote
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.upkeep.namespace_moves import YES, DryRun, RemoteName, open_named_remote


class MoveNamespaces(Input):
    """Options for moving the branches of namespaces to the prefix `baton.refPrefix`."""

    remote: str | None = RemoteName
    dry_run: bool = DryRun
    yes: bool = Field(False, description="Confirm the move: required for a move on a remote.")


class MovedBranchOfNamespace(ResultPart):
    """A branch that was moved, or with `dry_run` would be."""

    namespace: str = Field(description="The namespace.", examples=["project:memory-hall"])
    old_ref: str = Field(description="The ref of its branch before.", examples=["refs/heads/baton/memory-hall"])
    ref: str = Field(description="The ref of its branch now.", examples=["refs/baton/memory-hall"])
    commit: str | None = Field(description="The id of its newest commit.", examples=[COMMIT])


class MovedNamespaces(Result):
    """The branches that were moved."""

    prefix: str = Field(description="The prefix of all branches now.", examples=["refs/baton/"])
    moved: list[MovedBranchOfNamespace] = Field(description="The moved branches, sorted by their old refs.")
    remote: str | None = Field(description="The remote that was changed too; null for none.")
    dry_run: bool = Field(description="Whether this is a preview and nothing was changed.")

    def show(self, reader: Reader) -> ResultView:
        verb = "would be moved" if self.dry_run else "was moved"
        notes = [flat(f"{item.namespace} {verb} from {item.old_ref} to {item.ref}") for item in self.moved]
        if not self.moved:
            notes = [f"all branches are below {self.prefix}"]
        elif not self.dry_run:
            notes.append(f"on each other machine: git config baton.refPrefix {self.prefix}, then baton namespace move")
        return ResultView(notes=notes)


@verb(
    "namespace move",
    "POST /v1/namespaces/move",
    effect=SETTLES,
    anywhere=True,
    refuses=(502, 504),
    tag="state",
    options={"yes": YES},
    examples=("baton namespace move --dry-run", "baton namespace move --remote origin"),
)
def move_namespaces(ws: Workspace, now: datetime, verb_input: MoveNamespaces) -> MovedNamespaces:
    """Move the branches of all namespaces to the prefix of the setting `baton.refPrefix`.

    Run it after a change of that setting, for example because a server has rules for branches that refuse baton's
    pushes. If a namespace has branches below both prefixes, they are merged. Change the setting and run the command on
    each machine. An interrupted move is finished by the same command.

    Raises:
        Unconfirmed: it would move branches on a remote, and `yes` is not set.
        NotFound: the remote does not exist.
        NotAllowed: the remote refuses, or a rename was interrupted.
        Unsettled: the remote has commits that are not here.
        Busy: other writers kept changing a branch.
    """
    store, prefix = ws.branch.store, ws.branch.prefix
    remote, stamp = open_named_remote(ws, verb_input.remote), ws.stamp("move", now)
    if remote is not None and not (verb_input.dry_run or verb_input.yes):
        raise make_unconfirmed(f"the branches would be moved on {verb_input.remote} too")
    branches = [replace(ws.branch, namespace=name, prefix=other) for other, name in list_misplaced(store, prefix)]
    moved: list[MovedBranchOfNamespace] = []
    for branch in branches:
        target = replace(branch, prefix=prefix)
        if remote is not None:
            check_remote(remote.remote, branch, store.tip(branch.ref))
        commit = store.tip(branch.ref)
        if not verb_input.dry_run:
            move_to_prefix(branch, target, stamp, ws.environment)
            commit = store.tip(target.ref)
        moved.append(MovedBranchOfNamespace(
            namespace=str(branch.namespace), old_ref=branch.ref, ref=target.ref, commit=commit
        ))  # fmt: skip
    if remote is not None and not verb_input.dry_run:
        for name in list_namespaces(store, prefix):
            target = replace(ws.branch, namespace=name)
            for other in _list_old_prefixes(branches, prefix):
                move_on_remote(remote, replace(target, prefix=other), target, stamp)
    return MovedNamespaces(prefix=prefix, moved=moved, remote=verb_input.remote, dry_run=verb_input.dry_run)


def _list_old_prefixes(branches: list[Branch], prefix: str) -> list[str]:
    """Return the prefixes below which the remote may still have branches, also if the move here was complete before."""
    return sorted({*PREFIXES, *(branch.prefix for branch in branches)} - {prefix})
