"""Open loops: `loop_add`, `loop_verify`, `loop_close`, `verify`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from mcp.types import ToolAnnotations
from pydantic import Field

from baton_git.interfaces.mcp.annotations import ADDS, REPLACES, SETTLES
from baton_git.interfaces.mcp.answers import Answer, changed
from baton_git.interfaces.mcp.arguments import Check, Session
from baton_git.interfaces.mcp.tool_context import Ctx, Desk
from baton_git.verbs.checks import Verified, verify
from baton_git.verbs.loops import add_loop, close_loop, settle_loop


@dataclass(frozen=True)
class Loops:
    """The tools, as methods."""

    desk: Desk

    def loop_add(
        self,
        ctx: Ctx,
        action: str,
        expect: Annotated[str, Field(description="What is true if it worked")],
        verify: Check = None,
        ttl_days: Annotated[int | None, Field(ge=0)] = None,
        decision: str | None = None,
        session: Session = None,
    ) -> Answer:
        """Something was done whose outcome shows only later."""
        spec = verify.given() if verify else None
        with self.desk.at_work(ctx, session) as ws:
            made = add_loop(
                ws, self.desk.now, action=action, expect=expect, verify=spec, ttl_days=ttl_days, decision=decision
            )
            return changed(made)

    def loop_verify(
        self,
        ctx: Ctx,
        id: str,  # noqa: A002  the tool's argument is called so
        result: Annotated[
            Literal["passed", "failed"] | None, Field(description="Seen by you; else its check runs")
        ] = None,
        note: str | None = None,
        session: Session = None,
    ) -> Answer:
        """Check one loop, or say what you found out. Unknown is not passed."""
        with self.desk.at_work(ctx, session) as ws:
            if result is None:
                checked = _checked(verify(ws, self.desk.now, [id]))
                return {"revision": checked["revision"], **checked["checks"][0]}
            made = settle_loop(ws, self.desk.now, id, result, note=note)
            return {**changed(made), "result": result, "why": note}

    def loop_close(self, ctx: Ctx, id: str, reason: str = "closed", session: Session = None) -> Answer:  # noqa: A002
        """Archive a loop, whatever its status."""
        with self.desk.at_work(ctx, session) as ws:
            return changed(close_loop(ws, self.desk.now, id, reason=reason))

    def verify(self, ctx: Ctx, ids: list[str] | None = None, session: Session = None) -> Answer:
        """Run the checks of all open loops, or of these."""
        with self.desk.at_work(ctx, session) as ws:
            return _checked(verify(ws, self.desk.now, ids or ()))


def _checked(found: Verified) -> Answer:
    checks = [{"id": id_, "result": one.result, "why": one.why} for id_, one in found.found.items()]
    return {"checks": checks, "revision": found.written.version.revision}


def tools(desk: Desk) -> dict[Callable[..., Any], ToolAnnotations]:
    here = Loops(desk)
    return {here.loop_add: ADDS, here.loop_verify: SETTLES, here.loop_close: REPLACES, here.verify: SETTLES}
