"""The verbs that revert changes by a new commit: `rollback`, `undo`, `redo`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self, TypeVar

from pydantic import Field, model_validator

from baton_git.core.output import flat
from baton_git.core.times import TimeField
from baton_git.core.verb import REPLACES, Input, Option, verb
from baton_git.core.view import Reader, ResultView
from baton_git.namespace.caller import Vouched
from baton_git.namespace.extent import YES, YES_OPTION
from baton_git.namespace.results import DRY_RUN, Preview
from baton_git.namespace.workspace import Workspace
from baton_git.verbs.revisions.log import REVISION
from baton_git.verbs.revisions.rollback import (
    How,
    RollbackPlan,
    apply_plan,
    plan_record_rollback,
    plan_redo,
    plan_rollback,
    plan_session_rollback,
    plan_undo,
    preview,
)

R = TypeVar("R", bound="ReturnResult")


class RollbackTarget(Input):
    """What a rollback restores: all records or one as at a revision, or the state without the changes of a session."""

    revision: TimeField = Field(None, description=REVISION, examples=["12"])
    record: str | None = Field(
        None,
        description="Restore only this record, to the given revision, or else to its state before its last change.",
        examples=["OL-7k3f9q"],
    )
    of_session: str | None = Field(
        None, description="Revert only the changes of this session, and keep those of other sessions.",
        examples=["2026-06-17-003"],
    )  # fmt: skip
    dry_run: bool = Field(False, description=DRY_RUN)
    yes: bool = YES

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        if self.of_session is not None and (self.revision is not None or self.record is not None):
            raise ValueError("{of_session} cannot be combined with {revision} or {record}")
        if not (self.of_session or self.record or self.revision):
            raise ValueError("the target is missing: give {revision}, {record} or {of_session}")
        return self

    def plan(self, ws: Workspace) -> RollbackPlan:
        """Return the plan of the rollback."""
        if self.of_session is not None:
            return plan_session_rollback(ws, self.of_session)
        if self.record is not None:
            return plan_record_rollback(ws, self.record, self.revision)
        return plan_rollback(ws, self.revision or "~0")

    def __str__(self) -> str:
        if self.of_session is not None:
            return f"without session {self.of_session}"
        scope = self.record or "everything"
        return f"{scope} as at {self.revision}" if self.revision else f"{scope} as before its last change"


class ReturnResult(Preview):
    """The result of a rollback, an undo or a redo."""

    rules: list[str] = Field(
        [],
        description="In a preview, the patterns that would become rules again, which only a person may do.",
        examples=[["PAT-1"]],
    )

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"pattern {id_} would become a rule again, which only a person may do" for id_ in self.rules)


class RollbackResult(ReturnResult):
    """The result of a rollback."""

    target: str = Field(description="A description of the target.", examples=["everything as at 12"])

    def show(self, reader: Reader) -> ResultView:
        if self.dry_run:
            return super().show(reader)
        return ResultView(notes=[*([f"restored: {flat(self.target)}"] if self.changes else ()), *self.told])


@verb(
    "rollback",
    "POST /v1/rollback",
    effect=REPLACES,
    on_existing=True,
    tag="history",
    positional=("revision",),
    options={"revision": Option(metavar="[REV|TIME]"), "record": Option(metavar="ID"),
             "of_session": Option(metavar="ID"), "yes": YES_OPTION},
    examples=("baton rollback 12", "baton rollback --record OL-7k3f9q", "baton rollback --of-session 2026-06-17-003"),
)  # fmt: skip
def rollback(ws: Workspace, now: datetime, verb_input: RollbackTarget) -> RollbackResult:
    """Restore the state of a revision or time, restore one record, or revert what one session did.

    This creates a new revision, so nothing is lost, and an undo reverts it.

    Raises:
        Unconfirmed: many records would change, and `yes` is not set.
        NeedsHuman: a pattern would become a rule again, and no person confirmed that.
        NotFound: there is no such revision, record or session.
    """
    return _apply(ws, now, verb_input.plan(ws), RollbackResult, verb_input, target=str(verb_input))


class UndoneRevision(Input):
    """The revision to undo."""

    revision: str | None = Field(
        None, description=f"{REVISION} Default: your newest change, if nobody else's is newer.", examples=["12"]
    )
    dry_run: bool = Field(False, description=DRY_RUN)
    yes: bool = YES


class UndoResult(ReturnResult):
    """The result of an undo."""

    undone: str = Field(description="The subject of the undone revision.", examples=["OL-7k3f9q verified"])

    def show(self, reader: Reader) -> ResultView:
        if self.dry_run:
            return super().show(reader)
        done = f"undone: {self.undone} (to reapply it: baton redo)"
        nothing = f"nothing to undo in: {self.undone} (to undo another revision: baton log, then baton undo REV)"
        return ResultView(notes=[*self.told, done if self.changes else nothing])


@verb(
    "undo",
    "POST /v1/undo",
    effect=REPLACES,
    session="undoes",
    on_existing=True,
    tag="history",
    positional=("revision",),
    options={"revision": Option(metavar="[REV]"), "yes": YES_OPTION},
    examples=("baton undo", "baton undo 12", "baton undo --dry-run"),
)
def undo(ws: Workspace, now: datetime, verb_input: UndoneRevision) -> UndoResult:
    """Undo the newest change that is not undone yet, or the given revision; later changes are kept.

    Each further undo goes one change further back, and redo goes forward. Without REV, only your own changes are
    undone: those of the session, or outside of a session those that you made without one. If somebody else's change is
    newer, the error says whose it is, and REV is required. A value that was changed again since is kept.

    Raises:
        NotAllowed: the revision is the first one or is undone already, no change is left to undo, or the newest one is
            somebody else's.
        NeedsHuman: a pattern would become a rule again, and no person confirmed that.
    """
    plan, entry = plan_undo(ws, verb_input.revision)
    return _apply(ws, now, plan, UndoResult, verb_input, undone=entry.subject)


class RedoInput(Input):
    """The options of a redo."""

    dry_run: bool = Field(False, description=DRY_RUN)
    yes: bool = YES


class RedoResult(ReturnResult):
    """The result of a redo."""

    reapplied: str = Field(description="The subject of the reapplied revision.", examples=["OL-7k3f9q verified"])

    def show(self, reader: Reader) -> ResultView:
        return super().show(reader) if self.dry_run else ResultView(notes=[*self.told, f"redone: {self.reapplied}"])


@verb(
    "redo", "POST /v1/redo", effect=REPLACES, session="undoes", on_existing=True, tag="history",
    options={"yes": YES_OPTION}, examples=("baton redo", "baton redo --dry-run"),
)  # fmt: skip
def redo(ws: Workspace, now: datetime, verb_input: RedoInput) -> RedoResult:
    """Reapply the change that the newest undo reverted. After several undos, each redo reapplies one more change.

    A redo is refused if you changed something else since the undo. Changes that others made meanwhile are kept.

    Raises:
        NotAllowed: nothing was undone, or you changed something since.
        NeedsHuman: a pattern would become a rule again, and no person confirmed that.
    """
    plan, entry = plan_redo(ws)
    return _apply(ws, now, plan, RedoResult, verb_input, reapplied=entry.subject)


def _apply(
    ws: Workspace, now: datetime, plan: RollbackPlan, model: type[R],
    verb_input: RollbackTarget | UndoneRevision | RedoInput, **fields: Any,
) -> R:  # fmt: skip
    """Apply a plan, or preview it.

    Raises:
        Unconfirmed: the plan changes many records, and the input does not confirm that.
    """
    if verb_input.dry_run:
        planned = preview(ws, plan)
        rules = {"rules": list(planned.rules)} if planned.rules else {}
        return model.of_preview(planned.written, **rules, **fields)
    person, how = _confirmed_by(ws)
    return model.of(apply_plan(ws, now, plan, person, how=how, may_be_wide=verb_input.yes), **fields)


def _confirmed_by(ws: Workspace) -> tuple[str | None, How]:
    """Return who confirmed the call, and where. Only a terminal and the page count; otherwise the person is None."""
    confirmed = ws.confirmed
    if isinstance(confirmed, Vouched) and confirmed.how in ("terminal", "page"):
        return confirmed.by, confirmed.how
    return None, "terminal"
