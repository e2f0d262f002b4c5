"""The verbs that go back and forward, by a new commit: `rollback`, `undo`, `redo`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self, TypeVar

from pydantic import Field, model_validator

from baton_git.core.natural_times import TimeField
from baton_git.core.verb import REPLACES, Input, Option, verb
from baton_git.namespace.results import DRY_RUN, Preview
from baton_git.namespace.workspace import Vouched, Workspace
from baton_git.verbs.revisions.log import REVISION
from baton_git.verbs.revisions.rollback import (
    How,
    WayBack,
    go_back,
    preview,
    way_forward,
    way_to,
    way_to_record,
    way_without,
    way_without_session,
)

R = TypeVar("R", bound="ReturnResult")


class RollbackTarget(Input):
    """What to go back to: a revision of everything or of one record, or the state without a session's changes."""

    revision: TimeField = Field(None, description=REVISION, examples=["12"])
    record: str | None = Field(
        None,
        description="Restore only this record, to the revision or to before its last change.",
        examples=["OL-7k3f9q"],
    )
    of_session: str | None = Field(
        None, description="Revert only what this session did, and keep what other sessions did since.",
        examples=["2026-06-17-003"],
    )  # fmt: skip
    dry_run: bool = Field(False, description=DRY_RUN)

    @model_validator(mode="after")
    def _check_target(self) -> Self:
        if self.of_session is not None and (self.revision is not None or self.record is not None):
            raise ValueError("{of_session} goes alone, without {revision} and {record}")
        if not (self.of_session or self.record or self.revision):
            raise ValueError("nothing says where to: give {revision}, {record} or {of_session}")
        return self

    def way(self, ws: Workspace) -> WayBack:
        """Return the way back to it."""
        if self.of_session is not None:
            return way_without_session(ws, self.of_session)
        if self.record is not None:
            return way_to_record(ws, self.record, self.revision)
        return way_to(ws, self.revision or "~0")

    def __str__(self) -> str:
        if self.of_session is not None:
            return f"without session {self.of_session}"
        what = self.record or "everything"
        return f"{what} as at {self.revision}" if self.revision else f"{what} as before its last change"


class ReturnResult(Preview):
    """What going back changed."""

    rules: list[str] = Field(
        [],
        description="In a preview, the patterns that become rules again, which takes a person.",
        examples=[["PAT-1"]],
    )

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(f"it makes a rule of pattern {id_} again, which takes a person" for id_ in self.rules)


class RollbackResult(ReturnResult):
    """What going back changed."""

    gone_back: str = Field(description="Where to, in words.", examples=["everything as at 12"])


@verb(
    "rollback",
    "POST /v1/rollback",
    effect=REPLACES,
    on_existing=True,
    tag="history",
    positional=("revision",),
    options={"revision": Option(metavar="[REV|TIME]"), "record": Option(metavar="ID"),
             "of_session": Option(metavar="ID")},
    examples=("baton rollback 12", "baton rollback --record OL-7k3f9q", "baton rollback --of-session 2026-06-17-003"),
)  # fmt: skip
def rollback(ws: Workspace, now: datetime, asked: RollbackTarget) -> RollbackResult:
    """Restore the state of a revision or time, restore one record, or revert what one session did.

    This creates a new revision, so nothing is lost, and an undo reverts it.

    Raises:
        NeedsHuman: it would make a pattern a rule again, and nobody confirmed this.
        NotFound: there is no such revision, record or session.
    """
    return _take(ws, now, asked.way(ws), RollbackResult, dry_run=asked.dry_run, gone_back=str(asked))


class UndoneRevision(Input):
    """Which revision to take back."""

    revision: str | None = Field(None, description=f"{REVISION} Else the newest of yours.", examples=["12"])
    dry_run: bool = Field(False, description=DRY_RUN)


class UndoResult(ReturnResult):
    """What taking a revision back changed."""

    taken_back: str = Field(description="What that revision had done, in words.", examples=["OL-7k3f9q verified"])


@verb(
    "undo",
    "POST /v1/undo",
    effect=REPLACES,
    on_existing=True,
    tag="history",
    positional=("revision",),
    options={"revision": Option(metavar="[REV]")},
    examples=("baton undo", "baton undo 12", "baton undo --dry-run"),
)
def undo(ws: Workspace, now: datetime, asked: UndoneRevision) -> UndoResult:
    """Undo one change, and keep later ones: the newest change that is not undone yet, or the given revision.

    Each further undo goes one change further back; redo goes forward. Without REV, changes of other sessions are
    skipped. A value that was changed again since stays as it is.

    Raises:
        NotAllowed: it is the first commit, was taken back already, or nothing is left.
        NeedsHuman: it would make a rule of a pattern again, and nobody confirmed it.
    """
    way, entry = way_without(ws, asked.revision)
    return _take(ws, now, way, UndoResult, dry_run=asked.dry_run, taken_back=entry.subject)


class RedoInput(Input):
    """How to redo."""

    dry_run: bool = Field(False, description=DRY_RUN)


class RedoResult(ReturnResult):
    """What bringing a change back changed."""

    brought_back: str = Field(description="What that revision had done, in words.", examples=["OL-7k3f9q verified"])


@verb(
    "redo", "POST /v1/redo", effect=REPLACES, on_existing=True, tag="history",
    examples=("baton redo", "baton redo --dry-run"),
)  # fmt: skip
def redo(ws: Workspace, now: datetime, asked: RedoInput) -> RedoResult:
    """Reapply what the newest undo reverted; each further redo reapplies the undo before.

    It is refused once you changed something else since the undo. What others changed meanwhile stays.

    Raises:
        NotAllowed: nothing was undone, or something was changed since.
        NeedsHuman: it would make a rule of a pattern again, and nobody confirmed it.
    """
    way, entry = way_forward(ws)
    return _take(ws, now, way, RedoResult, dry_run=asked.dry_run, brought_back=entry.subject)


def _take(ws: Workspace, now: datetime, way: WayBack, model: type[R], *, dry_run: bool, **fields: Any) -> R:
    """Go a way back, or say what that would change."""
    if dry_run:
        planned = preview(ws, way)
        rules = {"rules": list(planned.rules)} if planned.rules else {}
        return model.of_preview(planned.written, **rules, **fields)
    person, how = _confirmed_by(ws)
    return model.of(go_back(ws, now, way, person, how=how), **fields)


def _confirmed_by(ws: Workspace) -> tuple[str | None, How]:
    """Who confirmed it just now, and where; nobody, unless at a terminal or on the page."""
    confirmed = ws.confirmed
    if isinstance(confirmed, Vouched) and confirmed.how in ("terminal", "page"):
        return confirmed.by, confirmed.how
    return None, "terminal"
