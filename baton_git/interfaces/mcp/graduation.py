"""The tool `pattern_graduate`: make a pattern a rule after the person at the client has confirmed it.

The client shows the question and sends the answer without the model, so the model cannot confirm. This module does not
use `from __future__ import annotations`: the SDK evaluates the annotations of the tool, and they name functions that
exist only inside `tools`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from baton_git.core.lifecycle import Confirmed
from baton_git.core.output import count_times, one_line
from baton_git.core.records.work_items import Pattern
from baton_git.interfaces.mcp.annotations import REPLACES
from baton_git.interfaces.mcp.arguments import Session
from baton_git.interfaces.mcp.tool_context import Ctx, ToolContext
from baton_git.verbs.work_items.patterns import graduate_pattern


class Typed(BaseModel):
    """The person's input."""

    id: str = Field(description="The pattern's id, to confirm that it becomes a rule")


class ShownPattern(NamedTuple):
    """The pattern that the person is asked about, and the text of the rule that it would become."""

    pattern: Pattern
    rule: str


def tools(tool_context: ToolContext) -> dict[Callable[..., Any], ToolAnnotations]:
    """Return the function of the tool, with its annotations."""

    def find_pattern(ctx: Ctx, id: str, rule: str | None) -> ShownPattern | None:  # noqa: A002  the name of the tool's argument
        """Return the pattern to ask about; None if the client cannot show forms, or the pattern is no rule candidate or
        has no text for the rule."""
        if not _can_ask(ctx):
            return None
        with tool_context.open_for_reading() as ws:
            pattern = ws.branch.read().state.find(Pattern, id)
        text = rule or pattern.proposed_rule
        return ShownPattern(pattern, text) if pattern.status == "rule_candidate" and text else None

    def ask_person(shown: Annotated[ShownPattern | None, Resolve(find_pattern)]) -> Elicit[Typed] | None:
        return None if shown is None else Elicit(_make_question(shown), Typed)

    def pattern_graduate(
        ctx: Ctx,
        id: str,  # noqa: A002  the tool's name of the field
        shown: Annotated[ShownPattern | None, Resolve(find_pattern)],
        answer: Annotated[ElicitationResult[Typed], Resolve(ask_person)],
        rule: str | None = None,
        session: Session = None,
    ) -> dict[str, Any]:
        """Ask the person to make a pattern a rule."""
        with tool_context.open_workspace(ctx, session) as ws:
            work = replace(ws, confirmed=_read_confirmation(shown, answer, tool_context.app.person))
            return graduate_pattern(work, tool_context.now, id, rule=rule).as_data(short=True)

    return {pattern_graduate: REPLACES}


def _can_ask(ctx: Ctx) -> bool:
    """Return whether the client declares that it can show a form to a person."""
    capabilities = ctx.client_capabilities
    asks = capabilities.elicitation if capabilities is not None else None
    return asks is not None and (asks.form is not None or asks.url is None)


def _make_question(shown: ShownPattern) -> str:
    pattern, id_ = shown.pattern, _flat(shown.pattern.id)
    return (
        f"A new rule for all sessions: {_flat(shown.rule)}\n\n"
        f"It comes from {id_}: {_flat(pattern.what)}\n"
        f"seen {count_times(pattern.count)}, {_flat(pattern.first_seen)} to {_flat(pattern.last_seen)}\n\n"
        f"Type {id_} to confirm."
    )


def _flat(text: str) -> str:
    return one_line(text, len(text))


def _read_confirmation(shown: ShownPattern | None, answer: ElicitationResult[Typed], person: str) -> Confirmed | None:
    """Return the person's confirmation; None if nobody was asked, or the person did not type the pattern's id."""
    if shown is None or not isinstance(answer, AcceptedElicitation) or answer.data.id.strip() != shown.pattern.id:
        return None
    pattern = shown.pattern
    return Confirmed(person, "client", pattern=pattern.id, rule=shown.rule, what=pattern.what)
