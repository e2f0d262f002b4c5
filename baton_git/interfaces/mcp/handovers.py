"""KAIROS' protocol runs: `handover_step`, `handover_resume`, `handover_clear`.

Where the repository has a workspace copy of the run (git config baton.handoverFile), what other clients wrote there is
taken over first, and it is brought up to date afterwards, as `baton handover` does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from mcp.types import ToolAnnotations
from pydantic import Field

from baton_git.core.errors import BatonError, WriteFailed
from baton_git.interfaces.context.handover import IN_THE_WAY, copy_of
from baton_git.interfaces.mcp.annotations import ADDS, REPLACES, SETTLES
from baton_git.interfaces.mcp.answers import Answer, done
from baton_git.interfaces.mcp.arguments import Json, Session
from baton_git.interfaces.mcp.tool_context import Ctx, Desk
from baton_git.namespace.workspace import Workspace
from baton_git.systems.kairos.handover_files import put_out, take_in, withdraw
from baton_git.systems.kairos.handovers import Run, clear, resume, step
from baton_git.systems.kairos.record import Handover
from baton_git.systems.kairos.rules import Going, as_data
from baton_git.systems.kairos.work_tree_copy import Copy

RunId = str | None
"""The run: its SESSION_ID; else the only live one."""


@dataclass(frozen=True)
class Handovers:
    """The tools, as methods."""

    desk: Desk

    def handover_step(
        self,
        ctx: Ctx,
        run: RunId = None,
        challenge: str | None = None,
        uri: str | None = None,
        index: Annotated[int | None, Field(ge=1)] = None,
        came_from: str | None = None,
        stay: Annotated[bool, Field(description="Same step, only state")] = False,
        state: Json | None = None,
        unset: list[str] | None = None,
        session: Session = None,
    ) -> Answer:
        """Begin a protocol run (KAIROS), or go on to its next step."""
        going = Going(challenge, uri, index, came_from, stay, state or {}, tuple(unset or ()))
        with self.desk.at_work(ctx, session) as ws:
            copy = copy_of(self.desk.app, ws, None)
            made = step(ws, self.desk.now, run or self._taken_in(ws, copy), going)
            if copy is not None:
                self._put_out(ws, copy, made.handover.id)
            return {**as_data(made.handover), **done(made.written)}

    def handover_resume(self, ctx: Ctx, run: RunId = None, uri: str | None = None, session: Session = None) -> Answer:
        """Where a run stands, to go on from there."""
        with self.desk.at_work(ctx, session) as ws:
            copy = copy_of(self.desk.app, ws, None)
            problem = self._refreshed(ws, copy)
            found = resume(ws, self.desk.now, run, uri)
            return {
                **_data(found.run), "stale": found.age.stale, "age_seconds": found.age.seconds, "file_problem": problem
            }  # fmt: skip

    def handover_clear(
        self, ctx: Ctx, outcome: Literal["completed", "abandoned"], run: RunId = None, session: Session = None
    ) -> Answer:
        """A run has ended: archive it."""
        with self.desk.at_work(ctx, session) as ws:
            copy = copy_of(self.desk.app, ws, None)
            made = clear(ws, self.desk.now, run or self._taken_in(ws, copy), outcome)
            removed = copy is not None and withdraw(copy, made.handover.id)
            return {"SESSION_ID": made.handover.id, **done(made.written), "file_removed": removed}

    def _taken_in(self, ws: Workspace, copy: Copy | None) -> str | None:
        """The run that the copy is of, with what another client wrote there taken over; None where none is live."""
        taken = take_in(ws, self.desk.now, copy) if copy is not None else None
        live = ws.branch.read().state.ids(Handover.kind) if taken is not None else ()
        return taken.id if taken is not None and taken.id in live else None

    def _put_out(self, ws: Workspace, copy: Copy, id_: str) -> None:
        try:
            put_out(ws, self.desk.now, copy, id_)
        except BatonError as error:
            hint = "do not step again; handover_resume writes the copy"
            raise WriteFailed(f"the step of {id_} is in git, but {error}", hint=hint) from error

    def _refreshed(self, ws: Workspace, copy: Copy | None) -> str | None:
        """Takes over and writes the copy; what stood in the way."""
        if copy is None:
            return None
        try:
            run = self._taken_in(ws, copy)
            if run is not None:
                put_out(ws, self.desk.now, copy, run, over_others=False)
        except IN_THE_WAY as error:
            return str(error)
        return None


def _data(run: Run) -> Answer:
    closed, version = run.closed, run.version
    ended = {"ended": {"outcome": closed.reason, "at": closed.at}} if closed is not None else {}
    contested = [{"id": one.id, "field": one.field} for one in run.contested]
    return {**as_data(run.handover), **ended, "contested": contested, "revision": version.number}


def tools(desk: Desk) -> dict[Callable[..., Any], ToolAnnotations]:
    here = Handovers(desk)
    return {here.handover_step: ADDS, here.handover_resume: SETTLES, here.handover_clear: REPLACES}
