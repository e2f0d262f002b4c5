"""Decisions: `decision_add`, `decision_monitor`, `decision_supersede`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.types import ToolAnnotations

from baton_git.interfaces.mcp.annotations import ADDS, REPLACES, SETTLES
from baton_git.interfaces.mcp.answers import Answer, changed
from baton_git.interfaces.mcp.arguments import Session
from baton_git.interfaces.mcp.tool_context import Ctx, Desk
from baton_git.verbs.decisions import add_decision, monitor_decision, supersede_decision


@dataclass(frozen=True)
class Decisions:
    """The tools, as methods."""

    desk: Desk

    def decision_add(
        self,
        ctx: Ctx,
        what: str,
        why: str,
        evidence: list[str] | None = None,
        rejected: list[str] | None = None,
        session: Session = None,
    ) -> Answer:
        """A choice was made: keep it with its reasons."""
        with self.desk.at_work(ctx, session) as ws:
            made = add_decision(ws, self.desk.now, what=what, why=why, evidence=evidence or (), rejected=rejected or ())
            return changed(made)

    def decision_monitor(self, ctx: Ctx, id: str, session: Session = None) -> Answer:  # noqa: A002
        """It holds, but is being watched."""
        with self.desk.at_work(ctx, session) as ws:
            return changed(monitor_decision(ws, self.desk.now, id))

    def decision_supersede(self, ctx: Ctx, id: str, by: str, session: Session = None) -> Answer:  # noqa: A002
        """Another decision takes its place."""
        with self.desk.at_work(ctx, session) as ws:
            return changed(supersede_decision(ws, self.desk.now, id, by))


def tools(desk: Desk) -> dict[Callable[..., Any], ToolAnnotations]:
    here = Decisions(desk)
    return {here.decision_add: ADDS, here.decision_monitor: SETTLES, here.decision_supersede: REPLACES}
