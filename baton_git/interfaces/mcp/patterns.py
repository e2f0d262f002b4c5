"""Patterns: `pattern_record`, `pattern_propose`, `pattern_dismiss`; what makes a rule of one is in `graduation`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from mcp.types import ToolAnnotations
from pydantic import Field

from baton_git.interfaces.mcp.annotations import ADDS, REPLACES
from baton_git.interfaces.mcp.answers import Answer, changed
from baton_git.interfaces.mcp.arguments import Session
from baton_git.interfaces.mcp.tool_context import Ctx, Desk
from baton_git.verbs.patterns import dismiss_pattern, propose_rule, record_pattern


@dataclass(frozen=True)
class Patterns:
    """The tools, as methods."""

    desk: Desk

    def pattern_record(
        self,
        ctx: Ctx,
        what: Annotated[str, Field(description="What went wrong; the same words or id count it")],
        context: str = "",
        rule: str | None = None,
        session: Session = None,
    ) -> Answer:
        """The same mistake again: count it."""
        with self.desk.at_work(ctx, session) as ws:
            return changed(record_pattern(ws, self.desk.now, what=what, context=context, rule=rule))

    def pattern_propose(self, ctx: Ctx, id: str, rule: str, session: Session = None) -> Answer:  # noqa: A002
        """Propose the rule that a pattern would become."""
        with self.desk.at_work(ctx, session) as ws:
            return changed(propose_rule(ws, self.desk.now, id, rule))

    def pattern_dismiss(self, ctx: Ctx, id: str, session: Session = None) -> Answer:  # noqa: A002
        """It is no pattern after all."""
        with self.desk.at_work(ctx, session) as ws:
            return changed(dismiss_pattern(ws, self.desk.now, id))


def tools(desk: Desk) -> dict[Callable[..., Any], ToolAnnotations]:
    here = Patterns(desk)
    return {here.pattern_record: ADDS, here.pattern_propose: REPLACES, here.pattern_dismiss: REPLACES}
