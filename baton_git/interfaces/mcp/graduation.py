"""`pattern_graduate`: a pattern becomes a rule once the person at the client says so; the model cannot.

The client shows the question and sends the answer back by itself, apart from what the model says (Anti-Ouroboros). The
annotations are evaluated where they stand, for the SDK: they name functions of the closure.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, Resolve
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from baton_git.core.lifecycle import Confirmed
from baton_git.core.output import one_line
from baton_git.core.records.work_items import Pattern
from baton_git.interfaces.mcp.annotations import REPLACES
from baton_git.interfaces.mcp.arguments import Session
from baton_git.interfaces.mcp.tool_context import Ctx, ToolContext
from baton_git.verbs.work_items.patterns import graduate_pattern


class Typed(BaseModel):
    """What the person types."""

    id: str = Field(description="The pattern's id, to confirm that it becomes a rule")


class ShownPattern(NamedTuple):
    """What the person is shown: the pattern, and the rule that it would become."""

    pattern: Pattern
    rule: str


def tools(tool_context: ToolContext) -> dict[Callable[..., Any], ToolAnnotations]:
    def shown(ctx: Ctx, id: str, rule: str | None) -> ShownPattern | None:  # noqa: A002  the tool's argument is called so
        """What would be asked; None where nothing can be: the client asks nobody, or the pattern is not ready."""
        if not _can_ask(ctx):
            return None
        with tool_context.reading() as ws:
            pattern = ws.branch.read().state.find(Pattern, id)
        text = rule or pattern.proposed_rule
        return ShownPattern(pattern, text) if pattern.status == "rule_candidate" and text else None

    def typed(found: Annotated[ShownPattern | None, Resolve(shown)]) -> Elicit[Typed] | None:
        return None if found is None else Elicit(_question(found), Typed)

    def pattern_graduate(
        ctx: Ctx,
        id: str,  # noqa: A002  as above
        found: Annotated[ShownPattern | None, Resolve(shown)],
        answer: Annotated[ElicitationResult[Typed], Resolve(typed)],
        rule: str | None = None,
        session: Session = None,
    ) -> dict[str, Any]:
        """Ask the person to make a pattern a rule."""
        with tool_context.at_work(ctx, session) as ws:
            work = replace(ws, confirmed=_read_confirmation(found, answer, tool_context.app.person))
            return graduate_pattern(work, tool_context.now, id, rule=rule).as_data(short=True)

    return {pattern_graduate: REPLACES}


def _can_ask(ctx: Ctx) -> bool:
    """Whether the client says that it can show a person a form."""
    capabilities = ctx.client_capabilities
    asks = capabilities.elicitation if capabilities is not None else None
    return asks is not None and (asks.form is not None or asks.url is None)


def _question(found: ShownPattern) -> str:
    pattern, id_ = found.pattern, _flat(found.pattern.id)
    return (
        f"A new rule for all sessions: {_flat(found.rule)}\n\n"
        f"It comes from {id_}: {_flat(pattern.what)}\n"
        f"seen {pattern.count} times, {_flat(pattern.first_seen)} to {_flat(pattern.last_seen)}\n\n"
        f"Type {id_} to confirm."
    )


def _flat(text: str) -> str:
    return one_line(text, len(text))


def _read_confirmation(found: ShownPattern | None, answer: ElicitationResult[Typed], person: str) -> Confirmed | None:
    """The person's word; None where nobody was asked, or the answer is another one."""
    if found is None or not isinstance(answer, AcceptedElicitation) or answer.data.id.strip() != found.pattern.id:
        return None
    pattern = found.pattern
    return Confirmed(person, "client", pattern=pattern.id, rule=found.rule, what=pattern.what)
