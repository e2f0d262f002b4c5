"""Follow-ups: `followup_add`, `followup_defer`, `followup_done`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from mcp.types import ToolAnnotations

from baton_git.interfaces.mcp.annotations import ADDS, REPLACES
from baton_git.interfaces.mcp.answers import Answer, changed
from baton_git.interfaces.mcp.arguments import Session
from baton_git.interfaces.mcp.tool_context import Ctx, Desk
from baton_git.verbs.followups import add_follow_up, defer_follow_up, finish_follow_up


@dataclass(frozen=True)
class FollowUps:
    """The tools, as methods."""

    desk: Desk

    def followup_add(
        self,
        ctx: Ctx,
        item: str,
        reason: str | None = None,
        priority: Literal["normal", "elevated", "escalated"] | None = None,
        pattern: str | None = None,
        session: Session = None,
    ) -> Answer:
        """Something is put off: have it come up again."""
        with self.desk.at_work(ctx, session) as ws:
            made = add_follow_up(ws, self.desk.now, item=item, reason=reason, priority=priority, pattern=pattern)
            return changed(made)

    def followup_defer(self, ctx: Ctx, id: str, reason: str | None = None, session: Session = None) -> Answer:  # noqa: A002
        """Put off once more."""
        with self.desk.at_work(ctx, session) as ws:
            return changed(defer_follow_up(ws, self.desk.now, id, reason=reason))

    def followup_done(self, ctx: Ctx, id: str, note: str | None = None, session: Session = None) -> Answer:  # noqa: A002
        """It is done: archive it."""
        with self.desk.at_work(ctx, session) as ws:
            return changed(finish_follow_up(ws, self.desk.now, id, note=note))


def tools(desk: Desk) -> dict[Callable[..., Any], ToolAnnotations]:
    here = FollowUps(desk)
    return {here.followup_add: ADDS, here.followup_defer: ADDS, here.followup_done: REPLACES}
